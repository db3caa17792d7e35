"""The curves of annotators: the probability of each grade at each relevance, found by expectation maximisation (EM).

Relevance is integrated out on a grid: the curves are those that make the judgments most likely whatever the relevance
of each entry. A joint maximum over curves and relevance would fit the noise of entries with few judgments.

The E step is two passes over the judgments: by entry for the posteriors, then by profile for the expected counts of the
grades. The M step is one Newton step of all curves and of the crowd's mean curve together, so that an annotator with
few judgments moves with the crowd.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Fit
from crowdrank.methods.grades.curves import kernels
from crowdrank.methods.grades.curves.kernels import Nodes
from crowdrank.methods.grades.curves.scales import Scales
from crowdrank.methods.grades.curves.spreads import OF_ANNOTATORS, OF_CROWDS, CurveSpread
from crowdrank.numerics.compiled import for_work
from crowdrank.numerics.progress import report
from crowdrank.numerics.threads import RowSum
from crowdrank.study import Codes, Floats

REACH = 4.0  # the grid of relevance goes from minus to plus this, in standard deviations of its prior
MOST_NODES = 401
ROWS_AT_ONCE = 1 << 16
SMALLEST = 1e-300  # probability whose logarithm is taken
DIFFICULTY_NODES = 5
DIFFICULTY_SPREAD = 0.5  # of log ε
LONGEST_STEP = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class GradesByProfile:
    """The judgments sorted by entry and, through `by_profile`, by profile.

    A profile has one set of curves: it is an annotator, or an annotator on one task.
    """

    entry: Codes
    profile: Codes
    level: Codes
    entry_starts: NDArray[np.int64]
    by_profile: NDArray[np.int64]
    profile_starts: NDArray[np.int64]
    scale: Codes  # of each profile

    @property
    def n_profiles(self) -> int:
        return len(self.scale)

    @property
    def n_entries(self) -> int:
        return len(self.entry_starts) - 1


def sort_grades(entry: Codes, profile: Codes, level: Codes, scale: Codes, n_entries: int) -> GradesByProfile:
    """The judgments sorted, so that the order in which they came does not matter."""
    profile_bits, level_bits = _bits(len(scale)), _bits(int(level.max(initial=0)) + 1)
    # One number sorts several times as fast as three.
    keys = ((entry.astype(np.int64) << profile_bits | profile) << level_bits) | level
    keys.sort()
    level, keys = (keys & ((1 << level_bits) - 1)).astype(np.int32), keys >> level_bits
    profile, entry = (keys & ((1 << profile_bits) - 1)).astype(np.int32), (keys >> profile_bits).astype(np.int32)
    by_profile = np.argsort(profile, kind="stable")
    return GradesByProfile(
        entry,
        profile,
        level,
        np.searchsorted(entry, np.arange(n_entries + 1)),
        by_profile,
        np.searchsorted(profile[by_profile], np.arange(len(scale) + 1)),
        scale,
    )


def _bits(count: int) -> int:
    """How many bits hold any code below `count`."""
    return max(count - 1, 0).bit_length()


def make_nodes(narrowest: float, difficulty: bool) -> Nodes:
    """A grid fine enough for posteriors with this standard deviation.

    The error of sums over the grid is negligible once its steps are no longer than the standard deviation.
    """
    half = int(np.clip(np.ceil(REACH / narrowest), 12, MOST_NODES // 2))
    x = np.linspace(-REACH, REACH, 2 * half + 1)
    prior = np.exp(-x * x / 2)
    if not difficulty:
        return Nodes(x, np.ones(len(x)), np.log(prior / prior.sum()))
    at, weight = np.polynomial.hermite_e.hermegauss(DIFFICULTY_NODES)
    joint = np.outer(prior / prior.sum(), weight / weight.sum()).ravel()
    return Nodes(np.repeat(x, len(at)), np.tile(np.exp(-DIFFICULTY_SPREAD * at), len(x)), np.log(joint))


@dataclass(frozen=True, slots=True, eq=False)
class Gaussians:
    """Curves as weighted normal densities of relevance: P(g | r) ∝ weight N(r; mean, variance), one row per profile."""

    mean: Floats
    variance: Floats
    weight: Floats
    shift: Floats  # added to the slopes so that the mixture has mean 0
    n_levels: NDArray[np.int64]  # of each profile's scale; columns beyond are empty


@dataclass(frozen=True, slots=True, eq=False)
class CrowdCurves:
    """The mean curve of each scale, one row per scale: the slopes of its levels, then their intercepts."""

    centre: Floats
    variance: Floats  # w: the variance of relevance within a grade, of a total of 1
    shift: Floats  # k: what to add to the slopes so that their mean is 0


def initial_crowd(rows: GradesByProfile, scales: Scales) -> CrowdCurves:
    """The curves to start from: each level holds its share of a standard normal distribution.

    Their slopes take signal and noise to be equally large.
    """
    most = int(scales.n_levels.max(initial=1))
    centre = np.zeros((len(scales.grade), 2 * most))
    for scale, n in enumerate(scales.n_levels):
        count = np.bincount(rows.level[rows.scale[rows.profile] == scale], minlength=n).astype(np.float64)
        share = (count + 0.5) / (count.sum() + 0.5 * n)
        normal = np.array([NormalDist().inv_cdf(p) for p in np.cumsum(share) - share / 2])
        centre[scale, :n] = normal - normal.mean()
        centre[scale, most : most + n] = np.log(share) - np.log(share).mean()
    return crowd_curves(centre, scales.n_levels)


def crowd_curves(centre: Floats, n_levels: NDArray[np.int64]) -> CrowdCurves:
    """The crowd's curves from their slopes and intercepts."""
    most = centre.shape[1] // 2
    found = gaussians(centre[:, :most], centre[:, most:], n_levels)
    return CrowdCurves(centre, found.variance, found.shift)


