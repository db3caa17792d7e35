"""Scores of studies that are too large to sample, with what draws from a part of the votes say.

The most likely scores of a crowd whose distribution is learned with them lie too close together: scores a little
further apart and annotators a little worse explain the same votes, and there are many more such combinations. Draws
take this into account, but of millions of votes they take minutes. A part of the votes is enough to tell how scores and
qualities are distributed, and draws from it do. The scores are then the most likely ones given these distributions,
multiplied by the factor with which they, and what is not known about them, vary as much as the distribution says.
Qualities are averages over scores nearby: given the very scores that fit an annotator's votes best, they are too high.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.convert import Votes
from crowdrank.methods.pairs.votes.canonical import Keys, draws_of, keys, mixed
from crowdrank.methods.pairs.votes.marginal import MarginalModel
from crowdrank.methods.pairs.votes.mode import Mode, follow, mode_at
from crowdrank.study import Floats

PART_VOTES, PART_SHARE = 200_000, 1 / 16  # of the votes; whichever is more
ROUNDS = 2  # of hashing
NEARBY = 4  # points near the scores, at which the qualities are averaged


class VotePart(NamedTuple):
    """Some of the votes: those between some entries by some profiles."""

    model: MarginalModel
    entry: NDArray[np.int64]
    profile: NDArray[np.int64]
    task_starts: NDArray[np.int64]


def mode_by_part(
    model: MarginalModel, mode: Mode, task_starts: NDArray[np.int64], *, max_iter: int, tol: float
) -> tuple[Mode, float]:
    """Scores with the distributions that draws from a part give; how uncertain the logarithm of their scale is."""
    keys_of = keys(model.rows, model.n_entries, model.n_profiles, ROUNDS)
    part = part_of(model, task_starts, *keys_of)
    draws = draws_of(part.model, _restricted(part, model, mode), part.task_starts)
    scale = np.log(draws.x[:, : len(part.entry)].std(axis=1))
    n, spreads = model.n_entries, (mode.x[: model.n_entries].std(), mode.x[part.entry].std())
    spread = float(draws.spread.mean() * (spreads[0] / spreads[1] if min(spreads) > 0 else 1.0))  # that of the whole
    known = replace(mode, crowd=replace(mode.crowd, weight=draws.weight), hyper=replace(mode.hyper, spread=spread))
    at = mode_at(model, task_starts, _scaled(mode.x, n, spread / mode.hyper.spread), known.crowd, known.hyper)
    found = follow(model, task_starts, at, max_iter=max_iter, tol=tol)
    squares = model.squares(found.x, found.hyper) + found.variance[:n]
    factor = 1.0 if found.hyper.of_gaps else spread / float(np.sqrt(squares.mean()))
    stretched = mode_at(model, task_starts, _scaled(found.x, n, factor), known.crowd, known.hyper)
    posterior = _posterior_nearby(model, stretched, keys_of[0])
    steps = mode.steps + found.steps
    return replace(stretched, posterior=posterior, steps=steps, converged=found.converged), float(scale.std(ddof=1))


def _posterior_nearby(model: MarginalModel, mode: Mode, entry_key: Keys) -> Floats:
    """The posterior of the qualities, averaged over scores as far from these as they are uncertain."""
    from scipy.special import ndtri  # not at the top: small studies do not need SciPy

    n, total = model.n_entries, np.zeros_like(mode.posterior)
    for number in range(NEARBY):
        uniform = (mixed(entry_key + np.uint64(number)) >> np.uint64(11)).astype(np.float64) / 2**53
        x = mode.x.copy()
        x[:n] += np.sqrt(mode.variance[:n]) * ndtri(np.clip(uniform, 1e-12, 1 - 1e-12))
        total += model.evaluate(x, mode.crowd.qualities, mode.hyper).posterior / NEARBY
    return total


def _scaled(x: Floats, n_entries: int, factor: float) -> Floats:
    """The parameters with the scores multiplied by a factor."""
    return np.concatenate((factor * x[:n_entries], x[n_entries:]))


def part_of(model: MarginalModel, task_starts: NDArray[np.int64], entry_key: Keys, profile_key: Keys) -> VotePart:
    """Some of the votes, as many for an entry as for a profile if possible: too few of either tell nothing.

    Which ones depends on the keys of entries and profiles, and so neither on names nor on the order of rows.
    """
    rows, n_votes = model.rows, len(model.rows.winner)
    wanted = max(PART_VOTES, PART_SHARE * n_votes)
    balanced = (2 * wanted * model.n_profiles / (model.n_entries * n_votes)) ** (1 / 3)
    entry_share = min(1.0, max(balanced, (wanted / n_votes) ** 0.5))
    profile_share = min(1.0, wanted / (entry_share**2 * n_votes))
    some_entries, some_profiles = _lowest(entry_key, entry_share), _lowest(profile_key, profile_share)
    chosen = np.flatnonzero(some_profiles[rows.profile] & some_entries[rows.winner] & some_entries[rows.loser])
    entry, code = np.unique(np.concatenate((rows.winner[chosen], rows.loser[chosen])), return_inverse=True)
    profiles, of_profile = np.unique(rows.profile[chosen], return_inverse=True)
    winner, loser = np.split(code.astype(np.int32), 2)
    table = Votes(of_profile.astype(np.int32), winner, loser, rows.kind[chosen], rows.weight[chosen])
    part = MarginalModel(table, table.annotator, len(entry), len(profiles), model.normal, model.free)
    return VotePart(part, entry.astype(np.int64), profiles.astype(np.int64), np.searchsorted(entry, task_starts))


def _lowest(key: Keys, share: float) -> NDArray[np.bool_]:
    """Which keys are the lowest, up to this share of them. Keys are hashes: these are as good as chosen by lot."""
    last = max(int(share * len(key)), 1) - 1
    return np.asarray(key <= np.partition(key, last)[last])


def _restricted(part: VotePart, model: MarginalModel, mode: Mode) -> Mode:
    """The mode of the whole, for the entries and profiles of a part."""
    blocks = (model.layout.slices[name].start + part.profile for name in model.free)
    x, crowd = mode.x[np.concatenate((part.entry, *blocks))], mode.crowd
    first, step, cell = crowd.first[part.profile], crowd.step[part.profile], crowd.cell[part.profile]
    return mode_at(part.model, part.task_starts, x, replace(crowd, first=first, step=step, cell=cell), mode.hyper)
