"""The terms that votes with covariates add to the log-likelihood, their gradient and Fisher information; in Numba.

A vote depends on four predictors: the gap g between the left and the right item (scores, deviations in categories,
shared coefficients of covariates), the bias b of its annotator, their readiness to tie t = log τ, and their quality
η = σ(q):

    logistic   P(tie) = τ / (τ + 2 cosh((2η − 1) g / 2)); if there is no tie,
               P(left) = η σ(g + b) + (1 − η) σ(−g + b)
    normal     P(left) = η Φ((g + b − τ) / √2) + (1 − η) Φ((−g + b − τ) / √2), P(right) the same with −g and −b

Fisher information instead of the Hessian: it is never negative, and where η = 1 the two are equal for logistic votes.

The parameters are those of the core (scores, coefficients, means), the deviations of each category, and those of each
annotator. The information about the last two is a block for each category and annotator, besides what connects these
with the core. What connects annotators with categories that have blocks of their own is left out.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.pairs.votes.kernels import link
from crowdrank.numerics.compiled import kernel
from crowdrank.study import LEFT, RIGHT, TIE, Codes, Floats

TINY = 1e-300
WIDEST = 600.0  # gap: e³⁰⁰ does not overflow


class EffectRows(NamedTuple):
    """The votes, sorted by annotator."""

    annotator: Codes
    left: Codes
    right: Codes
    outcome: NDArray[np.int8]
    weight: Floats
    x: Floats  # covariates, standardised
    place: NDArray[np.int64]  # votes × factors: where the deviations of the vote's level begin in the core; -1: none
    block: Codes  # the category whose deviations have a block of their own, -1: none

    def taken(self, rows: slice | NDArray[np.intp]) -> EffectRows:
        """Some of the rows, in this order."""
        # `take` copies rows of a table in an eighth of the time.
        columns: list[Any] = [c[rows] if isinstance(rows, slice) else c.take(rows, axis=0) for c in self]
        return EffectRows(*columns)


class EffectPlaces(NamedTuple):
    """Where the parameters stand in the core; -1 where the model does not have them."""

    coefficient: int
    bias: int  # the mean of the annotators' biases
    ties: int  # the mean of their readiness to tie
    quality: int  # the mean of the log-odds of their quality
    own_bias: int  # in the parameters of an annotator
    own_slope: int
    own_ties: int
    own_quality: int


class EffectValues(NamedTuple):
    """The values of all parameters."""

    core: Floats
    block: Floats  # category × entry
    own: Floats  # annotator × parameter
    quality: Floats  # η of each annotator, where it is not a parameter

    @property
    def numbers(self) -> Floats:
        """All parameters in one vector."""
        return np.concatenate((self.core, self.block.ravel(), self.own.ravel()))

    def with_numbers(self, x: Floats) -> EffectValues:
        """The same with other parameters."""
        core, block, own = np.split(x, np.cumsum([self.core.size, self.block.size]))
        return EffectValues(core, block.reshape(self.block.shape), own.reshape(self.own.shape), self.quality)


class Information(NamedTuple):
    """Gradient of minus the log-likelihood, and Fisher information, by blocks; off-diagonal cells are added once."""

    core_gradient: Floats
    block_gradient: Floats
    own_gradient: Floats
    core: Floats
    block: Floats  # category × entry × entry
    block_core: Floats  # category × entry × core
    own: Floats  # annotator × parameter × parameter
    own_core: Floats  # annotator × parameter × core


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def predictors(v, rows, at, values):
    """g, b and t of a vote, and η."""
    k, ties, eta = rows.annotator[v], 0.0, values.quality[rows.annotator[v]]
    if at.ties >= 0:
        ties = values.core[at.ties]
        if at.own_ties >= 0:
            ties += values.own[k, at.own_ties]
    if at.own_quality >= 0:
        eta = 1 / (1 + math.exp(-min(max(values.core[at.quality] + values.own[k, at.own_quality], -30.0), 30.0)))
    gap = gap_of(v, rows, at, values.core, values.block)
    return min(max(gap, -WIDEST), WIDEST), bias_of(v, rows, at, values.core, values.own), ties, eta


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def gap_of(v, rows, at, core, deviation):
    """g: scores, deviations, covariates."""
    i, j, x, place = rows.left[v], rows.right[v], rows.x, rows.place
    gap = core[i] - core[j]
    for f in range(place.shape[1]):
        if place[v, f] >= 0:
            gap += core[place[v, f] + i] - core[place[v, f] + j]
    if rows.block[v] >= 0:
        gap += deviation[rows.block[v], i] - deviation[rows.block[v], j]
    if at.coefficient >= 0:
        for c in range(x.shape[1]):
            gap += core[at.coefficient + c] * x[v, c]
    return gap


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def bias_of(v, rows, at, core, own):
    """b: what the annotator adds."""
    k, x, bias = rows.annotator[v], rows.x, 0.0
    if at.bias >= 0:
        bias += core[at.bias]
    if at.own_bias >= 0:
        bias += own[k, at.own_bias]
    if at.own_slope >= 0:
        for c in range(x.shape[1]):
            bias += own[k, at.own_slope + c] * x[v, c]
    return bias


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def two_sides(u):
    """σ(u) and σ(−u), both to the last digit."""
    decay = math.exp(-abs(u))
    large = 1 / (1 + decay)
    return (large, decay * large) if u > 0 else (decay * large, large)


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def plain_terms(u, outcome, first, second):
    """As `answer_terms`, for logistic votes of quality 1 without ties; u = g + b."""
    left, right = two_sides(u)
    rest = right if outcome > 0 else -left
    for p in range(4):
        first[p] = -rest if p < 2 else 0.0
        for q in range(4):
            second[p, q] = left * right if p < 2 and q < 2 else 0.0
    return -math.log(max(left if outcome > 0 else right, TINY))


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def decided_terms(gap, bias, eta, outcome, first, second):
    """As `answer_terms`, for logistic votes without ties."""
    one, not_one = two_sides(gap + bias)
    other, not_other = two_sides(bias - gap)
    left, right = eta * one + (1 - eta) * other, eta * not_one + (1 - eta) * not_other
    by_gap = eta * one * not_one - (1 - eta) * other * not_other
    by_bias = eta * one * not_one + (1 - eta) * other * not_other
    by_quality = eta * (1 - eta) * (one - other)
    slope = -1 / max(left, TINY) if outcome > 0 else 1 / max(right, TINY)
    inverse = 1 / max(left * right, TINY)
    first[0], first[1], first[2], first[3] = slope * by_gap, slope * by_bias, 0.0, slope * by_quality
    for p in range(4):
        second[p, 2], second[2, p] = 0.0, 0.0
    second[0, 0], second[0, 1] = by_gap * inverse * by_gap, by_gap * inverse * by_bias
    second[1, 1], second[1, 3] = by_bias * inverse * by_bias, by_bias * inverse * by_quality
    second[0, 3], second[3, 3] = by_gap * inverse * by_quality, by_quality * inverse * by_quality
    second[1, 0], second[3, 0], second[3, 1] = second[0, 1], second[0, 3], second[1, 3]
    return -math.log(max(left if outcome > 0 else right, TINY))


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def answer_chances(gap, bias, ties, has_ties, eta, normal, chance, slope):
    """The chances of the answers left, tie and right, and their derivatives by g, b, t and q."""
    for o in range(3):
        for q in range(4):
            slope[o, q] = 0.0
    by_quality = eta * (1 - eta)
    if normal:
        tau = math.exp(min(ties, 5.0)) if has_ties else 0.0
        for o in range(0, 3, 2):
            side = 1.0 - o
            one, one_density, _ = link(side * (gap + bias) - tau, True)
            other, other_density, _ = link(side * (bias - gap) - tau, True)
            chance[o] = eta * one + (1 - eta) * other
            slope[o, 0] = side * (eta * one_density - (1 - eta) * other_density)
            slope[o, 1] = side * (eta * one_density + (1 - eta) * other_density)
            slope[o, 2] = -tau * (eta * one_density + (1 - eta) * other_density)
            slope[o, 3] = by_quality * (one - other)
        chance[1] = max(1 - chance[0] - chance[2], 0.0)
        for q in range(4):
            slope[1, q] = -slope[0, q] - slope[2, q]
        return
    one, not_one = two_sides(gap + bias)
    other, not_other = two_sides(bias - gap)
    one_density, other_density = one * not_one, other * not_other
    left, right = eta * one + (1 - eta) * other, eta * not_one + (1 - eta) * not_other
    by_gap = eta * one_density - (1 - eta) * other_density
    by_bias = eta * one_density + (1 - eta) * other_density
    tied, tied_by_gap, tied_by_ties, tied_by_quality = 0.0, 0.0, 0.0, 0.0
    if has_ties:
        r = 2 * eta - 1
        half = r * gap / 2
        tau = math.exp(min(ties, 300.0))
        tied = tau / (tau + 2 * math.cosh(half))
        tied_by_ties = tied * (1 - tied)
        tied_by_gap = -r / 2 * math.tanh(half) * tied_by_ties
        tied_by_quality = -gap * by_quality * math.tanh(half) * tied_by_ties
    chance[0], chance[1], chance[2] = (1 - tied) * left, tied, (1 - tied) * right
    slope[0, 0] = (1 - tied) * by_gap - tied_by_gap * left
    slope[0, 1] = (1 - tied) * by_bias
    slope[0, 2] = -tied_by_ties * left
    slope[0, 3] = (1 - tied) * by_quality * (one - other) - tied_by_quality * left
    slope[1, 0], slope[1, 2], slope[1, 3] = tied_by_gap, tied_by_ties, tied_by_quality
    slope[2, 0] = -(1 - tied) * by_gap - tied_by_gap * right
    slope[2, 1] = -(1 - tied) * by_bias
    slope[2, 2] = -tied_by_ties * right
    slope[2, 3] = -(1 - tied) * by_quality * (one - other) - tied_by_quality * right


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def answer_terms(outcome, has_ties, chance, slope, first, second):
    """Minus the log-probability of the answer; `first` becomes its gradient, `second` the Fisher information."""
    said = 1 - outcome
    for p in range(4):
        first[p] = -slope[said, p] / max(chance[said], TINY)
        for q in range(4):
            second[p, q] = 0.0
    for o in range(3):
        if chance[o] > 1e-12 and (has_ties or o != 1):
            inverse = 1 / chance[o]
            for p in range(4):
                for q in range(4):
                    second[p, q] += slope[o, p] * inverse * slope[o, q]
    return -math.log(max(chance[said], TINY))


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def core_row(v, rows, at, index, kind, factor):
    """The parameters of the core that a vote depends on, through which predictor, and times what.

    Returns their number, and where the covariates begin among them.
    """
    i, j, place, size = rows.left[v], rows.right[v], rows.place, 2
    index[0], kind[0], factor[0] = i, 0, 1.0
    index[1], kind[1], factor[1] = j, 0, -1.0
    for f in range(place.shape[1]):
        if place[v, f] >= 0:
            index[size], kind[size], factor[size] = place[v, f] + i, 0, 1.0
            index[size + 1], kind[size + 1], factor[size + 1] = place[v, f] + j, 0, -1.0
            size += 2
    begin = size
    if at.coefficient >= 0:
        for c in range(rows.x.shape[1]):
            index[size], kind[size], factor[size] = at.coefficient + c, 0, rows.x[v, c]
            size += 1
    if at.bias >= 0:
        index[size], kind[size], factor[size] = at.bias, 1, 1.0
        size += 1
    if at.ties >= 0:
        index[size], kind[size], factor[size] = at.ties, 2, 1.0
        size += 1
    if at.quality >= 0:
        index[size], kind[size], factor[size] = at.quality, 3, 1.0
        size += 1
    return size, begin


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def own_row(v, rows, at, kind, factor):
    """The same for the parameters of the annotator."""
    if at.own_bias >= 0:
        kind[at.own_bias], factor[at.own_bias] = 1, 1.0
    if at.own_slope >= 0:
        for c in range(rows.x.shape[1]):
            kind[at.own_slope + c], factor[at.own_slope + c] = 1, rows.x[v, c]
    if at.own_ties >= 0:
        kind[at.own_ties], factor[at.own_ties] = 2, 1.0
    if at.own_quality >= 0:
        kind[at.own_quality], factor[at.own_quality] = 3, 1.0


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def answer_slopes(outcome, gap, bias, ties, has_ties, eta, normal, chance, slope, first, second):
    """Minus the log-probability of the answer; `first` becomes its gradient."""
    if eta == 1.0 and not has_ties and not normal:
        return plain_terms(gap + bias, outcome, first, second)
    answer_chances(gap, bias, ties, has_ties, eta, normal, chance, slope)
    said = 1 - outcome
    for p in range(4):
        first[p] = -slope[said, p] / max(chance[said], TINY)
    return -math.log(max(chance[said], TINY))


@kernel(error_model="numpy")
def add_gradient(rows, at, values, normal, core, block, own):
    """Adds the gradient of minus the log-likelihood; returns the latter."""
    most, n_own = 5 + 2 * rows.place.shape[1] + rows.x.shape[1], values.own.shape[1]
    work = (
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most),
        np.empty(n_own, np.int64),
        np.empty(n_own),
    )
    terms = np.empty(3), np.empty((3, 4)), np.empty(4), np.empty((4, 4))
    return _add_slopes(rows, at, values, normal, core, block, own, work, terms)


@kernel(error_model="numpy", _nrt=False)
def _add_slopes(rows, at, values, normal, core, block, own, work, terms):
    """`add_gradient` with arrays to work in."""
    index, kind, factor, own_kind, own_factor = work
    chance, slope, first, second = terms
    n_own = values.own.shape[1]
    value = 0.0
    for v in range(len(rows.left)):
        k, w, c, outcome = rows.annotator[v], rows.weight[v], rows.block[v], rows.outcome[v]
        gap, bias, ties, eta = predictors(v, rows, at, values)
        value += w * answer_slopes(outcome, gap, bias, ties, at.ties >= 0, eta, normal, chance, slope, first, second)
        size, _ = core_row(v, rows, at, index, kind, factor)
        for i in range(size):
            core[index[i]] += w * first[kind[i]] * factor[i]
        own_row(v, rows, at, own_kind, own_factor)
        for i in range(n_own):
            own[k, i] += w * first[own_kind[i]] * own_factor[i]
        if c >= 0:
            block[c, rows.left[v]] += w * first[0]
            block[c, rows.right[v]] -= w * first[0]
    return value


@kernel
def quality_logs(rows, at, values, normal, quality, logs):
    """Adds the log-likelihood of each annotator's votes for each possible quality."""
    chance, slope = np.empty(3), np.empty((3, 4))
    for v in range(len(rows.left)):
        gap, bias, ties, _ = predictors(v, rows, at, values)
        for g in range(len(quality)):
            answer_chances(gap, bias, ties, at.ties >= 0, quality[g], normal, chance, slope)
            logs[rows.annotator[v], g] += rows.weight[v] * math.log(max(chance[1 - rows.outcome[v]], TINY))


@kernel
def gap_information(rows, at, values, normal, quality, total):
    """Adds, for each annotator, the information of their votes about the gap, if their quality were `quality`."""
    chance, slope = np.empty(3), np.empty((3, 4))
    for v in range(len(rows.left)):
        k = rows.annotator[v]
        gap, bias, ties, _ = predictors(v, rows, at, values)
        answer_chances(gap, bias, ties, at.ties >= 0, quality[k], normal, chance, slope)
        for o in range(3):
            if chance[o] > 1e-12 and (at.ties >= 0 or o != 1):
                total[k] += rows.weight[v] * slope[o, 0] * slope[o, 0] / chance[o]


assert (LEFT, TIE, RIGHT) == (1, 0, -1)  # so that 1 − outcome is the place of the answer
