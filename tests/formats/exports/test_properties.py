"""Whatever an export holds: the readers return the judgments that were written, in any form of file."""

import json

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

import annotation_exports
import crowdrank as cr
import exports
from crowdrank.formats.decode import table_of

NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=8).map(str.strip).filter(bool)
ITEMS = NAMES.filter(lambda name: name.lower() not in ("tie", "both_bad", "tie (bothbad)", "draw", "equal", "same"))
PLAIN = settings(max_examples=40, deadline=None)


def saved(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@PLAIN
@given(rows=st.lists(st.tuples(ITEMS, ITEMS, st.sampled_from(["left", "right"]), NAMES), min_size=1, max_size=6))
def test_label_studio_pairs(tmp_path_factory, rows):
    rows = [row for row in rows if row[0] != row[1]] or [("a", "b", "left", "u")]
    result = {"from_name": "pw", "type": "pairwise"}
    tasks = [
        {
            "id": number,
            "data": {"model_a": left, "model_b": right},
            "annotations": [{"id": number, "completed_by": who, "result": [{**result, "value": {"selected": side}}]}],
        }
        for number, (left, right, side, who) in enumerate(rows)
    ]
    folder = tmp_path_factory.mktemp("ls")
    wanted = [(who, left, right, left if side == "left" else right) for left, right, side, who in rows]
    for name, text in (
        ("e.json", json.dumps(tasks)),
        ("e.jsonl", exports.lines(tasks)),
        ("i.json", json.dumps(tasks, indent=2)),
    ):
        study = cr.read(saved(folder, name, text))
        assert table_of(study).select("annotator", "left", "right", "winner").rows() == wanted


@PLAIN
@given(
    votes=st.lists(
        st.tuples(st.integers(1, 10**6), st.permutations(range(4)), st.integers(1, 4), st.booleans()),
        min_size=1,
        max_size=8,
    ),
    names=st.lists(NAMES, min_size=4, max_size=4, unique=True),
)
def test_preflib(tmp_path_factory, votes, names):
    """Orders with ties; every count and place comes back."""
    header = "".join(f"# ALTERNATIVE NAME {number}: {name}\n" for number, name in enumerate(names, 1))
    rows, wanted = [], []
    for number, (count, order, length, tied) in enumerate(votes):
        kept = [item + 1 for item in order[:length]]
        groups = [kept[:2], *([item] for item in kept[2:])] if tied and length > 1 else [[item] for item in kept]
        rows.append(
            f"{count}: " + ",".join(f"{{{','.join(map(str, g))}}}" if len(g) > 1 else str(g[0]) for g in groups)
        )
        for rank, group in enumerate(groups, 1):
            wanted += [(number, names[item - 1], rank, count) for item in group]
    folder = tmp_path_factory.mktemp("preflib")
    study = cr.read(saved(folder, "e.toi", "# DATA TYPE: toi\n" + header + "\n".join(rows)))
    assert sorted(table_of(study).select("list", "item", "rank", "weight").rows()) == sorted(wanted)
    cr.write(study, folder / "again.toi")
    again = table_of(cr.read(folder / "again.toi")).group_by("item", "rank").agg(pl.col("weight").sum())
    before = table_of(study).group_by("item", "rank").agg(pl.col("weight").sum())
    assert sorted(again.rows()) == sorted(before.rows())


@PLAIN
@given(grades=st.lists(st.tuples(NAMES, NAMES, st.integers(-5, 100) | st.none()), min_size=1, max_size=8))
def test_argilla(tmp_path_factory, grades):
    records = [
        {"id": item, "fields": {}, "responses": {"q": [{"value": grade, "user_id": who}]}}
        for item, who, grade in grades
    ]
    path = saved(tmp_path_factory.mktemp("argilla"), "a.json", json.dumps(records))
    wanted = [(who, item, grade) for item, who, grade in grades if grade is not None]
    if wanted:
        assert table_of(cr.read(path)).select("annotator", "item", "grade").rows() == wanted


@PLAIN
@given(rows=st.lists(st.tuples(ITEMS, ITEMS, st.sampled_from(["model_a", "model_b", "tie"])), min_size=1, max_size=8))
def test_battles(tmp_path_factory, rows):
    rows = [row for row in rows if row[0] != row[1] and not {row[0], row[1]} & {"model_a", "model_b"}] or [
        ("a", "b", "tie")
    ]
    records = [
        {"model_a": left, "model_b": right, "winner": won, "question_id": n, "turn": 1}
        for n, (left, right, won) in enumerate(rows)
    ]
    folder = tmp_path_factory.mktemp("arena")
    wanted = [(left, right, {"model_a": left, "model_b": right}.get(won, won)) for left, right, won in rows]
    contents = {
        "a.json": json.dumps(records),
        "a.jsonl": exports.lines(records),
        "a.csv": pl.DataFrame(records).write_csv(),
    }
    contents["a.parquet"] = annotation_exports.parquet(pl.DataFrame(records))
    for name, content in contents.items():
        assert table_of(cr.read(saved(folder, name, content))).select("left", "right", "winner").rows() == wanted


@PLAIN
@given(
    rows=st.lists(
        st.tuples(NAMES, NAMES, st.integers(0, 5), st.sampled_from(["APPROVED", "REJECTED"])), min_size=1, max_size=8
    )
)
def test_toloka(tmp_path_factory, rows):
    rows = [*rows, ("x", "w", 1, "APPROVED")]
    frame = pl.DataFrame(
        rows, schema=["INPUT:x", "ASSIGNMENT:worker_id", "OUTPUT:y", "ASSIGNMENT:status"], orient="row"
    )
    path = saved(tmp_path_factory.mktemp("toloka"), "pool.tsv", frame.write_csv(separator="\t"))
    wanted = [(who, item, grade) for item, who, grade, status in rows if status == "APPROVED"]
    assert table_of(cr.read(path)).select("annotator", "item", "grade").rows() == wanted


@PLAIN
@given(rows=st.lists(st.tuples(NAMES, ITEMS, ITEMS), min_size=1, max_size=8))
def test_comparative_judgement(tmp_path_factory, rows):
    rows = [row for row in rows if row[1] != row[2]] or [("j", "a", "b")]
    frame = pl.DataFrame(rows, schema=["judge", "chosen", "notChosen"], orient="row")
    path = saved(tmp_path_factory.mktemp("cj"), "cj.csv", frame.write_csv())
    assert table_of(cr.read(path)).select("annotator", "winner").rows() == [(judge, won) for judge, won, _ in rows]


@PLAIN
@given(ratings=st.lists(st.tuples(NAMES, st.integers(1, 5) | st.just("N/A")), min_size=1, max_size=6))
def test_ultrafeedback(tmp_path_factory, ratings):
    records = [
        {"instruction": "i", "completions": [{"model": model, "annotations": {"aspect": {"Rating": str(rating)}}}]}
        for model, rating in [*ratings, ("m", 1)]
    ]
    path = saved(tmp_path_factory.mktemp("ultra"), "u.jsonl", exports.lines(records))
    wanted = [(model, float(rating)) for model, rating in [*ratings, ("m", 1)] if rating != "N/A"]
    assert table_of(cr.read(path)).select("item", "grade").rows() == wanted
