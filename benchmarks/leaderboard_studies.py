"""Simulated leaderboards: votes with covariates, categories and biases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from crowdrank.study import Grades, Judgments, Pairs, Rankings, Vocabulary, ids


@dataclass(frozen=True)
class Design:
    """Of a simulated study."""

    votes: int
    items: int = 15
    categories: int = 4
    covariates: int = 2
    annotators: int = 30
    spread: float = 1.0  # of the scores
    crowd: bool = True  # annotators have qualities, slopes and biases
    spam: float = 0.0  # share of annotators who guess
    ties: float = 0.0  # the usual readiness to tie
    deviation: float = 0.4  # spread of the deviations in categories
    bias: float = 0.5  # spread of the preferences for the left; that of the slopes is .8 of it


def simulated(design: Design, seed: int) -> tuple[Judgments, dict[str, Any]]:
    """Votes and what they were drawn from. The first covariate is a length, the last one says whose own family won."""
    rng = np.random.default_rng(seed)
    n, k, size, crowd = design.items, design.annotators, design.votes, design.crowd
    left = rng.integers(n, size=size).astype(np.int32)
    right = ((left + 1 + rng.integers(n - 1, size=size)) % n).astype(np.int32)
    who, category = rng.integers(k, size=size).astype(np.int32), rng.integers(design.categories, size=size)
    quality = np.where(rng.random(k) < design.spam, 0.5, rng.beta(8, 2, size=k)) if crowd else np.ones(k)
    truth: dict[str, Any] = {
        "score": design.spread * rng.normal(size=n),
        "deviation": design.deviation * rng.normal(size=(design.categories, n)),
        "coefficient": rng.normal(size=design.covariates) / 2,
        "slope": 0.8 * design.bias * crowd * rng.normal(size=(k, design.covariates)),
        "bias": design.bias * crowd * rng.normal(size=k),
        "ties": design.ties * np.exp(0.4 * crowd * rng.normal(size=k)),
        "quality": quality,
    }
    x = rng.normal(size=(size, design.covariates))
    if design.covariates > 1:
        x[:, -1] = rng.choice([-1.0, 0.0, 0.0, 1.0], size=size)
    z, both = x / np.sqrt((x**2).mean(axis=0)), truth["score"] + truth["deviation"]
    gap = both[category, left] - both[category, right] + z @ truth["coefficient"]
    own, eta = truth["bias"][who] + (z * truth["slope"][who]).sum(axis=1), quality[who]
    won = rng.random(size) < eta * expit(gap + own) + (1 - eta) * expit(own - gap)
    ties = truth["ties"][who]
    tied = rng.random(size) < ties / (ties + 2 * np.cosh(np.minimum(np.abs((2 * eta - 1) * gap / 2), 300)))
    outcome = np.where(tied, 0, np.where(won, 1, -1)).astype(np.int8)
    words = Vocabulary(
        ids(["all"]),
        ids([f"model{i:03}" for i in range(n)]),
        ids([f"annotator{i:04}" for i in range(k)]),
        np.zeros(n, np.int32),
        np.arange(n, dtype=np.int32),
    )
    code, number = np.zeros(0, np.int32), np.zeros(0)
    judgments = Judgments(
        words,
        Grades(code, code, number),
        Pairs(who, left, right, outcome, covariates=x, category=category.astype(np.int32)),
        Rankings(code, code, np.zeros(0, bool), code, code, number),
        covariates=tuple(f"x{j}" for j in range(design.covariates)),
        categories=ids([f"category{c:02}" for c in range(design.categories)]),
    )
    return judgments, truth
