"""Names as people write them: blanks around them, and upper and lower case."""

import polars as pl
import pytest

import crowdrank as cr
from crowdrank.study import LEFT, RIGHT, TIE


def test_blanks_around_names_do_not_count():
    study = cr.judgments(
        {
            "task": ["t", "t ", "\tt", "t"],
            "annotator": ["ann", " ann", "ann\u00a0", "ann"],
            "left": [" Anna ", "Anna", "Anna", "Bo"],
            "right": ["Bo", "Bo", " Bo", "Anna"],
            "winner": ["Anna", " Anna", "Bo ", " tie "],
        }
    )
    words = study.vocabulary
    assert (list(words.tasks), list(words.items), list(words.annotators)) == (["t"], ["Anna", "Bo"], ["ann"])
    assert study.pairs.outcome.tolist() == [LEFT, LEFT, RIGHT, TIE]
    assert study.notes == ()


@pytest.mark.parametrize("name", ["v.csv", "v.tsv", "v.jsonl", "v.parquet"])
def test_blanks_in_files(tmp_path, name):
    cr.write(
        pl.DataFrame({"annotator": ["k", "k", "l"], "item": [" Anna B", "Cy", "Anna B "], "grade": [1, 2, 3]}),
        tmp_path / name,
    )
    assert list(cr.read(tmp_path / name).vocabulary.items) == ["Anna B", "Cy"]


def test_numbers_stay_numbers():
    assert list(cr.judgments({"annotator": [7, 8], "item": [1, 2], "grade": [1, 2]}).vocabulary.items) == [1, 2]


def test_gold_matches_names_with_blanks():
    ranked = cr.fit("mean", cr.judgments({"annotator": ["k", "k"], "item": ["x ", "y"], "grade": [1, 2]}))
    assert cr.evaluate(ranked, cr.gold({"item": ["x", " y"], "grade": [0, 1]}), "acc").mean == {"acc": 1.0}


def test_names_that_differ_by_case_get_a_note():
    rows = {"annotator": ["ann", "Ann", "bob"], "item": ["x", "y", "X"], "grade": [1, 2, 3]}
    assert cr.judgments(rows).notes == (
        "the names of 2 items differ only by case, as 'X' and 'x': they are treated as different",
        "the names of 2 annotators differ only by case, as 'Ann' and 'ann': they are treated as different",
    )


@pytest.mark.parametrize("word", ["draw", "Draw", "Tie", "TIE", "tie", "equal", "Same"])
def test_words_for_a_tie(word):
    assert cr.judgments({"left": ["x"], "right": ["y"], "winner": [word]}).pairs.outcome.tolist() == [TIE]


def test_an_item_may_be_called_draw():
    study = cr.judgments({"left": ["x", "draw"], "right": ["draw", "x"], "winner": ["draw", "x"]})
    assert study.pairs.outcome.tolist() == [RIGHT, RIGHT]


def test_the_word_for_a_tie_is_said():
    with pytest.raises(
        cr.JudgmentError, match="row 0: winner 'none' is neither 'x' nor 'y'; where neither won, write 'tie'"
    ):
        cr.judgments({"left": ["x"], "right": ["y"], "winner": ["none"]})
