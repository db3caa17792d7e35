"""What every consensus looks like."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import polars as pl
import pytest


@pytest.fixture
def consensus(case, studies):
    return case.fit(studies.study(studies.table(case.kind)))


def test_every_entry_has_a_score_and_a_rank(consensus):
    """In a study where everybody judged everything."""
    entries = consensus.vocabulary.n_entries
    assert consensus.score.shape == consensus.rank.shape == (entries,)
    assert np.isfinite(consensus.score).all()
    assert (consensus.rank >= 1).all()
    assert len(consensus.ranking) == entries


def test_columns(consensus):
    """Results have the columns that the design promises, in that order."""
    assert consensus.ranking.columns[:6] == ["task", "item", "rank", "score", "low", "high"]
    assert consensus.annotators.columns[:4] == ["annotator", "judgments", "quality", "verdict"]


def test_rows_are_sorted_and_ranks_follow_scores(consensus):
    """Within each task the best comes first; a higher score has a better rank, equal scores share it."""
    assert consensus.ranking["task"].to_list() == sorted(consensus.ranking["task"])
    for _, task in consensus.ranking.group_by("task"):
        score, rank = task["score"].to_numpy(), task["rank"].to_numpy()
        assert (np.diff(rank) >= 0).all()
        assert rank.tolist() == [1 + int((score > own + 1e-9).sum()) for own in score]


def test_intervals_are_there_where_the_description_says_so(consensus, case):
    assert (consensus.low is not None) == (consensus.high is not None) == case.method.description.gives_intervals


def test_intervals_hold_the_score(consensus):
    """Where a method has intervals, the score lies inside."""
    scored = consensus.ranking.drop_nulls(["low", "high"])
    assert scored.filter((pl.col("low") > pl.col("score")) | (pl.col("high") < pl.col("score"))).is_empty()


def test_annotators(consensus, studies, case):
    """One row per annotator, who gave as many judgments as they gave; quality is a probability or unknown."""
    table = studies.table(case.kind)
    assert consensus.annotators["annotator"].to_list() == sorted(set(table["annotator"]))
    assert consensus.annotators["judgments"].sum() == len(table["task"])
    quality = consensus.annotators["quality"]
    assert quality.drop_nulls().is_between(0, 1).all()
    assert not quality.is_nan().any()


def test_it_prints(consensus, case):
    """With the method's name, how the fit ended, and its notes."""
    text = repr(consensus)
    assert case.name in text
    assert "converged" in text


def test_one_step_is_not_converged(case, studies):
    """Methods that iterate say so when they were stopped early, in the fit and in a note."""
    if "max_iter" not in {field.name for field in fields(case.method)}:
        pytest.skip("closed form")
    judgments = studies.study(studies.table(case.kind))
    stopped, done = case.fit(judgments, max_iter=1), case.fit(judgments)
    assert (stopped.fit.steps, stopped.fit.converged) == (1, False)
    assert any("not converged after 1 step" in note for note in stopped.notes)
    assert done.fit.converged
    assert not any("not converged" in note for note in done.notes)
