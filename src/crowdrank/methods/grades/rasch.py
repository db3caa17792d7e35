"""Polytomous Rasch model: items have a relevance, annotators thresholds that it must pass for each step of the scale.

    P(g | entry, a) ∝ exp(Σ_{k ≤ g} (r − τ_ak) / ε)

At r = τ_ak annotator a gives the grades k − 1 and k equally often. A severe annotator has high thresholds. ε is the
item's difficulty: grades of difficult items scatter more. This is the baseline of Metrikov, Pavlu and Aslam (CIKM 2015,
section 3.4); all annotators are taken to be equally reliable, and random ones cannot be told from others.

All tasks are one fit, by maximum a posteriori: relevance is normal around 0 with variance 1 / `prior`, log ε around 0
with the standard deviation `difficulty_spread`, and each threshold of an annotator around the crowd's with
`threshold_spread`, so that who gave few grades is taken to be like the crowd. Intervals are Laplace's, in large studies
as if the thresholds were known; with difficulties they are somewhat too short (simulated: 91 to 93 % where 95 % are
meant, 94 % without difficulties). All annotators are taken to use one scale; more than 32 different grades are first
taken together into 32 steps. Quality is how often an annotator orders two items as the result does; `severity`, how far
their thresholds lie above the crowd's on average.

Andrich: A rating formulation for ordered response categories, Psychometrika 1978. Masters: A Rasch model for partial
credit scoring, Psychometrika 1982.

>>> import crowdrank as cr
>>> study = cr.simulate.grades(items=50, annotators=10, labels=5, bias=1.0, seed=1)
>>> consensus = cr.Rasch().fit(study.judgments)
>>> plain = cr.Mean().fit(study.judgments)
>>> cr.evaluate(consensus, study.gold, ["acc"]).mean["acc"] > cr.evaluate(plain, study.gold, ["acc"]).mean["acc"]
True
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numba as nb
import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.methods.grades.curves.grade_table import GradeTable, grade_table
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import agreement, annotator_columns, check_kinds, make_consensus
from crowdrank.numerics.blocks import Layout
from crowdrank.numerics.laplace import LARGEST_DENSE, dense_spread
from crowdrank.numerics.newton import minimise
from crowdrank.numerics.special import NORMAL_95_ROUNDED
from crowdrank.numerics.threads import RowSum
from crowdrank.settings import check, check_fit
from crowdrank.study import Codes, Floats, Judgments

CROWD_SPREAD = 10.0  # of the crowd's thresholds around 0: next to nothing is known of them
LARGEST_PRODUCTS = 1e8  # rows times parameters, up to which the whole Hessian is worked out


@dataclass(frozen=True, slots=True)
class Rasch:
    """Settings of the polytomous Rasch model."""

    description: ClassVar[Description] = Description(
        name="rasch",
        family="grades",
        summary="Relevance and difficulty of items, thresholds of annotators: item response theory.",
        takes=("grades",),
        other_names=("irt",),
        gives_intervals=True,
    )

    difficulty: bool = True  # items differ in how far their grades scatter
    prior: float = 1.0  # precision of the relevance around 0
    threshold_spread: float = 1.0  # standard deviation of annotators' thresholds around the crowd's
    difficulty_spread: float = 0.25  # standard deviation of the logarithm of the difficulty
    intervals: bool = True  # say how sure; costs more than the fit itself on large studies
    max_iter: int = 200
    tol: float = 1e-6  # a step that moves no parameter further than this ends the fit

    def __post_init__(self) -> None:
        check_fit(self.prior, self.max_iter, self.tol)
        check(self.prior > 0, "prior", self.prior, "a number above 0: without it relevance has no scale")
        for name in ("threshold_spread", "difficulty_spread"):
            check(0 < getattr(self, name) < np.inf, name, getattr(self, name), "a number above 0")
        for name in ("difficulty", "intervals"):
            check(isinstance(getattr(self, name), bool), name, getattr(self, name), "true or false")

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their relevance."""
        notes = check_kinds(self.description, judgments)
        table = grade_table(judgments)
        model = RaschModel(table, self)
        fixed = slice(0) if self.difficulty else model.layout.slices["log_difficulty"]
        easy = model.layout.slices["log_difficulty"]  # first as if all items were equally difficult
        rough = minimise(model, model.start(), max_iter=self.max_iter, tol=0.01, fixed=easy, what="start").x
        found = minimise(
            model, rough, max_iter=self.max_iter, tol=self.tol, fixed=fixed, what="relevance and thresholds"
        )
        theta = model.layout.unpack(found.x)
        judged = np.diff(table.entry_starts) > 0
        score = np.where(judged, theta.relevance, np.nan)
        columns = annotator_columns(judgments, *agreement(judgments, score))
        columns["severity"] = (model.own(theta.thresholds) - theta.crowd).sum(axis=1) / max(model.n_levels - 1, 1)
        told = (*notes, *table.levels.notes)
        consensus = make_consensus(self.description, judgments, score, fit=found.fit, annotators=columns, notes=told)
        if self.difficulty:
            consensus = replace(consensus, difficulty=np.where(judged, np.exp(theta.log_difficulty), np.nan))
        return _with_intervals(consensus, model, found.x, fixed) if self.intervals else consensus


