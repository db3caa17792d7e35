"""Gradient and Fisher information of votes by all parameters, added up vote by vote; in Numba.

The terms of a block of votes are computed first, then added to one kind of parameters after the other: simple loops
over neighbouring cells, which the compiler computes four at a time. Functions with arrays do not count references to
them (`_nrt=False`), which would take longer than the sums.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crowdrank.methods.pairs.leaderboard.effect_kernels import answer_chances, answer_terms, decided_terms, predictors
from crowdrank.numerics.compiled import kernel
from crowdrank.study import Floats

BLOCK = 256  # votes
# The second derivatives of a vote by its predictors g, b, t and q: where they stand among its terms.
FIRST, GG, GB, GT, GQ, BB, BT, BQ, TT, TQ, QQ, N_TERMS = 0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14


class EffectSums(NamedTuple):
    """What votes are added to. Cells off the diagonal of `core` and `block` are added once.

    What votes in `block` say about scores is still to be added to `core`.
    """

    core_gradient: Floats
    block_gradient: Floats
    own_gradient: Floats
    core: Floats
    block: Floats  # category × entry × entry
    block_rest: Floats  # category × entry × parameters of the core after the scores
    own: Floats  # annotator × parameter × parameter
    core_own: Floats  # annotator × core × parameter


@kernel(error_model="numpy", _nrt=False)
def _find_terms(rows, at, values, normal, start, end, terms, work):
    """Of each vote the gradient and the information by g, b, t and q; returns minus the log-likelihood."""
    chance, slope, first, second = work
    value, has_ties = 0.0, at.ties >= 0
    for v in range(start, end):
        w = rows.weight[v]
        gap, bias, ties, eta = predictors(v, rows, at, values)
        if not has_ties and not normal:
            value += w * decided_terms(gap, bias, eta, rows.outcome[v], first, second)
        else:
            answer_chances(gap, bias, ties, has_ties, eta, normal, chance, slope)
            value += w * answer_terms(rows.outcome[v], has_ties, chance, slope, first, second)
        at_term = GG
        for p in range(4):
            terms[FIRST + p, v - start] = w * first[p]
            for q in range(p, 4):
                terms[at_term, v - start] = w * second[p, q]
                at_term += 1
    return value


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def _shared_row(b, x, v, at, terms, row):
    """What a vote says about the gap and each parameter that all share: `row` begins at the first of these."""
    size = 0
    if at.coefficient >= 0:
        for c in range(x.shape[1]):
            row[c] = terms[GG, b] * x[v, c]
        size = x.shape[1]
    if at.bias >= 0:
        row[size] = terms[GB, b]
        size += 1
    if at.ties >= 0:
        row[size] = terms[GT, b]
        size += 1
    if at.quality >= 0:
        row[size] = terms[GQ, b]
        size += 1
    return size


@kernel(error_model="numpy", _nrt=False)
def _add_items(rows, at, start, end, terms, n, total, row):
    """Adds what the votes say about scores and deviations, alone and with what all share.

    Votes of a category with a block of its own are added to that: what they say about scores is the same.
    """
    left, right, place, level, x = rows.left, rows.right, rows.place, rows.block, rows.x
    for v in range(start, end):
        b, i, j, c = v - start, left[v], right[v], level[v]
        slope, curvature = terms[FIRST, b], terms[GG, b]
        q = _shared_row(b, x, v, at, terms, row)
        if c >= 0:
            _add_pair(i, j, slope, curvature, 0, q, row, total.block_gradient[c], total.block[c], total.block_rest[c])
        else:
            _add_pair(i, j, slope, curvature, n, q, row, total.core_gradient, total.core, total.core)
        for f in range(place.shape[1]):
            if place[v, f] >= 0:
                one, other = place[v, f] + i, place[v, f] + j
                _add_pair(one, other, slope, curvature, n, q, row, total.core_gradient, total.core, total.core)
                for g in range(f):
                    if place[v, g] >= 0:
                        _add_crossed(one, other, place[v, g] + i, place[v, g] + j, curvature, total.core)
                if c >= 0:
                    _add_crossed(i, j, one - n, other - n, curvature, total.block_rest[c])
                else:
                    _add_crossed(one, other, i, j, curvature, total.core)


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def _add_pair(i, j, slope, curvature, first, q, row, gradient, items, rest):
    """Adds what a vote says about two scores, or two deviations; what all share begins at column `first` of `rest`."""
    gradient[i] += slope
    gradient[j] -= slope
    items[i, i] += curvature
    items[j, j] += curvature
    items[i, j] -= curvature
    for s in range(q):
        rest[i, first + s] += row[s]
        rest[j, first + s] -= row[s]


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def _add_crossed(i, j, other_i, other_j, curvature, table):
    """The same about a score and a deviation."""
    table[i, other_i] += curvature
    table[j, other_j] += curvature
    table[i, other_j] -= curvature
    table[j, other_i] -= curvature


@kernel(error_model="numpy", _nrt=False)
def _add_shared(x, first, count, terms, start, gradient, core):
    """Adds what votes say about coefficients; the first of these stands at `first`."""
    for b in range(count):
        for c in range(x.shape[1]):
            gradient[first + c] += terms[FIRST, b] * x[start + b, c]
            amount = terms[GG, b] * x[start + b, c]
            for d in range(c + 1):
                core[first + c, first + d] += amount * x[start + b, d]


@kernel(error_model="numpy", _nrt=False)
def _add_mean(place, kind, by_gap, own, x, first, count, terms, start, gradient, core):
    """Adds what votes say about the mean of b, t or q, alone and with coefficients."""
    if place < 0:
        return
    for b in range(count):
        gradient[place] += terms[FIRST + kind, b]
        core[place, place] += terms[own, b]
        for c in range(x.shape[1]):
            core[place, first + c] += terms[by_gap, b] * x[start + b, c]


@kernel(error_model="numpy", _nrt=False)
def _add_two_means(one, other, term, count, terms, core):
    if one >= 0 and other >= 0:
        for b in range(count):
            core[other, one] += terms[term, b]


@kernel(error_model="numpy", _nrt=False)
def _add_means(at, x, count, terms, start, gradient, core):
    """Adds what votes say about the means of all annotators' parameters."""
    first = at.coefficient
    _add_mean(at.bias, 1, GB, BB, x, first, count, terms, start, gradient, core)
    _add_mean(at.ties, 2, GT, TT, x, first, count, terms, start, gradient, core)
    _add_mean(at.quality, 3, GQ, QQ, x, first, count, terms, start, gradient, core)
    _add_two_means(at.bias, at.ties, BT, count, terms, core)
    _add_two_means(at.bias, at.quality, BQ, count, terms, core)
    _add_two_means(at.ties, at.quality, TQ, count, terms, core)


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def _own_row(b, x, v, at, terms, by_bias, by_ties, by_quality, row):
    """The information of a vote about one predictor and each parameter of its annotator."""
    if at.own_bias >= 0:
        row[at.own_bias] = terms[by_bias, b]
    if at.own_slope >= 0:
        for c in range(x.shape[1]):
            row[at.own_slope + c] = terms[by_bias, b] * x[v, c]
    if at.own_ties >= 0:
        row[at.own_ties] = terms[by_ties, b]
    if at.own_quality >= 0:
        row[at.own_quality] = terms[by_quality, b]


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def _add_row(table, at, amount, row):
    """Adds a multiple of a row to that of a table, if the table has it."""
    if at >= 0:
        for a in range(len(row)):
            table[at, a] += amount * row[a]


