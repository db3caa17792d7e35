"""How every probabilistic pairwise method goes: prepare the votes, choose the prior, solve, say how sure, wrap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.convert import TIED, Votes, as_pairs, votes
from crowdrank.methods.pairs.votes.intervals import PosteriorSummary, summarise_posterior, with_intervals
from crowdrank.methods.pairs.votes.model import Link, Priors, VoteModel, logistic
from crowdrank.methods.pairs.votes.prior import choose_prior
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import (
    agreement,
    annotator_columns,
    check_kinds,
    dependent_pairs_note,
    make_consensus,
    worth_of_preferences,
)
from crowdrank.numerics.newton import minimise
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Codes, Floats, Gold, Judgments, Pairs, Vocabulary

APART = 1.2  # scores to log-odds of winning, at the start
START = 0.9  # quality everybody starts from: at 1 itself there is no slope to leave by
TIE_SPREAD = 1.0  # of the logarithm of the raters' tie thresholds around the crowd's
BIAS_SPREAD = 1.0  # of the raters' biases towards one side, in log-odds


class Settings(Protocol):
    """What every probabilistic pairwise method has."""

    description: ClassVar[Description]

    @property
    def prior(self) -> float | None: ...

    @property
    def intervals(self) -> bool: ...

    @property
    def max_iter(self) -> int: ...

    @property
    def tol(self) -> float: ...


@dataclass(frozen=True, slots=True)
class ModelVariant:
    """Which case of the vote model a method is."""

    link: Link = "logistic"
    free_parameters: tuple[
        str, ...
    ] = ()  # free parameters of the raters, beside that of ties; none: everybody is one rater
    quality_prior: tuple[float, float] | None = None
    quality_per: Literal["study", "task"] = "study"
    slope_spread: float = 1.0


def beta_prior(given: tuple[float, float] | None, prior: float | None) -> tuple[float, float]:
    """The Beta prior on quality: as given, the paper's where the prior on scores is fixed, else flat on the logit scale."""
    if given is not None:
        return given
    return (2.0, 2.0) if prior is None else (1.05, 1.05)


@dataclass(frozen=True, slots=True)
class Profiles:
    """Whose parameters each row of votes tells about."""

    of_row: Codes
    annotator: Codes  # of each rater
    task: Codes | None  # of each rater, where they have one per task

    def __len__(self) -> int:
        return len(self.annotator)


def fit_pairs(
    settings: Settings, judgments: Judgments, shape: ModelVariant, pairs: Pairs | None = None, gold: Gold | None = None
) -> Consensus:
    """The consensus of a probabilistic pairwise method. `pairs` where it does not look at the judgments' own."""
    check_kinds(settings.description, judgments)
    vocabulary = judgments.vocabulary
    pairs = as_pairs(judgments) if pairs is None else pairs
    table = votes(pairs, vocabulary, pooled=not shape.free_parameters, sides="bias" in shape.free_parameters)
    profiles = _profiles(judgments, table, shape)

    beta = beta_prior(shape.quality_prior, settings.prior)

    def model_with(prior: float) -> VoteModel:
        return _model(table, profiles, vocabulary, shape, Priors(prior, beta))

    prior = 1.0 if settings.prior is None else settings.prior
    model = model_with(prior)
    start = _start(model, profiles, vocabulary, gold)
    if model.free:
        start = _rough(model, start)
    notes = []
    if settings.prior is None:
        prior, start = choose_prior(model_with, start)
        model = model_with(prior)
        notes.append(f"prior {prior:g}, chosen from the votes")
    found = minimise(model, start, max_iter=settings.max_iter, tol=settings.tol, what="scores and raters")
    theta = model.layout.unpack(found.x)
    sure = (
        summarise_posterior(model, found.x, vocabulary, settings.prior, shape.quality_prior)
        if settings.intervals
        else None
    )
    consensus = make_consensus(
        settings.description,
        judgments,
        theta.score,
        fit=found.fit,
        annotators=_columns(judgments, model, found.x, profiles, sure),
        compared=pairs,
        notes=[*notes, *((*sure.notes, *dependent_pairs_note(judgments)) if sure else ())],
        settings={"prior": prior, "quality_prior": beta, **_of_everybody(model, found.x)},
    )
    return consensus if sure is None else with_intervals(consensus, sure.spread, sure.middle[: len(theta.score)])


