"""The curves of annotators: how likely each grade is at each relevance, found by expectation and maximisation.

Relevance is integrated out on a grid: the curves are those that make the judgments most likely whatever the relevance
of each entry, which a joint maximum over both would not give (it takes the noise of entries with few judgments for
relevance). An expectation is two passes over the judgments: by entry, for the posteriors, and by annotator, for what
those say of their curves. A maximisation is one Newton step of all curves and of the crowd's mean curve together (an
annotator with few judgments moves with the crowd).
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Fit
from crowdrank.methods.grades.curves import kernels
from crowdrank.methods.grades.curves.scales import Scales
from crowdrank.numerics.progress import report
from crowdrank.numerics.threads import RowSum
from crowdrank.study import Codes, Floats

REACH = 4.0  # the grid of relevance goes from minus to plus this, in standard deviations of its prior
MOST_NODES = 401
ROWS_AT_ONCE = 1 << 16
SMALLEST = 1e-300  # chance whose logarithm is taken
DIFFICULTY_NODES = 5
DIFFICULTY_SPREAD = 0.5  # of log ε
SLOPE_SPREAD, INTERCEPT_SPREAD = (
    0.5,
    1.0,
)  # of the annotators around the crowd, chosen by how well rankings agree with gold
LONGEST_STEP = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The judgments sorted by entry and, as `by_profile`, by rater; a rater is an annotator or an annotator on a task."""

    entry: Codes
    profile: Codes
    level: Codes
    entry_starts: NDArray[np.int64]
    by_profile: NDArray[np.int64]
    profile_starts: NDArray[np.int64]
    scale: Codes  # of each rater

    @property
    def n_profiles(self) -> int:
        return len(self.scale)

    @property
    def n_entries(self) -> int:
        return len(self.entry_starts) - 1


def sorted_rows(entry: Codes, profile: Codes, level: Codes, scale: Codes, n_entries: int) -> Rows:
    """Sorted, so that the order in which judgments came does not matter."""
    profile_bits, level_bits = _bits(len(scale)), _bits(int(level.max(initial=0)) + 1)
    keys = (
        (entry.astype(np.int64) << profile_bits | profile) << level_bits
    ) | level  # one number sorts several times as fast as three
    keys.sort()
    level, keys = (keys & ((1 << level_bits) - 1)).astype(np.int32), keys >> level_bits
    profile, entry = (keys & ((1 << profile_bits) - 1)).astype(np.int32), (keys >> profile_bits).astype(np.int32)
    by_profile = np.argsort(profile, kind="stable")
    return Rows(
        entry,
        profile,
        level,
        np.searchsorted(entry, np.arange(n_entries + 1)),
        by_profile,
        np.searchsorted(profile[by_profile], np.arange(len(scale) + 1)),
        scale,
    )


def _bits(count: int) -> int:
    """Bits that hold any code below `count`."""
    return max(count - 1, 0).bit_length()


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """Where relevance and difficulty may lie."""

    x: Floats
    sharp: Floats  # one over the difficulty
    log_prior: Floats


def nodes_for(narrowest: float, difficulty: bool) -> Nodes:
    """Fine enough for posteriors as narrow as this: the error of such sums is negligible once steps are no longer than the spread."""
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
    """Curves as weighted normal densities of relevance: P(g | r) ∝ weight N(r; mean, variance), one row per annotator."""

    mean: Floats
    variance: Floats
    weight: Floats
    shift: Floats  # what was added to the slopes so that the mixture has mean 0
    n_levels: NDArray[np.int64]  # of each annotator's scale; columns beyond are empty


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """The curve that annotators of each scale have in common: slopes, then intercepts, of its levels."""

    centre: Floats  # one row per scale
    spread: Floats  # w: the relevance that grades leave open, as a share
    shift: Floats  # k: what to add to the slopes so that their mean is 0


def first_crowd(rows: Rows, scales: Scales) -> Crowd:
    """As if a level held the entries of its share of a normal distribution, and everybody saw relevance as well as noise."""
    most = int(scales.n_levels.max(initial=1))
    centre = np.zeros((len(scales.grade), 2 * most))
    for scale, n in enumerate(scales.n_levels):
        count = np.bincount(rows.level[rows.scale[rows.profile] == scale], minlength=n).astype(np.float64)
        share = (count + 0.5) / (count.sum() + 0.5 * n)
        normal = np.array([NormalDist().inv_cdf(p) for p in np.cumsum(share) - share / 2])
        centre[scale, :n] = normal - normal.mean()
        centre[scale, most : most + n] = np.log(share) - np.log(share).mean()
    return crowd_of(centre, scales.n_levels)