def _with_intervals(consensus: Consensus, model: RaschModel, x: Floats, fixed: slice) -> Consensus:
    model.evaluate(x)
    error = np.sqrt(_variance(model, fixed))
    return replace(
        consensus, low=consensus.score - NORMAL_95_ROUNDED * error, high=consensus.score + NORMAL_95_ROUNDED * error
    )


def _variance(model: RaschModel, fixed: slice) -> Floats:
    """Of each relevance, from the curvature: all of it in small studies, else as if the thresholds were known."""
    size, n = model.layout.size, model.n_entries
    if size <= LARGEST_DENSE and size * len(model.table) <= LARGEST_PRODUCTS:
        hessian = np.array([model.hessian_product(unit) for unit in np.eye(size)]).reshape(size, size)
        hessian[fixed], hessian[:, fixed] = 0.0, 0.0
        hessian[fixed, fixed] = np.eye(size)[fixed, fixed]
        return dense_spread(hessian, np.zeros(0, np.int32)).variance[:n]
    # What is left then are blocks of two, an entry's relevance and its difficulty.
    difficulty = model.layout.slices["log_difficulty"]
    unit = np.zeros(size)
    unit[difficulty] = 1.0
    unit[fixed] = 0.0
    both, own = model.hessian_product(unit)[:n], model.diagonal()
    return 1 / np.maximum(own[:n] - both**2 / own[difficulty], model.settings.prior)


class RaschModel:
    """Minus the log-posterior, its gradient and products with its Hessian, for `numerics.newton.minimise`.

    The kernels know of annotators' thresholds only their sums Σ_{k ≤ g} τ_ak, one for each grade g.
    """

    def __init__(self, table: GradeTable, settings: Rasch) -> None:
        self.table, self.settings = table, settings
        self.n_entries, self.n_annotators, self.n_levels = table.n_entries, table.n_annotators, len(table.levels)
        steps = self.n_levels - 1
        blocks = {"relevance": self.n_entries, "log_difficulty": self.n_entries}
        self.layout = Layout(**blocks, thresholds=self.n_annotators * steps, crowd=steps)
        self.chance = np.empty((len(table), self.n_levels))  # of each grade, row by row
        self.sum = RowSum(len(table), 2 * self.n_entries + self.n_annotators * self.n_levels)

    def _rows(self, r: slice) -> tuple[Codes, Codes, Codes]:
        return self.table.entry[r], self.table.annotator[r], self.table.level[r]

    def start(self) -> Floats:
        """Everything average, and thresholds at which average items get the grades that were given."""
        count = np.bincount(self.table.level, minlength=self.n_levels) + 1.0
        crowd = np.log(count[:-1] / count[1:])
        return self.layout.pack(
            relevance=0, log_difficulty=0, thresholds=np.tile(crowd, self.n_annotators), crowd=crowd
        )

    def own(self, thresholds: Floats) -> Floats:
        """A row for each annotator."""
        return thresholds.reshape(self.n_annotators, self.n_levels - 1)

    def _sums(self, thresholds: Floats) -> Floats:
        return np.hstack([np.zeros((self.n_annotators, 1)), np.cumsum(self.own(thresholds), axis=1)])

    def _gathered(self, total: Floats) -> Floats:
        """From slopes by relevance, difficulty and sums of thresholds to slopes by all parameters, without priors."""
        by_sum = total[2 * self.n_entries :].reshape(self.n_annotators, self.n_levels)
        by_threshold = np.cumsum(by_sum[:, ::-1], axis=1)[:, ::-1][:, 1:]
        return np.concatenate([total[: 2 * self.n_entries], by_threshold.ravel(), np.zeros(self.n_levels - 1)])

    def _split(self, total: Floats) -> tuple[Floats, Floats, Floats]:
        n = self.n_entries
        return total[:n], total[n : 2 * n], total[2 * n :].reshape(self.n_annotators, self.n_levels)

    def evaluate(self, x: Floats) -> tuple[float, Floats]:
        """Value and gradient at x; remembers the curvature there."""
        theta = self.layout.unpack(x)
        self.here = theta.relevance.copy(), np.exp(-theta.log_difficulty), self._sums(theta.thresholds)

        def terms(r: slice, total: Floats) -> float:
            return float(_terms(*self._rows(r), *self.here, self.chance[r], *self._split(total)))

        total, values = self.sum(terms)
        gradient = self._gathered(total)
        slope = self._prior_product(x)
        return sum(values) + float(x @ slope) / 2, gradient + slope

    def _prior_product(self, v: Floats) -> Floats:
        """The priors' Hessian times v; they are all normal around 0 or around the crowd, so this is their gradient at v, too."""
        part, given = self.layout.unpack(v), self.settings
        away = (self.own(part.thresholds) - part.crowd) / given.threshold_spread**2
        return self.layout.pack(
            relevance=given.prior * part.relevance,
            log_difficulty=part.log_difficulty / given.difficulty_spread**2,
            thresholds=away.ravel(),
            crowd=part.crowd / CROWD_SPREAD**2 - away.sum(axis=0),
        )

    def hessian_product(self, v: Floats) -> Floats:
        """The Hessian at the last evaluated point times v."""
        part = self.layout.unpack(v)
        sums = self._sums(part.thresholds)

        def products(r: slice, total: Floats) -> None:
            v = part.relevance, part.log_difficulty, sums
            _products(*self._rows(r), *self.here, self.chance[r], *v, *self._split(total))

        return self._gathered(self.sum(products)[0]) + self._prior_product(v)

    def diagonal(self) -> Floats:
        """The diagonal of the Hessian at the last evaluated point."""

        def curvatures(r: slice, total: Floats) -> None:
            _curvatures(*self._rows(r), *self.here, self.chance[r], *self._split(total))

        relevance, difficulty, thresholds = self._split(self.sum(curvatures)[0])
        given = self.settings
        return self.layout.pack(
            relevance=relevance + given.prior,
            log_difficulty=difficulty + given.difficulty_spread**-2,
            thresholds=thresholds[:, 1:].ravel() + given.threshold_spread**-2,
            crowd=CROWD_SPREAD**-2 + self.n_annotators / given.threshold_spread**2,
        )


