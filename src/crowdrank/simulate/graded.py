"""Crowds that grade items, each annotator on a scale of their own.

Entry d has the true relevance r ~ N(0, 1) and the difficulty ε, 1 in the middle. Annotator a has, for each grade g of
their scale, a Gaussian over the relevance of what they give it to, and one width w for all of them. This is the model
of GDA (Metrikov, Pavlu and Aslam, CIKM 2015, eq. 1), so that methods can be checked for calibration:

    P(g | d, a) ∝ α_g N(r_d; μ_g, w ε_d)

An unbiased annotator's means lie at the middles of equally likely parts of the relevance: of four grades, at its 12.5,
37.5, 62.5 and 87.5 percent points. Spammers have all means at 0, so that their grades tell nothing; those of malicious
annotators are in reversed order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.settings import check
from crowdrank.simulate.study import Study, check_shares, check_whole, distinct, judgments_of, make_vocabulary
from crowdrank.study import Floats, Gold, Grades

KINDS = np.array(["ordinary", "expert", "spammer", "malicious"], dtype=object)
ORDINARY, EXPERT, SPAMMER, MALICIOUS = range(4)
EXPERT_NOISE = 0.2  # of an expert, as a share of the crowd's
ROWS_AT_ONCE = 1 << 16
NODES = 64  # values that stand for all relevances where a true quality is worked out


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
) -> Study:
    """A crowd that grades items; the same seed gives the same grades.

    - `items` in each of the `tasks`, each graded by `labels` different annotators drawn at random.
    - `scales`: how many grades an annotator has, 0, 1, …; where there are several scales, annotators have them in turn.
    - `bias`: standard deviation of the shift of an annotator's means: who is generous, who severe.
    - `noise`: the usual width √w of the Gaussians, in standard deviations of the relevance.
    - `variety`: standard deviation, over annotators, of log √w, and of log α over their grades.
    - `experts`, `spammers`, `malicious`: shares of the annotators. Experts have a fifth of the noise, and no bias.
    - `difficulty`: standard deviation of log ε over entries.
    - `gold_grades`: so many equally frequent grades are the gold; by default, the true relevance itself.

    `quality` is the chance that of two entries of average difficulty, graded differently, the more relevant got the
    higher grade. `annotators` has what else is true of them: kind, scale, noise, bias, and for each grade means and
    weights (NaN beyond their scale).

    >>> study = grades(items=20, annotators=10, labels=3, tasks=2, spammers=0.2, seed=1)
    >>> study.judgments
    Judgments(120 grades; 2 tasks, 20 items, 10 annotators)
    >>> int((study.quality.round(6) == 0.5).sum())
    2
    """
    parameters = dict(locals())
    _check(**parameters)
    rng = np.random.default_rng(seed)
    relevance = rng.normal(size=tasks * items)
    hard = np.exp(rng.normal(0.0, difficulty, tasks * items))
    crowd = _crowd(rng, annotators, scales, bias, noise, variety, (experts, spammers, malicious))
    annotator = distinct(rng, tasks * items, labels, annotators).ravel()
    entry = np.repeat(np.arange(tasks * items, dtype=np.int32), labels)
    vocabulary = make_vocabulary(tasks, items, annotators)
    grade = crowd.graded(rng, annotator, relevance[entry], hard[entry])
    judgments = judgments_of(vocabulary, grades=Grades(annotator, entry, grade))
    gold = (
        Gold(vocabulary, relevance, "score")
        if gold_grades is None
        else Gold(vocabulary, _cut(relevance, gold_grades), "grade")
    )
    return Study(judgments, gold, crowd.quality(), parameters, crowd.columns(), hard)


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
) -> Study:
    """A crowd like that of `grades` which grades the items of a gold of grades or scores, none of them harder than
    others.

    The relevance of an item is its place among all items of the gold, on the scale of a standard normal distribution:
    items of equal gold have the mean of the part that their share of the items takes.

    >>> from crowdrank import gold
    >>> regrade(gold({"item": ["x", "y"], "grade": [0, 2]}), annotators=3, labels=2).judgments
    Judgments(4 grades; 1 tasks, 2 items, 3 annotators)
    """
    parameters = {name: value for name, value in locals().items() if name != "gold"}
    _check(items=1, tasks=1, difficulty=0.0, gold_grades=None, **parameters)
    check(len(gold) > 0, "gold", gold, "gold with at least one item")
    rng = np.random.default_rng(seed)
    crowd = _crowd(rng, annotators, scales, bias, noise, variety, (experts, spammers, malicious))
    annotator = distinct(rng, len(gold), labels, annotators).ravel()
    entry = np.repeat(np.arange(len(gold), dtype=np.int32), labels)
    vocabulary = replace(gold.vocabulary, annotators=make_vocabulary(1, 1, annotators).annotators)
    grade = crowd.graded(rng, annotator, _normal_places(gold.value)[entry], np.ones(len(entry)))
    judgments = judgments_of(vocabulary, grades=Grades(annotator, entry, grade))
    return Study(judgments, gold, crowd.quality(), parameters, crowd.columns(), np.ones(len(gold)))


def _normal_places(value: Floats) -> Floats:
    """Values as means of the parts of a standard normal distribution that their shares take, in their order."""
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
        f"at most the annotators, {given['annotators']}",
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
class Crowd:
    """The true parameters of all annotators, a row each, a column for each grade."""

    kind: NDArray[np.int64]
    scale: NDArray[np.int64]
    bias: Floats
    noise: Floats  # √w
    means: Floats  # NaN beyond an annotator's scale
    weights: Floats

    def chances(self, annotator: NDArray[Any], relevance: Floats, difficulty: Floats | float) -> Floats:
        """What each of these annotators' grades is proportional to, given relevance and difficulty; the largest near 1."""
        width = self.noise[annotator, None] ** 2 * difficulty
        log = np.log(self.weights[annotator]) - (relevance - self.means[annotator]) ** 2 / (2 * width)
        return np.asarray(np.nan_to_num(np.exp(log - np.nanmax(log, axis=1, keepdims=True))))

    def graded(
        self, rng: np.random.Generator, annotator: NDArray[Any], relevance: Floats, difficulty: Floats
    ) -> Floats:
        """A grade by each of these annotators for something of that relevance and difficulty."""
        grade = np.empty(len(annotator))
        for start in range(0, len(annotator), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            below = np.cumsum(self.chances(annotator[rows], relevance[rows, None], difficulty[rows, None]), axis=1)
            grade[rows] = (below < rng.random((len(below), 1)) * below[:, -1:]).sum(axis=1)
        return grade

    def quality(self) -> Floats:
        """The chance that two entries of different grade are in the right order, by annotator."""
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
        """What is true of each annotator, by name."""
        columns = {name: getattr(self, name) for name in self.__slots__}
        return {**columns, "kind": KINDS[self.kind]}


def _crowd(
    rng: np.random.Generator,
    annotators: int,
    scales: tuple[int, ...],
    bias: float,
    noise: float,
    variety: float,
    shares: tuple[float, float, float],
) -> Crowd:
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
    means[kind == SPAMMER] *= 0.0  # NaN stays
    log_weights = np.where(kind[:, None] == EXPERT, 0.0, rng.normal(0.0, variety, means.shape))
    weights = np.where(np.isnan(means), np.nan, np.exp(log_weights))
    return Crowd(kind, scale, shift, width, means, weights / np.nansum(weights, axis=1, keepdims=True))


def _middles(parts: int) -> Floats:
    """The middles of so many equally likely parts of a standard normal distribution."""
    return np.array([NormalDist().inv_cdf((part + 0.5) / parts) for part in range(parts)])


def _cut(relevance: Floats, parts: int) -> Floats:
    """In which of so many equally likely parts of a standard normal distribution each relevance lies."""
    edges = [NormalDist().inv_cdf(part / parts) for part in range(1, parts)]
    return np.searchsorted(np.array(edges), relevance).astype(np.float64)
