"""The fit of pairwise methods to votes with covariates, categories or trusted annotators."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.convert import as_pairs
from crowdrank.methods.pairs.leaderboard.annotators import (
    agreement_columns,
    bias_columns,
    consistency_columns,
    pairs_where,
    quality_columns,
    worth_columns,
)
from crowdrank.methods.pairs.leaderboard.categories import category_columns
from crowdrank.methods.pairs.leaderboard.covariates import Standardised, standardised
from crowdrank.methods.pairs.leaderboard.effect_kernels import EffectValues
from crowdrank.methods.pairs.leaderboard.model import EffectModel, Effects, Factor, fits
from crowdrank.methods.pairs.leaderboard.posterior import (
    EffectPosterior,
    FromCurvature,
    FromDraws,
    centred_covariance,
)
from crowdrank.methods.pairs.leaderboard.sampler import draws_of
from crowdrank.methods.pairs.leaderboard.scale import learn_crowd
from crowdrank.methods.pairs.leaderboard.solver import Solution, Spreads, arrow_of, learn, posterior_at, start_spreads
from crowdrank.methods.pairs.votes.explicit import ModelVariant
from crowdrank.methods.pairs.votes.fit import VoteMethodSettings, fit_pairs
from crowdrank.methods.pairs.votes.model import logistic
from crowdrank.methods.result import check_kinds, one_sided_annotators
from crowdrank.numerics.blas import one_blas_thread
from crowdrank.settings import SettingError
from crowdrank.study import TIE, Floats, Gold, JudgmentError, Judgments, Pairs, Vocabulary

CATEGORY, UNTRUSTED = "category", "untrusted"
WORTH = "untrusted_worth"  # of all votes of untrusted annotators, in votes of trusted ones
FURTHER_VOTE = "further_untrusted_vote"  # what one brings, as a share of what it would if items did not deviate
MOST_ENTRIES = 6000
MOST_SAMPLED_VOTES = 200_000  # draws from more would take minutes
START_QUALITY, MOST_QUALITY = 0.8, 0.95


@one_blas_thread
def fit_votes(
    settings: VoteMethodSettings, judgments: Judgments, variant: ModelVariant, *, gold: Gold | None = None
) -> Consensus:
    """The consensus of votes, by the model with more effects where the study has something that needs it."""
    check_kinds(settings.description, judgments)
    if not judgments.has_effects:
        return fit_pairs(settings, judgments, variant, gold=gold)
    _check_usable(settings, judgments, variant)
    bare = without_effects(judgments)
    groups = None
    if variant.has_quality and judgments.trusted is not None:
        groups = _fits_of_groups(settings, bare, judgments.trusted, variant)
    if gold is None and groups is not None:  # the trusted annotators say which of two mirror images is right
        gold = Gold(judgments.vocabulary, groups[0].score, "score")
    plain = fit_pairs(_with_intervals(settings, wanted=False), bare, variant, gold=gold)
    if not len(judgments):
        return plain
    return Leaderboard.of(judgments, variant).consensus(settings, plain, groups)


def without_effects(judgments: Judgments) -> Judgments:
    """The same judgments without covariates, categories and trust."""
    pairs = replace(judgments.pairs, covariates=None, category=None)
    if judgments.covariates and pairs.weight is None:
        # Votes with other covariates are about other answers: weights say that they are no copies of each other.
        pairs = replace(pairs, weight=np.ones(len(pairs)))
    return replace(judgments, pairs=pairs, covariates=(), categories=None, trusted=None)


def _check_usable(settings: VoteMethodSettings, judgments: Judgments, variant: ModelVariant) -> None:
    given = {"prior": settings.prior is not None, "quality_prior": variant.quality_prior is not None}
    given["quality_per"] = variant.quality_per == "task"
    for name, is_given in given.items():
        if is_given:
            raise SettingError(
                f"{name} cannot be combined with covariates, categories or trusted annotators, whose priors are "
                f"learned from the votes: remove {name}"
            )
    pairs = judgments.pairs
    if judgments.kinds not in ((), ("pairs",)) and (pairs.covariates is not None or pairs.category is not None):
        raise JudgmentError(
            "covariates and categories belong to pairs; leave out the grades and rankings of this study"
        )
    if judgments.vocabulary.n_entries > MOST_ENTRIES:
        raise JudgmentError(
            f"covariates, categories and trusted annotators are for at most {MOST_ENTRIES:,} entries (items within "
            f"tasks), and this study has {judgments.vocabulary.n_entries:,}: fit some of its tasks"
        )


def _with_intervals(settings: VoteMethodSettings, *, wanted: bool) -> VoteMethodSettings:
    return cast(VoteMethodSettings, replace(cast(Any, settings), intervals=wanted))


def _fits_of_groups(
    settings: VoteMethodSettings, judgments: Judgments, trusted: NDArray[np.bool_], variant: ModelVariant
) -> tuple[Consensus, Consensus] | None:
    """What the trusted annotators alone find, and what the others alone; None if one of the groups has no votes."""
    pairs, quick = as_pairs(judgments, counted=True), _with_intervals(settings, wanted=False)
    own = trusted[pairs.annotator]
    if own.all() or not own.any():
        return None
    found = []
    for rows in (own, ~own):
        part = pairs_where(pairs, rows)
        consensus = fit_pairs(quick, replace(judgments.only("pairs"), pairs=part), variant)
        named = np.isin(np.arange(len(consensus.score)), np.concatenate((part.left, part.right)))
        found.append(replace(consensus, score=np.where(named, consensus.score, np.nan)))
    return found[0], found[1]


@dataclass(frozen=True, slots=True, eq=False)
class Leaderboard:
    """A study of votes with effects, and what its model has."""

    judgments: Judgments
    pairs: Pairs  # with annotators as far as the method tells them apart
    covariates: Standardised
    variant: ModelVariant

    @staticmethod
    def of(judgments: Judgments, variant: ModelVariant) -> Leaderboard:
        pairs = as_pairs(judgments, counted=True)
        x = standardised(pairs, judgments.covariates, judgments.vocabulary.n_entries)
        return Leaderboard(judgments, pairs, x, variant)

    @property
    def learns_annotators(self) -> bool:
        return bool(self.variant.free_parameters)

    def factors(self) -> tuple[Factor, ...]:
        """By what the scores of items deviate."""
        found, trusted = [], self.judgments.trusted
        if self.pairs.category is not None and self.judgments.categories is not None:
            found.append(Factor(CATEGORY, self.pairs.category, len(self.judgments.categories)))
        if trusted is not None and not trusted.all():
            level = np.where(trusted[self.pairs.annotator], -1, 0).astype(np.int32)
            found.append(Factor(UNTRUSTED, level, 1))
        return tuple(found)

    def model(self) -> tuple[EffectModel, tuple[str, ...]]:
        """The model, and a note where annotators are too many for parameters of their own."""
        words, learns = self.judgments.vocabulary, self.learns_annotators
        n_annotators = len(words.annotators) if learns else 1
        pairs = self.pairs if learns else replace(self.pairs, annotator=np.zeros_like(self.pairs.annotator))
        x, bias = self.covariates.x, "bias" in self.variant.free_parameters
        normal = self.variant.link == "normal"
        notes: tuple[str, ...] = ()
        for slopes, own_bias, own_ties in ((learns, bias, learns), (False, bias, learns), (False, False, False)):
            effects = Effects(x, self.factors(), own_bias, slopes and x.shape[1] > 0, own_ties, learns)
            model = EffectModel(pairs, effects, words.n_entries, n_annotators, normal=normal)
            if fits(model):
                break
            notes = ("there are too many annotators for an estimate of all their biases: some are shared by all",)
        return model, notes

    def start(
        self, model: EffectModel, plain: Consensus, groups: tuple[Consensus, Consensus] | None
    ) -> tuple[EffectValues, Spreads]:
        """Where the search starts: from a consensus without the effects, or from those of the two groups.

        Many machines that agree with each other outvote people. From a common start, people would seem to err.
        """
        score, quality = np.nan_to_num(plain.score), _start_quality(plain) if self.learns_annotators else np.ones(1)
        ties = usual_readiness(self.pairs, normal=model.normal)
        spreads = start_spreads(model, ties)
        if groups is None or self.judgments.trusted is None:
            return model.start(score, quality, ties), spreads
        trusted, others = groups
        score = np.where(np.isnan(trusted.score), score, trusted.score)
        deviation = np.nan_to_num(others.score - score)
        quality = np.where(self.judgments.trusted, _start_quality(trusted), _start_quality(others))
        values = model.start(score, quality, ties)
        values.core[model.slices[UNTRUSTED]] = deviation
        wide = {name: max(float(np.std(each)), 0.3) for name, each in (("score", score), (UNTRUSTED, deviation))}
        return values, replace(spreads, core={**spreads.core, **wide})

    def consensus(
        self, settings: VoteMethodSettings, plain: Consensus, groups: tuple[Consensus, Consensus] | None
    ) -> Consensus:
        """Fit the model, starting from a consensus without the effects, or from those of the two groups."""
        model, notes = self.model()
        values, spreads = self.start(model, plain, groups)
        search = learn_crowd if "quality" in model.own else learn
        solution = search(model, values, spreads, max_iter=settings.max_iter, tol=settings.tol)
        posterior = self._posterior(settings, model, solution)
        scores = posterior.scores(~np.isnan(plain.score))
        fields = dict.fromkeys(("low", "high", "rank_low", "rank_high", "gap_error", "gap_chance", "draws"))
        learned = {**_learned(solution), **self._worth(model, solution)}
        return replace(
            plain,
            score=scores.score,
            fit=solution.fit,
            annotator_columns=self._annotators(model, posterior, plain),
            covariate_columns=self._coefficients(model, posterior),
            category_columns=self._categories(posterior),
            rank_without=plain.rank if self.judgments.covariates else None,
            notes=(
                *plain.notes,
                *self.covariates.notes,
                *notes,
                *self._worth_note(solution, learned),
                *self._narrow_note(settings),
            ),
            settings=learned,
            **{**fields, **(scores.fields if settings.intervals else {})},
        )

    def _posterior(self, settings: VoteMethodSettings, model: EffectModel, solution: Solution) -> EffectPosterior:
        """From draws where annotators differ and the votes are not too many, else from the curvature."""
        words = self.judgments.vocabulary
        if not (settings.intervals and self.learns_annotators) or self._too_many_votes:
            return FromCurvature(model, solution, words)
        return FromDraws(model, draws_of(model, solution), words)

    @property
    def _too_many_votes(self) -> bool:
        return len(self.pairs) > MOST_SAMPLED_VOTES

    def _narrow_note(self, settings: VoteMethodSettings) -> tuple[str, ...]:
        if not (settings.intervals and self.learns_annotators and self._too_many_votes):
            return ()
        what = f"with more than {MOST_SAMPLED_VOTES:,} votes and covariates, categories or trusted annotators"
        return (f"{what}, intervals are from the curvature: too narrow: about 75 % contain the truth",)

    def _coefficients(self, model: EffectModel, posterior: EffectPosterior) -> dict[str, NDArray[Any]] | None:
        if "coefficient" not in model.slices:
            return None
        low, value, high = posterior.shared(model.slices["coefficient"])
        deviation = self.covariates.deviation
        names = np.empty(len(value), object)
        names[:] = self.judgments.covariates
        ends = {"coefficient": value, "low": low, "high": high}
        per_unit = {"per_unit": value, "per_unit_low": low, "per_unit_high": high}
        return {
            "covariate": names,
            **ends,
            "deviation": deviation,
            **{name: column / deviation for name, column in per_unit.items()},
        }

    def _categories(self, posterior: EffectPosterior) -> dict[str, NDArray[Any]] | None:
        if self.pairs.category is None or self.judgments.categories is None:
            return None
        return category_columns(posterior, self.judgments, CATEGORY)

    def _annotators(self, model: EffectModel, posterior: EffectPosterior, plain: Consensus) -> dict[str, NDArray[Any]]:
        """The columns of annotators."""
        columns, pairs, trusted = dict(plain.annotator_columns), self.pairs, self.judgments.trusted
        if self.learns_annotators:
            quality = quality_columns(model, posterior, one_sided_annotators(self.judgments))
            columns |= {**quality, **bias_columns(model, posterior, self.judgments.covariates)}
        columns |= consistency_columns(pairs, len(self.judgments.vocabulary.annotators))
        if trusted is not None:
            columns |= agreement_columns(pairs, trusted)
            if self.learns_annotators and trusted.any():
                columns |= worth_columns(model, posterior.values, trusted, quality)
        return columns

    def _worth(self, model: EffectModel, solution: Solution) -> dict[str, float]:
        """In votes of trusted annotators, what all votes of the others are worth, and what one more of them brings."""
        trusted = self.judgments.trusted
        own = None if trusted is None else trusted[self.pairs.annotator]
        if trusted is None or own is None or own.all() or not own.any():
            return {}
        pairs = pairs_where(self.pairs, own)
        factors = tuple(replace(each, level=each.level[own]) for each in self.factors() if each.name != UNTRUSTED)
        effects = replace(model.effects, x=self.covariates.x[own], factors=factors)
        if not self.learns_annotators:
            pairs = replace(pairs, annotator=np.zeros_like(pairs.annotator))
        alone = EffectModel(pairs, effects, model.n_entries, model.n_annotators, normal=model.normal)
        # At the same parameters: what votes say depends on how far apart the scores lie.
        both = _information(model, solution.values, solution.spreads, self.judgments.vocabulary)
        people = _information(
            alone, _values_in(alone, model, solution.values), solution.spreads, self.judgments.vocabulary
        )
        worth = {WORTH: _weight(pairs) * max(both / max(people, 1e-300) - 1, 0.0)}
        return worth | ({FURTHER_VOTE: _further_vote(model, solution, trusted)} if self.learns_annotators else {})

    def _worth_note(self, solution: Solution, learned: dict[str, float]) -> tuple[str, ...]:
        if WORTH not in learned:
            return ()
        assert self.judgments.trusted is not None
        own = self.judgments.trusted[self.pairs.annotator]
        votes, others = (_weight(pairs_where(self.pairs, each)) for each in (own, ~own))
        note = (
            f"the {others:,.0f} votes of annotators who are not trusted are worth about {learned[WORTH]:,.0f} votes of "
            f"trusted ones, who gave {votes:,.0f}; the scores of the two groups differ with a spread of "
            f"{solution.spreads.core[UNTRUSTED]:.2g}, which more votes do not change and the column worth leaves out"
        )
        return (note,)


def _start_quality(consensus: Consensus) -> Floats:
    known = np.nan_to_num(consensus.annotator_columns["quality"], nan=START_QUALITY)
    return np.asarray(np.clip(known, 1 - MOST_QUALITY, MOST_QUALITY))


def _weight(pairs: Pairs) -> float:
    return float(len(pairs)) if pairs.weight is None else float(pairs.weight.sum())


def _further_vote(model: EffectModel, solution: Solution, trusted: NDArray[np.bool_]) -> float:
    """What one more vote of an untrusted annotator brings, as a share of what it would if they did not deviate.

    If they know an item with precision P, and it deviates with variance τ², they know its score with precision
    1 / (1/P + τ²), whose slope by P is 1 / (1 + τ²P)².
    """
    values = solution.values
    quality = values.quality
    if "quality" in model.own:
        quality = logistic(values.own[:, model.own["quality"]] + values.core[model.slices["mean quality"].start])
    known = model.per_annotator("gap_information", values, quality)
    precision = float(known[~trusted].sum()) / model.n_entries if len(known) == len(trusted) else 0.0
    return float(1 + solution.spreads.core[UNTRUSTED] ** 2 * precision) ** -2


def _values_in(alone: EffectModel, model: EffectModel, values: EffectValues) -> EffectValues:
    """The same values for a model with fewer kinds of deviations."""
    core, block = np.zeros(alone.n_core), np.zeros((alone.n_blocks, alone.n_entries if alone.n_blocks else 0))
    for name, where in alone.slices.items():
        core[where] = values.block.ravel() if model.in_blocks(name) else values.core[model.slices[name]]
    if alone.blocked is not None:
        block = values.block
    return values._replace(core=core, block=block)


def _information(model: EffectModel, values: EffectValues, spreads: Spreads, vocabulary: Vocabulary) -> float:
    """What the votes say about a typical score, beyond its prior."""
    n = vocabulary.n_entries
    inverse = arrow_of(posterior_at(model, values, spreads)[1]).core_inverse
    variance = np.diag(centred_covariance(inverse[:n, :n], vocabulary))
    return max(float((1 / np.maximum(variance, 1e-300)).mean()) - spreads.core["score"] ** -2, 0.0)


def _learned(solution: Solution) -> dict[str, float]:
    """The spreads that were learned."""
    names = {"score": "spread", CATEGORY: "category_spread", UNTRUSTED: "untrusted_spread"}
    return {names[name]: spread for name, spread in solution.spreads.core.items() if name in names}


def usual_readiness(pairs: Pairs, *, normal: bool) -> float:
    """The log threshold with which items of equal score tie as often as the votes do."""
    share = float((pairs.outcome == TIE).mean()) if len(pairs) else 0.0
    share = min(max(share, 1e-3), 1 - 1e-3)
    return float(np.log(NormalDist().inv_cdf((1 + share) / 2) * np.sqrt(2) if normal else 2 * share / (1 - share)))
