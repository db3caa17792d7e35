"""Camps: annotators who agree with the ranking, and annotators who rank in the opposite way.

Votes alone do not say who is right. Where many votes are the reverse of the others, these people may simply have
another taste. Each camp then gets a ranking of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import rank_within
from crowdrank.convert import votes
from crowdrank.methods.pairs.votes.explicit import ModelVariant, explicit_model, find_optimum, start_of
from crowdrank.methods.pairs.votes.marginal import MarginalModel
from crowdrank.methods.pairs.votes.posterior import centred
from crowdrank.methods.profiles import POOLED
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Codes, Floats, Pairs

if TYPE_CHECKING:
    from crowdrank.methods.pairs.votes.fit import VoteStudy

MEMBER = 0.95  # probability of agreeing, or of disagreeing, of a member of a camp
SIZEABLE = 1 / 3  # share of the evidence that makes a camp
FEWEST = 2  # members of a camp
DOUBT = 0.95  # a less probable ranking is called uncertain


def camps_of(model: MarginalModel, quality: Floats, posterior: Floats, upright: float) -> Codes | None:
    """The camp of each profile: 1 agrees with the ranking, 2 disagrees, 0 is neither; None if there are no camps."""
    agrees = (posterior * (quality > 0.5)).sum(axis=1)
    camp = np.where(agrees >= MEMBER, 1, np.where(agrees <= 1 - MEMBER, 2, 0)).astype(np.int32)
    rate = np.abs((posterior * (2 * quality - 1)).sum(axis=1))
    evidence = sum_by(camp, rate * sum_by(model.rows.profile, model.rows.weight, model.n_profiles), 3)
    share = evidence[2] / max(evidence[1] + evidence[2], 1e-300)
    if (camp == 2).sum() < FEWEST or (share < SIZEABLE and upright >= DOUBT):
        return None
    return camp


def camps_note(camp: Codes, upright: float) -> tuple[str, ...]:
    """What a reader must know where annotators fall into camps."""
    agree, differ = int((camp == 1).sum()), int((camp == 2).sum())
    note = (
        f"annotators fall into two camps: {agree:,} agree with this ranking, {differ:,} rank in the opposite way; "
        "votes alone cannot say who is right (the column camp says who is in which; consensus.camps has both rankings)"
    )
    if upright >= DOUBT:
        return (note,)
    doubt = f"the opposite ranking has a probability of {1 - upright:.2f}"
    return note, f"{doubt}, so intervals contain both; give gold for a few items (--gold) to decide"


def camp_rankings(study: VoteStudy, camp: Codes) -> dict[str, NDArray[Any]]:
    """The columns camp, task, item, rank, score: the Bradley-Terry ranking of each camp."""
    vocabulary, pairs = study.vocabulary, study.pairs
    of_row = camp[study.profiles.of(pairs.annotator, vocabulary.entry_task[pairs.left])]
    parts = []
    for number in (1, 2):
        theirs = _subset(pairs, of_row == number)
        table = votes(theirs, vocabulary, pooled=True)
        model = explicit_model(table, POOLED, vocabulary, ModelVariant(study.variant.link), None)
        found = find_optimum(model, start_of(model, vocabulary, None), vocabulary, max_iter=200, tol=1e-6)
        score = centred(found.x[: model.n_entries], vocabulary.entry_task)
        rank = rank_within(score, vocabulary.entry_task)
        order = np.lexsort((rank, vocabulary.entry_task))
        parts.append((np.full(len(order), number), order, rank[order], score[order]))
    numbers, order, rank, score = (np.concatenate(column) for column in zip(*parts, strict=True))
    return {
        "camp": numbers,
        "task": vocabulary.tasks[vocabulary.entry_task[order]],
        "item": vocabulary.items[vocabulary.entry_item[order]],
        "rank": rank,
        "score": score,
    }


def _subset(pairs: Pairs, chosen: NDArray[np.bool_]) -> Pairs:
    weight = None if pairs.weight is None else pairs.weight[chosen]
    return Pairs(pairs.annotator[chosen], pairs.left[chosen], pairs.right[chosen], pairs.outcome[chosen], weight)
