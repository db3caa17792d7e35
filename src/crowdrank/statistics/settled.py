"""How much of a ranking is settled: who may be best, expected ranks, and whether the top k are known."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from crowdrank.consensus import Consensus, frame_of
from crowdrank.numerics.special import NORMAL_95
from crowdrank.settings import SettingError, check, is_number
from crowdrank.study import Floats

DRAWS = 4000
ONE_SIDED = 1.6448536269514722  # 95 % of a normal distribution lie below


def settled(consensus: Consensus, *, top: int = 1, level: float = 0.95, seed: int = 0) -> Any:
    """A data frame that says, for each item, what is settled about its rank; needs a method with intervals.

    Columns: task, item, rank; best, the probability that no other item of the task is better; expected_rank; in_top,
    the probability of being among the best `top`; settled, whether it is at least `level` that the item is, or is not,
    among them; votes_factor, how many times as many votes, given as these were, would show at 95 % that the item is
    better than the next one (1 where they do already; empty for the last); more_votes, how many more these are. Where
    annotators are trusted, more_trusted_votes is how many more votes of these alone would do. Scores count as
    independent and normal.

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=6, annotators=10, votes=3000, seed=1)
    >>> found = settled(cr.fit("bradley-terry", study.judgments), top=3)
    >>> round(found["best"].sum(), 6), round(found["in_top"].sum(), 6)
    (1.0, 3.0)
    """
    check(isinstance(top, int) and top >= 1, "top", top, "a whole number above 0")
    check(is_number(level) and 0.5 < level < 1, "level", level, "a number above 0.5 and below 1")
    if consensus.low is None or consensus.high is None:
        raise SettingError(
            f"{consensus.method} has no intervals: fit a method that has them, or use cr.bootstrap, for any method"
        )
    words, order = consensus.vocabulary, consensus.best_first
    best, expected, in_top = _chances(consensus, top, np.random.default_rng(seed))
    columns = {
        "task": words.tasks[words.entry_task],
        "item": words.items[words.entry_item],
        "rank": consensus.rank,
        "best": best,
        "expected_rank": expected,
        "in_top": in_top,
        "settled": np.maximum(in_top, 1 - in_top) >= level,
        **_wanted_votes(consensus),
    }
    ranked = order[consensus.rank[order] > 0]
    return frame_of({name: column[ranked] for name, column in columns.items()}, words.frame).to_native()


def _chances(consensus: Consensus, top: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Of each entry: the chance of being best, the expected rank, and the chance of being among the best."""
    assert consensus.low is not None
    assert consensus.high is not None
    best, expected, in_top = np.full((3, len(consensus.score)), np.nan)
    error = (consensus.high - consensus.low) / (2 * NORMAL_95)
    starts = consensus.vocabulary.task_starts
    for start, end in pairwise(starts.tolist()):
        entries = np.arange(start, end)[consensus.rank[start:end] > 0]
        if not len(entries):
            continue
        noise = rng.normal(size=(DRAWS, len(entries)))
        places = np.argsort(np.argsort(-(consensus.score[entries] + error[entries] * noise), axis=1), axis=1) + 1
        best[entries], expected[entries] = (places == 1).mean(axis=0), places.mean(axis=0)
        in_top[entries] = (places <= top).mean(axis=0)
    return best, expected, in_top


def _wanted_votes(consensus: Consensus) -> dict[str, Floats]:
    """How many more votes are wanted: given as these were, and of trusted annotators alone."""
    given, factor = consensus.annotator_columns["judgments"], _votes_factor(consensus)
    columns = {"votes_factor": factor, "more_votes": np.ceil((factor - 1) * float(given.sum()))}
    worth = consensus.settings.get("untrusted_worth")
    if worth is not None:
        own = float(given[consensus.annotator_columns["trusted"]].sum())
        columns["more_trusted_votes"] = np.ceil((factor - 1) * (own + worth))
    return columns


def _votes_factor(consensus: Consensus) -> Floats:
    """By how much votes must grow until the gap to the next entry is clear; its error falls with their root."""
    factor = np.full(len(consensus.score), np.nan)
    if consensus.gap_error is None:
        return factor
    above, below = consensus.neighbours
    gap = consensus.score[above] - consensus.score[below]
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = (ONE_SIDED * consensus.gap_error[above] / gap) ** 2
    factor[above] = np.where(gap > 0, np.maximum(wanted, 1.0), np.nan)
    return factor
