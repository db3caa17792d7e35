"""The kernels of lists in NumPy, for studies with few rows.

To compile the kernels takes seconds, more than such a study needs for everything else. Every choice (lists/kernels.py)
has a row, with the share of each entry's worth that it is made among: D = shares @ worth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.rankings.lists import kernels
from crowdrank.methods.rankings.lists.kernels import ListData
from crowdrank.study import Floats

# How the kernels see groups of ties.
_choices, _end_of_group = (each.py_func for each in (kernels.choices_made, kernels.end_of_group))


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """All choices of some lists."""

    share: Floats  # of each entry, in a row for each choice
    weight: Floats  # of each choice
    chosen: Floats  # per entry, the weighted number of its choices; one of a group of ties counts a part for each

    def terms(self, score: Floats, worth: Floats) -> tuple[float, Floats, Floats]:
        """Minus the log-likelihood, its gradient and the diagonal of its Hessian."""
        among = _times(self.share, worth)
        once = _times(self.share.T, self.weight / among)
        twice = _times(self.share.T**2, self.weight / among**2)
        value = float((self.weight * np.log(among)).sum() - (self.chosen * score).sum())
        return value, worth * once - self.chosen, worth * once - worth**2 * twice

    def hessian_product(self, worth: Floats, moved: Floats) -> Floats:
        """The Hessian times v, where `moved` is worth times v."""
        among = _times(self.share, worth)
        mean = _times(self.share, moved) / among
        weight = self.weight / among
        return moved * _times(self.share.T, weight) - worth * _times(self.share.T, weight * mean)


def _times(table: Floats, vector: Floats) -> Floats:
    """The product, whose bits do not depend on the number of threads."""
    return np.asarray(np.einsum("ij,j->i", table, vector))


def choices_of(lists: ListData, task_starts: NDArray[np.int64], n_entries: int) -> Choices:
    """The choices of all lists, one after the other."""
    share: list[Floats] = []
    weight: list[float] = []
    chosen = np.zeros(n_entries)
    for number, task in enumerate(lists.task):
        start, end = lists.starts[number], lists.starts[number + 1]
        among = np.zeros(n_entries)
        among[lists.entry[start:end]] = 1
        if lists.unlisted[number] > 0:
            among[task_starts[task] : task_starts[task + 1]] = 1
        while start < end:
            after = _end_of_group(start, end, lists.tied)
            group, size = lists.entry[start:after], after - start
            count = _choices(size, after < end, lists.unlisted[number])
            for left in range(size, size - count, -1):
                among[group] = left / size
                share.append(among.copy())
            weight += [lists.weight[number]] * count
            chosen[group] += lists.weight[number] * count / size
            among[group] = 0
            start = after
    return Choices(np.array(share).reshape(len(share), n_entries), np.array(weight), chosen)
