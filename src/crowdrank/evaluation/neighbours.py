"""Which neighbours of a ranking are distinguishable, and which might be in the opposite order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from crowdrank.consensus import Consensus, frame_of
from crowdrank.settings import check
from crowdrank.study import JudgmentError


def neighbours(consensus: Consensus, level: float = 0.95) -> Any:
    """A data frame with a row for each pair of neighbours in each task's ranking, best first.

    Columns: task, item, next_item, gap (between their scores), error (its standard error), probability (that the item
    is truly above the next: after a bootstrap the share of its rounds, else from a normal distribution of the gap),
    distinguishable (whether that is at least `level`). The probability is missing for neighbours that no chain of
    comparisons connects.

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=4, annotators=5, votes=400, seed=0)
    >>> neighbours(cr.BradleyTerry().fit(study.judgments)).columns
    ['task', 'item', 'next_item', 'gap', 'error', 'probability', 'distinguishable']
    """
    check(0.5 <= level < 1, "level", level, "at least 0.5 and below 1")
    if consensus.gap_error is None:
        raise JudgmentError(
            f"{consensus.method} gives no standard errors of the gaps between neighbours: "
            "use a method with intervals, or cr.bootstrap (rank --bootstrap 200), which works with every method"
        )
    vocabulary, (above, below) = consensus.vocabulary, consensus.neighbours
    gap, error = consensus.score[above] - consensus.score[below], consensus.gap_error[above]
    if consensus.gap_chance is not None:
        probability = consensus.gap_chance[above]
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            probability = ndtr(np.where((gap == 0) & (error == 0), 0.0, gap / error))
    if consensus.component is not None:
        probability[consensus.component[above] != consensus.component[below]] = np.nan
    columns: dict[str, NDArray[Any]] = {
        "task": vocabulary.tasks[vocabulary.entry_task[above]],
        "item": vocabulary.items[vocabulary.entry_item[above]],
        "next_item": vocabulary.items[vocabulary.entry_item[below]],
        "gap": gap,
        "error": error,
        "probability": probability,
        "distinguishable": probability >= level,
    }
    return frame_of(columns, vocabulary.frame).to_native()
