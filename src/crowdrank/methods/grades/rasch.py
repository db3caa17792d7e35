"""Polytomous Rasch model: items have a relevance, annotators a threshold for each step of the scale.

    P(g | entry, a) ∝ exp(Σ_{k ≤ g} (r − τ_ak) / ε)

At r = τ_ak annotator a gives the grades k − 1 and k equally often. A severe annotator has high thresholds. ε is the
item's difficulty: grades of difficult items vary more. This is the baseline of Metrikov, Pavlu and Aslam (CIKM 2015,
section 3.4); all annotators are taken to be equally reliable, so random ones count as much as others.

All tasks are one fit, by maximum a posteriori. The priors are normal: relevance around 0 with the standard deviation
`relevance_spread`, log ε around 0 with `difficulty_spread`, and each threshold of an annotator around the crowd's with
`threshold_spread`, so that annotators with few grades are taken to be like the crowd. Intervals integrate over the
relevance and difficulty of each entry on a grid; the uncertainty of the thresholds is added by Laplace's approximation,
in small studies only. All annotators are taken to use one scale; more than 32 different grades are
first merged into 32 levels. Quality is how often an annotator orders two items as the result does; `severity` is how
far their thresholds lie above the crowd's on average.

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

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.methods.grades.curves.grade_table import GradeTable, grade_table
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import check_kinds, make_consensus
from crowdrank.numerics.blas import one_blas_thread
from crowdrank.numerics.blocks import Layout
from crowdrank.numerics.compiled import kernel
from crowdrank.numerics.laplace import LARGEST_DENSE, dense_spread
from crowdrank.numerics.newton import minimise
from crowdrank.numerics.special import NORMAL_95_ROUNDED
from crowdrank.numerics.threads import RowSum
from crowdrank.settings import check_fit, check_flag, check_positive
from crowdrank.study import Codes, Floats, Judgments

CROWD_SPREAD = 10.0  # standard deviation of the crowd's thresholds around 0: a vague prior
GRID = np.linspace(-5.0, 5.0, 31)  # standard deviations around the mode
DIFFICULTY_NODES = 5
LARGEST_PRODUCTS = 1e8  # rows times parameters up to which the whole Hessian is computed


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

    difficulty: bool = True  # items differ in how much their grades vary
    relevance_spread: float = 1.0  # standard deviation of the relevance around 0
    threshold_spread: float = 1.0  # standard deviation of annotators' thresholds around the crowd's
    difficulty_spread: float = 0.25  # standard deviation of the logarithm of the difficulty
    intervals: bool = True  # compute intervals; takes longer than the fit itself on large studies
    max_iter: int = 200
    tol: float = 1e-6  # the fit ends when no parameter moves further than this in a step

    def __post_init__(self) -> None:
        check_fit(None, self.max_iter, self.tol)
        for name in ("relevance_spread", "threshold_spread", "difficulty_spread"):
            check_positive(name, getattr(self, name))
        for name in ("difficulty", "intervals"):
            check_flag(name, getattr(self, name))

    @one_blas_thread
    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their relevance."""
        notes = check_kinds(self.description, judgments)
        table = grade_table(judgments)
        model = RaschModel(table, self)
        difficulties = model.layout.slices["log_difficulty"]
        fixed = slice(0) if self.difficulty else difficulties
        # First as if all items were equally difficult: a good start for the rest.
        start = minimise(model, model.start(), max_iter=self.max_iter, tol=0.01, fixed=difficulties, what="start").x
        found = minimise(
            model, start, max_iter=self.max_iter, tol=self.tol, fixed=fixed, what="relevance and thresholds"
        )
        theta = model.layout.unpack(found.x)
        judged = np.diff(table.entry_starts) > 0
        score = np.where(judged, theta.relevance, np.nan)
        severity = (model.own(theta.thresholds) - theta.crowd).sum(axis=1) / max(model.n_levels - 1, 1)
        difficulty = np.where(judged, np.exp(theta.log_difficulty), np.nan) if self.difficulty else None
        low, high = _intervals(score, model, found.x, fixed) if self.intervals else (None, None)
        return make_consensus(
            self.description,
            judgments,
            score,
            fit=found.fit,
            extra_columns={"severity": severity},
            low=low,
            high=high,
            extra_fields={"difficulty": difficulty},
            notes=(*notes, *table.levels.notes),
        )


