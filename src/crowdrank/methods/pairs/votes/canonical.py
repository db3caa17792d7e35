"""An order of entries and profiles that follows from the votes alone, not from names.

Draws are random numbers for entries and profiles in turn, so other names would change them. The order is by a key of
each entry and profile: a hash of its votes and of the keys of those it shares them with, three times over (Weisfeiler
and Lehman's colour refinement). Sums of hashes do not depend on the order of rows. Those with equal keys are, but for
collisions of hashes, symmetric, and stay in the order of their codes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crowdrank.convert import TIED, Votes
from crowdrank.methods.pairs.votes.crowd import Crowd
from crowdrank.methods.pairs.votes.kernels import VoteRows
from crowdrank.methods.pairs.votes.marginal import MarginalModel
from crowdrank.methods.pairs.votes.mode import Mode, mode_at
from crowdrank.methods.pairs.votes.sampler import Draws, sample
from crowdrank.study import Codes

FEWEST_WARM_UP, MOST_WARM_UP = 30, 60
FEWEST_DRAWS, MOST_DRAWS = 30, 300
DRAWS_OF_ONE_VOTE = 10_000  # over the root of the number of votes: with more votes the posterior is closer to normal
ROUNDS = 3
ROWS = 1_000_000  # whose hashes are computed together: those of all votes may need too much memory

Keys = NDArray[np.uint64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CanonicalOrder:
    """The entries and profiles in their order, and where the entries of each task start then."""

    entry: Places
    profile: Places
    task_starts: Places

    def model(self, model: MarginalModel) -> MarginalModel:
        """The same model with entries and profiles in this order."""
        of_entry, of_profile = _inverse(self.entry), _inverse(self.profile)
        rows = model.rows
        profile, winner, loser = of_profile[rows.profile], of_entry[rows.winner], of_entry[rows.loser]
        turned = (rows.kind == TIED) & (winner > loser) & ("bias" not in model.free)
        winner, loser = np.where(turned, loser, winner), np.where(turned, winner, loser)
        order = np.lexsort((rows.kind, loser, winner, profile))
        codes = np.stack((profile, winner, loser)).astype(np.int32)[:, order]
        table = Votes(codes[0], codes[1], codes[2], rows.kind[order], rows.weight[order])
        return MarginalModel(table, table.annotator, model.n_entries, model.n_profiles, model.normal, model.free)

    def mode(self, model: MarginalModel, mode: Mode) -> Mode:
        """The same mode; `model` is in this order."""
        crowd = _reordered(mode.crowd, self.profile)
        return mode_at(model, self.task_starts, mode.x[self._parameters(model)], crowd, mode.hyper)

    def restored(self, model: MarginalModel, draws: Draws) -> Draws:
        """Draws of parameters in this order, in the order of codes."""
        back = _inverse(self._parameters(model))
        posterior = draws.posterior[_inverse(self.profile)]
        mean, error = draws.mean[back], draws.error[back]
        return draws._replace(x=draws.x[:, back], mean=mean, error=error, posterior=posterior)

    def _parameters(self, model: MarginalModel) -> Places:
        """The parameters of a model in this order."""
        starts = (model.n_entries + number * model.n_profiles for number in range(len(model.free)))
        return np.concatenate((self.entry, *(start + self.profile for start in starts)))


def draws_of(model: MarginalModel, mode: Mode, task_starts: NDArray[np.int64]) -> Draws:
    """Draws from the posterior that do not depend on names; as many as the votes need."""
    draws = min(max(int(DRAWS_OF_ONE_VOTE / len(model.rows.winner) ** 0.5), FEWEST_DRAWS), MOST_DRAWS)
    warm_up = min(max(draws, FEWEST_WARM_UP), MOST_WARM_UP)
    order = canonical_order(model, task_starts)
    ordered = order.model(model)
    found = sample(ordered, order.mode(ordered, mode), order.task_starts, draws=draws, warm_up=warm_up)
    return order.restored(model, found)


def canonical_order(model: MarginalModel, task_starts: NDArray[np.int64]) -> CanonicalOrder:
    """The order of the entries, task by task, and of the profiles."""
    entry_key, profile_key = keys(model.rows, model.n_entries, model.n_profiles)
    sizes = np.diff(task_starts)
    task = np.repeat(np.arange(len(sizes)), sizes)
    task_key = _summed(task, mixed(entry_key), len(sizes))
    tasks = np.argsort(task_key, kind="stable")
    entry = np.lexsort((entry_key, _inverse(tasks)[task]))
    return CanonicalOrder(entry, np.argsort(profile_key, kind="stable"), np.r_[0, np.cumsum(sizes[tasks])])


def keys(rows: VoteRows, n_entries: int, n_profiles: int, rounds: int = ROUNDS) -> tuple[Keys, Keys]:
    """The keys of the entries and of the profiles."""
    entry_key, profile_key = np.ones(n_entries, np.uint64), np.ones(n_profiles, np.uint64)
    for _ in range(rounds):
        new_entry, new_profile = mixed(entry_key), mixed(profile_key)
        for start in range(0, len(rows.winner), ROWS):
            _add_votes(rows.part(slice(start, start + ROWS)), entry_key, profile_key, new_entry, new_profile)
        entry_key, profile_key = new_entry, new_profile
    return entry_key, profile_key


def _add_votes(rows: VoteRows, entry_key: Keys, profile_key: Keys, new_entry: Keys, new_profile: Keys) -> None:
    """Add the hashes of votes to the new keys of their entries and profiles."""
    profile, winner, loser, kind, weight = rows
    vote = mixed(mixed(kind.astype(np.uint64) + np.uint64(1)) + weight.view(np.uint64))
    lost = np.where(kind == TIED, np.uint64(0), np.uint64(1))
    of_winner, of_loser = entry_key[winner], mixed(entry_key[loser] + lost)
    both = np.where(kind == TIED, mixed(of_winner) + of_loser, of_winner + of_loser)
    shared = vote + profile_key[profile]
    np.add.at(new_entry, winner, mixed(shared + mixed(entry_key[loser])))
    np.add.at(new_entry, loser, mixed(shared + mixed(of_winner) + lost))
    np.add.at(new_profile, profile, mixed(vote + mixed(both)))


def mixed(key: Keys) -> Keys:
    """A hash of every number (the last steps of SplitMix64)."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(key ^ (key >> np.uint64(31)))


def _summed(group: Codes | Places, key: Keys, size: int) -> Keys:
    total = np.zeros(size, np.uint64)
    np.add.at(total, group, key)
    return total


def _inverse(order: Places) -> Places:
    inverse = np.empty(len(order), np.int64)
    inverse[order] = np.arange(len(order))
    return inverse


def _reordered(crowd: Crowd, profile: Places) -> Crowd:
    return replace(crowd, first=crowd.first[profile], step=crowd.step[profile], cell=crowd.cell[profile])
