import json

import numpy as np
import pytest

from crowdrank.formats.saved_json import load_saved, saved_bytes, saved_names, saved_numbers, saved_texts
from crowdrank.settings import SettingError
from crowdrank.study import JudgmentError

WHAT = "thing, as `make` writes it"


def test_what_is_saved_is_loaded(tmp_path):
    path = tmp_path / "thing.json"
    path.write_bytes(saved_bytes("thing 1", {"names": ["ä", "b"], "number": 0.1}))
    assert load_saved(path, "thing 1", WHAT, lambda saved: (saved["names"], saved["number"])) == (["ä", "b"], 0.1)


def test_numbers_of_numpy_are_saved_as_numbers():
    saved = json.loads(saved_bytes("thing 1", {"k": np.int64(3), "rate": np.float32(0.5)}))
    assert saved["k"] == 3
    assert saved["rate"] == 0.5


@pytest.mark.parametrize("content", ["", "{", "[]", "7", "{}", '{"format": "thing 1"}'])
def test_incomplete_files_are_refused(tmp_path, content):
    path = tmp_path / "thing.json"
    path.write_text(content)
    with pytest.raises(JudgmentError, match=r"thing.json: is damaged, or is no thing, as `make` writes it"):
        load_saved(path, "thing 1", WHAT, lambda saved: saved["names"])


def test_other_formats_and_missing_files_are_refused(tmp_path):
    path = tmp_path / "thing.json"
    path.write_text(json.dumps({"format": "thing 2"}))
    with pytest.raises(JudgmentError, match=r"thing.json: is a 'thing 2'; this version reads 'thing 1'"):
        load_saved(path, "thing 1", WHAT, dict)
    with pytest.raises(JudgmentError, match="No such file"):
        load_saved(tmp_path / "none.json", "thing 1", WHAT, dict)


def test_errors_of_the_input_say_which_file(tmp_path):
    path = tmp_path / "thing.json"
    path.write_text('{"format": "thing 1"}')

    def refuse(_):
        raise SettingError("prior is -1")

    with pytest.raises(SettingError, match=r"thing.json: prior is -1"):
        load_saved(path, "thing 1", WHAT, refuse)


def test_a_changed_file_is_noticed(tmp_path):
    path = tmp_path / "thing.json"
    path.write_bytes(saved_bytes("thing 1", {"number": 17, "names": ["\ud800"]}))
    assert load_saved(path, "thing 1", WHAT, dict) == {"format": "thing 1", "number": 17, "names": ["\ud800"]}
    path.write_text(json.dumps(json.loads(path.read_text()), indent=2))  # a file may be indented for reading
    assert load_saved(path, "thing 1", WHAT, dict)["number"] == 17
    path.write_text(path.read_text().replace("17", "18"))
    with pytest.raises(JudgmentError, match=r"thing.json: is damaged or was changed"):
        load_saved(path, "thing 1", WHAT, dict)


@pytest.mark.parametrize("error", [IndexError, TypeError, OverflowError, RecursionError, AttributeError, KeyError])
def test_whatever_is_wrong_is_one_error(tmp_path, error):
    path = tmp_path / "thing.json"
    path.write_text('{"format": "thing 1"}')

    def refuse(_):
        raise error

    with pytest.raises(JudgmentError, match=r"thing.json: is damaged, or is no thing"):
        load_saved(path, "thing 1", WHAT, refuse)


def test_deep_nesting_is_refused(tmp_path):
    path = tmp_path / "thing.json"
    path.write_text("[" * 100_000)
    with pytest.raises(JudgmentError, match=r"thing.json: is damaged, or is no thing"):
        load_saved(path, "thing 1", WHAT, dict)


def test_numbers_that_no_sum_or_frame_can_hold_are_refused():
    assert saved_numbers([1e99, -1e99], 2).tolist() == [1e99, -1e99]
    with pytest.raises(ValueError, match="out of range"):
        saved_numbers([1e308], 1)
    assert saved_names([10**25, "x"]).tolist() == [10**25, "x"]
    with pytest.raises(ValueError, match="too large a number"):
        saved_names([10**400, "x"])


def test_texts_with_half_of_a_surrogate_pair_are_refused():
    assert saved_texts(["🦊", "x"]) == ("🦊", "x")
    with pytest.raises(ValueError, match="surrogates"):
        saved_texts(["\ud800"])
