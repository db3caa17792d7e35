"""The one model of votes, against itself written out in SciPy and against finite differences."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from crowdrank import simulate
from crowdrank.convert import TIED, WON_LEFT, WON_RIGHT, Votes, votes
from crowdrank.methods.pairs.votes import few_votes, kernels
from crowdrank.methods.pairs.votes.model import PARAMETERS, Priors, VoteModel, logistic

LINKS = ("logistic", "normal")
USED = [(), ("quality",), ("quality", "bias"), ("slope",)]  # by the methods; ties are added where there are any
FREE = [*USED, *((*free, "ties") for free in USED), tuple(PARAMETERS)]
CASES = list(product(LINKS, FREE))
N_ENTRIES, N_PROFILES = 6, 4
NORMAL = {"slope": (0.1, 0.8), "ties": (-0.4, 1.1), "bias": (0.2, 0.9)}


def model(link, free, rows=60, prior=0.7, seed=0):
    rng = np.random.default_rng(seed)
    winner = rng.integers(N_ENTRIES, size=rows).astype(np.int32)
    loser = ((winner + rng.integers(1, N_ENTRIES, rows)) % N_ENTRIES).astype(np.int32)
    kind = rng.integers(3 if "ties" in free else 2, size=rows).astype(np.int8)
    profile = rng.integers(N_PROFILES, size=rows).astype(np.int32)
    table = Votes(profile, winner, loser, kind, rng.choice([1.0, 2.0, 0.3], rows))
    priors = Priors(prior, (2.0, 1.5), {name: NORMAL[name] for name in free if name in NORMAL})
    return VoteModel(table, profile, N_ENTRIES, N_PROFILES, link, free, priors)


def point(objective, scale, seed=1):
    """Somewhere: scores and logits of quality `scale` far out, the rest not further than makes sense."""
    x = np.random.default_rng(seed).normal(size=objective.layout.size)
    where = objective.layout.slices
    for name in ("score", "quality"):
        x[where.get(name, slice(0))] *= scale
    return x


def written_out(build, objective, x, link):
    """The log-posterior, term by term."""
    theta, table, k = objective.layout.unpack(x), objective.votes, objective.profile
    settings = {
        "quality": 1 / (1 + np.exp(-theta.quality[k])) if "quality" in objective.free else 1.0,
        "slope": np.exp(theta.slope[k]) if "slope" in objective.free else 1.0,
        "threshold": np.exp(theta.ties[k]) if "ties" in objective.free else 0.0,
        "bias": theta.bias[k] if "bias" in objective.free else 0.0,
    }
    reversed_ = table.kind == WON_RIGHT
    left, right = np.where(reversed_, table.loser, table.winner), np.where(reversed_, table.winner, table.loser)
    chances = build.chances(theta.score[left] - theta.score[right], link, **settings)
    total = table.weight @ np.log(np.select([table.kind == WON_LEFT, reversed_], chances[:2], chances[2]))
    total += 0.7 * sum(np.log(side).sum() for side in build.chances(theta.score, link)[:2])
    if "quality" in objective.free:
        eta = 1 / (1 + np.exp(-theta.quality))
        total += (1.0 * np.log(eta) + 0.5 * np.log(1 - eta)).sum()
    for name, (mean, spread) in objective.priors.normal.items():
        total -= (((getattr(theta, name) - mean) / spread) ** 2).sum() / 2
    if "slope" in objective.free:  # keeps their mean at 0, with the weight of all votes
        total -= table.weight.sum() * objective.n_profiles * theta.slope.mean() ** 2 / 2
    return total


@pytest.mark.parametrize(("link", "free"), CASES)
def test_the_value_is_the_log_posterior_written_out(build, link, free):
    objective = model(link, free)
    x = point(objective, 1.0)
    assert objective.evaluate(x)[0] == pytest.approx(-written_out(build, objective, x, link), rel=1e-10)


@pytest.mark.parametrize("scale", [0.0, 1.0, 4.0, 8.0])
@pytest.mark.parametrize(("link", "free"), CASES)
def test_derivatives_agree_with_finite_differences(build, link, free, scale):
    objective = model(link, free)
    x = point(objective, scale)
    gradient = objective.evaluate(x)[1]
    hessian, diagonal = objective.hessian(), objective.diagonal()
    v = np.random.default_rng(3).normal(size=len(x))
    assert objective.hessian_product(v) == pytest.approx(hessian @ v, rel=1e-9, abs=1e-9)
    assert diagonal == pytest.approx(np.diag(hessian), rel=1e-9, abs=1e-9)
    assert gradient == pytest.approx(
        build.slope(lambda at: objective.evaluate(at)[0], x, step=1e-5), rel=1e-5, abs=1e-5
    )
    slopes = build.slope(lambda at: objective.evaluate(at)[1], x, step=1e-5)
    assert hessian == pytest.approx(slopes, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("free", FREE)
@pytest.mark.parametrize("scale", [30.0, 100.0])
def test_far_out_the_logistic_model_is_still_right(build, free, scale):
    objective = model("logistic", free)
    x = point(objective, scale)
    for name in ("slope", "ties"):
        x[objective.layout.slices.get(name, slice(0))] *= 0.1
    gradient = objective.evaluate(x)[1]
    hessian = objective.hessian()
    assert np.isfinite(hessian).all()
    assert gradient == pytest.approx(
        build.slope(lambda at: objective.evaluate(at)[0], x, step=1e-4), rel=1e-4, abs=1e-4
    )
    assert hessian == pytest.approx(build.slope(lambda at: objective.evaluate(at)[1], x, step=1e-4), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(("link", "free"), CASES)
def test_nothing_is_infinite_at_the_end_of_the_world(link, free):
    objective = model(link, free)
    x = objective.layout.pack(score=np.linspace(-800, 800, N_ENTRIES), **dict.fromkeys(free, 3.0))
    x[objective.layout.slices.get("quality", slice(0))] = 800.0
    value, gradient = objective.evaluate(x)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    assert np.isfinite(objective.hessian()).all()


def test_the_fast_kernel_of_scores_alone_equals_the_general_one():
    objective = model("logistic", (), rows=500)
    scores = np.random.default_rng(2).normal(0, 3, N_ENTRIES)
    rows = objective.rows._replace(profile=np.zeros(500, np.int32))
    no_effect = np.array([[1.0], [0.0], [1.0], [0.0], [0.0]])
    fast, general = derivatives(0, 1), derivatives(0, 1)
    value = kernels.plain_terms(rows, scores, fast)
    expected = kernels.any_terms(rows, scores, no_effect, False, np.zeros(0, np.int64), general)
    for one, other in zip((value, *fast), (expected, *general), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_the_fast_kernel_of_quality_equals_the_general_one():
    objective, rng = model("logistic", ("quality",), rows=500), np.random.default_rng(2)
    scores, quality = rng.normal(0, 3, N_ENTRIES), np.array([PARAMETERS["quality"]])
    eta = np.array([0.99, 0.5, 0.2, 0.8])
    profiles = np.stack([eta, 1 - eta, np.ones_like(eta), np.zeros_like(eta), np.zeros_like(eta)])
    fast, general = derivatives(1, N_PROFILES), derivatives(1, N_PROFILES)
    value = kernels.quality_terms(objective.rows, scores, profiles, fast)
    expected = kernels.any_terms(objective.rows, scores, profiles, False, quality, general)
    for one, other in zip((value, *fast), (expected, *general), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def derivatives(n_free, n_profiles, rows=500):
    """Zeros to add derivatives to."""
    cells = (n_free + 1) * (n_free + 2) // 2
    return kernels.Derivatives(np.zeros((2, N_ENTRIES)), np.zeros((2, n_free, n_profiles)), np.zeros((rows, cells)))


def chance_of(kind, gap, link, x):
    """The model's probability of one vote, from its value with one row and no prior."""
    zero = np.zeros(1, np.int32)
    table = Votes(zero, zero, zero + 1, np.array([kind], np.int8), np.ones(1))
    gap = -gap if kind == WON_RIGHT else gap  # the winner's lead
    objective = VoteModel(table, zero, 2, 1, link, tuple(PARAMETERS), Priors(0.0, (1.0, 1.0)))
    of_slope = x[1] ** 2 / 2  # the term that keeps the mean log slope at 0, with the weight of the one vote
    return np.exp(of_slope - objective.evaluate(np.r_[gap, 0.0, x])[0])


