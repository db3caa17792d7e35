"""The fit that all probabilistic pairwise methods share: votes, prior, optimum, posterior, consensus."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.convert import TIED, Votes, as_pairs, votes
from crowdrank.methods.pairs.votes.intervals import PosteriorSummary, summarise_posterior
from crowdrank.methods.pairs.votes.model import Link, Priors, VoteModel, logistic
from crowdrank.methods.pairs.votes.prior import choose_prior
from crowdrank.methods.profiles import Profiles, profiles_of
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import (
    annotator_columns,
    check_kinds,
    dependent_pairs_note,
    evidence_per_preference,
    make_consensus,
)
from crowdrank.numerics.newton import minimise
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Floats, Gold, Judgments, Pairs, Vocabulary

START_SPREAD = 1.2  # start scores are the log-odds of winning times this: different opponents make those too small
POOLED = Profiles(np.zeros(1, np.int32), None)  # one profile for all annotators
ROUNDING = 1e-9  # log-odds
START_QUALITY = 0.9  # at 1 itself the gradient is 0, and quality would never change
TIE_SPREAD = 1.0  # standard deviation of the annotators' log tie thresholds around that of the crowd
BIAS_SPREAD = 1.0  # standard deviation of the annotators' biases towards one side, in log-odds


class VoteMethodSettings(Protocol):
    """The settings that every probabilistic pairwise method has."""

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
    free_parameters: tuple[str, ...] = ()  # of the profiles, besides that of ties; none: one profile for all annotators
    quality_prior: tuple[float, float] | None = None
    quality_per: Literal["study", "task"] = "study"
    slope_spread: float = 1.0


def beta_prior(given: tuple[float, float] | None, prior: float | None) -> tuple[float, float]:
    """The Beta prior on quality: as given; the paper's where `prior` is given; else flat on the logit scale."""
    if given is not None:
        return given
    return (2.0, 2.0) if prior is None else (1.05, 1.05)


def fit_pairs(
    settings: VoteMethodSettings,
    judgments: Judgments,
    variant: ModelVariant,
    *,
    transform: Callable[[Pairs], Pairs] | None = None,
    gold: Gold | None = None,
) -> Consensus:
    """The consensus of a probabilistic pairwise method; `transform` changes the pairs before they are used."""
    check_kinds(settings.description, judgments)
    vocabulary = judgments.vocabulary
    pairs = as_pairs(judgments, pooled=not variant.free_parameters)
    pairs = pairs if transform is None else transform(pairs)
    table = votes(pairs, vocabulary, pooled=not variant.free_parameters, sides="bias" in variant.free_parameters)
    profiles = profiles_of(judgments, variant.quality_per) if variant.free_parameters else POOLED
    model = _model(table, profiles, vocabulary, variant, settings.prior)
    start = _start(model, vocabulary, gold)
    if model.free:
        start = _fit_scores(model, start)
    notes = _repeated_votes_note(judgments, table) if variant.free_parameters else ()
    if settings.prior is None:
        prior, start = choose_prior(model, start)
        notes += (f"prior {prior:g}, chosen by leave-one-out prediction",)
    chosen = {"prior": model.priors.score, "quality_prior": model.priors.quality}
    found = minimise(model, start, max_iter=settings.max_iter, tol=settings.tol, what="scores and annotators")
    score, posterior = model.layout.unpack(found.x).score, None
    score = np.where(np.abs(score) < ROUNDING, 0.0, score)  # where the votes decide nothing, rounding must not rank
    if settings.intervals:
        posterior = summarise_posterior(model, found.x, vocabulary, settings.prior, variant.quality_prior)
        notes += (*posterior.notes, *dependent_pairs_note(judgments))
    return make_consensus(
        settings.description,
        judgments,
        score,
        fit=found.fit,
        annotators=_quality_columns(judgments, model, found.x, profiles) if "quality" in model.free else None,
        extra_columns=_extra_columns(model, found.x, posterior) if variant.free_parameters else None,
        compared=pairs,
        spread=None if posterior is None else posterior.spread,
        mean=None if posterior is None else posterior.mean[: len(score)],
        notes=notes,
        settings={**chosen, **_pooled_parameters(model, found.x)},
    )


def _repeated_votes_note(judgments: Judgments, table: Votes) -> tuple[str, ...]:
    """A note where most votes repeat another vote of the same annotator; such rows are often copies."""
    given = len(judgments.pairs)
    repeated = given - len(table)
    if judgments.kinds != ("pairs",) or judgments.pairs.weight is not None or repeated <= given / 2:
        return ()
    what = f"{repeated:,} of {given:,} votes repeat a vote of the same annotator on the same pair"
    return (f"{what}, and each counts as new evidence; if they are copies, remove them",)


