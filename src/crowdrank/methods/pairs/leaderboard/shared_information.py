"""What votes say about parameters that all annotators share.

Scores and deviations enter a vote in the same way. So votes are added up once for each category, and what they say
about scores is the sum over categories.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from crowdrank.methods.pairs.leaderboard.effect_kernels import EffectPlaces, EffectRows, EffectValues, Information
from crowdrank.methods.pairs.leaderboard.shared_kernels import MOST_TIES, SharedSums, add_shared_information
from crowdrank.numerics.compiled import for_work
from crowdrank.numerics.groups import run_starts
from crowdrank.numerics.threads import in_parts
from crowdrank.study import Floats


def shared_information(
    rows: EffectRows, at: EffectPlaces, values: EffectValues, n: int, parts: list[slice]
) -> tuple[float, Information]:
    """Minus the log-likelihood of n items, its gradient and the information."""
    total, value = _nothing(values), 0.0
    jobs = _alike(rows, parts)
    found = in_parts(lambda job: _sums(rows, job, at, values, n), jobs)
    for job, (part_value, sums) in zip(jobs, found, strict=True):  # in this order: sums of floats depend on it
        value += part_value
        _include(sums, rows, job.start, total)
    return value, total


def _nothing(values: EffectValues) -> Information:
    m, (n_blocks, n) = len(values.core), values.block.shape
    shapes = (m,), (n_blocks, n), (0, 0), (m, m), (n_blocks, n, n), (n_blocks, n, m), (0, 0, 0), (0, 0, m)
    return Information(*(np.zeros(shape) for shape in shapes))


def _alike(rows: EffectRows, parts: list[slice]) -> list[slice]:
    """Parts of the rows whose items deviate in the same way."""
    starts = run_starts(rows.block, *rows.place.T)
    edges = sorted({*np.flatnonzero(starts).tolist(), *(part.start for part in parts), len(starts)})
    return [slice(one, other) for one, other in pairwise(edges)]


def _sums(rows: EffectRows, job: slice, at: EffectPlaces, values: EffectValues, n: int) -> tuple[float, SharedSums]:
    core, n_x = values.core, rows.x.shape[1]
    score = core[:n].copy()
    for place in rows.place[job.start]:
        score += core[place : place + n] if place >= 0 else 0.0
    if (block := rows.block[job.start]) >= 0:
        score += values.block[block]
    log_ties = min(float(core[at.ties]), MOST_TIES) if at.ties >= 0 else -math.inf
    q = n_x + (at.ties >= 0)
    sums = SharedSums(*(np.zeros(shape) for shape in ((n,), (q,), (n,), (n, n), (n, q), (q, q))))
    run = for_work(add_shared_information, (job.stop - job.start) * (20 + n_x * n_x))
    value = run(rows.taken(job), score, core[n : n + n_x], math.exp(log_ties), log_ties, sums)
    return float(value), sums


def _include(sums: SharedSums, rows: EffectRows, row: int, total: Information) -> None:
    """Adds sums over votes whose items deviate as those of this row."""
    n, q = sums.item_shared.shape
    items: Floats = sums.items + sums.items.T
    np.einsum("ii->i", items)[...] += sums.diagonal
    shared = slice(n, n + q)
    where = [slice(0, n), *(slice(place, place + n) for place in rows.place[row] if place >= 0)]
    total.core_gradient[shared] += sums.shared_gradient
    total.core[shared, shared] += sums.shared
    for one in where:
        total.core_gradient[one] += sums.item_gradient
        total.core[one, shared] += sums.item_shared
        total.core[shared, one] += sums.item_shared.T
        for other in where:
            total.core[one, other] += items
    if (block := rows.block[row]) >= 0:
        total.block_gradient[block] += sums.item_gradient
        total.block[block] += items
        total.block_core[block, :, shared] += sums.item_shared
        for one in where:
            total.block_core[block, :, one] += items
