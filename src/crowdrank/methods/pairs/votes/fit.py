"""The fit that all probabilistic pairwise methods share: votes, scores, their posterior, the consensus."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus, Fit
from crowdrank.convert import Votes, as_pairs, votes
from crowdrank.methods.pairs.votes.annotators import describe_annotators
from crowdrank.methods.pairs.votes.approximation import curvature_spread, explicit_spread
from crowdrank.methods.pairs.votes.camps import camp_rankings
from crowdrank.methods.pairs.votes.canonical import draws_of
from crowdrank.methods.pairs.votes.crowd import crowd_of, perfect_crowd
from crowdrank.methods.pairs.votes.explicit import (
    MANY_VOTES,
    TIE_SPREAD,
    ModelVariant,
    explicit_model,
    find_optimum,
    start_of,
    start_scores,
    usual_ties,
)
from crowdrank.methods.pairs.votes.hyperparameters import START_SPREAD, Hyperparameters
from crowdrank.methods.pairs.votes.learned_crowd import LearnedCrowd, fit_learned_crowd, refined
from crowdrank.methods.pairs.votes.marginal import MarginalModel
from crowdrank.methods.pairs.votes.mode import mode_at
from crowdrank.methods.pairs.votes.model import VoteModel, logistic
from crowdrank.methods.pairs.votes.posterior import DIGITS, ScorePosterior, centred, from_curvature, from_draws
from crowdrank.methods.pairs.votes.sampler import Draws
from crowdrank.methods.pairs.votes.similar_pairs import spread_of_gaps
from crowdrank.methods.pairs.votes.undisputed import in_order_of_votes
from crowdrank.methods.pairs.votes.variational import normal_posterior
from crowdrank.methods.profiles import POOLED, Profiles, profiles_of
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import check_kinds, dependent_pairs_note, make_consensus
from crowdrank.numerics.blas import one_blas_thread
from crowdrank.numerics.engine import placed
from crowdrank.numerics.newton import Minimum
from crowdrank.study import Floats, Gold, Judgments, Pairs, Vocabulary

MOST_SAMPLED_VOTES = 2_000_000
MOST_SAMPLED_ENTRIES = 100_000  # thirty draws of more would need too much memory
LARGE = 50_000  # votes: if there are many per item, a normal distribution comes close to the posterior
SPARSE_NOTE = (
    "this study is too large to draw from its posterior, and its items have few votes each, or were compared with "
    "similar ones only: scores lie too close together, and their intervals are too narrow. Ranks and their intervals "
    "are right. For scores that are right too, rank a part of the items"
)
ROUGH = 0.02  # standard errors: how close the first search comes where a second one follows
FINEST = 1e-6  # standard errors: quasi-Newton steps get no closer


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


@dataclass(frozen=True, slots=True, eq=False)
class VoteStudy:
    """The votes of a study, and whose parameters they depend on."""

    judgments: Judgments
    pairs: Pairs
    table: Votes
    profiles: Profiles
    variant: ModelVariant

    @property
    def vocabulary(self) -> Vocabulary:
        """Of the study."""
        return self.judgments.vocabulary

    def marginal_model(self) -> MarginalModel:
        """The model with quality integrated out."""
        table, free = self.table, self.variant.free_parameters
        if usual_ties(table, self.variant.link) is not None:
            free = (*free, "ties")
        profile = self.profiles.of(table.annotator, self.vocabulary.entry_task[table.winner])
        normal = self.variant.link == "normal"
        return placed(MarginalModel)(table, profile, self.vocabulary.n_entries, len(self.profiles), normal, free)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a fit found."""

    posterior: ScorePosterior
    fit: Fit
    settings: dict[str, Any]
    annotators: dict[str, NDArray[Any]] | None = None
    extra_columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    camps: dict[str, NDArray[Any]] | None = None
    notes: tuple[str, ...] = ()


@one_blas_thread
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
    pairs = as_pairs(judgments, pooled=not variant.free_parameters, counted=True, merged=transform is None)
    pairs = pairs if transform is None else transform(pairs)
    free = variant.free_parameters
    table = votes(pairs, judgments.vocabulary, pooled=not free, sides="bias" in free)
    study = VoteStudy(judgments, pairs, table, profiles_of(judgments, variant.quality_per) if free else POOLED, variant)
    if not len(table):
        found = Found(ScorePosterior(np.zeros(judgments.vocabulary.n_entries), {}), Fit(), {})
    elif not free:
        found = _fit_pooled(settings, study)
    elif not variant.has_quality:
        found = _fit_slopes(settings, study)
    elif settings.prior is None and variant.quality_prior is None:
        found = _fit_learned_crowd(settings, study, gold)
    else:
        found = _fit_given_crowd(settings, study, gold)
    notes = (*found.notes, *(repeated_votes_note(judgments, table) if free else ()))
    return make_consensus(
        settings.description,
        judgments,
        found.posterior.score,
        fit=found.fit,
        annotators=found.annotators,
        extra_columns=found.extra_columns,
        compared=pairs,
        extra_fields={**found.posterior.fields, "camp_columns": found.camps},
        notes=(*notes, *(dependent_pairs_note(judgments) if settings.intervals else ())),
        settings=found.settings,
    )