def _profiles(judgments: Judgments, table: Votes, shape: ModelVariant) -> Profiles:
    vocabulary = judgments.vocabulary
    if not shape.free_parameters:
        return Profiles(table.annotator, np.zeros(1, np.int32), None)
    if shape.quality_per == "study":
        return Profiles(table.annotator, np.arange(len(vocabulary.annotators), dtype=np.int32), None)
    n_tasks = max(len(vocabulary.tasks), 1)
    annotator, task = judgments.annotator_and_task()
    keys = np.unique(annotator.astype(np.int64) * n_tasks + task)
    row_keys = table.annotator.astype(np.int64) * n_tasks + vocabulary.entry_task[table.winner]
    of_row = np.searchsorted(keys, row_keys).astype(np.int32)
    return Profiles(of_row, (keys // n_tasks).astype(np.int32), (keys % n_tasks).astype(np.int32))


def _model(table: Votes, profiles: Profiles, vocabulary: Vocabulary, shape: ModelVariant, priors: Priors) -> VoteModel:
    """The vote model of this shape; ties are modelled where there are any."""
    tied = float(table.weight[table.kind == TIED].sum())
    share = min(tied / (float(table.weight.sum()) or 1.0), 0.99)
    normal = {"slope": (0.0, shape.slope_spread), "bias": (0.0, BIAS_SPREAD)}
    normal["ties"] = (_usual_ties(share, shape.link) if tied else 0.0, TIE_SPREAD)
    free = (*shape.free_parameters, "ties") if tied else shape.free_parameters
    priors = replace(priors, normal={name: normal[name] for name in free if name in normal})
    return VoteModel(table, profiles.of_row, vocabulary.n_entries, len(profiles), shape.link, free, priors)


def _usual_ties(share: float, link: Link) -> float:
    """The logarithm of the τ at which equal items would tie as often as items do."""
    tau = 2 * share / (1 - share) if link == "logistic" else NormalDist(sigma=2**0.5).inv_cdf((1 + share) / 2)
    return float(np.log(tau))


def _start(model: VoteModel, profiles: Profiles, vocabulary: Vocabulary, gold: Gold | None) -> Floats:
    start = np.zeros(model.layout.size)
    blocks = model.layout.unpack(start)
    if gold is None:
        blocks.score[:] = _start_scores(model.votes, vocabulary.n_entries)
    if "ties" in model.free:
        assert model.priors.normal is not None
        blocks.ties[:] = model.priors.normal["ties"][0]
    if "quality" in model.free:
        quality = _start_quality(model.votes, profiles, vocabulary, gold)
        blocks.quality[:] = np.log(quality / (1 - quality))
    return start


def _start_scores(table: Votes, n_entries: int) -> Floats:
    """The log-odds of winning, a little apart: opponents who differ among themselves draw shares of wins towards a half."""
    decided = np.where(table.kind == TIED, 0.0, table.weight)
    won, lost = (sum_by(side, decided, n_entries) for side in (table.winner, table.loser))
    return np.asarray(APART * np.log((won + 1) / (lost + 1)))


def _start_quality(table: Votes, profiles: Profiles, vocabulary: Vocabulary, gold: Gold | None) -> Floats:
    """The quality each rater starts from: START, or the share of gold pairs they put right, shrunk to everybody's share."""
    if gold is None:
        return np.full(len(profiles), START)
    truth = gold.align(vocabulary)
    gap = np.where(table.kind == TIED, np.nan, truth[table.winner] - truth[table.loser])
    decided = np.where(np.abs(gap) > 0, table.weight, 0.0)  # NaN, where gold is missing, is not above 0
    right = sum_by(profiles.of_row, np.where(gap > 0, table.weight, 0.0), len(profiles))
    total = sum_by(profiles.of_row, decided, len(profiles))
    everybody = float((right.sum() + START) / (total.sum() + 1))
    return (right + 2 * everybody) / (total + 2)


def _rough(model: VoteModel, start: Floats) -> Floats:
    """Scores that fit the raters as they start."""
    return minimise(model, start, max_iter=100, tol=0.1, fixed=slice(model.n_entries, None), what="start").x


def _columns(
    judgments: Judgments, model: VoteModel, x: Floats, profiles: Profiles, sure: PosteriorSummary | None
) -> dict[str, NDArray[Any]]:
    """What was learned about the annotators; of pooled ones, how far they agree with the scores."""
    theta, table = model.layout.unpack(x), model.votes
    if len(profiles) == 1 and not set(model.free) & {"quality", "slope", "bias"}:
        return annotator_columns(judgments, *agreement(judgments, theta.score))
    extra: dict[str, NDArray[Any]] = {}
    if "quality" in model.free:
        quality = logistic(theta.quality)
        # A vote between equal items tells nothing of who gave it: each counts by what it tells (the Fisher information at ½).
        tells = np.where(
            table.kind == TIED, 0.0, np.tanh((theta.score[table.winner] - theta.score[table.loser]) / 2) ** 2
        )
        evidence = (
            sum_by(profiles.of_row, table.weight * tells, len(profiles))
            * worth_of_preferences(judgments)[profiles.annotator]
        )
        if sure is not None:
            low, high = sure.interval("quality")
            extra |= {"quality_low": np.minimum(low, quality), "quality_high": np.maximum(high, quality)}
    else:
        quality, evidence = agreement(judgments, theta.score)
    for name, shown, scale in (
        ("slope", "slope", np.exp),
        ("ties", "tie_threshold", np.exp),
        ("bias", "left_bias", np.asarray),
    ):
        if name in model.free:
            extra[shown] = scale(getattr(theta, name))
            if sure is not None and name == "bias":
                extra["left_bias_low"], extra["left_bias_high"] = sure.interval("bias")
    return annotator_columns(judgments, quality, evidence, profiles.annotator, profiles.task) | extra


def _of_everybody(model: VoteModel, x: Floats) -> dict[str, float]:
    """What was learned of a crowd taken as one rater."""
    pooled = model.n_profiles == 1 and model.free == ("ties",)
    return {"tie_threshold": float(np.exp(x[-1]))} if pooled else {}
