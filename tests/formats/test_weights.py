"""Weights and strengths of pairs: read, refused, written back, and used, or said not to be."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crowdrank as cr
from crowdrank.methods.catalogue import settings_names
from crowdrank.study import Judgments

VOTES = {
    "annotator": ["ann", "ann", "bob", "bob"],
    "left": ["x", "y", "x", "z"],
    "right": ["y", "z", "z", "x"],
    "winner": ["x", "tie", "z", "z"],
}
WEIGHT, STRENGTH = [1.0, 2.5, 0.25, 3.0], [2.0, 1.0, 1.5, 4.0]
WITH_BOTH = {**VOTES, "weight": WEIGHT, "strength": STRENGTH}
FRAMES = {"dict": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
USES_WEIGHT = {name for name, method in cr.METHODS.items() if "weight" in method.description.pair_columns}


def columns(study: Judgments) -> tuple:
    pairs = study.pairs
    return tuple(None if column is None else column.tolist() for column in (pairs.weight, pairs.strength))


@pytest.mark.parametrize("file", ["v.csv", "v.tsv", "v.jsonl", "v.parquet", "v.csv.gz"])
def test_files(tmp_path, file):
    cr.write(pl.DataFrame(WITH_BOTH), tmp_path / file)
    assert columns(cr.read(tmp_path / file)) == (WEIGHT, STRENGTH)


@pytest.mark.parametrize("kind", FRAMES)
def test_frames(kind):
    assert columns(cr.judgments(FRAMES[kind](WITH_BOTH))) == (WEIGHT, STRENGTH)
    assert columns(cr.judgments(FRAMES[kind]({**VOTES, "weight": [1, 2, 3, 4]}))) == ([1, 2, 3, 4], None)


def test_without_such_columns_there_are_none():
    assert columns(cr.judgments(VOTES)) == (None, None)


def test_winner_and_loser_have_them_too():
    study = cr.judgments({"winner": ["x", "b"], "loser": ["y", "a"], "Weight": ["2", "0.5"], "Strength": [1, 3]})
    assert columns(study) == ([2.0, 0.5], [1.0, 3.0])


def test_by_another_name():
    assert columns(cr.judgments({**VOTES, "n": [1, 2, 3, 4]}, columns={"weight": "n"}))[0] == [1, 2, 3, 4]


def test_several_files_of_which_some_have_them(tmp_path):
    """What is not said counts once."""
    cr.write(pl.DataFrame(VOTES), tmp_path / "plain.csv")
    cr.write(pl.DataFrame({**VOTES, "weight": WEIGHT}), tmp_path / "weighted.csv")
    cr.write(pl.DataFrame({**VOTES, "strength": STRENGTH}), tmp_path / "strong.parquet")
    study = cr.read(*(tmp_path / name for name in ("plain.csv", "weighted.csv", "strong.parquet")))
    once = [1.0] * 4
    assert columns(study) == ([*once, *WEIGHT, *once], [*once, *once, *STRENGTH])
    cr.write(pl.DataFrame(VOTES), tmp_path / "another.csv")
    assert columns(cr.read(tmp_path / "plain.csv", tmp_path / "another.csv")) == (None, None)


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("0", "0 must be above 0"),
        ("-2", "-2 must be above 0"),
        ("", "is missing"),
        ("much", "'much' is not a finite number"),
        ("inf", "'inf' is not a finite number"),
        ("nan", "'nan' is not a finite number"),
    ],
)
@pytest.mark.parametrize("column", ["weight", "strength"])
def test_what_is_no_number_above_0_is_refused(tmp_path, column, value, wrong):
    (tmp_path / "v.csv").write_text(f"left,right,winner,{column}\na,b,a,1\nb,c,c,{value}\n")
    with pytest.raises(cr.JudgmentError, match=rf"v\.csv:3: {column} {wrong}"):
        cr.read(tmp_path / "v.csv")


@pytest.mark.parametrize("value", ["0", ""])
def test_a_tie_needs_no_strength(tmp_path, value):
    """It prefers neither; but a weight it must have."""
    (tmp_path / "v.csv").write_text(f"left,right,winner,strength\na,b,a,3\nb,c,tie,{value}\n")
    assert columns(cr.read(tmp_path / "v.csv"))[1] == [3.0, 1.0]
    (tmp_path / "v.csv").write_text(f"left,right,winner,weight\na,b,a,3\nb,c,tie,{value}\n")
    with pytest.raises(cr.JudgmentError, match=r"v\.csv:3: weight"):
        cr.read(tmp_path / "v.csv")


@pytest.mark.parametrize(("near", "role"), [("wieght", "weight"), ("weights", "weight"), ("strenght", "strength")])
def test_misspelt_ones_are_not_ignored(near, role):
    with pytest.raises(cr.JudgmentError, match=f"unknown column '{near}'; did you mean '{role}'"):
        cr.judgments({**VOTES, near: WEIGHT})
    assert (
        len(cr.judgments({near: [1], "item": ["x"], "grade": [1], "annotator": ["a"]})) == 1
    )  # grades have no such column


@pytest.mark.parametrize("other", ["height", "length", "width", "strange"])
def test_other_columns_are_ignored(other):
    assert columns(cr.judgments({**VOTES, other: WEIGHT})) == (None, None)


@pytest.mark.parametrize("file", ["v.csv", "v.jsonl", "v.parquet"])
@pytest.mark.parametrize("given", [VOTES, WITH_BOTH, {**VOTES, "weight": [0.1, 1 / 3, 1e-9, 1e9]}])
def test_round_trip(tmp_path, file, given):
    study = cr.judgments(given)
    cr.write(study, tmp_path / file)
    again = cr.read(tmp_path / file)
    assert columns(again) == columns(study)
    assert again.pairs.outcome.tolist() == study.pairs.outcome.tolist()


def many(seed=0) -> dict[str, list]:
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 6, 60)
    right = (left + rng.integers(1, 6, 60)) % 6
    winner = np.where(rng.random(60) < 0.2, "tie", np.where(rng.random(60) < 0.5, left, right).astype(str))
    votes = {"annotator": rng.choice(["ann", "bob", "cid"], 60), "left": left.astype(str), "right": right.astype(str)}
    return {name: values.tolist() for name, values in {**votes, "winner": winner}.items()}


@pytest.mark.parametrize("name", sorted(USES_WEIGHT))
def test_a_weight_of_two_is_the_vote_twice(name):
    votes = many()
    times = np.random.default_rng(1).integers(1, 4, 60)
    repeated = {column: np.repeat(values, times).tolist() for column, values in votes.items()}
    settings = {"prior": 0.7} if "prior" in settings_names(name) else {}
    one = cr.fit(name, cr.judgments({**votes, "weight": times}), **settings)
    other = cr.fit(name, cr.judgments(repeated), **settings)
    np.testing.assert_allclose(one.score, other.score, atol=1e-9)
    if other.high is not None:
        np.testing.assert_allclose(one.high, other.high, atol=1e-7)
    np.testing.assert_allclose(one.annotators["quality"], other.annotators["quality"], atol=1e-9)
    assert one.annotators["verdict"].to_list() == other.annotators["verdict"].to_list()


@pytest.mark.parametrize("scale", [1e-3, 5.0])
def test_weights_are_measured_against_the_prior(scale):
    """All weights and the prior times a number: the same scores. (Without ties: their threshold has a prior.)"""
    votes = {**VOTES, "winner": ["x", "y", "z", "z"]}
    one = cr.BradleyTerry(prior=1.0).fit(cr.judgments({**votes, "weight": WEIGHT}))
    other = cr.BradleyTerry(prior=scale).fit(cr.judgments({**votes, "weight": scale * np.array(WEIGHT)}))
    np.testing.assert_allclose(one.score, other.score, atol=1e-7)


@pytest.mark.parametrize("name", [name for name, method in cr.METHODS.items() if "pairs" in method.description.takes])
def test_what_is_not_used_is_said(name):
    """In a note; and a note does not lie: where there is none, weights matter."""
    votes = many()
    fitted = {
        column: cr.fit(name, cr.judgments({**votes, column: [1.0, 9.0] * 30})) for column in ("weight", "strength")
    }
    plain = cr.fit(name, cr.judgments(votes))
    for column, consensus in fitted.items():
        unused = any(f"the {column}s of the" in note for note in consensus.notes)
        assert unused == (column not in cr.METHODS[name].description.pair_columns)
        assert unused == np.array_equal(consensus.score, plain.score)
    assert not any("s of the votes" in note or "s of the preferences" in note for note in plain.notes)


def test_grades_have_no_weights_to_miss():
    """Methods that do not use pairs at all say only that."""
    grades = {"annotator": ["ann"] * 2, "item": ["x", "y"], "grade": [1, 2]}
    notes = cr.Mean().fit(cr.judgments(WITH_BOTH, grades)).notes
    assert [note for note in notes if "pairs not used" in note]
    assert not [note for note in notes if "weights" in note]


@pytest.mark.parametrize(("value", "column"), [("grade", "weight"), ("grade", "strength"), ("rank", "strength")])
def test_grades_and_rankings_with_a_column_of_pairs_say_that_it_is_not_used(tmp_path, value, column):
    """It changes nothing, may hold anything, and is named; what is not there is not missed."""
    (tmp_path / "a.csv").write_text(f"annotator,item,{value},{column}\nann,x,1,heavy\nann,y,2,\n")
    (tmp_path / "b.csv").write_text(f"annotator,item,{value}\nbob,x,1\nbob,y,2\n")
    cr.write(pl.DataFrame(WITH_BOTH), tmp_path / "pairs.csv")
    study = cr.read(tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "pairs.csv")
    owners = {"weight": "only pairs and rankings have a weight", "strength": "only pairs have a strength"}
    assert study.notes == (f"{tmp_path / 'a.csv'}: column '{column}' is not used: {owners[column]}",)
    assert study.notes[0] in cr.Borda().fit(study).notes
    said = cr.judgments({"item": ["x", "y"], value: [1, 2], "n": [1, 2]}, columns={column: "n"}).notes
    assert said[-1] == f"the data frame: column 'n' is not used: {owners[column]}"


def test_quality_is_the_weighted_share():
    """ann is right about a vote that counts three times and wrong about one that counts once."""
    votes = {
        "annotator": ["ann", "ann", *["bob"] * 8],
        "left": ["x"] * 10,
        "right": ["y"] * 10,
        "winner": ["x", "y", *["x"] * 8],
    }
    consensus = cr.BradleyTerry().fit(cr.judgments({**votes, "weight": [3.0, *[1.0] * 9]}))
    assert consensus.annotators["quality"].to_list() == [0.75, 1.0]