def crowd_of(centre: Floats, n_levels: NDArray[np.int64]) -> Crowd:
    """The crowd with these curves."""
    most = centre.shape[1] // 2
    found = gaussians(centre[:, :most], centre[:, most:], n_levels)
    return Crowd(centre, found.variance, found.shift)


def gaussians(slope: Floats, intercept: Floats, n_levels: NDArray[np.int64]) -> Gaussians:
    """The curves with these slopes and intercepts of the log-odds as normal densities.

    Of all sets of densities that give the same curves, the one whose mixture has about mean 0 and variance 1, as
    relevance has.
    """
    there = np.arange(slope.shape[1]) < n_levels[:, None]
    x = np.linspace(-REACH, REACH, 33)
    density = np.exp(-x * x / 2)
    density /= density.sum()
    share = np.zeros_like(slope)
    for node, weight in zip(x, density, strict=True):
        value = np.where(there, intercept + slope * node, -np.inf)
        chance = np.exp(value - value.max(axis=1, keepdims=True))
        share += weight * chance / chance.sum(axis=1, keepdims=True)
    shift = -(share * slope).sum(axis=1)
    leaning = np.where(there, slope + shift[:, None], 0.0)
    variance = (share * leaning**2).sum(axis=1)
    spread = 2 / (1 + np.sqrt(1 + 4 * variance))
    value = np.where(there, intercept + spread[:, None] * leaning**2 / 2, -np.inf)
    weight = np.exp(value - value.max(axis=1, keepdims=True))
    return Gaussians(spread[:, None] * leaning, spread, weight / weight.sum(axis=1, keepdims=True), shift, n_levels)


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """What was found: the curves of the raters, also as logarithms at the nodes, and the posterior of each entry over the nodes."""

    gaussians: Gaussians
    nodes: Nodes
    posterior: Floats
    table: Floats
    fit: Fit

    def by_others(self, rows: Rows) -> Floats:
        """Per row: the relevance of its entry as all other grades have it."""
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
    """The state of the search: the curves, and the tables that each step fills anew."""

    def __init__(self, rows: Rows, scales: Scales, prior: float, *, ordered: bool, difficulty: bool) -> None:
        self.rows, self.ordered, self.difficulty = rows, ordered, difficulty
        self.scale_levels = scales.n_levels
        self.n_levels = scales.n_levels[rows.scale]
        self.precision = max(prior, 1e-6) / np.array([SLOPE_SPREAD**2, INTERCEPT_SPREAD**2])
        self.first = self.crowd = first_crowd(rows, scales)
        self.theta = self.crowd.centre[rows.scale]
        self.most = self.theta.shape[1] // 2
        wide = 2 * self.most
        busiest = float(np.quantile(np.diff(rows.entry_starts), 0.99)) if rows.n_entries else 0.0
        self._look(1 / np.sqrt(1 + busiest))
        self.step, self.variance = np.zeros((rows.n_profiles, wide)), np.zeros((rows.n_profiles, wide))
        self.before, self.length = np.zeros((rows.n_profiles, wide)), np.ones(rows.n_profiles)
        self.pull = np.zeros((rows.n_profiles, wide, wide))
        self.by_entry, self.by_profile = (
            RowSum(len(rows.entry), 1),
            RowSum(len(rows.entry), len(self.scale_levels) * wide * (wide + 1)),
        )
        self.entry_of, self.level_of = rows.entry[rows.by_profile], rows.level[rows.by_profile]

    def _look(self, narrowest: float) -> None:
        """Use a grid for posteriors as narrow as this."""
        self.nodes = nodes_for(narrowest, self.difficulty)
        self.table = np.zeros((self.rows.n_profiles, self.most, len(self.nodes.x)))
        self.posterior = np.empty((self.rows.n_entries, len(self.nodes.x)))

    def _too_coarse(self, relevance: Floats) -> bool:
        """Are the narrowest posteriors narrower than the steps of the grid?"""
        step = 2 * REACH / (len(np.unique(self.nodes.x)) - 1)
        variance = self.posterior @ self.nodes.x**2 - relevance**2
        return (
            len(variance) > 0 and step > 2 * REACH / (MOST_NODES - 1) and float(np.quantile(variance, 0.05)) < step**2
        )

    def expect(self) -> float:
        """The posteriors of all entries given the curves; returns the log-posterior of the curves."""
        rows, nodes, scale = self.rows, self.nodes, self.rows.scale
        slope, intercept = np.hsplit(self.theta, 2)
        curvature, shift = self.crowd.spread[scale] / 2, self.crowd.shift[scale]
        self.by_profile(
            lambda r, _: kernels.log_curves(
                *_groups(rows.profile_starts, r),
                slope,
                intercept,
                self.n_levels,
                curvature,
                shift,
                nodes.x,
                nodes.sharp,
                self.table,
            )
        )
        _, evidence = self.by_entry(
            lambda r, _: kernels.posteriors(
                *_groups(rows.entry_starts, r),
                rows.entry_starts,
                rows.profile,
                rows.level,
                self.table,
                nodes.log_prior,
                self.posterior,
            )
        )
        deviation = self.theta - self.crowd.centre[scale]
        penalty = float((deviation**2).sum(axis=0) @ np.repeat(self.precision, self.most))
        return float(sum(evidence)) - (penalty + float(((self.crowd.centre - self.first.centre) ** 2).sum())) / 2

    def maximise(self) -> None:
        """Move all curves, and the crowd's, by one Newton step."""
        rows, nodes, scale = self.rows, self.nodes, self.rows.scale
        deviation = self.theta - self.crowd.centre[scale]
        slope = np.ascontiguousarray(self.theta[:, : self.most])
        curvature, shift = self.crowd.spread[scale] / 2, self.crowd.shift[scale]
        total, _ = self.by_profile(
            lambda r, total: kernels.profile_steps(
                *_groups(rows.profile_starts, r), rows.profile_starts, self.entry_of, self.level_of, scale, self.n_levels,
                self.posterior, self.table, nodes.x, nodes.sharp, slope, curvature, shift, deviation, self.precision,
                self.step, self.variance, self.pull, total,
            )
        )  # fmt: skip
        centre, wide = self.crowd.centre.copy(), 2 * self.most
        move, known = np.zeros_like(centre), np.ones_like(centre)
        for number, part in enumerate(total.reshape(len(centre), wide * (wide + 1))):
            matrix = part[: wide * wide].reshape(wide, wide) + np.eye(wide)
            known[number] = np.diag(matrix)
            move[number] = np.linalg.solve(matrix, part[wide * wide :] - (centre - self.first.centre)[number])
        step = self.step + np.einsum("aij,aj->ai", self.pull, move[scale])
        # Newton's steps may swing from one side of the optimum to the other: who turns around goes half as far.
        turned = np.einsum("ai,ai->a", step, self.before) < 0
        self.length = np.where(turned, self.length / 2, np.minimum(1.5 * self.length, 1.0))
        self.before = step
        self.theta = self.theta + self.length[:, None] * np.clip(step, -LONGEST_STEP, LONGEST_STEP)
        centre += np.clip(move, -LONGEST_STEP, LONGEST_STEP)
        if not self.difficulty:  # there the curves of hard entries would not stay the same
            for curves in (self.theta, centre):
                self._standardise(curves)
        if self.ordered:
            kernels.ascending(self.theta, 1 / np.maximum(self.variance, 1e-12), self.n_levels)
            kernels.ascending(centre, known, self.scale_levels)
        self.crowd = crowd_of(centre, self.scale_levels)

    def _standardise(self, curves: Floats) -> None:
        """Let curves follow relevance to mean 0 and variance 1 (parameter expansion).

        Only the prior of relevance holds its scale, and where entries are well known that alone would take hundreds of
        steps.
        """
        x, judged = self.nodes.x, np.diff(self.rows.entry_starts) > 0
        overall = self.posterior[judged].mean(axis=0) if judged.any() else np.exp(self.nodes.log_prior)
        mean = float(overall @ x)
        curves[:, self.most :] += mean * curves[:, : self.most]
        curves[:, : self.most] *= np.sqrt(float(overall @ x**2) - mean**2)

    def run(self, max_iter: int, tol: float) -> Curves:
        """Alternate until no entry's relevance moves by more than `tol`."""
        relevance, converged, value = np.full(self.rows.n_entries, np.inf), False, 0.0
        for step in range(max_iter):
            report("curves", step, max_iter)
            value = self.expect()
            before, relevance = relevance, self.posterior @ self.nodes.x
            moved = float(np.abs(relevance - before).max(initial=0.0))
            if moved <= 10 * tol and self._too_coarse(relevance):
                self._look(REACH / (len(np.unique(self.nodes.x)) - 1))  # half the steps
                continue
            converged = moved <= tol
            if converged:
                break
            self.maximise()
        slope, intercept = np.hsplit(self.theta, 2)
        found = gaussians(slope, intercept, self.n_levels)
        return Curves(found, self.nodes, self.posterior, self.table, Fit(step + 1, converged, value))


def _groups(starts: NDArray[np.int64], rows: slice) -> tuple[int, int]:
    """The groups of rows that begin in this slice; those without rows that come after all others belong to the last."""
    first, last = np.searchsorted(starts[:-1], [rows.start, rows.stop])
    return int(first), len(starts) - 1 if rows.stop == starts[-1] else int(last)
