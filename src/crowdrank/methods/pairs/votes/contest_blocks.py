"""The contests of a study in blocks of whole tasks, so that what is computed from them needs little memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from crowdrank.methods.pairs.votes.contests import Contests
from crowdrank.numerics.groups import Places
from crowdrank.numerics.progress import report

ROWS = 2_000_000  # of contests in a block, or those of one task


class ContestBlock(NamedTuple):
    """Some tasks: their entries in the study, and their contests, with entries numbered from 0."""

    entries: slice
    task_starts: Places
    contests: Contests


def contest_blocks(counted: Contests, task_starts: Places, doing: str) -> Iterator[ContestBlock]:
    """One block after the other; reports progress as `doing`."""
    before = counted.starts[task_starts]  # contests before each task
    edges = np.unique(np.r_[np.searchsorted(before, np.arange(0, before[-1], ROWS)), len(task_starts) - 1])
    for number, (first, last) in enumerate(pairwise(np.r_[0, edges[edges > 0]])):
        report(doing, number, len(edges))
        begin, end = task_starts[first], task_starts[last]
        rows = slice(counted.starts[begin], counted.starts[end])
        own = Contests(
            counted.starts[begin : end + 1] - rows.start,
            counted.other[rows] - np.int32(begin),
            counted.won[rows],
            counted.lost[rows],
        )
        yield ContestBlock(slice(begin, end), task_starts[first : last + 1] - begin, own)
