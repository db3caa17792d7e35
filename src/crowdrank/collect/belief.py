"""What a fit of Crowd-BT to all judgments believes: the posterior that every answer since then has moved.

A fit gives draws of all scores together. Answers since then change the mean and variance of single scores; the draws
follow by a shift and a factor for each entry, so that they keep their shape, and how entries depend on each other.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.formats.saved_json import saved_numbers, saved_texts
from crowdrank.methods.verdicts import QUALITY, USUAL_CROWD, VIRTUAL_ANNOTATORS
from crowdrank.numerics.special import NORMAL_95
from crowdrank.study import Floats

N_DRAWS = 200
SMALLEST = float(np.finfo(np.float64).tiny)  # of variances and counts, which are above 0
FEWEST_ANSWERS, MOST_ANSWERS = 0.2, 1e7  # that a Beta distribution counts as

Draws = NDArray[np.float32]  # draw × entry


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """The posterior at the last fit."""

    mean: Floats  # per entry
    variance: Floats
    low: Floats  # the interval that crowd-bt reports
    high: Floats
    draws: Draws
    upright: float  # the probability that not the opposite ranking is right
    verdict: NDArray[np.object_]  # per annotator
    judgments: float  # how many it was fitted to

    @classmethod
    def of(cls, fit: Consensus, judgments: float) -> Belief:
        """From a consensus of crowd-bt with intervals."""
        mean = np.nan_to_num(fit.score)
        low, high = (mean if end is None else np.nan_to_num(end) for end in (fit.low, fit.high))
        variance = ((high - low) / (2 * NORMAL_95)) ** 2
        if fit.draws is not None:
            variance = fit.draws.var(axis=0, dtype=np.float64)
        variance = np.maximum(variance, SMALLEST)
        draws = normal_draws(mean, variance) if fit.draws is None else fit.draws
        return cls(mean, variance, low, high, draws, fit.upright, fit.annotator_columns["verdict"], judgments)

    def moved(self, mean: Floats, variance: Floats) -> Draws:
        """The draws where scores have another mean and variance now."""
        factor = np.sqrt(variance / self.variance)
        return np.asarray((self.draws - self.mean) * factor + mean, dtype=np.float32)

    def interval(self, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
        """The interval where scores have another mean and variance now."""
        factor = np.sqrt(variance / self.variance)
        return mean + (self.low - self.mean) * factor, mean + (self.high - self.mean) * factor

    def over(self, entry: NDArray[Any], annotator: NDArray[Any], mean: Floats, variance: Floats) -> Belief:
        """The same over other entries and annotators, with the old code of each, −1 for new ones.

        New entries have this mean and variance.
        """
        old, new = np.flatnonzero(entry >= 0), np.flatnonzero(entry < 0)
        kept, half = entry[old], NORMAL_95 * np.sqrt(variance)
        columns = {"mean": mean.copy(), "variance": variance.copy(), "low": mean - half, "high": mean + half}
        for name, values in columns.items():
            values[old] = getattr(self, name)[kept]
        draws = np.empty((len(self.draws), len(entry)), np.float32)
        draws[:, old] = self.draws[:, kept]
        draws[:, new] = normal_draws(mean[new], variance[new], len(draws))
        verdict = np.array([self.verdict[code] if code >= 0 else "unclear" for code in annotator], dtype=object)
        return Belief(**columns, draws=draws, upright=self.upright, verdict=verdict, judgments=self.judgments)

    def saved(self) -> dict[str, Any]:
        """For a file."""
        arrays = {name: getattr(self, name).tolist() for name in ("mean", "variance", "low", "high", "verdict")}
        packed = base64.b64encode(self.draws.astype("<f4").tobytes()).decode()
        numbers = {"n_draws": len(self.draws), "upright": self.upright, "judgments": self.judgments}
        return {**arrays, **numbers, "draws": packed}

    @classmethod
    def restored(cls, saved: Mapping[str, Any], n_entries: int, n_annotators: int) -> Belief:
        """From a file; a ValueError where something does not fit."""
        packed = np.frombuffer(base64.b64decode(saved["draws"], validate=True), "<f4")
        draws = saved_numbers(packed.reshape(int(saved["n_draws"]), -1), int(saved["n_draws"]), n_entries)
        mean, low, high = (saved_numbers(saved[name], n_entries) for name in ("mean", "low", "high"))
        verdict = np.array(saved_texts(saved["verdict"]), dtype=object)
        upright = float(saved_numbers(saved["upright"], least=0.0, most=1.0))
        if len(verdict) != n_annotators or not len(draws):
            raise ValueError("the lengths of the arrays do not fit together")
        variance = saved_numbers(saved["variance"], n_entries, least=SMALLEST)
        judgments = float(saved_numbers(saved["judgments"], least=0.0))
        return cls(mean, variance, low, high, draws.astype(np.float32), upright, verdict, judgments)


def normal_draws(mean: Floats, variance: Floats, count: int = N_DRAWS) -> Draws:
    """Draws of independent normal scores, always the same for the same number of them."""
    return np.asarray(mean + np.sqrt(variance) * _standard_draws(count, len(mean)), dtype=np.float32)


@lru_cache(maxsize=8)
def _standard_draws(count: int, n_entries: int) -> Draws:
    """Standard normal numbers of which those of every entry have the mean 0 and the variance 1."""
    draws = np.random.default_rng(n_entries).standard_normal((count, n_entries), dtype=np.float32)
    draws -= draws.mean(axis=0)
    return np.asarray(draws / np.maximum(draws.std(axis=0), 1e-6))


def beta_of(mean: Floats | float, variance: Floats | float) -> tuple[Floats, Floats]:
    """α and β of the Beta distribution with this mean and variance."""
    mean = np.clip(np.asarray(mean, dtype=np.float64), 1e-4, 1 - 1e-4)
    size = mean * (1 - mean) / np.maximum(variance, SMALLEST) - 1
    size = np.clip(size, FEWEST_ANSWERS, MOST_ANSWERS)
    return mean * size, (1 - mean) * size


def crowd_beta(quality: Floats, variance: Floats) -> tuple[float, float]:
    """The Beta distribution of the quality of somebody new, who is like the others and like usual annotators."""
    usual = np.array([USUAL_CROWD @ QUALITY, USUAL_CROWD @ QUALITY**2]) / USUAL_CROWD.sum()
    total = np.array([quality.sum(), (quality**2 + variance).sum()]) + VIRTUAL_ANNOTATORS * usual
    first, second = total / (len(quality) + VIRTUAL_ANNOTATORS)
    alpha, beta = beta_of(first, second - first**2)
    return float(alpha), float(beta)
