"""The vote model with a value for every parameter of the annotators: where the fit starts, and its optimum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

import numpy as np

from crowdrank.convert import TIED, Votes
from crowdrank.methods.pairs.votes.hyperparameters import START_SPREAD, Hyperparameters
from crowdrank.methods.pairs.votes.model import Link, Priors, VoteModel
from crowdrank.methods.pairs.votes.similar_pairs import spread_of_gaps
from crowdrank.methods.profiles import Profiles
from crowdrank.numerics.engine import placed
from crowdrank.numerics.newton import Minimum, minimise
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.task_blocks import graph_blocks, inverse
from crowdrank.study import Floats, Gold, Vocabulary

ODDS_FACTOR = 1.2  # start scores are the log-odds of winning times this: different opponents make those too small
START_QUALITY = 0.9  # at 1 itself the gradient is 0, and quality would never change
TIE_SPREAD = 1.0  # standard deviation of the annotators' log tie thresholds around that of the crowd
BIAS_SPREAD = 1.0  # standard deviation of the annotators' biases towards one side, in log-odds
SPREAD_ROUNDS = 8
WIDE_SPREAD = 30.0  # where items are only compared with similar ones, the scores may be anywhere
LARGEST_BLOCK = 1000  # entries of a task whose curvature is inverted
MANY_VOTES = 50  # per item: its own curvature then says nearly as much about its score as that of all
SETTLED = 0.02  # change of the logarithm of the spread in a round


@dataclass(frozen=True, slots=True)
class ModelVariant:
    """Which case of the vote model a method is."""

    link: Link = "logistic"
    free_parameters: tuple[str, ...] = ()  # of the profiles, besides that of ties; none: one profile for all annotators
    quality_prior: tuple[float, float] | None = None
    quality_per: Literal["study", "task"] = "study"
    slope_spread: float = 1.0

    @property
    def has_quality(self) -> bool:
        """Whether annotators have a quality."""
        return "quality" in self.free_parameters


def explicit_model(
    table: Votes, profiles: Profiles, vocabulary: Vocabulary, variant: ModelVariant, prior: float | None
) -> VoteModel:
    """The vote model of this variant; ties are modelled where there are any."""
    ties = usual_ties(table, variant.link)
    normal = {"slope": (0.0, variant.slope_spread), "bias": (0.0, BIAS_SPREAD), "ties": (ties or 0.0, TIE_SPREAD)}
    free = variant.free_parameters if ties is None else (*variant.free_parameters, "ties")
    priors = Priors(
        score=prior,
        spread=START_SPREAD,
        quality=variant.quality_prior or ((2.0, 2.0) if prior is None else (1.05, 1.05)),
        normal={name: normal[name] for name in free if name in normal},
    )
    of_row = profiles.of(table.annotator, vocabulary.entry_task[table.winner])
    return placed(VoteModel)(table, of_row, vocabulary.n_entries, len(profiles), variant.link, free, priors)


def usual_ties(table: Votes, link: Link) -> float | None:
    """The logarithm of the τ at which two equal items tie as often as all votes do; None where nobody ties."""
    tied = float(table.weight[table.kind == TIED].sum())
    share = min(tied / (float(table.weight.sum()) or 1.0), 0.99)
    if not share > 0:
        return None
    tau = 2 * share / (1 - share) if link == "logistic" else NormalDist(sigma=2**0.5).inv_cdf((1 + share) / 2)
    return float(np.log(tau))


def start_of(model: VoteModel, vocabulary: Vocabulary, gold: Gold | None) -> Floats:
    """Where the fit starts: scores by the share of wins; annotators as good as their answers on gold pairs."""
    start = np.zeros(model.layout.size)
    blocks = model.layout.unpack(start)
    if gold is None:
        blocks.score[:] = start_scores(model.votes, vocabulary.n_entries)
    if "ties" in model.free:
        assert model.priors.normal is not None
        blocks.ties[:] = model.priors.normal["ties"][0]
    if "quality" in model.free:
        quality = _start_quality(model, vocabulary, gold)
        blocks.quality[:] = np.log(quality / (1 - quality))
    return start


def start_scores(table: Votes, n_entries: int) -> Floats:
    """The log-odds of winning, times ODDS_FACTOR."""
    decided = np.where(table.kind == TIED, 0.0, table.weight)
    won, lost = (sum_by(side, decided, n_entries) for side in (table.winner, table.loser))
    return np.asarray(ODDS_FACTOR * np.log((won + 1) / (lost + 1)))


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


def find_optimum(model: VoteModel, start: Floats, vocabulary: Vocabulary, *, max_iter: int, tol: float) -> Minimum:
    """The optimum; the spread of the scores is learned where they have no virtual wins and losses."""
    if model.free:
        profiles = slice(model.n_entries, None)
        start = minimise(model, start, max_iter=100, tol=0.1, fixed=profiles, what="start").x
    if model.priors.score is None:
        start = _learn_spread(model, start, vocabulary)
    return minimise(model, start, max_iter=max_iter, tol=tol, what="scores and annotators")


def _learn_spread(model: VoteModel, start: Floats, vocabulary: Vocabulary) -> Floats:
    """Set the spread of the scores to what fits them; where they are then."""
    many = model.votes.weight.sum() > MANY_VOTES * model.n_entries
    small = not many and np.diff(vocabulary.task_starts).max(initial=0) <= LARGEST_BLOCK
    if spread_of_gaps(model.votes, vocabulary) is not None:
        model.priors = replace(model.priors, similar=True)
        return _at_spread(model, start, WIDE_SPREAD, None)[0]
    start, variance = _at_spread(model, start, START_SPREAD, vocabulary if small else None)
    for _ in range(SPREAD_ROUNDS if small else 1):
        spread = Hyperparameters().learned(start[: model.n_entries], {}, variance).spread
        settled = abs(np.log(spread / model.priors.spread)) < SETTLED
        model.priors = replace(model.priors, spread=spread)
        if settled or not small:
            break
        start, variance = _at_spread(model, start, spread, vocabulary)
    return start


def _at_spread(model: VoteModel, start: Floats, spread: float, vocabulary: Vocabulary | None) -> tuple[Floats, Floats]:
    """The most likely parameters with this spread, and the variance of the scores."""
    model.priors = replace(model.priors, spread=spread)
    x = minimise(model, start, max_iter=100, tol=0.02, what="spread of scores").x
    model.evaluate(x)
    variance = 1 / np.maximum(model.diagonal()[: model.n_entries], 1e-9)
    return x, variance if vocabulary is None else _score_variance(model, vocabulary)


def _score_variance(model: VoteModel, vocabulary: Vocabulary) -> Floats:
    """The variance of every score, given the annotators' parameters."""
    n, weight = model.n_entries, np.maximum(model.curvatures[:, 0], 0.0)
    prior = np.full(n, 1 / model.priors.spread**2)
    precision = graph_blocks(vocabulary.task_starts, model.votes.winner, model.votes.loser, weight, prior)
    return precision.map(inverse).diagonal(n)