def gaussians(slope: Floats, intercept: Floats, n_levels: NDArray[np.int64]) -> Gaussians:
    """The curves with these slopes and intercepts of the log-odds, as normal densities.

    Many sets of densities give the same curves; this is the one whose mixture has about mean 0 and variance 1, as
    relevance has.
    """
    exists = np.arange(slope.shape[1]) < n_levels[:, None]
    x = np.linspace(-REACH, REACH, 33)
    density = np.exp(-x * x / 2)
    density /= density.sum()
    share = np.zeros_like(slope)
    for node, weight in zip(x, density, strict=True):
        value = np.where(exists, intercept + slope * node, -np.inf)
        chance = np.exp(value - value.max(axis=1, keepdims=True))
        share += weight * chance / chance.sum(axis=1, keepdims=True)
    shift = -(share * slope).sum(axis=1)
    shifted = np.where(exists, slope + shift[:, None], 0.0)
    variance = (share * shifted**2).sum(axis=1)
    within = 2 / (1 + np.sqrt(1 + 4 * variance))  # the variance of relevance within a grade
    value = np.where(exists, intercept + within[:, None] * shifted**2 / 2, -np.inf)
    weight = np.exp(value - value.max(axis=1, keepdims=True))
    return Gaussians(within[:, None] * shifted, within, weight / weight.sum(axis=1, keepdims=True), shift, n_levels)


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """The fitted curves, and the posterior of each entry."""

    gaussians: Gaussians  # one row per profile
    nodes: Nodes
    posterior: Floats  # of each entry over the nodes
    table: Floats  # the curves as logarithms: by profile, level and node
    free_parameters: Floats  # of each profile: how many its judgments determine, rather than the crowd
    fit: Fit

    def relevance_by_others(self, rows: GradesByProfile) -> Floats:
        """Per row: the expected relevance of its entry given all other grades of the entry."""
        relevance = np.empty(len(rows.entry))
        for start in range(0, len(relevance), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            log = (
                np.log(np.maximum(self.posterior[rows.entry[part]], SMALLEST))
                - self.table[rows.profile[part], rows.level[part]]
            )
            others = np.exp(log - log.max(axis=1, keepdims=True))
            relevance[part] = others @ self.nodes.x / others.sum(axis=1)
        return relevance


class CurveFit:
    """The state of the EM algorithm: the curves, and the tables that each step overwrites."""

    def __init__(
        self, rows: GradesByProfile, scales: Scales, shrinkage: float, *, ordered: bool, difficulty: bool
    ) -> None:
        self.rows, self.ordered, self.difficulty = rows, ordered, difficulty
        self.scale_levels = scales.n_levels
        self.n_levels = scales.n_levels[rows.scale]
        self.start = self.crowd = initial_crowd(rows, scales)
        self.precision = max(shrinkage, 1e-6) * self._precisions(OF_ANNOTATORS)
        self.crowd_precision = self._precisions(OF_CROWDS)
        self.theta = self.crowd.centre[rows.scale]  # slopes, then intercepts of each profile
        self.most = self.theta.shape[1] // 2
        n, wide = rows.n_profiles, 2 * self.most
        busiest = float(np.quantile(np.diff(rows.entry_starts), 0.99)) if rows.n_entries else 0.0
        self._use_nodes(1 / np.sqrt(1 + busiest))
        self.steps = kernels.NewtonSteps(np.zeros((n, wide)), np.zeros((n, wide)), np.zeros((n, wide, wide)))
        self.previous_step, self.damping = np.zeros((n, wide)), np.ones(n)
        self.by_entry = RowSum(len(rows.entry), 1)
        self.by_profile = RowSum(len(rows.entry), len(self.scale_levels) * wide * (wide + 1))
        self.judgments = kernels.ProfileJudgments(
            rows.profile_starts, rows.entry[rows.by_profile], rows.level[rows.by_profile], rows.scale
        )

    def _precisions(self, spread: CurveSpread) -> Floats:
        """For each scale; levels that it does not have stay where they are."""
        most = self.start.centre.shape[1] // 2
        found = np.zeros((len(self.scale_levels), 2 * most, 2 * most))
        for scale, n in enumerate(self.scale_levels):
            used = np.r_[:n, most : most + n]
            found[scale][np.ix_(used, used)] = spread.precision_matrix(self.start.centre[scale, :n])
        return found

    def _use_nodes(self, narrowest: float) -> None:
        """Use a grid for posteriors with this standard deviation."""
        self.nodes = make_nodes(narrowest, self.difficulty)
        self.table = np.zeros((self.rows.n_profiles, self.most, len(self.nodes.x)))
        self.posterior = np.empty((self.rows.n_entries, len(self.nodes.x)))

    def _too_coarse(self, relevance: Floats) -> bool:
        """Whether the narrowest posteriors are narrower than the steps of the grid."""
        step = 2 * REACH / (len(np.unique(self.nodes.x)) - 1)
        variance = self.posterior @ self.nodes.x**2 - relevance**2
        return (
            len(variance) > 0 and step > 2 * REACH / (MOST_NODES - 1) and float(np.quantile(variance, 0.05)) < step**2
        )

    def _parameters(self) -> kernels.CurveParameters:
        """The curves as the kernels take them."""
        slope, intercept = (np.ascontiguousarray(part) for part in np.hsplit(self.theta, 2))
        scale = self.rows.scale
        return kernels.CurveParameters(
            slope, intercept, self.crowd.variance[scale] / 2, self.crowd.shift[scale], self.n_levels
        )

    def expect(self) -> float:
        """Update the posteriors of all entries given the curves; return the log-posterior of the curves."""
        rows, nodes, parameters = self.rows, self.nodes, self._parameters()
        log_curves = for_work(kernels.log_curves, 3 * self.table.size)
        self.by_profile(lambda r, _: log_curves(*_groups(rows.profile_starts, r), parameters, nodes, self.table))
        evidence = self.update_posteriors()
        deviation = self.theta - self.crowd.centre[rows.scale]
        from_start = self.crowd.centre - self.start.centre
        penalty = _penalty(deviation, self.precision[rows.scale]) + _penalty(from_start, self.crowd_precision)
        return evidence - penalty / 2

    def update_posteriors(self) -> float:
        """Update the posteriors of all entries given the table of the curves; return the logarithm of the evidence."""
        rows, nodes = self.rows, self.nodes
        posteriors = for_work(kernels.posteriors, self.posterior.shape[1] * (len(rows.entry) + 3 * len(self.posterior)))
        _, evidence = self.by_entry(
            lambda r, _: posteriors(
                *_groups(rows.entry_starts, r),
                rows.entry_starts,
                rows.profile,
                rows.level,
                self.table,
                nodes.log_prior,
                self.posterior,
            )
        )
        return float(sum(evidence))

    def maximise(self) -> None:
        """Move all curves, and the crowd's, by one Newton step."""
        rows, prior = self.rows, kernels.CurvePrior(self.theta - self.crowd.centre[self.rows.scale], self.precision)
        crowd_step, information = self._crowd_step(self.update_steps(self._parameters(), prior))
        self._move_profiles(self.steps.step + np.einsum("aij,aj->ai", self.steps.response, crowd_step[rows.scale]))
        centre = self.crowd.centre + np.clip(crowd_step, -LONGEST_STEP, LONGEST_STEP)
        if not self.difficulty:  # with difficulty, standardising would change the curves of difficult entries
            for curves in (self.theta, centre):
                self._standardise(curves)
        if self.ordered:
            make_ascending = for_work(kernels.make_ascending, self.theta.size * self.most * self.most)
            make_ascending(self.theta, 1 / np.maximum(self.steps.variance, 1e-12), self.n_levels)
            make_ascending(centre, information, self.scale_levels)
        self.crowd = crowd_curves(centre, self.scale_levels)

    def update_steps(self, parameters: kernels.CurveParameters, prior: kernels.CurvePrior) -> Floats:
        """Update the steps of all profiles; return the equations of the crowd's."""
        rows = self.rows
        count, cells = len(rows.entry) * len(self.nodes.x), self.table.size * self.most
        newton_steps = for_work(kernels.newton_steps, count + 3 * cells)
        equations, _ = self.by_profile(
            lambda r, total: newton_steps(
                *_groups(rows.profile_starts, r),
                self.judgments,
                self.posterior,
                parameters,
                self.nodes,
                self.table,
                prior,
                self.steps,
                total,
            )
        )
        return equations

    def _crowd_step(self, equations: Floats) -> tuple[Floats, Floats]:
        """The Newton step of the crowd's curves, and the information about each of their parameters."""
        from_start, wide = self.crowd.centre - self.start.centre, 2 * self.most
        step, information = np.zeros_like(from_start), np.ones_like(from_start)
        for scale, part in enumerate(equations.reshape(len(from_start), wide * (wide + 1))):
            n, own = self.scale_levels[scale], self.crowd_precision[scale]
            used = np.r_[:n, self.most : self.most + n]
            matrix = (part[: wide * wide].reshape(wide, wide) + own)[np.ix_(used, used)]
            information[scale, used] = np.diag(matrix)
            step[scale, used] = np.linalg.solve(matrix, (part[wide * wide :] - own @ from_start[scale])[used])
        return step, information

    def _move_profiles(self, step: Floats) -> None:
        """Apply the steps; where a step reverses the last one, go half as far.

        Newton's steps may oscillate around the optimum.
        """
        reverses = np.einsum("ai,ai->a", step, self.previous_step) < 0
        self.damping = np.where(reverses, self.damping / 2, np.minimum(1.5 * self.damping, 1.0))
        self.previous_step = step
        self.theta = self.theta + self.damping[:, None] * np.clip(step, -LONGEST_STEP, LONGEST_STEP)

    def _standardise(self, curves: Floats) -> None:
        """Rescale the curves so that relevance has mean 0 and variance 1 (parameter expansion).

        Otherwise only the prior fixes the scale of relevance, which takes hundreds of steps where entries have many
        judgments.
        """
        x, judged = self.nodes.x, np.diff(self.rows.entry_starts) > 0
        overall = self.posterior[judged].mean(axis=0) if judged.any() else np.exp(self.nodes.log_prior)
        mean = float(overall @ x)
        curves[:, self.most :] += mean * curves[:, : self.most]
        curves[:, : self.most] *= np.sqrt(float(overall @ x**2) - mean**2)

    def run(self, max_iter: int, tol: float) -> Curves:
        """Alternate E and M steps until no entry's relevance moves by more than `tol`."""
        relevance, converged, value = np.full(self.rows.n_entries, np.inf), False, 0.0
        for step in range(max_iter):
            report("curves", step, max_iter)
            value = self.expect()
            before, relevance = relevance, self.posterior @ self.nodes.x
            moved = float(np.abs(relevance - before).max(initial=0.0))
            if moved <= 10 * tol and self._too_coarse(relevance):
                self._use_nodes(REACH / (len(np.unique(self.nodes.x)) - 1))  # half as far apart
                continue
            converged = moved <= tol
            if converged:
                break
            self.maximise()
        slope, intercept = np.hsplit(self.theta, 2)
        found = gaussians(slope, intercept, self.n_levels)
        free = 2 * self.n_levels - np.einsum("aii->a", self.steps.response)
        return Curves(found, self.nodes, self.posterior, self.table, free, Fit(step + 1, converged, value))


def _penalty(deviation: Floats, precision: Floats) -> float:
    """The sum of dᵀ P d."""
    return float(np.einsum("ai,aij,aj->", deviation, precision, deviation, optimize=True))


def _groups(starts: NDArray[np.int64], rows: slice) -> tuple[int, int]:
    """The groups whose rows begin in this slice; empty groups at the end belong to the last slice."""
    first, last = np.searchsorted(starts[:-1], [rows.start, rows.stop])
    return int(first), len(starts) - 1 if rows.stop == starts[-1] else int(last)