def _model(
    table: Votes, profiles: Profiles, vocabulary: Vocabulary, variant: ModelVariant, prior: float | None
) -> VoteModel:
    """The vote model of this variant; ties are modelled where there are any."""
    tied = float(table.weight[table.kind == TIED].sum())
    share = min(tied / (float(table.weight.sum()) or 1.0), 0.99)
    normal = {"slope": (0.0, variant.slope_spread), "bias": (0.0, BIAS_SPREAD)}
    normal["ties"] = (_usual_ties(share, variant.link) if tied else 0.0, TIE_SPREAD)
    free = (*variant.free_parameters, "ties") if tied else variant.free_parameters
    priors = Priors(
        score=1.0 if prior is None else prior,
        quality=beta_prior(variant.quality_prior, prior),
        normal={name: normal[name] for name in free if name in normal},
    )
    of_row = profiles.of(table.annotator, vocabulary.entry_task[table.winner])
    return VoteModel(table, of_row, vocabulary.n_entries, len(profiles), variant.link, free, priors)


def _usual_ties(share: float, link: Link) -> float:
    """The logarithm of the τ at which two equal items tie with this probability."""
    tau = 2 * share / (1 - share) if link == "logistic" else NormalDist(sigma=2**0.5).inv_cdf((1 + share) / 2)
    return float(np.log(tau))


def _start(model: VoteModel, vocabulary: Vocabulary, gold: Gold | None) -> Floats:
    start = np.zeros(model.layout.size)
    blocks = model.layout.unpack(start)
    if gold is None:
        blocks.score[:] = _start_scores(model.votes, vocabulary.n_entries)
    if "ties" in model.free:
        assert model.priors.normal is not None
        blocks.ties[:] = model.priors.normal["ties"][0]
    if "quality" in model.free:
        quality = _start_quality(model, vocabulary, gold)
        blocks.quality[:] = np.log(quality / (1 - quality))
    return start


def _start_scores(table: Votes, n_entries: int) -> Floats:
    """The log-odds of winning, times START_SPREAD."""
    decided = np.where(table.kind == TIED, 0.0, table.weight)
    won, lost = (sum_by(side, decided, n_entries) for side in (table.winner, table.loser))
    return np.asarray(START_SPREAD * np.log((won + 1) / (lost + 1)))


def _start_quality(model: VoteModel, vocabulary: Vocabulary, gold: Gold | None) -> Floats:
    """START_QUALITY; with gold, the share of gold pairs that each profile got right, shrunk to that of all."""
    if gold is None:
        return np.full(model.n_profiles, START_QUALITY)
    table = model.votes
    truth = gold.align(vocabulary)
    gap = np.where(table.kind == TIED, np.nan, truth[table.winner] - truth[table.loser])
    decided = np.where(np.abs(gap) > 0, table.weight, 0.0)  # NaN, where gold is missing, is not above 0
    right = sum_by(model.profile, np.where(gap > 0, table.weight, 0.0), model.n_profiles)
    total = sum_by(model.profile, decided, model.n_profiles)
    everybody = float((right.sum() + START_QUALITY) / (total.sum() + 1))
    return (right + 2 * everybody) / (total + 2)


def _fit_scores(model: VoteModel, start: Floats) -> Floats:
    """A rough fit of the scores alone, the profiles fixed at their start."""
    return minimise(model, start, max_iter=100, tol=0.1, fixed=slice(model.n_entries, None), what="start").x


def _quality_columns(judgments: Judgments, model: VoteModel, x: Floats, profiles: Profiles) -> dict[str, NDArray[Any]]:
    """The annotators' columns of a model that estimates quality."""
    theta, table = model.layout.unpack(x), model.votes
    # A vote counts by its Fisher information at quality ½: one between equal items says nothing about who gave it.
    gap = theta.score[table.winner] - theta.score[table.loser]
    information = np.where(table.kind == TIED, 0.0, np.tanh(gap / 2) ** 2)
    evidence = sum_by(model.profile, table.weight * information, model.n_profiles)
    evidence *= evidence_per_preference(judgments)[profiles.annotator]
    return annotator_columns(judgments, logistic(theta.quality), evidence, profiles.annotator, profiles.task)


def _extra_columns(model: VoteModel, x: Floats, posterior: PosteriorSummary | None) -> dict[str, NDArray[Any]]:
    """The columns of the annotators' other parameters, and the intervals of quality and bias."""
    theta, columns = model.layout.unpack(x), {}
    if "quality" in model.free and posterior is not None:
        quality, (low, high) = logistic(theta.quality), posterior.interval("quality")
        columns["quality_low"], columns["quality_high"] = np.minimum(low, quality), np.maximum(high, quality)
    if "slope" in model.free:
        columns["slope"] = np.exp(theta.slope)
    if "ties" in model.free:
        columns["tie_threshold"] = np.exp(theta.ties)
    if "bias" in model.free:
        columns["left_bias"] = theta.bias
        if posterior is not None:
            columns["left_bias_low"], columns["left_bias_high"] = posterior.interval("bias")
    return columns


def _pooled_parameters(model: VoteModel, x: Floats) -> dict[str, float]:
    """The parameters of a crowd with one profile for all."""
    pooled = model.n_profiles == 1 and model.free == ("ties",)
    return {"tie_threshold": float(np.exp(x[-1]))} if pooled else {}