def _intervals(score: Floats, model: RaschModel, x: Floats, fixed: slice) -> tuple[Floats, Floats]:
    """The 95 % interval of each score.

    The mode of relevance and difficulty together takes difficult entries for easier than they are, so Laplace's
    intervals there are too short: these are integrated over both, given the thresholds.
    """
    model.evaluate(x)
    known, whole = _known_thresholds_variance(model, fixed), _variance(model, fixed)
    mean, variance = model.entry_posteriors(x, np.sqrt(known), with_difficulty=fixed.stop == 0)
    # The mode of thresholds and relevance together lies too near to 0, by about the factor that relevance lacks.
    spread = np.sqrt((mean**2 + variance).mean()) / model.settings.relevance_spread if len(mean) else 1.0
    error = np.sqrt(variance * whole / known + (mean * max(1 / max(spread, 0.5) - 1, 0.0)) ** 2)
    return (
        np.minimum(mean - NORMAL_95_ROUNDED * error, score),
        np.maximum(mean + NORMAL_95_ROUNDED * error, score),
    )


def _variance(model: RaschModel, fixed: slice) -> Floats:
    """The variance of each relevance, from the whole Hessian in small studies, else as if the thresholds were known."""
    size, n = model.layout.size, model.n_entries
    if size <= LARGEST_DENSE and size * len(model.table) <= LARGEST_PRODUCTS:
        hessian = np.array([model.hessian_product(unit) for unit in np.eye(size)]).reshape(size, size)
        hessian[fixed], hessian[:, fixed] = 0.0, 0.0
        hessian[fixed, fixed] = np.eye(size)[fixed, fixed]
        return dense_spread(hessian, np.zeros(0, np.int32)).variance[:n]
    return _known_thresholds_variance(model, fixed)


def _known_thresholds_variance(model: RaschModel, fixed: slice) -> Floats:
    """The same as if the thresholds were known: the Hessian has blocks of an entry's relevance and its difficulty."""
    size, n = model.layout.size, model.n_entries
    difficulty = model.layout.slices["log_difficulty"]
    unit = np.zeros(size)
    unit[difficulty] = 1.0
    unit[fixed] = 0.0
    both, own = model.hessian_product(unit)[:n], model.diagonal()
    return 1 / np.maximum(own[:n] - both**2 / own[difficulty], model.settings.relevance_spread**-2)


class GradeRows(NamedTuple):
    """Some rows of the grades."""

    entry: Codes
    annotator: Codes
    level: Codes


class RaschBlocks(NamedTuple):
    """Parameters, a direction, or slopes, in the blocks that the kernels use."""

    relevance: Floats
    difficulty: Floats  # of parameters 1 / ε; of directions and slopes, by log ε
    sums: Floats  # by annotator and grade: the sum of the thresholds up to the grade


