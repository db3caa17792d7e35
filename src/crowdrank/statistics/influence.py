"""How much the gap between two entries would change without a judgment, to first order.

By the model of `statistics.misfit` around the scores: a judgment pulls its entries apart by slope · residual, and all
judgments together hold them by the information matrix H. Without judgment r the gap of entries a and b changes by
−gᵣᵀ H⁻¹ (e_a − e_b).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.numerics.sums import sum_by
from crowdrank.statistics.misfit import residuals
from crowdrank.study import Codes, Floats, Judgments

RIDGE = 0.1  # virtual information about every score: keeps H regular for entries that nothing connects


class Influence:
    """The influence of each judgment of a study, by its number in a larger study."""

    def __init__(
        self, consensus: Consensus, judgments: Judgments, number: NDArray[np.int64], whose: Codes, weighted: bool
    ) -> None:
        counts = judgments.counts
        first = {"grades": 0, "pairs": counts["grades"], "rankings": counts["grades"] + counts["pairs"]}
        parts = residuals(consensus, judgments)
        self.number, self.whose, self.score = number, whose, consensus.score
        self.n_judgments, self.n_entries = sum(counts.values()), len(consensus.score)
        trust = _trust(consensus, len(judgments.vocabulary.annotators)) if weighted else None
        pull, hold, one, other, judgment = [], [], [], [], []
        for part in parts:
            weight = np.ones(len(part)) if trust is None else trust[part.annotator]
            weight *= part.slope[judgments.vocabulary.entry_task[part.entry]]
            pull.append(weight * (part.value - part.expected))
            hold.append(weight**2 * part.variance)
            one.append(part.entry)
            other.append(part.other)
            judgment.append(part.judgment + first[part.kind])
        self.pull, self.hold = _stacked(pull, np.float64), _stacked(hold, np.float64)
        self.one, self.other = _stacked(one, np.int32), _stacked(other, np.int32)
        self.judgment = _stacked(judgment, np.int64)

    def order(self, inside: int, outside: int, of: str) -> tuple[NDArray[np.int64], int]:
        """Judgments (or annotators) whose removal closes the gap, the most influential first, and how many it takes."""
        x = self._solve(inside, outside)
        apart = x[self.one] - np.where(self.other >= 0, x[self.other], 0.0)
        per_judgment = sum_by(self.judgment, -self.pull * apart, self.n_judgments)
        if of == "annotators":
            change = sum_by(self.whose[self.number], per_judgment, int(self.whose.max(initial=-1)) + 1)
            names = np.arange(len(change))
        else:
            change, names = per_judgment, self.number
        closing = np.flatnonzero(change < 0)
        closing = closing[np.argsort(change[closing], kind="stable")]
        gap = float(self.score[inside] - self.score[outside])
        needed = int(np.searchsorted(-np.cumsum(change[closing]), gap)) + 1
        return names[closing], needed

    def _solve(self, inside: int, outside: int) -> Floats:
        """H⁻¹ (e_inside − e_outside), by conjugate gradients."""
        from scipy.sparse.linalg import LinearOperator, cg  # here, not above: `rank` does without SciPy

        n, two = self.n_entries, self.other >= 0
        one, other, hold = self.one[two], self.other[two], self.hold[two]
        alone = sum_by(self.one[~two], self.hold[~two], n) + RIDGE
        diagonal = alone + sum_by(one, hold, n) + sum_by(other, hold, n)

        def product(v: Floats) -> Floats:
            v = np.asarray(v).ravel()
            flow = hold * (v[one] - v[other])
            return np.asarray(alone * v + sum_by(one, flow, n) - sum_by(other, flow, n))

        wanted = np.zeros(n)
        wanted[inside], wanted[outside] = 1.0, -1.0
        h = LinearOperator((n, n), matvec=product, dtype=np.float64)
        scaled = LinearOperator((n, n), matvec=lambda v: np.asarray(v).ravel() / diagonal, dtype=np.float64)
        return np.asarray(cg(h, wanted, rtol=1e-6, maxiter=500, M=scaled)[0])


def _trust(consensus: Consensus, n: int) -> Floats:
    """2 · quality − 1 of each annotator: 1 right, 0 random, −1 reversed; the mean over tasks, if it differs."""
    code = {name: number for number, name in enumerate(consensus.vocabulary.annotators)}
    rows = np.array([code[name] for name in consensus.annotator_columns["annotator"]], dtype=np.int32)
    quality = np.nan_to_num(consensus.annotator_columns["quality"], nan=0.5)
    return np.asarray(2 * sum_by(rows, quality, n) / np.maximum(np.bincount(rows, minlength=n), 1) - 1)


def _stacked(parts: list[Any], kind: Any) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, kind)
