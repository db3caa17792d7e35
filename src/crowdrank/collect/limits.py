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
    """What each annotator may be asked.

    Annotator k may be asked about entries i and j if `allowed[k, i]` and `allowed[k, j]`, and the pair is not in
    `asked`. With n entries, its keys are (k n + i) n + j and (k n + j) n + i. The code after the last annotator stands
    for everybody.
    """

    allowed: NDArray[np.bool_]  # annotators × entries: not their own items, nor items out of rotation
    cost: Floats  # of an answer of each annotator; gains are per unit of it
    asked: Keys  # sorted

    @classmethod
    def none(cls, vocabulary: Vocabulary) -> Limits:
        """Everybody may be asked everything, at the same cost."""
        n_annotators, n = len(vocabulary.annotators), vocabulary.n_entries
        return cls(np.ones((n_annotators, n), bool), np.ones(n_annotators), np.zeros(0, np.int64))

    def without(self, annotator: Whole, left: Whole, right: Whole) -> Limits:
        """These annotators are not asked these pairs (again)."""
        new = np.unique(self.keys(annotator, left, right))
        at = np.searchsorted(self.asked, new)
        present = np.append(self.asked, -1)[at] == new
        return replace(self, asked=np.insert(self.asked, at[~present], new[~present]))

    def without_judged(self, pairs: Pairs) -> Limits:
        """Nobody is asked again what they have answered."""
        return self.without(pairs.annotator, pairs.left, pairs.right)

    def without_pair(self, left: int, right: int) -> Limits:
        """Nobody at all is asked this pair."""
        everybody = np.array([len(self.allowed)])
        return self.without(everybody, np.array([left]), np.array([right]))

    def without_annotators(self, annotator: Whole) -> Limits:
        """These annotators are not asked anything."""
        allowed = self.allowed.copy()
        allowed[annotator] = False
        return replace(self, allowed=allowed)

    def keys(self, annotator: Whole, left: Whole, right: Whole) -> Keys:
        """The keys of pairs, in both orders."""
        n = self.allowed.shape[1]
        row = annotator.astype(np.int64) * n
        return np.concatenate([(row + left) * n + right, (row + right) * n + left])

    def permits(self, annotator: Whole, left: Whole, right: Whole) -> NDArray[np.bool_]:
        """Which of these questions may be asked."""
        n = self.allowed.shape[1]
        permitted = self.allowed[annotator, left] & self.allowed[annotator, right]
        asked = np.append(self.asked, -1)
        for who in (annotator.astype(np.int64), len(self.allowed)):
            key = (who * n + left) * n + right
            permitted &= asked[np.searchsorted(self.asked, key)] != key
        return np.asarray(permitted)
