"""Votes with covariates, categories and biases: do intervals contain the truth, and how long does a fit take?

    python benchmarks/leaderboards.py coverage [STUDIES]
    python benchmarks/leaderboards.py speed [VOTES]

`speed` fits 200 models, 30 categories, 10 covariates and 1,000 annotators, and compares the part without categories
with scikit-learn's logistic regression on the same design and penalty.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

import crowdrank as cr
from crowdrank.methods.pairs.leaderboard.covariates import standardised
from crowdrank.methods.pairs.leaderboard.model import EffectModel, Effects
from crowdrank.methods.pairs.leaderboard.solver import Spreads, find_mode
from crowdrank.study import Grades, Judgments, Pairs, Rankings, Vocabulary, ids


@dataclass(frozen=True)
class Sizes:
    """Of a simulated study."""

    votes: int
    items: int = 15
    categories: int = 4
    covariates: int = 2
    annotators: int = 30


def simulated(sizes: Sizes, seed: int, *, crowd: bool) -> tuple[Judgments, dict[str, Any]]:
    """Votes and what they were drawn from; in a crowd, annotators have qualities, slopes and biases."""
    rng = np.random.default_rng(seed)
    n, k, size = sizes.items, sizes.annotators, sizes.votes
    left = rng.integers(n, size=size).astype(np.int32)
    right = ((left + 1 + rng.integers(n - 1, size=size)) % n).astype(np.int32)
    who, category = rng.integers(k, size=size).astype(np.int32), rng.integers(sizes.categories, size=size)
    truth: dict[str, Any] = {
        "score": rng.normal(size=n),
        "deviation": 0.4 * rng.normal(size=(sizes.categories, n)),
        "coefficient": rng.normal(size=sizes.covariates) / 2,
        "slope": 0.4 * crowd * rng.normal(size=(k, sizes.covariates)),
        "bias": 0.5 * crowd * rng.normal(size=k),
        "quality": rng.beta(8, 2, size=k) if crowd else np.ones(k),
    }
    x = rng.normal(size=(size, sizes.covariates))
    z, both = x / np.sqrt((x**2).mean(axis=0)), truth["score"] + truth["deviation"]
    gap = both[category, left] - both[category, right] + z @ truth["coefficient"]
    own, eta = truth["bias"][who] + (z * truth["slope"][who]).sum(axis=1), truth["quality"][who]
    won = rng.random(size) < eta * expit(gap + own) + (1 - eta) * expit(own - gap)
    outcome = np.where(won, 1, -1).astype(np.int8)
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
        covariates=tuple(f"x{j}" for j in range(sizes.covariates)),
        categories=ids([f"category{c:02}" for c in range(sizes.categories)]),
    )
    return judgments, truth


def coverage(studies: int) -> None:
    """How often the intervals contain the truth."""
    for method, crowd, votes in (("bradley-terry", False, 2000), ("crowd-bt", True, 6000)):
        hits: dict[str, list[float]] = {}
        for seed in range(studies):
            judgments, truth = simulated(Sizes(votes), seed, crowd=crowd)
            for name, (low, value, high) in _intervals(method, judgments, truth, crowd=crowd).items():
                hits.setdefault(name, []).append(float(np.mean((low <= value) & (value <= high))))
        shares = ", ".join(f"{name} {np.mean(values):.3f}" for name, values in hits.items())
        print(f"{method}, {studies} studies of {votes:,} votes: {shares}")


def _intervals(method: str, judgments: Judgments, truth: dict[str, Any], *, crowd: bool) -> dict[str, Any]:
    found: Any = cr.fit(method, judgments, **({"order_bias": True} if crowd else {}))
    effects, parts, who = found.covariate_columns, found.category_columns, found.annotator_columns
    apart = truth["deviation"] - truth["deviation"].mean(axis=1, keepdims=True)
    both = truth["score"] + truth["deviation"]
    both = both - both.mean(axis=1, keepdims=True)
    result = {
        "coefficients": (effects["low"], truth["coefficient"], effects["high"]),
        "scores": (found.low, truth["score"] - truth["score"].mean(), found.high),
        "deviations": (parts["deviation_low"], apart.ravel(), parts["deviation_high"]),
        "scores in categories": (parts["low"], both.ravel(), parts["high"]),
    }
    if crowd:
        slope = truth["coefficient"][0] + truth["slope"][:, 0]
        result["left biases"] = who["left_bias_low"], truth["bias"], who["left_bias_high"]
        result["slopes"] = who["bias_x0_low"], slope, who["bias_x0_high"]
        result["qualities"] = who["quality_low"], truth["quality"], who["quality_high"]
    return result


def speed(votes: int) -> None:
    """Seconds of a whole fit, and of one penalised regression beside scikit-learn."""
    judgments, truth = simulated(Sizes(votes, 200, 30, 10, 1000), 0, crowd=True)
    for method in ("bradley-terry", "crowd-bt"):
        start = time.perf_counter()
        found: Any = cr.fit(method, judgments)
        taken = time.perf_counter() - start
        agree = np.corrcoef(found.score, truth["score"])[0, 1]
        print(f"{method}, {votes:,} votes: {taken:.1f} s, {found.fit.steps} steps, correlation {agree:.3f}")
    pairs = replace(judgments.pairs, annotator=np.zeros(votes, np.int32))
    x = standardised(pairs, judgments.covariates, 200).x
    find_once = _penalised(pairs, x)
    find_once()  # compiles
    start = time.perf_counter()
    ours = find_once()
    middle = time.perf_counter()
    theirs = _scikit_learn(pairs, x)
    end = time.perf_counter()
    print(f"penalised regression: {middle - start:.2f} s; scikit-learn {end - middle:.2f} s")
    print(f"largest difference of scores and coefficients: {np.abs(ours - theirs).max():.1e}")


def _penalised(pairs: Pairs, x: np.ndarray) -> Any:
    def run() -> np.ndarray:
        model = EffectModel(pairs, Effects(x), 200, 1, normal=False)
        spreads = Spreads({"score": 1.0, "coefficient": 1.0}, {}, 0.0)
        return find_mode(model, model.start(np.zeros(200), np.ones(1)), spreads, 50, 1e-8).values.core

    return run


def _scikit_learn(pairs: Pairs, x: np.ndarray) -> np.ndarray:
    from scipy.sparse import csr_matrix, hstack
    from sklearn.linear_model import LogisticRegression

    rows = np.arange(len(pairs))
    sign = np.ones(len(pairs))
    items = csr_matrix((np.r_[sign, -sign], (np.r_[rows, rows], np.r_[pairs.left, pairs.right])), (len(pairs), 200))
    design = hstack([items, csr_matrix(x)]).tocsr()
    fit = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8, max_iter=1000).fit(design, pairs.outcome)
    return np.asarray(fit.coef_[0])


if __name__ == "__main__":
    what, size = (*sys.argv[1:], "")[:2]
    {"coverage": lambda: coverage(int(size or 40)), "speed": lambda: speed(int(size or 1_000_000))}[what]()