@kernel(error_model="numpy", _nrt=False)
def _add_own(rows, at, start, end, terms, total, of_gap, of_bias, of_ties, of_quality):
    """Adds what the votes say about the parameters of their annotators, alone and with the core.

    `of_gap` and `of_bias` become what each vote says about g, and b, and the annotator's parameters.
    """
    left, right, place, x = rows.left, rows.right, rows.place, rows.x
    for v in range(start, end):
        b, k, i, j = v - start, rows.annotator[v], left[v], right[v]
        own, core, gap, bias = total.own[k], total.core_own[k], of_gap[b], of_bias[b]
        _own_row(b, x, v, at, terms, 1, 2, 3, gap)
        _add_row(total.own_gradient, k, 1.0, gap)
        _own_row(b, x, v, at, terms, GB, GT, GQ, gap)
        _own_row(b, x, v, at, terms, BB, BT, BQ, bias)
        _own_row(b, x, v, at, terms, BT, TT, TQ, of_ties)
        _own_row(b, x, v, at, terms, BQ, TQ, QQ, of_quality)
        _add_row(core, i, 1.0, gap)
        _add_row(core, j, -1.0, gap)
        for f in range(place.shape[1]):
            if place[v, f] >= 0:
                _add_row(core, place[v, f] + i, 1.0, gap)
                _add_row(core, place[v, f] + j, -1.0, gap)
        _add_row(core, at.bias, 1.0, bias)
        _add_row(own, at.own_bias, 1.0, bias)
        _add_row(core, at.ties, 1.0, of_ties)
        _add_row(own, at.own_ties, 1.0, of_ties)
        _add_row(core, at.quality, 1.0, of_quality)
        _add_row(own, at.own_quality, 1.0, of_quality)
    for b in range(0, end - start, 4):
        v, last = start + b, min(start + b + 4, end) - 1
        if last - v == 3 and rows.annotator[v] == rows.annotator[last]:
            k = rows.annotator[v]
            _add_four(x, v, at.coefficient, of_gap, b, total.core_own[k])
            _add_four(x, v, at.own_slope, of_bias, b, total.own[k])
            continue
        for r in range(v, last + 1):
            k = rows.annotator[r]
            _add_one(x, r, at.coefficient, of_gap, r - start, total.core_own[k])
            _add_one(x, r, at.own_slope, of_bias, r - start, total.own[k])


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def _add_four(x, v, first, rows, b, table):
    """Adds the covariates of four votes times their rows, from row `first` on: cells are written once for four."""
    if first < 0:
        return
    for c in range(x.shape[1]):
        x0, x1, x2, x3 = x[v, c], x[v + 1, c], x[v + 2, c], x[v + 3, c]
        for a in range(rows.shape[1]):
            table[first + c, a] += x0 * rows[b, a] + x1 * rows[b + 1, a] + x2 * rows[b + 2, a] + x3 * rows[b + 3, a]


