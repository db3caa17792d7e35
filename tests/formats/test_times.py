"""Times of judgments: dates, seconds since 1970, and numbers that only say what came first."""

import datetime as dt

import numpy as np
import pytest

import crowdrank as cr

VOTES = {"annotator": ["u"] * 3, "left": ["a", "b", "a"], "right": ["b", "c", "c"], "winner": ["a", "b", "c"]}


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        (
            ["2024-05-31T12:00:00Z", "2024-05-31 12:00:01", "2024-05-31T14:00:02+02:00"],
            [1717156800 + s for s in range(3)],
        ),
        ([1717156800, 1717156801, 1717156802], [1717156800 + s for s in range(3)]),
        ([1717156800000, 1717156801000, 1717156802000], [1717156800 + s for s in range(3)]),
        ([1.0, 2.0, 3.0], [1, 2, 3]),
        (["3", "0.5", "-1"], [3, 0.5, -1]),
        ([7, None, 2], [7, np.nan, 2]),
    ],
)
def test_times_are_seconds(times, seconds):
    found = cr.judgments({**VOTES, "time": times})
    np.testing.assert_allclose(found.pairs.time, seconds)
    small = np.nanmax(seconds) < 1e8
    assert any("holds small numbers, no dates: read as seconds" in note for note in found.notes) == small


def test_small_numbers_are_an_order_of_votes():
    """elo depends on the order: by times 3, 2, 1 the votes count as if they stood in reverse."""
    by_time = cr.fit("elo", cr.judgments({**VOTES, "time": [3, 2, 1]}))
    reverse = cr.fit("elo", cr.judgments({column: values[::-1] for column, values in VOTES.items()}))
    np.testing.assert_allclose(by_time.score, reverse.score)


def test_small_numbers_that_the_user_names_need_no_note(tmp_path):
    study = cr.judgments({**VOTES, "step": [1, 2, 3]}, columns={"time": "step"})
    assert study.pairs.time.tolist() == [1, 2, 3]
    assert not any("small numbers" in note for note in study.notes)
    cr.write(study, tmp_path / "votes.csv")
    assert cr.read(tmp_path / "votes.csv").pairs.time.tolist() == [1, 2, 3]


def test_words_are_no_times():
    with pytest.raises(cr.JudgmentError, match=r"holds no dates .* and no numbers"):
        cr.judgments({**VOTES, "when": ["soon", "later", "now"]}, columns={"time": "when"})


@pytest.mark.parametrize(
    ("column", "values", "seconds"),
    [
        ("duration", [12.5, 3, 40], [12.5, 3, 40]),
        ("time_taken", ["12.5", None, "40"], [12.5, np.nan, 40]),
        ("response_time_ms", [1250, 300, 4000], [1.25, 0.3, 4]),
        ("Seconds", ["0:01:30", "1:00:00", "2:05.5"], [90, 3600, 125.5]),
        ("elapsed", [-1, 3, 4], [np.nan, 3, 4]),
        ("duration", [dt.timedelta(seconds=2), dt.timedelta(minutes=1), None], [2, 60, np.nan]),
    ],
)
def test_how_long_votes_took(tmp_path, column, values, seconds):
    found = cr.judgments({**VOTES, column: values})
    np.testing.assert_allclose(found.pairs.seconds, seconds)
    assert found.pairs.time is None
    cr.write(found, tmp_path / "votes.csv")
    np.testing.assert_allclose(cr.read(tmp_path / "votes.csv").pairs.seconds, seconds)


def test_a_column_of_durations_called_time():
    """The note says how to read it, and that works."""
    note = next(note for note in cr.judgments({**VOTES, "time": [9, 8, 7]}).notes if "small numbers" in note)
    assert "--column seconds=time" in note
    assert cr.judgments({**VOTES, "time": [9, 8, 7]}, columns={"seconds": "time"}).pairs.seconds.tolist() == [9, 8, 7]
    with pytest.raises(cr.JudgmentError, match="holds no durations"):
        cr.judgments({**VOTES, "x": ["soon", "later", "now"]}, columns={"seconds": "x"})


def test_how_long_lists_and_grades_took(tmp_path):
    """Rows of a list that say the same are about the list; rows with durations of their own are added."""
    lists = {"annotator": [*"aabb"], "item": [*"xyxy"], "rank": [1, 2, 2, 1], "seconds": [30, 30, 10, 15]}
    study = cr.judgments(lists)
    assert study.rankings.list_seconds.tolist() == [30, 25]
    cr.write(study, tmp_path / "lists.csv")
    assert cr.read(tmp_path / "lists.csv").rankings.list_seconds.tolist() == [30, 25]
    graded = cr.judgments({"annotator": [*"ab"], "item": [*"xx"], "grade": [1, 2], "duration": [4, 6]})
    assert graded.grades.seconds.tolist() == [4, 6]
