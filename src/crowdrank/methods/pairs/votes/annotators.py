"""What the posterior says about annotators: quality with interval, verdict, camp, ties and biases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.pairs.votes.camps import camps_note, camps_of
from crowdrank.methods.pairs.votes.learned_crowd import LearnedCrowd
from crowdrank.methods.pairs.votes.marginal import MarginalModel
from crowdrank.methods.pairs.votes.posterior import DIGITS, ends_of, quality_interval, with_full_tails
from crowdrank.methods.pairs.votes.sampler import Draws
from crowdrank.methods.profiles import Profiles
from crowdrank.methods.result import annotator_columns, evidence_per_preference
from crowdrank.methods.verdicts import DIFFERS, FEWEST, LEAST_SHARE, words_for
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Codes, Floats, Judgments

NAMES_SHOWN = 5


@dataclass(frozen=True, slots=True, eq=False)
class AnnotatorSummary:
    """The columns of the annotators, the camp of each profile if there are camps, and notes."""

    columns: dict[str, NDArray[Any]]
    extra_columns: dict[str, NDArray[Any]]
    camp: Codes | None
    notes: tuple[str, ...]


def describe_annotators(
    judgments: Judgments,
    profiles: Profiles,
    model: MarginalModel,
    found: LearnedCrowd,
    draws: Draws | None,
    *,
    camps: bool,
) -> AnnotatorSummary:
    """The annotators' columns. `camps`: people may have another taste, because no gold says who is right."""
    crowd, posterior = found.mode.crowd, found.mode.posterior
    if draws is not None:
        crowd, posterior = draws.crowd, draws.posterior
    posterior = _discounted(posterior, crowd.qualities.share, evidence_per_preference(judgments)[profiles.annotator])
    quality = crowd.quality
    low, high = (end.round(DIGITS) for end in quality_interval(quality, crowd.step, posterior))
    mean = (quality * posterior).sum(axis=1).round(DIGITS)
    likelihood = posterior / np.maximum(crowd.qualities.share, LEAST_SHARE)
    verdict = words_for(quality, posterior, likelihood)
    given = sum_by(model.rows.profile, model.rows.weight, model.n_profiles)
    alone = ~_overlapping(model) & (given > 0)
    verdict[alone | (given < FEWEST)] = "unclear"
    camp = camps_of(model, quality, posterior, found.upright) if camps else None
    if camp is not None:
        verdict[(verdict == "reversed") & (camp == 2)] = DIFFERS
    columns = annotator_columns(judgments, mean, None, profiles.annotator, profiles.task, verdict)
    extra = {"quality_low": np.minimum(low, mean), "quality_high": np.maximum(high, mean)}
    extra.update(_other_parameters(model, found, draws))
    notes = _alone_note(columns["annotator"][alone])
    if camp is not None:
        extra["camp"] = camp
        notes += camps_note(camp, found.upright)
    return AnnotatorSummary(columns, extra, camp, notes)


def _discounted(posterior: Floats, share: Floats, evidence: Floats) -> Floats:
    """The posterior where each preference counts as less than one independent vote, as those of a list do."""
    if (evidence >= 1).all():
        return posterior
    weight = np.minimum(evidence, 1.0)[:, None]
    result = np.exp(weight * np.log(np.maximum(posterior, 1e-300)) + (1 - weight) * np.log(np.maximum(share, 1e-300)))
    return np.asarray(result / result.sum(axis=1, keepdims=True))


def _overlapping(model: MarginalModel) -> NDArray[np.bool_]:
    """Which profiles voted on an item that another one voted on too."""
    rows, n = model.rows, model.n_entries
    first, last = np.full(n, model.n_profiles, np.int32), np.full(n, -1, np.int32)  # other types: 40 times as long
    for side in (rows.winner, rows.loser):
        np.minimum.at(first, side, rows.profile)
        np.maximum.at(last, side, rows.profile)
    shared = first < last
    overlapping = np.zeros(model.n_profiles, bool)
    overlapping[rows.profile[shared[rows.winner] | shared[rows.loser]]] = True
    return overlapping


def _alone_note(names: NDArray[Any]) -> tuple[str, ...]:
    if not len(names):
        return ()
    some = ", ".join(str(name) for name in names[:NAMES_SHOWN]) + (", …" if len(names) > NAMES_SHOWN else "")
    who = f"{len(names):,} annotator{'s share' if len(names) > 1 else ' shares'} no item with others ({some})"
    return (f"{who}: nothing shows how good they are",)


def _other_parameters(model: MarginalModel, found: LearnedCrowd, draws: Draws | None) -> dict[str, NDArray[Any]]:
    """Tie thresholds and biases, with intervals."""
    columns: dict[str, NDArray[Any]] = {}
    centre = found.mode.x if draws is None else draws.mean.round(DIGITS)
    for free, title in (("ties", "tie_threshold"), ("bias", "left_bias")):
        if free not in model.free:
            continue
        where = model.layout.slices[free]
        if draws is not None:
            low, high = ends_of(with_full_tails(draws.x[:, where])).round(DIGITS)
        else:
            low, high = centre[where] + 1.96 * np.sqrt(found.mode.variance[where]) * np.array([[-1.0], [1.0]])
        ends = np.array((centre[where], np.minimum(low, centre[where]), np.maximum(high, centre[where])))
        middle, low, high = np.exp(ends) if free == "ties" else ends
        columns |= {title: middle, f"{title}_low": low, f"{title}_high": high}
    return columns