@pytest.mark.parametrize("link", LINKS)
def test_left_right_and_tie_are_all_there_is(build, link):
    rng = np.random.default_rng(4)
    for _ in range(50):
        gap, (logit, log_slope, log_threshold, bias) = rng.normal(0, 2), rng.normal(size=4)
        found = [
            chance_of(kind, gap, link, (logit, log_slope, log_threshold, bias)) for kind in (WON_LEFT, WON_RIGHT, TIED)
        ]
        assert sum(found) == pytest.approx(1, abs=1e-12)
        quality, slope, threshold = 1 / (1 + np.exp(-logit)), np.exp(log_slope), np.exp(log_threshold)
        assert found == pytest.approx(build.chances(gap, link, quality, slope, threshold, bias), abs=1e-12)


@pytest.mark.parametrize("gap", [-6.0, -1.0, 0.0, 0.3, 6.0])
def test_ties_of_logistic_votes_are_davidsons(gap):
    perfect = 50.0, 0.0, np.log(0.8), 0.0
    left, right, tie = (chance_of(kind, gap, "logistic", perfect) for kind in (WON_LEFT, WON_RIGHT, TIED))
    assert tie == pytest.approx(0.8 * np.sqrt(left * right), rel=1e-10)
    assert left / right == pytest.approx(np.exp(gap), rel=1e-10)


