"""Votes that no other vote contradicts: scores must not contradict them either.

Shrinkage may put an item that won its only comparison below the strong item it beat. Where no vote contradicts another,
directly or along a chain, nothing speaks against the votes, and such scores become equal.
"""

from __future__ import annotations

import numpy as np

from crowdrank.convert import TIED, Votes
from crowdrank.numerics.compiled import for_work, kernel
from crowdrank.study import Codes, Floats


def in_order_of_votes(score: Floats, table: Votes) -> Floats:
    """The scores, or, where votes contradict each other nowhere, the nearest that agree with all of them.

    Each becomes the mean of the lowest score among those above it and the highest among those below it.
    """
    decided = table.kind != TIED
    winner, loser = table.winner[decided], table.loser[decided]
    if not (score[winner] < score[loser]).any():
        return score
    order = _best_first(len(score), winner, loser)
    if len(order) < len(score):  # a cycle
        return score
    place = np.empty(len(score), np.int64)
    place[order] = np.arange(len(score))
    ceiling, floor = score.copy(), score.copy()
    for row in np.argsort(place[winner], kind="stable"):
        ceiling[loser[row]] = min(ceiling[loser[row]], ceiling[winner[row]])
    for row in np.argsort(-place[loser], kind="stable"):
        floor[winner[row]] = max(floor[winner[row]], floor[loser[row]])
    return np.asarray((ceiling + floor) / 2)


def _best_first(n_entries: int, winner: Codes, loser: Codes) -> Codes:
    """The entries so that every winner stands before those it beat; those of cycles are missing."""
    by_winner = np.argsort(winner, kind="stable")
    starts = np.searchsorted(winner[by_winner], np.arange(n_entries + 1))
    sort = for_work(_sorted, 4 * (n_entries + len(loser)))
    return np.asarray(sort(starts, loser[by_winner], np.bincount(loser, minlength=n_entries)))


@kernel
def _sorted(starts, loser, losses):
    """Kahn's algorithm: entries without losses first, then those whose winners are all placed."""
    order, placed = np.empty(len(losses), np.int64), 0
    for i in range(len(losses)):
        if losses[i] == 0:
            order[placed] = i
            placed += 1
    done = 0
    while done < placed:
        for r in range(starts[order[done]], starts[order[done] + 1]):
            losses[loser[r]] -= 1
            if losses[loser[r]] == 0:
                order[placed] = loser[r]
                placed += 1
        done += 1
    return order[:placed]