class RaschModel:
    """Minus the log-posterior, its gradient and products with its Hessian, for `numerics.newton.minimise`.

    The kernels take, instead of the thresholds, their sums Σ_{k ≤ g} τ_ak, one for each grade g.
    """

    def __init__(self, table: GradeTable, settings: Rasch) -> None:
        self.table, self.settings = table, settings
        self.n_entries, self.n_annotators, self.n_levels = table.n_entries, table.n_annotators, len(table.levels)
        steps = self.n_levels - 1
        blocks = {"relevance": self.n_entries, "log_difficulty": self.n_entries}
        self.layout = Layout(**blocks, thresholds=self.n_annotators * steps, crowd=steps)
        self.chance = np.empty((len(table), self.n_levels))  # of each grade, row by row
        self.sum = RowSum(len(table), 2 * self.n_entries + self.n_annotators * self.n_levels)

    def _rows(self, r: slice) -> GradeRows:
        return GradeRows(self.table.entry[r], self.table.annotator[r], self.table.level[r])

    def start(self) -> Floats:
        """Relevance and log-difficulty 0, and thresholds at which such items get the grades that were given."""
        count = np.bincount(self.table.level, minlength=self.n_levels) + 1.0
        crowd = np.log(count[:-1] / count[1:])
        return self.layout.pack(
            relevance=0, log_difficulty=0, thresholds=np.tile(crowd, self.n_annotators), crowd=crowd
        )

    def own(self, thresholds: Floats) -> Floats:
        """The thresholds as a matrix, one row per annotator."""
        return thresholds.reshape(self.n_annotators, self.n_levels - 1)

    def _sums(self, thresholds: Floats) -> Floats:
        return np.hstack([np.zeros((self.n_annotators, 1)), np.cumsum(self.own(thresholds), axis=1)])

    def _gathered(self, total: Floats) -> Floats:
        """From slopes by relevance, difficulty and sums of thresholds to slopes by all parameters, without priors."""
        by_sum = total[2 * self.n_entries :].reshape(self.n_annotators, self.n_levels)
        by_threshold = np.cumsum(by_sum[:, ::-1], axis=1)[:, ::-1][:, 1:]
        return np.concatenate([total[: 2 * self.n_entries], by_threshold.ravel(), np.zeros(self.n_levels - 1)])

    def _split(self, total: Floats) -> RaschBlocks:
        n = self.n_entries
        return RaschBlocks(total[:n], total[n : 2 * n], total[2 * n :].reshape(self.n_annotators, self.n_levels))

    def evaluate(self, x: Floats) -> tuple[float, Floats]:
        """Value and gradient at x; remembers the curvature there."""
        theta = self.layout.unpack(x)
        self.here = RaschBlocks(
            theta.relevance.copy(), np.exp(-theta.log_difficulty), self._sums(theta.thresholds)
        )  # the second block is 1 / ε

        def terms(r: slice, total: Floats) -> float:
            return float(_terms(self._rows(r), self.here, self.chance[r], self._split(total)))

        total, values = self.sum(terms)
        gradient = self._gathered(total)
        slope = self._prior_product(x)
        return sum(values) + float(x @ slope) / 2, gradient + slope

    def _prior_product(self, v: Floats) -> Floats:
        """The Hessian of the priors times v. All priors are normal, so this is also their gradient at v."""
        part, given = self.layout.unpack(v), self.settings
        deviation = (self.own(part.thresholds) - part.crowd) / given.threshold_spread**2
        return self.layout.pack(
            relevance=part.relevance / given.relevance_spread**2,
            log_difficulty=part.log_difficulty / given.difficulty_spread**2,
            thresholds=deviation.ravel(),
            crowd=part.crowd / CROWD_SPREAD**2 - deviation.sum(axis=0),
        )

    def hessian_product(self, v: Floats) -> Floats:
        """The Hessian at the last evaluated point times v."""
        part = self.layout.unpack(v)
        direction = RaschBlocks(part.relevance, part.log_difficulty, self._sums(part.thresholds))

        def products(r: slice, total: Floats) -> None:
            _products(self._rows(r), self.here, self.chance[r], direction, self._split(total))

        return self._gathered(self.sum(products)[0]) + self._prior_product(v)

    def entry_posteriors(self, x: Floats, width: Floats, *, with_difficulty: bool) -> tuple[Floats, Floats]:
        """Mean and variance of each entry's relevance given the thresholds, on a grid around x of this width."""
        theta, given = self.layout.unpack(x), self.settings
        nodes, weights = np.polynomial.hermite_e.hermegauss(DIFFICULTY_NODES if with_difficulty else 1)
        mean, variance = np.empty((2, self.n_entries))
        _posterior_moments(
            GradeRows(self.table.entry, self.table.annotator, self.table.level),
            np.asarray(self.table.entry_starts),
            self._sums(theta.thresholds),
            theta.relevance,
            np.outer(width, GRID),
            np.exp(-given.difficulty_spread * nodes),
            np.log(weights),
            given.relevance_spread,
            mean,
            variance,
        )
        return mean, variance

    def diagonal(self) -> Floats:
        """The diagonal of the Hessian at the last evaluated point."""

        def curvatures(r: slice, total: Floats) -> None:
            _curvatures(self._rows(r), self.here, self.chance[r], self._split(total))

        relevance, difficulty, thresholds = self._split(self.sum(curvatures)[0])
        given = self.settings
        return self.layout.pack(
            relevance=relevance + given.relevance_spread**-2,
            log_difficulty=difficulty + given.difficulty_spread**-2,
            thresholds=thresholds[:, 1:].ravel() + given.threshold_spread**-2,
            crowd=CROWD_SPREAD**-2 + self.n_annotators / given.threshold_spread**2,
        )


