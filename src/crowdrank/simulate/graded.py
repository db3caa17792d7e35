"""Crowds that grade items, each annotator on a scale of their own.

Entry d has the true relevance r ~ N(0, 1) and the difficulty ε, with median 1. Annotator a has, for each grade g of
their scale, a normal density over the relevance of items that get the grade, all with one variance w. This is the model
of GDA (Metrikov, Pavlu and Aslam, CIKM 2015, eq. 1), so that methods can be checked for calibration:

    P(g | d, a) ∝ α_g N(r_d; μ_g, w ε_d)

The means of an unbiased annotator are the middles of equally likely parts of the relevance: of four grades, its 12.5,
37.5, 62.5 and 87.5 percentiles. Spammers have all means at 0, so their grades carry no information; the means of
malicious annotators are in reversed order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.seeds import generator
from crowdrank.settings import check
from crowdrank.simulate.study import (
    SimulatedStudy,
    check_shares,
    check_whole,
    draw_distinct,
    judgments_of,
    make_vocabulary,
)
from crowdrank.study import Floats, Gold, Grades

KINDS = np.array(["ordinary", "expert", "spammer", "malicious"], dtype=object)
ORDINARY, EXPERT, SPAMMER, MALICIOUS = range(4)
EXPERT_NOISE = 0.2  # noise of an expert, as a share of the crowd's
ROWS_AT_ONCE = 1 << 16
NODES = 64  # values of relevance over which the true quality is computed


def grades(
    items: int = 100,
    annotators: int = 50,
    labels: int = 5,
    *,
    tasks: int = 1,
    scales: tuple[int, ...] = (5,),
    bias: float = 0.3,
    noise: float = 0.5,
    variety: float = 0.3,
    experts: float = 0.0,
    spammers: float = 0.0,
    malicious: float = 0.0,
    difficulty: float = 0.0,
    gold_grades: int | None = None,
    seed: int = 0,
) -> SimulatedStudy:
    """Simulate a crowd that grades items; the same seed gives the same grades.

    - `items`: number of items in each of the `tasks`; each is graded by `labels` different annotators drawn at random.
    - `scales`: number of grades of an annotator's scale, 0, 1, …; with several scales, annotators have them in turn.
    - `bias`: standard deviation of the shift of an annotator's means: how generous or severe they are.
    - `noise`: the median standard deviation √w of the densities, in standard deviations of the relevance.
    - `variety`: standard deviation of log √w over annotators, and of log α over their grades.
    - `experts`, `spammers`, `malicious`: shares of the annotators. Experts have a fifth of the noise, and no bias.
    - `difficulty`: standard deviation of log ε over entries.
    - `gold_grades`: the gold has so many equally frequent grades; by default it is the true relevance itself.

    `quality` is the probability that, of two entries of average difficulty with different grades, the more relevant one
    got the higher grade. `annotators` has their other parameters: kind, scale, noise, bias, and for each grade means
    and weights (NaN beyond their scale).

    >>> study = grades(items=20, annotators=10, labels=3, tasks=2, spammers=0.2, seed=1)
    >>> study.judgments
    Judgments(120 grades; 2 tasks, 20 items, 10 annotators)
    >>> int((study.quality.round(6) == 0.5).sum())
    2
    """
    parameters = dict(locals())
    _check(**parameters)
    rng = generator(seed)
    relevance = rng.normal(size=tasks * items)
    difficulties = np.exp(rng.normal(0.0, difficulty, tasks * items))
    crowd = _draw_crowd(rng, annotators, scales, bias, noise, variety, (experts, spammers, malicious))
    annotator = draw_distinct(rng, tasks * items, labels, annotators).ravel()
    entry = np.repeat(np.arange(tasks * items, dtype=np.int32), labels)
    vocabulary = make_vocabulary(tasks, items, annotators)
    grade = crowd.draw_grades(rng, annotator, relevance[entry], difficulties[entry])
    judgments = judgments_of(vocabulary, grades=Grades(annotator, entry, grade))
    gold = (
        Gold(vocabulary, relevance, "score")
        if gold_grades is None
        else Gold(vocabulary, _cut(relevance, gold_grades), "grade")
    )
    return SimulatedStudy(judgments, gold, crowd.quality(), parameters, crowd.columns(), difficulties)


def regrade(
    gold: Gold,
    annotators: int = 50,
    labels: int = 5,
    *,
    scales: tuple[int, ...] = (5,),
    bias: float = 0.3,
    noise: float = 0.5,
    variety: float = 0.3,
    experts: float = 0.0,
    spammers: float = 0.0,
    malicious: float = 0.0,
    seed: int = 0,
) -> SimulatedStudy:
    """Simulate a crowd like that of `grades` that grades the items of a gold; all are equally difficult.

    The gold has grades or scores. The relevance of an item follows from its place among all items of the gold, on the
    scale of a standard normal distribution: items of equal gold have the mean of the part of their share.

    >>> from crowdrank import gold
    >>> regrade(gold({"item": ["x", "y"], "grade": [0, 2]}), annotators=3, labels=2).judgments
    Judgments(4 grades; 1 tasks, 2 items, 3 annotators)
    """
    parameters = {name: value for name, value in locals().items() if name != "gold"}
    _check(items=1, tasks=1, difficulty=0.0, gold_grades=None, **parameters)
    check(len(gold) > 0, "gold", gold, "gold with at least one item")
    rng = generator(seed)
    crowd = _draw_crowd(rng, annotators, scales, bias, noise, variety, (experts, spammers, malicious))
    annotator = draw_distinct(rng, len(gold), labels, annotators).ravel()
    entry = np.repeat(np.arange(len(gold), dtype=np.int32), labels)
    vocabulary = replace(gold.vocabulary, annotators=make_vocabulary(1, 1, annotators).annotators)
    grade = crowd.draw_grades(rng, annotator, _normal_places(gold.value)[entry], np.ones(len(entry)))
    judgments = judgments_of(vocabulary, grades=Grades(annotator, entry, grade))
    return SimulatedStudy(judgments, gold, crowd.quality(), parameters, crowd.columns(), np.ones(len(gold)))


def _normal_places(value: Floats) -> Floats:
    """Values as means of parts of a standard normal distribution: each value has a part of its share, in order."""
    _, code, count = np.unique(value, return_inverse=True, return_counts=True)
    edges = [NormalDist().inv_cdf(below) for below in np.cumsum(count)[:-1] / len(value)]
    density = np.r_[0.0, [NormalDist().pdf(edge) for edge in edges], 0.0]
    return np.asarray((density[:-1] - density[1:]) / (count / len(value)))[code]


def _check(**given: Any) -> None:
    check_whole(given, items=1, annotators=1, labels=1, tasks=1)
    check(
        given["labels"] <= given["annotators"],
        "labels",
        given["labels"],
        f"at most the number of annotators, {given['annotators']}",
    )
    scales = given["scales"]
    whole = isinstance(scales, tuple) and scales and all(isinstance(n, int) and 2 <= n <= 1000 for n in scales)
    check(bool(whole), "scales", scales, "numbers of grades from 2 to 1000, like (2, 5)")
    for name in ("bias", "variety", "difficulty"):
        check(0 <= given[name] <= 10, name, given[name], "a number from 0 to 10")
    check(0.01 <= given["noise"] <= 100, "noise", given["noise"], "a number from 0.01 to 100")
    shares = ("experts", "spammers", "malicious")
    check_shares(given, *shares)
    together = sum(given[name] for name in shares)
    check(together <= 1 + 1e-9, "experts, spammers and malicious", together, "at most 1 together")
    if given["gold_grades"] is not None:
        check_whole(given, gold_grades=2)


@dataclass(frozen=True, slots=True)
class GradingCrowd:
    """The true parameters of all annotators: one row per annotator, one column per grade."""

    kind: NDArray[np.int64]
    scale: NDArray[np.int64]
    bias: Floats
    noise: Floats  # √w
    means: Floats  # NaN beyond an annotator's scale
    weights: Floats

    def chances(self, annotator: NDArray[Any], relevance: Floats, difficulty: Floats | float) -> Floats:
        """The probability of each grade of these annotators, up to a factor; the largest is 1."""
        width = self.noise[annotator, None] ** 2 * difficulty
        log = np.log(self.weights[annotator]) - (relevance - self.means[annotator]) ** 2 / (2 * width)
        return np.asarray(np.nan_to_num(np.exp(log - np.nanmax(log, axis=1, keepdims=True))))

    def draw_grades(
        self, rng: np.random.Generator, annotator: NDArray[Any], relevance: Floats, difficulty: Floats
    ) -> Floats:
        """A random grade of each of these annotators for an item of that relevance and difficulty."""
        grade = np.empty(len(annotator))
        for start in range(0, len(annotator), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            below = np.cumsum(self.chances(annotator[rows], relevance[rows, None], difficulty[rows, None]), axis=1)
            grade[rows] = (below < rng.random((len(below), 1)) * below[:, -1:]).sum(axis=1)
        return grade

    def quality(self) -> Floats:
        """Per annotator, the probability that two entries of different grade are in the right order."""
        nodes = _middles(NODES)
        quality = np.empty(len(self.kind))
        for number in range(len(quality)):
            chance = self.chances(np.full(NODES, number), nodes[:, None], 1.0)
            chance /= chance.sum(axis=1, keepdims=True)
            before = np.cumsum(chance, axis=0) - chance  # grades of all less relevant entries
            lower = np.cumsum(before, axis=1) - before
            higher = before.sum(axis=1, keepdims=True) - lower - before
            right, wrong = (chance * lower).sum(), (chance * higher).sum()
            quality[number] = right / (right + wrong)
        return quality

    def columns(self) -> dict[str, NDArray[Any]]:
        """The parameters of each annotator, by name."""
        columns = {name: getattr(self, name) for name in self.__slots__}
        return {**columns, "kind": KINDS[self.kind]}


def _draw_crowd(
    rng: np.random.Generator,
    annotators: int,
    scales: tuple[int, ...],
    bias: float,
    noise: float,
    variety: float,
    shares: tuple[float, float, float],
) -> GradingCrowd:
    kind = np.zeros(annotators, dtype=np.int64)
    ends = np.cumsum([0, *(round(share * annotators) for share in shares)])
    shuffled = rng.permutation(annotators)
    for which, (start, end) in zip((EXPERT, SPAMMER, MALICIOUS), pairwise(ends.tolist()), strict=True):
        kind[shuffled[start:end]] = which
    scale = np.resize(np.array(scales), annotators)
    shift = np.where(kind == EXPERT, 0.0, rng.normal(0.0, bias, annotators))
    width = noise * np.where(kind == EXPERT, EXPERT_NOISE, np.exp(rng.normal(0.0, variety, annotators)))
    means = np.full((annotators, max(scales)), np.nan)
    for n in set(scales):
        means[scale == n, :n] = _middles(n)
        means[(scale == n) & (kind == MALICIOUS), :n] = _middles(n)[::-1]
    means += shift[:, None]
    means[kind == SPAMMER] *= 0.0  # keeps NaN
    log_weights = np.where(kind[:, None] == EXPERT, 0.0, rng.normal(0.0, variety, means.shape))
    weights = np.where(np.isnan(means), np.nan, np.exp(log_weights))
    return GradingCrowd(kind, scale, shift, width, means, weights / np.nansum(weights, axis=1, keepdims=True))


def _middles(parts: int) -> Floats:
    """The middles of so many equally likely parts of a standard normal distribution."""
    return np.array([NormalDist().inv_cdf((part + 0.5) / parts) for part in range(parts)])


def _cut(relevance: Floats, parts: int) -> Floats:
    """The number of the part that each relevance lies in, of equally likely parts of a standard normal distribution."""
    edges = [NormalDist().inv_cdf(part / parts) for part in range(1, parts)]
    return np.searchsorted(np.array(edges), relevance).astype(np.float64)