def _fit_slopes(settings: VoteMethodSettings, study: VoteStudy) -> Found:
    """The most likely scores and slopes of annotators."""
    model, optimum = _optimum(settings, study, None)
    score, posterior = _scores(model, optimum, study), None
    if settings.intervals:
        posterior = from_curvature(score, explicit_spread(model, optimum.x, study.vocabulary), study.vocabulary)
    theta = model.layout.unpack(optimum.x)
    columns = {"slope": np.exp(theta.slope)}
    if "ties" in model.free:
        columns["tie_threshold"] = np.exp(theta.ties)
    return Found(posterior or ScorePosterior(score, {}), optimum.fit, _chosen(model), extra_columns=columns)


def _fit_pooled(settings: VoteMethodSettings, study: VoteStudy) -> Found:
    """Scores where all annotators count the same."""
    vocabulary = study.vocabulary
    model, optimum = _optimum(settings, study, None)
    score, chosen = _scores(model, optimum, study), _chosen(model)
    if "ties" in model.free:
        chosen["tie_threshold"] = float(np.exp(optimum.x[-1]))
    if not settings.intervals:
        return Found(ScorePosterior(score, {}), optimum.fit, chosen)
    marginal = study.marginal_model()
    many = study.table.weight.sum() > MANY_VOTES * vocabulary.n_entries
    if (
        settings.prior is not None
        or many
        or model.priors.similar
        or not _can_sample(marginal, _hyper(model, None), vocabulary)
    ):
        spread = explicit_spread(model, optimum.x, vocabulary)
        return Found(from_curvature(score, spread, vocabulary), optimum.fit, chosen)
    mode = mode_at(marginal, vocabulary.task_starts, optimum.x, perfect_crowd(1), _hyper(model, settings.prior))
    draws = draws_of(marginal, mode, vocabulary.task_starts)
    return Found(from_draws(draws, mode, 1.0, study.table, vocabulary, score), optimum.fit, chosen)


def _fit_given_crowd(settings: VoteMethodSettings, study: VoteStudy, gold: Gold | None) -> Found:
    """The most likely scores and qualities, with the priors that were given."""
    vocabulary = study.vocabulary
    model, optimum = _optimum(settings, study, gold)
    theta, marginal, hyper = model.layout.unpack(optimum.x), study.marginal_model(), _hyper(model, settings.prior)
    x = marginal.layout.pack(**{name: getattr(theta, name) for name in marginal.layout.slices})
    unknown = np.full(marginal.n_profiles, np.inf)
    mode = mode_at(
        marginal, vocabulary.task_starts, x, crowd_of(np.zeros_like(unknown), unknown, model.priors.quality), hyper
    )
    mode = mode_at(marginal, vocabulary.task_starts, x, refined(mode.crowd, mode.posterior), hyper)
    crowd = LearnedCrowd(mode, 1.0)
    posterior, draws = _posterior(settings, marginal, crowd, study, _scores(model, optimum, study))
    annotators = describe_annotators(study.judgments, study.profiles, marginal, crowd, draws, camps=False)
    columns = {**annotators.columns, "quality": logistic(theta.quality)}
    return Found(posterior, optimum.fit, _chosen(model), columns, annotators.extra_columns, notes=annotators.notes)


def _fit_learned_crowd(settings: VoteMethodSettings, study: VoteStudy, gold: Gold | None) -> Found:
    """Scores with the distributions of scores and quality learned from the votes, and quality integrated out."""
    model, vocabulary = study.marginal_model(), study.vocabulary
    start, hyper = _start(model, study)
    tol = max(settings.tol, FINEST)
    few = len(study.table) < MANY_VOTES * vocabulary.n_entries
    can_sample = _can_sample(model, hyper, vocabulary)
    approximate = settings.intervals and not (few or hyper.of_gaps or (can_sample and len(study.table) <= LARGE))
    first_tol = ROUGH if approximate else tol
    found = fit_learned_crowd(model, vocabulary, start, hyper, gold=gold, max_iter=settings.max_iter, tol=first_tol)
    draws, close, posterior = None, found, None
    if approximate:
        close, posterior = _by_normal_posterior(settings, model, found, study)
    if posterior is None or (can_sample and not close.mode.converged):  # the posterior of pure noise is not normal
        posterior, draws = _posterior(settings, model, found, study)
    else:
        found = close
    annotators = describe_annotators(study.judgments, study.profiles, model, found, draws, camps=gold is None)
    return Found(
        posterior,
        Fit(found.mode.steps, found.mode.converged, -found.mode.value),
        _learned_settings(model, found, draws),
        annotators.columns,
        annotators.extra_columns,
        camp_rankings(study, annotators.camp) if annotators.camp is not None else None,
        (*annotators.notes, *([SPARSE_NOTE] if settings.intervals and not can_sample and not approximate else [])),
    )


