import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

import crowdrank as cr
from crowdrank.consensus import Consensus, Fit, rank_within
from crowdrank.methods.grades.mean import Mean
from crowdrank.methods.verdicts import verdicts

SCORES = st.lists(st.tuples(st.integers(0, 2), st.one_of(st.none(), st.integers(-4, 4))), min_size=1, max_size=30)


def consensus(build, frame="polars", **more):
    words = build.vocabulary([("t1", "a"), ("t1", "b"), ("t1", "c"), ("t2", "a"), ("t2", "b")], ["ann", "bob"], frame)
    columns = {
        "annotator": words.annotators,
        "judgments": np.array([3, 1]),
        "quality": np.array([0.9, np.nan]),
        "verdict": verdicts(np.array([0.9, np.nan]), np.array([30.0, 0.0])),
    }
    return Consensus(words, "test", np.array([0.5, 2.0, np.nan, -1.0, -1.0]), columns, **more)


@given(SCORES)
def test_ranks_are_competition_ranks_within_each_group(rows):
    group = np.array([g for g, _ in rows], dtype=np.int32)
    score = np.array([np.nan if s is None else s / 3 for _, s in rows])
    expected = np.zeros(len(rows), dtype=int)
    for number in range(3):
        there = (group == number) & ~np.isnan(score)
        if there.any():
            expected[there] = rankdata(-score[there], method="min")
    assert rank_within(score, group).tolist() == expected.tolist()


@given(
    st.lists(st.one_of(st.integers(-10, 10).map(lambda k: k / 2048), st.floats(-5, 5)), min_size=1, max_size=20),
    st.integers(0, 2**32 - 1),
)
def test_scores_that_differ_by_the_noise_of_floating_point_share_a_rank(values, seed):
    rounded = np.round(np.array([1.0, *values]), 6)  # truly different values differ by 1e-6 at least
    noise = np.random.default_rng(seed).uniform(-1e-14, 1e-14, len(rounded))
    group = np.zeros(len(rounded), dtype=np.int32)
    assert rank_within(rounded + noise, group).tolist() == rankdata(-rounded, method="min").tolist()


def test_noise_ties_do_not_depend_on_where_the_scores_lie():
    # 2⁻¹¹ has eleven decimals and ends in 5: rounding to ten would tear the two apart.
    score = np.array([1.0, 2.0**-11 + 1e-15, 2.0**-11 - 1e-15])
    assert rank_within(score, np.zeros(3, np.int32)).tolist() == [1, 2, 2]


def test_ranks_follow_a_replaced_score(build):
    ranked = consensus(build, known_rank=np.array([2, 1, 0, 1, 1], np.int32))
    assert ranked.rank.tolist() == [2, 1, 0, 1, 1]
    changed = replace(ranked, score=np.array([3.0, 2.0, 1.0, 5.0, 6.0]))
    assert changed.rank.tolist() == [1, 2, 3, 2, 1]
    assert replace(ranked, notes=("a note",)).rank.tolist() == [2, 1, 0, 1, 1]


def test_nothing_to_rank():
    assert rank_within(np.zeros(0), np.zeros(0, np.int32)).tolist() == []
    assert rank_within(np.full(2, np.nan), np.zeros(2, np.int32)).tolist() == [0, 0]
    assert rank_within(np.zeros(2), np.zeros(2, np.int32)).tolist() == [1, 1]


def rows_of(frame, kind):
    if kind == "polars":
        return frame.rows()
    if kind == "pyarrow":
        return [tuple(row.values()) for row in frame.to_pylist()]
    return [tuple(None if value != value else value for value in row) for row in frame.itertuples(index=False)]


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_frames_come_out_as_the_kind_that_went_in(build, kind):
    result = consensus(build, kind, low=np.array([0.0, 1, 2, 3, 4]))
    assert type(result.ranking).__module__.startswith(kind)
    assert rows_of(result.ranking, kind) == [
        ("t1", "b", 1, 2.0, 1.0, None),
        ("t1", "a", 2, 0.5, 0.0, None),
        ("t1", "c", None, None, 2.0, None),
        ("t2", "a", 1, -1.0, 3.0, None),
        ("t2", "b", 1, -1.0, 4.0, None),
    ]
    assert type(result.annotators).__module__.startswith(kind)
    assert rows_of(result.annotators, kind) == [("ann", 3, 0.9, "informative"), ("bob", 1, None, "unclear")]


def test_difficulty_is_one_more_column(build):
    assert consensus(build, difficulty=np.arange(5.0)).ranking["difficulty"].to_list() == [1, 0, 2, 3, 4]


def test_parts_that_were_never_compared_are_counted_by_task(build):
    assert consensus(build).disconnected == {}
    assert consensus(build, component=np.array([0, 0, 0, 1, 1])).disconnected == {}
    assert consensus(build, component=np.array([0, 1, 0, 2, 2])).disconnected == {"t1": 2}
    assert consensus(build, component=np.array([0, 1, 2, 3, 4])).disconnected == {"t1": 3, "t2": 2}


def test_a_consensus_survives_pickling(build):
    one = consensus(build, fit=Fit(3, False, -1.5), notes=("look here",))
    before = one.ranking  # also what was computed on first use
    again = pickle.loads(pickle.dumps(one))
    assert again.ranking.equals(before)
    assert again.annotators.equals(one.annotators)
    assert (again.fit, again.notes, again.method) == (one.fit, one.notes, one.method)


def test_it_says_what_it_is(build):
    text = repr(consensus(build, fit=Fit(7, False), notes=("look here",)))
    assert text.startswith("Consensus by test: 5 entries in 2 tasks, 2 annotators; NOT converged in 7 steps")
    assert text.endswith("note: look here")
    assert "converged in 0 steps" in repr(consensus(build))
    assert "NOT" not in repr(consensus(build))


def test_it_cannot_be_changed(build):
    with pytest.raises(AttributeError):
        consensus(build).method = "other"


def test_curves_and_unsure_without_a_model_of_grades(build):
    """A method that knows no curves has none; without intervals nobody can say what is unsure."""
    consensus = Mean().fit(build.judgments(grades=[("t", "ann", "x", 1.0), ("t", "ann", "y", 2.0)]))
    assert consensus.curves is None
    with pytest.raises(cr.JudgmentError, match=r"mean has no intervals.* cr\.bootstrap"):
        consensus.unsure()