@nb.njit(cache=True, nogil=True)
def _terms(entry, annotator, level, relevance, sharp, sums, chance, by_relevance, by_difficulty, by_sum):
    """Minus the log-likelihood and its slopes. The grade h has the weight exp(u_h), u_h = (h r − Σ τ) / ε."""
    value, n_levels = 0.0, sums.shape[1]
    for row in range(len(entry)):
        d, a, g = entry[row], annotator[row], level[row]
        e, r = sharp[d], relevance[d]
        most = -np.inf
        for h in range(n_levels):
            chance[row, h] = e * (h * r - sums[a, h])
            most = max(most, chance[row, h])
        own, norm = chance[row, g], 0.0
        for h in range(n_levels):
            chance[row, h] = np.exp(chance[row, h] - most)
            norm += chance[row, h]
        value += most + np.log(norm) - own
        slope, spread_slope = 0.0, 0.0
        for h in range(n_levels):
            chance[row, h] /= norm
            off = chance[row, h] - (h == g)
            slope += off * h
            spread_slope += off * (h * r - sums[a, h])
            by_sum[a, h] -= e * off
        by_relevance[d] += e * slope
        by_difficulty[d] -= e * spread_slope
    return value


@nb.njit(cache=True, nogil=True)
def _products(
    entry,
    annotator,
    level,
    relevance,
    sharp,
    sums,
    chance,
    v_relevance,
    v_difficulty,
    v_sums,
    by_relevance,
    by_difficulty,
    by_sum,
):
    """The Hessian of minus the log-likelihood times a vector."""
    n_levels = sums.shape[1]
    for row in range(len(entry)):
        d, a, g = entry[row], annotator[row], level[row]
        e, r, r_moved, spread = sharp[d], relevance[d], v_relevance[d], v_difficulty[d]
        mean = 0.0
        for h in range(n_levels):
            mean += chance[row, h] * (h * r_moved - v_sums[a, h] - spread * (h * r - sums[a, h]))
        slope, spread_slope = 0.0, 0.0
        for h in range(n_levels):
            reach = h * r - sums[a, h]
            moved = h * r_moved - v_sums[a, h] - spread * reach
            off = chance[row, h] - (h == g)
            pull = e * chance[row, h] * (moved - mean) - off * spread
            slope += pull * h
            spread_slope += e * chance[row, h] * (moved - mean) * reach + off * moved
            by_sum[a, h] -= e * pull
        by_relevance[d] += e * slope
        by_difficulty[d] -= e * spread_slope


@nb.njit(cache=True, nogil=True)
def _curvatures(entry, annotator, level, relevance, sharp, sums, chance, by_relevance, by_difficulty, by_threshold):
    """The diagonal of that Hessian, by relevance, log-difficulty and thresholds (from the second column)."""
    n_levels = sums.shape[1]
    for row in range(len(entry)):
        d, a, g = entry[row], annotator[row], level[row]
        e, r = sharp[d], relevance[d]
        first, second, u_first, u_second, slope, above = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for h in range(n_levels - 1, -1, -1):
            p, u = chance[row, h], e * (h * r - sums[a, h])
            first += p * h
            second += p * h * h
            u_first += p * u
            u_second += p * u * u
            slope += (p - (h == g)) * u
            above += p
            by_threshold[a, h] += e * e * above * (1 - above)
        by_relevance[d] += e * e * (second - first * first)
        by_difficulty[d] += u_second - u_first * u_first + slope