def _learned_settings(model: MarginalModel, found: LearnedCrowd, draws: Draws | None) -> dict[str, Any]:
    """The spread of the scores, and how fast ties become rare with the gap."""
    spread = found.mode.hyper.spread if draws is None else round(float(draws.spread.mean()), DIGITS)
    crowd = found.mode.crowd if draws is None else draws.crowd
    ties = {"tie_sharpness": round(crowd.tie_sharpness, DIGITS)} if model.has_tie_sharpness else {}
    return {"spread": spread, **ties}


def _start(model: MarginalModel, study: VoteStudy) -> tuple[Floats, Hyperparameters]:
    """Where the search starts, and with which distributions."""
    ties = usual_ties(study.table, study.variant.link) or 0.0
    values: dict[str, float | Floats] = {"score": start_scores(study.table, model.n_entries), "ties": ties, "bias": 0.0}
    start = model.layout.pack(**{name: values[name] for name in model.layout.slices})
    gaps = spread_of_gaps(study.table, study.vocabulary)
    spread = START_SPREAD if gaps is None else gaps
    return start, Hyperparameters(spread=spread, of_gaps=gaps is not None, ties=(ties, TIE_SPREAD), usual_ties=ties)


def _optimum(settings: VoteMethodSettings, study: VoteStudy, gold: Gold | None) -> tuple[VoteModel, Minimum]:
    """The model with a value for every parameter, and the most likely ones."""
    model = explicit_model(study.table, study.profiles, study.vocabulary, study.variant, settings.prior)
    start = start_of(model, study.vocabulary, gold)
    return model, find_optimum(model, start, study.vocabulary, max_iter=settings.max_iter, tol=settings.tol)


def _scores(model: VoteModel, optimum: Minimum, study: VoteStudy) -> Floats:
    """Scores relative to the mean of their task; with virtual wins and losses they are relative to the virtual item."""
    score = optimum.x[: model.n_entries]
    return _relative(score, study) if model.priors.score is None else score


def _relative(score: Floats, study: VoteStudy) -> Floats:
    return centred(in_order_of_votes(score, study.table), study.vocabulary.entry_task)


def _chosen(model: VoteModel) -> dict[str, Any]:
    """The settings that the method chose itself."""
    return {} if model.priors.score is not None else {"spread": model.priors.spread}


def _hyper(model: VoteModel, prior: float | None) -> Hyperparameters:
    ties = (model.priors.normal or {}).get("ties", (0.0, TIE_SPREAD))
    return Hyperparameters(spread=model.priors.spread, virtual=prior, ties=ties, usual_ties=ties[0])


def _posterior(
    settings: VoteMethodSettings,
    model: MarginalModel,
    found: LearnedCrowd,
    study: VoteStudy,
    score: Floats | None = None,
) -> tuple[ScorePosterior, Draws | None]:
    """The posterior of the scores, around `score` where that is given, and the draws if there are any."""
    vocabulary = study.vocabulary
    at_mode = _relative(found.mode.x[: model.n_entries], study) if score is None else score
    if not settings.intervals:
        return ScorePosterior(at_mode, {}), None
    if not _can_sample(model, found.mode.hyper, vocabulary):
        return from_curvature(at_mode, curvature_spread(model, found.mode, vocabulary), vocabulary), None
    draws = draws_of(model, found.mode, vocabulary.task_starts)
    return from_draws(draws, found.mode, found.upright, study.table, vocabulary, score), draws


def _by_normal_posterior(
    settings: VoteMethodSettings, model: MarginalModel, found: LearnedCrowd, study: VoteStudy
) -> tuple[LearnedCrowd, ScorePosterior]:
    """The normal distribution of the scores that is closest to their posterior."""
    vocabulary, n = study.vocabulary, model.n_entries
    normal = normal_posterior(model, found.mode, vocabulary.task_starts, max_iter=settings.max_iter)
    mode, score = normal.mode, normal.mode.x[:n]
    spread = curvature_spread(model, mode, vocabulary, variance=normal.variance)
    spread = spread.widened(normal.scale_error * score, np.ones(n), vocabulary.entry_task)
    return replace(found, mode=mode), from_curvature(_relative(score, study), spread, vocabulary)


def _can_sample(model: MarginalModel, hyper: Hyperparameters, vocabulary: Vocabulary) -> bool:
    """Whether the posterior can be sampled in a reasonable time."""
    return (
        hyper.virtual != 0.0  # without a prior there is no posterior
        and len(model.rows.winner) <= MOST_SAMPLED_VOTES
        and vocabulary.n_entries <= MOST_SAMPLED_ENTRIES
    )


def repeated_votes_note(judgments: Judgments, table: Votes) -> tuple[str, ...]:
    """A note where most votes repeat another vote of the same annotator; such rows are often copies."""
    given = len(judgments.pairs)
    repeated = given - len(table)
    if judgments.kinds != ("pairs",) or judgments.pairs.weight is not None or repeated <= given / 2:
        return ()
    what = f"{repeated:,} of {given:,} votes repeat a vote of the same annotator on the same pair"
    return (f"{what}, and each counts as new evidence; if they are copies, remove them",)
