"""Simulated votes with covariates, categories and biases, whose truth is known."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

import crowdrank as cr
from crowdrank.study import Judgments, ids


@dataclass(frozen=True)
class Truth:
    """What the votes were drawn from; coefficients are for a standard deviation of the covariate."""

    judgments: Judgments
    score: np.ndarray
    deviation: np.ndarray  # category × item
    coefficient: np.ndarray
    slope: np.ndarray  # annotator × covariate
    bias: np.ndarray


def simulated(
    *, items=10, annotators=12, votes=2000, covariates=2, categories=3, seed=0, deviation=0.4, slope=0.0, bias=0.0,
    quality=None, ties=0.0,
) -> Truth:  # fmt: skip
    rng = np.random.default_rng(seed)
    study = cr.simulate.pairs(items=items, annotators=annotators, votes=votes, seed=seed).judgments
    pairs, n = study.pairs, study.vocabulary.n_entries
    score, apart = rng.normal(size=n), deviation * rng.normal(size=(categories, n))
    coefficient = rng.normal(size=covariates) / 2
    slopes, biases = slope * rng.normal(size=(annotators, covariates)), bias * rng.normal(size=annotators)
    x = rng.normal(size=(len(pairs), covariates)) * np.arange(1, covariates + 1)
    z = x / np.sqrt((x**2).mean(axis=0))
    category, who = rng.integers(categories, size=len(pairs)).astype(np.int32), pairs.annotator
    gap = score[pairs.left] - score[pairs.right] + z @ coefficient
    gap += apart[category, pairs.left] - apart[category, pairs.right]
    own = biases[who] + (z * slopes[who]).sum(axis=1)
    eta = (np.ones(annotators) if quality is None else quality)[who]
    left = rng.random(len(pairs)) < eta * expit(gap + own) + (1 - eta) * expit(own - gap)
    tied = rng.random(len(pairs)) < ties / (ties + 2 * np.cosh((2 * eta - 1) * gap / 2))
    outcome = np.where(tied, 0, np.where(left, 1, -1)).astype(np.int8)
    judgments = replace(
        study,
        pairs=replace(pairs, outcome=outcome, covariates=x, category=category),
        covariates=tuple(f"x{j}" for j in range(covariates)),
        categories=ids([f"category {level}" for level in range(categories)]),
    )
    return Truth(judgments, score, apart, coefficient, slopes, biases)
