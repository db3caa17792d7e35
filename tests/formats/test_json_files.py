"""JSON in blocks: large files are read piece by piece, with the same result."""

import json

import pytest

import crowdrank as cr
from crowdrank.formats import compressed, json_files
from crowdrank.formats.decode import table_of

VOTES = [
    {
        "left": f"i{n % 7}",
        "right": f"i{n % 7 + 1}",
        "winner": "left" if n % 3 else "tie",
        "annotator": n if n % 2 else f"a{n}",
        "meta": {"lang": "en" if n % 2 else "fr"},
        "text": "long " * 200,
        "talk": [{"role": "user", "content": "é"}],
    }
    for n in range(60)
]


@pytest.mark.parametrize("size", [7, 1000, 100_000])
@pytest.mark.parametrize("form", ["lines", "list"])
def test_blocks_make_no_difference(tmp_path, monkeypatch, form, size):
    path = tmp_path / "v.json"
    text = "\n".join(map(json.dumps, VOTES)) if form == "lines" else json.dumps(VOTES, ensure_ascii=False)
    path.write_text(text)
    whole = table_of(cr.read(path)).rows()
    monkeypatch.setattr(compressed, "BLOCK", size)
    monkeypatch.setattr(json_files, "BLOCK", size)
    assert table_of(cr.read(path)).rows() == whole
    by = cr.read_by(path, by="meta.lang")
    assert {name: len(part.pairs) for name, part in by.items()} == {"en": 30, "fr": 30}
    assert len(cr.read(path, columns={"task": "text"}).vocabulary.tasks) == 1  # a long column, loaded when asked for


def test_the_wrong_line_is_found_in_any_block(tmp_path, monkeypatch):
    monkeypatch.setattr(json_files, "BLOCK", 3000)
    lines = [json.dumps(vote) for vote in VOTES]
    lines[40] = lines[40].replace('"left": "i5"', '"left": i5')
    (tmp_path / "v.jsonl").write_text("\n\n".join(lines))
    with pytest.raises(cr.JudgmentError, match=r"v.jsonl:81: is not valid JSON"):
        cr.read(tmp_path / "v.jsonl")


def test_paths_into_nested_columns(tmp_path):
    rows = [
        {"pair": {"a": {"name": "x"}, "b": {"name": "y"}}, "said": "left"},
        {"pair": {"a": {"name": "y"}, "b": {"name": "z"}}, "said": "right"},
    ]
    named = {"left": "pair.a.name", "right": "pair.b.name", "winner": "said"}
    for name, text in (("v.jsonl", "\n".join(map(json.dumps, rows))), ("v.json", json.dumps(rows))):
        (tmp_path / name).write_text(text)
        assert table_of(cr.read(tmp_path / name, columns=named))["winner"].to_list() == ["x", "z"]
    with pytest.raises(cr.JudgmentError, match=r"there is no column 'pair.a.nam' \(did you mean 'pair.a.name'\?\)"):
        cr.read(tmp_path / "v.jsonl", columns={**named, "left": "pair.a.nam"})