@kernel
def _terms(rows, at, chance, slopes):
    """Minus the log-likelihood; adds its slopes, and writes the probability of each grade to `chance`.

    Grade h has the weight exp(u_h) with u_h = (h r − Σ τ) / ε.
    """
    entry, annotator, level = rows
    relevance, inverse_difficulty, sums = at
    value, n_levels = 0.0, sums.shape[1]
    for row in range(len(entry)):
        d, a, g = entry[row], annotator[row], level[row]
        e, r = inverse_difficulty[d], relevance[d]
        most = -np.inf
        for h in range(n_levels):
            chance[row, h] = e * (h * r - sums[a, h])
            most = max(most, chance[row, h])
        own, norm = chance[row, g], 0.0
        for h in range(n_levels):
            chance[row, h] = np.exp(chance[row, h] - most)
            norm += chance[row, h]
        value += most + np.log(norm) - own
        by_relevance, by_difficulty = 0.0, 0.0
        for h in range(n_levels):
            chance[row, h] /= norm
            residual = chance[row, h] - (h == g)
            by_relevance += residual * h
            by_difficulty += residual * (h * r - sums[a, h])
            slopes.sums[a, h] -= e * residual
        slopes.relevance[d] += e * by_relevance
        slopes.difficulty[d] -= e * by_difficulty
    return value


@kernel
def _products(rows, at, chance, direction, products):
    """Add the Hessian of minus the log-likelihood times the direction."""
    entry, annotator, level = rows
    relevance, inverse_difficulty, sums = at
    n_levels = sums.shape[1]
    for row in range(len(entry)):
        d, a, g = entry[row], annotator[row], level[row]
        e, r = inverse_difficulty[d], relevance[d]
        r_step, difficulty_step = direction.relevance[d], direction.difficulty[d]
        mean = 0.0
        for h in range(n_levels):
            step = h * r_step - direction.sums[a, h] - difficulty_step * (h * r - sums[a, h])
            mean += chance[row, h] * step
        by_relevance, by_difficulty = 0.0, 0.0
        for h in range(n_levels):
            exponent = h * r - sums[a, h]
            step = h * r_step - direction.sums[a, h] - difficulty_step * exponent
            residual = chance[row, h] - (h == g)
            change = e * chance[row, h] * (step - mean) - residual * difficulty_step
            by_relevance += change * h
            by_difficulty += e * chance[row, h] * (step - mean) * exponent + residual * step
            products.sums[a, h] -= e * change
        products.relevance[d] += e * by_relevance
        products.difficulty[d] -= e * by_difficulty


@kernel
def _curvatures(rows, at, chance, diagonal):
    """Add the diagonal of that Hessian: by relevance, log-difficulty and thresholds (`sums` from the second column)."""
    entry, annotator, level = rows
    relevance, inverse_difficulty, sums = at
    n_levels = sums.shape[1]
    for row in range(len(entry)):
        d, a, g = entry[row], annotator[row], level[row]
        e, r = inverse_difficulty[d], relevance[d]
        first, second, u_first, u_second, slope, above = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for h in range(n_levels - 1, -1, -1):
            p, u = chance[row, h], e * (h * r - sums[a, h])
            first += p * h
            second += p * h * h
            u_first += p * u
            u_second += p * u * u
            slope += (p - (h == g)) * u
            above += p
            diagonal.sums[a, h] += e * e * above * (1 - above)
        diagonal.relevance[d] += e * e * (second - first * first)
        diagonal.difficulty[d] += u_second - u_first * u_first + slope


@kernel
def _posterior_moments(rows, starts, sums, centre, grid, inverse_difficulty, log_weight, spread, mean, variance):
    """Write mean and variance of each entry's relevance, over its grid and all difficulties, given the thresholds."""
    annotator, level = rows.annotator, rows.level
    n_levels, n, n_hard = sums.shape[1], grid.shape[1], len(inverse_difficulty)
    log_chance = np.empty((n_hard, n))
    for d in range(len(mean)):
        top = -np.inf
        for k in range(n_hard):
            e = inverse_difficulty[k]
            for q in range(n):
                r = centre[d] + grid[d, q]
                value = log_weight[k] - r * r / (2 * spread * spread)
                for row in range(starts[d], starts[d + 1]):
                    a = annotator[row]
                    most = -np.inf
                    for h in range(n_levels):
                        most = max(most, e * (h * r - sums[a, h]))
                    norm = 0.0
                    for h in range(n_levels):
                        norm += np.exp(e * (h * r - sums[a, h]) - most)
                    value += e * (level[row] * r - sums[a, level[row]]) - most - np.log(norm)
                log_chance[k, q] = value
                top = max(top, value)
        total, first, second = 0.0, 0.0, 0.0
        for k in range(n_hard):
            for q in range(n):
                chance = np.exp(log_chance[k, q] - top)
                total += chance
                first += chance * grid[d, q]
                second += chance * grid[d, q] * grid[d, q]
        mean[d] = centre[d] + first / total
        variance[d] = second / total - (first / total) ** 2