@kernel(error_model="numpy", _nrt=False, forceinline=True)
def _add_one(x, v, first, rows, b, table):
    """The same for one vote."""
    if first < 0:
        return
    for c in range(x.shape[1]):
        for a in range(rows.shape[1]):
            table[first + c, a] += x[v, c] * rows[b, a]


@kernel(error_model="numpy", _nrt=False)
def _add_blocks(rows, at, values, normal, n, total, terms, work, row, rows_of_own):
    of_gap, of_bias, of_ties, of_quality = rows_of_own
    value = 0.0
    for start in range(0, len(rows.left), BLOCK):
        end = min(start + BLOCK, len(rows.left))
        value += _find_terms(rows, at, values, normal, start, end, terms, work)
        _add_items(rows, at, start, end, terms, n, total, row)
        _add_shared(rows.x, at.coefficient, end - start, terms, start, total.core_gradient, total.core)
        _add_means(at, rows.x, end - start, terms, start, total.core_gradient, total.core)
        if values.own.shape[1]:
            _add_own(rows, at, start, end, terms, total, of_gap, of_bias, of_ties, of_quality)
    return value


@kernel(error_model="numpy")
def add_information(rows, at, values, normal, n, total):
    """Adds what the votes on n entries say to EffectSums; returns minus the log-likelihood."""
    q = values.own.shape[1]
    work = np.empty(3), np.empty((3, 4)), np.empty(4), np.empty((4, 4))
    row = np.empty(3 + rows.x.shape[1])
    rows_of_own = np.zeros((BLOCK, q)), np.zeros((BLOCK, q)), np.zeros(q), np.zeros(q)
    terms = np.empty((N_TERMS, BLOCK))
    return _add_blocks(rows, at, values, normal, n, total, terms, work, row, rows_of_own)