@pytest.mark.parametrize("link", LINKS)
def test_the_ties_of_a_spammer_do_not_tell_who_is_better(link):
    found = [chance_of(TIED, gap, link, (0.0, 0.0, 0.0, 0.0)) for gap in (-3.0, 0.0, 3.0)]
    assert found[0] == pytest.approx(found[2], rel=1e-12)
    if link == "logistic":
        assert found[0] == pytest.approx(found[1], rel=1e-12)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("gap", [-6.0, -1.0, 0.0, 0.3, 6.0])
def test_as_the_threshold_goes_to_0_so_do_ties(build, link, gap):
    tiny = 1e-6
    perfect = 50.0, 0.0, np.log(tiny), 0.0
    won = build.chances(gap, link)[0]
    assert chance_of(WON_LEFT, gap, link, perfect) == pytest.approx(won, abs=tiny)
    per_threshold = np.sqrt(won * (1 - won)) if link == "logistic" else 2 * norm(scale=np.sqrt(2)).pdf(gap)
    assert chance_of(TIED, gap, link, perfect) == pytest.approx(tiny * per_threshold, rel=1e-5)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("prior", [0.0, 0.7])
def test_the_virtual_item_is_a_win_and_a_loss_against_score_0(build, link, prior):
    score = np.array([-5.0, -0.3, 0.0, 1.0, 7.0])
    slope, curvature = np.empty(5), np.empty(5)

    def cost(at):
        return -prior * (np.log(build.chances(at, link)[0]) + np.log(build.chances(at, link)[1]))

    value = kernels.virtual_terms(score, prior, link == "normal", slope, curvature)
    assert value == pytest.approx(cost(score).sum(), rel=1e-10)
    step = 1e-3
    below, above = cost(score - step), cost(score + step)
    assert slope == pytest.approx((above - below) / (2 * step), rel=1e-5, abs=1e-5)
    assert curvature == pytest.approx((above - 2 * cost(score) + below) / step**2, rel=1e-4, abs=1e-5)


def test_perfect_annotators_make_it_bradley_terry():
    study = simulate.pairs(items=12, annotators=5, votes=300, seed=3).judgments
    rows, pooled = (votes(study.pairs, study.vocabulary, pooled=pooled) for pooled in (False, True))
    crowd = VoteModel(rows, rows.annotator, 12, 5, "logistic", ("quality",), Priors(1.0, (1.0, 1.0)))
    plain = VoteModel(pooled, pooled.annotator, 12, 1, "logistic", (), Priors(1.0))
    score = np.random.default_rng(0).normal(size=12)
    value, slope = crowd.evaluate(crowd.layout.pack(score=score, quality=800.0))
    assert value == pytest.approx(plain.evaluate(score)[0], rel=1e-12)
    assert crowd.layout.unpack(slope).score == pytest.approx(plain.evaluate(score)[1], abs=1e-10)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("free", [("quality",), ("quality", "ties")])
def test_turning_everybody_and_everything_around_is_the_mirror_image(link, free):
    objective = model(link, free)
    objective.priors = Priors(0.7, (1.3, 1.3), objective.priors.normal)
    x = point(objective, 2.0)
    mirrored = x.copy()
    mirrored[: N_ENTRIES + N_PROFILES] *= -1
    assert objective.evaluate(x)[0] == pytest.approx(objective.evaluate(mirrored)[0], rel=1e-12)


@pytest.mark.parametrize("x", [-700.0, -40.0, -3.0, 0.0, 3.0, 40.0, 700.0])
def test_the_logistic_keeps_its_digits_at_both_ends(x):
    expected = 1 / (1 + np.exp(-x)) if x > 0 else np.exp(x) / (1 + np.exp(x))
    assert logistic(np.array([x]))[0] == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize("free", [(), ("ties",)])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_few_votes_without_kernels_give_the_same(free, scale, monkeypatch):
    found = []
    for limit in (0, 1000):
        monkeypatch.setattr(few_votes, "are_few", lambda count, *_: count <= limit)  # noqa: B023
        of_four = model("logistic", free)
        pooled = VoteModel(
            of_four.votes, np.zeros_like(of_four.profile), N_ENTRIES, 1, "logistic", free, of_four.priors
        )
        x = point(pooled, scale)
        value, gradient = pooled.evaluate(x)
        found.append((value, gradient, pooled.diagonal(), pooled.hessian_product(np.cos(x)), pooled.curvatures))
    for one, other in zip(*found, strict=True):
        assert other == pytest.approx(one, rel=1e-9, abs=1e-12)
