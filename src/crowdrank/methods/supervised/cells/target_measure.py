"""The measure that a supervised method optimises: gains, discounts and values of lists."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from crowdrank.numerics.permutations import CASCADE, PRECISION, SUM, discounts, reciprocals, worth
from crowdrank.settings import check
from crowdrank.study import Floats

WANTED = "ndcg, ndcg@k, err, err@k, map or p@k"


@dataclass(frozen=True, slots=True)
class Target:
    """A measure by its name: ndcg or err, with or without a depth, map, or p@k."""

    family: str
    depth: int | None = None

    @property
    def how(self) -> int:
        """How `numerics.permutations` computes it."""
        return {"ndcg": SUM, "p": SUM, "err": CASCADE, "map": PRECISION}[self.family]

    def gain(self, grade: Floats, top: float) -> Floats:
        """The gain of an item of each grade; `top` is the largest grade."""
        if self.family in ("map", "p"):
            return (grade >= 1).astype(np.float64)
        # Divided by 2^top: a scale of 0 to 100 must not overflow.
        return np.asarray(np.where(grade > 0, np.exp2(grade - top) - np.exp2(-top), 0.0))

    def discount(self, places: int) -> Floats:
        """The discount of each place, down to the depth."""
        places = min(places, self.depth or places)
        if self.family == "p":
            return np.full(places, 1 / (self.depth or places))
        return discounts(places) if self.family == "ndcg" else reciprocals(places)

    def best(self, gain: Floats) -> Floats:
        """The value of the best order of each row of gains."""
        descending = -np.sort(-gain, axis=1)
        how, discount = self.how, self.discount(gain.shape[1])
        return np.array([worth(how, row, discount) for row in descending])


def target(name: str) -> Target:
    """The measure of that name.

    >>> target("ndcg@5")
    Target(family='ndcg', depth=5)
    """
    parts = re.fullmatch(r"(ndcg|err|map|p)(?:@([1-9]\d*))?", name) if isinstance(name, str) else None
    check(
        parts is not None and (parts[2] or parts[1] != "p") and not (parts[2] and parts[1] == "map"),
        "measure",
        name,
        WANTED,
    )
    assert parts is not None
    return Target(parts[1], int(parts[2]) if parts[2] else None)


def worth_of_list(wanted: Target, gain: Floats) -> float:
    """The measure of a list whose items, best first, have these gains: a share of the best order; 0 without gain."""
    best = float(wanted.best(gain[None])[0])
    return worth(wanted.how, gain, wanted.discount(len(gain))) / best if best > 0 else 0.0
