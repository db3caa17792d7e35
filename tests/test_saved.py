"""Trained models in files: those of earlier versions load, and loading one imports no other learner."""

import json
import subprocess
import sys

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.saved import RENAMED

FEATURES = cr.features({"item": list("wxyz"), "age": [4, 3, 1, 2]})
CROWD = {"annotator": ["ann", "bob", "cy"], "judgments": [3, 3, 3], "quality": [1.0, 1.0, 0.6666666666666666]}
SCALE = {"mean": [2.5], "spread": [1.118033988749895]}
# Files of version 0.2.0, in which the penalty on squared weights is called prior: settings, weight, new settings.
OLD = {
    "listmle": (
        {"labels": None, "top": 2, "prior": 2.0, "max_iter": 100, "tol": 1e-06},
        -0.6539680994818696,
        cr.ListMLE(top=2, penalty=2.0),
    ),
    "lregma": (
        {"prior": 3.0, "max_iter": 200, "tol": 1e-06},
        -0.25594353594463853,
        cr.LRegMA(prior=3.0, penalty=3.0),
    ),
    "ltrma-mle": (
        {"top": None, "samples": 10, "sweeps": 10, "prior": 0.5, "max_iter": 20, "tol": 0.005, "seed": 0},
        -1.2519135984426202,
        cr.LTRMAMLE(penalty=0.5, max_iter=20),
    ),
}


def write_old(path, name):
    settings, weight, _ = OLD[name]
    content = {
        "format": "crowdrank model 1",
        "method": name,
        "settings": settings,
        "columns": ["age"],
        "model": {"weight": [weight], **SCALE},
        "annotators": {**CROWD, "verdict": ["unclear"] * 3},
        "fit": {"steps": 4, "converged": True, "objective": None},
        "notes": [],
    }
    path.write_text(json.dumps(content))


@pytest.mark.parametrize("name", OLD)
def test_files_with_old_names_of_settings_load(name, tmp_path):
    path = tmp_path / "old.json"
    write_old(path, name)
    _, weight, settings = OLD[name]
    ranker = cr.load_ranker(path)
    assert ranker.method == settings
    expected = weight * (np.array([4, 3, 1, 2]) - 2.5) / SCALE["spread"][0]
    np.testing.assert_allclose(ranker.rank(FEATURES).score, expected)
    cr.save(ranker, path)
    assert cr.load_ranker(path).method == settings


def test_the_new_names_are_settings():
    for name, names in RENAMED.items():
        for new in names.values():
            assert set(new) <= set(cr.LEARNERS[name].__dataclass_fields__)


def test_a_file_with_an_unknown_setting_is_refused(tmp_path):
    path = tmp_path / "model.json"
    write_old(path, "listmle")
    path.write_text(path.read_text().replace('"top"', '"bottom"'))
    with pytest.raises(cr.JudgmentError, match="is damaged, or is no trained model"):
        cr.load_ranker(path)


def test_other_kinds_of_model_are_refused(tmp_path):
    write_old(tmp_path / "ranker.json", "listmle")
    with pytest.raises(cr.JudgmentError, match=r"ranker.json: is a ranker, .* use cr.load_ranker"):
        cr.load(tmp_path / "ranker.json")
    (tmp_path / "crf.json").write_text('{"format": "crowdrank model 1", "method": "crf", "settings": {}}')
    with pytest.raises(cr.JudgmentError, match=r"crf.json: ranks by judgments, not by features: use cr.load"):
        cr.load_ranker(tmp_path / "crf.json")


def test_loading_a_ranker_imports_no_other_learner(tmp_path):
    write_old(tmp_path / "ranker.json", "listmle")
    code = f"""
import sys
import crowdrank as cr
cr.load_ranker({str(tmp_path / "ranker.json")!r})
print(*(name for name in sys.modules if name.startswith(("crowdrank.learning.ltrma", "crowdrank.learning.trees"))))
try:
    cr.load({str(tmp_path / "ranker.json")!r})
except cr.JudgmentError:
    pass
print(*(name for name in sys.modules if name in ("crowdrank.methods.supervised.crf", "lightgbm")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
