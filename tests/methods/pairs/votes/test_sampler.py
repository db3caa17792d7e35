"""Draws from the posterior: calibrated on simulated studies, the same whatever things are called."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import chisquare

import crowdrank as cr
from crowdrank.convert import TIED, WON_LEFT, Votes, votes
from crowdrank.methods.pairs.votes.canonical import canonical_order
from crowdrank.methods.pairs.votes.crowd import SHAPES, SHARPNESS_SPREAD, USUAL_MIXTURE, crowd_of
from crowdrank.methods.pairs.votes.hyperparameters import (
    MEAN_SPREAD,
    PROFILE_VARIANCE,
    SCORE_VARIANCE,
    Hyperparameters,
)
from crowdrank.methods.pairs.votes.learned_crowd import fit_learned_crowd, unknown_crowd
from crowdrank.methods.pairs.votes.marginal import MarginalEvaluation, MarginalModel
from crowdrank.methods.pairs.votes.mode import mode_at
from crowdrank.methods.pairs.votes.sampler import TRAJECTORY, Chain, Trajectories, sample
from crowdrank.methods.pairs.votes.share_moves import RATE
from crowdrank.methods.verdicts import QUALITY, VIRTUAL_ANNOTATORS

N_ENTRIES, N_ANNOTATORS, PER_ANNOTATOR = 4, 6, 8
STARTS = np.array([0, N_ENTRIES])


class Study(NamedTuple):
    """Votes, and what they were drawn from."""

    table: Votes
    score: np.ndarray
    spread: float
    ties: np.ndarray  # log thresholds; empty without ties
    tie_spread: float
    log_sharpness: float


def drawn_study(rng, ties=False):
    """Spread, scores, shares, qualities, tie thresholds and votes, all from their priors."""
    spread = SCORE_VARIANCE.draw(rng) ** 0.5
    score = rng.normal(0, spread, N_ENTRIES)
    share = rng.dirichlet(VIRTUAL_ANNOTATORS * USUAL_MIXTURE) @ SHAPES
    quality = rng.choice(QUALITY, N_ANNOTATORS, p=share)
    tie_spread = PROFILE_VARIANCE.draw(rng) ** 0.5
    thresholds = rng.normal(MEAN_SPREAD * rng.normal(), tie_spread, N_ANNOTATORS) if ties else np.zeros(0)
    log_sharpness = SHARPNESS_SPREAD * rng.normal() if ties else 0.0
    annotator = np.repeat(np.arange(N_ANNOTATORS, dtype=np.int32), PER_ANNOTATOR)
    first = rng.integers(0, N_ENTRIES, len(annotator))
    second = (first + rng.integers(1, N_ENTRIES, len(annotator))) % N_ENTRIES
    gap = score[first] - score[second]
    chance = 0.5 + (quality[annotator] - 0.5) * np.tanh(gap / 2)
    won = rng.random(len(annotator)) < chance
    winner, loser = np.where(won, first, second), np.where(won, second, first)
    kind, weight = np.full(len(annotator), WON_LEFT, np.int8), np.ones(len(annotator))
    if ties:
        tau = np.exp(thresholds[annotator])
        tied = tau / (tau + 2 * np.cosh(np.exp(log_sharpness) * (2 * quality[annotator] - 1) * gap / 2))
        kind[rng.random(len(annotator)) < tied] = TIED
    return Study(
        Votes(annotator, winner.astype(np.int32), loser.astype(np.int32), kind, weight),
        score,
        spread,
        thresholds,
        tie_spread,
        log_sharpness,
    )


@pytest.mark.parametrize("free", [(), ("ties",)])
def test_draws_are_calibrated(free):
    """The truth, drawn from the prior, has any rank among the draws equally often (simulation-based calibration)."""
    ranks = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        table, score, spread, ties, tie_spread, log_sharpness = drawn_study(rng, bool(free))
        model = MarginalModel(table, table.annotator, N_ENTRIES, N_ANNOTATORS, False, free)
        hyper = Hyperparameters(spread=spread, ties=(float(ties.mean()) if free else 0.0, tie_spread))
        crowd = unknown_crowd(N_ANNOTATORS).sharper(log_sharpness)
        start = mode_at(model, STARTS, np.r_[score, ties], crowd, hyper)
        draws = sample(model, start, STARTS, draws=95, warm_up=40, seed=seed)
        thin = slice(None, None, 5)
        gap, log_spread = draws.x[thin, 0] - draws.x[thin, 1], np.log(draws.spread[thin])
        found = [(gap < score[0] - score[1]).sum(), (log_spread < np.log(spread)).sum()]
        if free:
            thresholds = draws.x[thin, N_ENTRIES:]
            found += [(thresholds[:, 0] < ties[0]).sum(), (np.ptp(thresholds, axis=1) < np.ptp(ties)).sum()]
        ranks.append(found)
    for column in np.array(ranks).T:  # 0 to 19, in five classes of four
        assert chisquare(np.bincount(column // 4, minlength=5)).pvalue > 0.001


def test_means_and_errors_agree_with_many_draws():
    table, *_ = drawn_study(np.random.default_rng(5))
    model = MarginalModel(table, table.annotator, N_ENTRIES, N_ANNOTATORS, False, ())
    start = mode_at(model, STARTS, np.zeros(N_ENTRIES), unknown_crowd(N_ANNOTATORS), Hyperparameters(spread=1.5))
    long = sample(model, start, STARTS, draws=2500, warm_up=100, seed=1)
    short = sample(model, start, STARTS, draws=600, warm_up=60, seed=2)
    error = long.x.std(axis=0)
    assert np.abs(short.mean - long.x.mean(axis=0)).max() < 0.4 * error.max()
    middle = [np.diff(np.quantile(each.x, (0.25, 0.75), axis=0), axis=0) for each in (short, long)]  # tails are heavy
    assert middle[0] == pytest.approx(middle[1], rel=0.35)
    assert short.posterior == pytest.approx(long.posterior, abs=0.1)


def test_draws_stay_on_their_side_of_the_mirror():
    """Votes by lot say nothing about the direction of scores and qualities together, which was decided before."""
    rng, n, score = np.random.default_rng(3), 200, np.array([-0.3, 0.1, 0.2, 0.0])
    winner = rng.integers(0, N_ENTRIES, 3 * n)
    loser = (winner + rng.integers(1, N_ENTRIES, 3 * n)) % N_ENTRIES
    codes = (column.astype(np.int32) for column in (np.repeat(np.arange(n), 3), winner, loser))
    table = Votes(*codes, np.full(3 * n, WON_LEFT, np.int8), np.ones(3 * n))
    model = MarginalModel(table, table.annotator, N_ENTRIES, n, False, ())
    crowd = unknown_crowd(n)
    crowd = replace(crowd, counts=(crowd.counts + crowd.counts[::-1]) / 2)  # reversed annotators are as common as good
    chain = Chain(model, mode_at(model, STARTS, score, crowd, Hyperparameters(spread=0.5)), 0)
    states = []
    for _ in range(300):
        chain.move()
        chain.draw_distributions()
        states.append((chain.x @ score < 0, chain.crowd.weight @ RATE < 0))
    assert {(True, False), (False, True), (False, False)} == set(states)


def test_qualities_that_were_thought_impossible_are_found():
    """The most likely scores can fit the votes of a spammer by chance; the draws correct it."""
    judgments = cr.simulate.pairs(items=10, annotators=5, votes=2000, spammers=0.2, seed=0)
    table = votes(judgments.judgments.pairs, judgments.judgments.vocabulary)
    spammer, starts = int(np.argmin(np.abs(judgments.quality - 0.5))), np.array([0, 10])
    crowd = crowd_of(np.where(np.arange(5) == spammer, -0.95, 0.8), np.full(5, 0.025), None)
    model = MarginalModel(table, table.annotator, 10, 5, False, ())
    start = mode_at(model, starts, judgments.gold.value, crowd, Hyperparameters(spread=2.0))
    draws = sample(model, start, starts, draws=40, warm_up=30, seed=0)
    quality = (draws.posterior * draws.crowd.quality).sum(axis=1)
    assert crowd.quality[spammer].max() < 0.4
    assert 0.4 < quality[spammer] < 0.6
    assert np.delete(quality, spammer).min() > 0.7


class Normal(NamedTuple):
    """A normal distribution, with its width in units; the units are the parameters."""

    width: float

    def evaluate(self, x):
        return MarginalEvaluation(float(x @ x) / (2 * self.width**2), x / self.width**2, x)

    def position(self, x):
        return x

    of = slope = position


@pytest.mark.parametrize("width", [1.0, 1.6])
def test_trajectories_follow_the_width(width):
    """A quarter of a circle takes longer where the posterior is wider; draws depend less on the ones before."""
    target = Normal(width)
    trajectories, x = Trajectories(target, np.random.default_rng(3)), np.zeros(20)
    now, draws = target.evaluate(x), []
    for _ in range(600):
        x, now = trajectories.move(x, now, target.evaluate)
        draws.append(x)
    assert trajectories.length == pytest.approx(width * TRAJECTORY, rel=0.1)
    before, after = np.array(draws[100:-1]), np.array(draws[101:])
    assert np.std(after) == pytest.approx(width, rel=0.05)
    if_not_longer = np.cos(TRAJECTORY / width)  # the correlation, and more with those that are rejected
    assert abs(np.mean(before * after)) / width**2 < max(0.7 * if_not_longer, 0.25)


def test_units_go_there_and_back_and_fit_the_posterior():
    """In units the slope of the scale of all scores is close to the distance, though qualities change with it."""
    study = cr.simulate.pairs(items=8, annotators=10, votes=400, seed=2).judgments
    n, table = 8, votes(study.pairs, study.vocabulary)
    model = MarginalModel(table, table.annotator, n, 10, False, ())
    found = fit_learned_crowd(
        model, study.vocabulary, np.zeros(n), Hyperparameters(), gold=None, max_iter=100, tol=1e-6
    )
    chain, mode = Chain(model, found.mode, 0), found.mode.x
    units, u = chain.units, np.random.default_rng(1).normal(size=n)
    assert units.of(units.position(u)) == pytest.approx(u)
    gradient = np.random.default_rng(2).normal(size=n)
    assert units.slope(gradient) @ u == pytest.approx(gradient @ (units.position(u) - units.centre))
    along = units.of(2 * mode)
    along /= np.linalg.norm(along)
    up, down = (units.slope(chain._evaluation(units.position(end * along)).gradient) for end in (1.0, -1.0))
    assert 0.5 < (up - down) @ along / 2 < 2


def test_names_and_sides_do_not_change_draws():
    study = cr.simulate.pairs(items=9, annotators=5, votes=150, tasks=2, ties=0.2, seed=3).judgments
    pairs, names = study.pairs, study.vocabulary
    item, who = names.items[names.entry_item], names.annotators
    columns = {
        "task": names.tasks[names.entry_task[pairs.left]],
        "annotator": who[pairs.annotator],
        "left": item[pairs.left],
        "right": item[pairs.right],
        "winner": np.where(pairs.outcome == 0, "tie", np.where(pairs.outcome > 0, item[pairs.left], item[pairs.right])),
    }
    turned = {
        name: np.array([value if value == "tie" else str(value)[::-1] + "x" for value in values])
        for name, values in columns.items()
    }
    one, other = (cr.fit("crowd-bt", cr.judgments(each)).ranking for each in (columns, turned))
    back = dict(zip(zip(other["task"], other["item"], strict=True), other["score"], strict=True))
    for task, name, score in zip(one["task"], one["item"], one["score"], strict=True):
        assert back[task[::-1] + "x", name[::-1] + "x"] == pytest.approx(score, abs=1e-5)


def test_the_order_follows_from_the_votes():
    """Relabelled entries and annotators come out in the same places."""
    rng = np.random.default_rng(0)
    table, *_ = drawn_study(rng)
    entry, annotator = rng.permutation(N_ENTRIES), rng.permutation(N_ANNOTATORS)
    other = Votes(
        annotator[table.annotator].astype(np.int32),
        entry[table.winner].astype(np.int32),
        entry[table.loser].astype(np.int32),
        table.kind,
        table.weight,
    )
    models = (MarginalModel(each, each.annotator, N_ENTRIES, N_ANNOTATORS, False, ()) for each in (table, other))
    one, two = (canonical_order(model, STARTS) for model in models)
    assert entry[one.entry].tolist() == two.entry.tolist()
    assert annotator[one.profile].tolist() == two.profile.tolist()
