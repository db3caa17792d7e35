"""Who may be asked what, and at what cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.study import Floats, Pairs, Vocabulary

Keys = NDArray[np.int64]
Whole = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """Annotator k may be asked about entries i and j if `allowed[k, i]` and `allowed[k, j]`, and the pair is not among the `asked`."""

    allowed: NDArray[np.bool_]  # annotators × entries: not their own items, nor those out of rotation
    cost: Floats  # of an answer of each annotator; gains are per unit of it
    asked: Keys  # sorted: (k n + i) n + j for each pair that k was asked, both ways around; k of nobody in particular stands for everybody

    @classmethod
    def none(cls, vocabulary: Vocabulary) -> Limits:
        """Everybody may be asked everything, at the same cost."""
        who, n = len(vocabulary.annotators), vocabulary.n_entries
        return cls(np.ones((who, n), bool), np.ones(who), np.zeros(0, np.int64))

    def without(self, annotator: Whole, left: Whole, right: Whole) -> Limits:
        """These annotators are not asked these pairs (again)."""
        new = np.unique(self.keys(annotator, left, right))
        at = np.searchsorted(self.asked, new)
        there = np.append(self.asked, -1)[at] == new
        return replace(self, asked=np.insert(self.asked, at[~there], new[~there]))

    def without_judged(self, pairs: Pairs) -> Limits:
        """Nobody is asked again what they have answered."""
        return self.without(pairs.annotator, pairs.left, pairs.right)

    def without_pair(self, left: int, right: int) -> Limits:
        """Nobody at all is asked this pair."""
        everybody = np.array([len(self.allowed)])
        return self.without(everybody, np.array([left]), np.array([right]))

    def keys(self, annotator: Whole, left: Whole, right: Whole) -> Keys:
        """The keys of pairs, both ways around."""
        n = self.allowed.shape[1]
        row = annotator.astype(np.int64) * n
        return np.concatenate([(row + left) * n + right, (row + right) * n + left])

    def permits(self, annotator: Whole, left: Whole, right: Whole) -> NDArray[np.bool_]:
        """Which of these questions may be asked."""
        n = self.allowed.shape[1]
        open_to = self.allowed[annotator, left] & self.allowed[annotator, right]
        for who in (annotator.astype(np.int64), len(self.allowed)):
            open_to &= ~np.isin((who * n + left) * n + right, self.asked)
        return np.asarray(open_to)
