"""The update beside the paper's own formulas, finite differences and numerical integrals."""

import math

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import expit

from crowdrank.methods.pairs.votes import online_kernels as kernels

GAPS = (-6.0, -1.0, -0.2, 0.0, 0.7, 3.0)
QUALITIES = ((10.0, 1.0), (2.0, 1.0), (1.0, 4.0), (30.0, 2.0), (3.0, 3.0))


def paper(mean_i, mean_j, var_i, var_j, alpha, beta, better):
    """Equations 12 to 18 as they are printed, given C1, for a vote that i is better."""
    e_i, e_j, c1, c2 = math.exp(mean_i), math.exp(mean_j), better, 1 - better
    slope = alpha * e_i / (alpha * e_i + beta * e_j) - e_i / (e_i + e_j)
    curvature = alpha * e_i * beta * e_j / (alpha * e_i + beta * e_j) ** 2 - e_i * e_j / (e_i + e_j) ** 2
    s = alpha + beta
    c = (c1 * alpha + c2 * beta) / s
    first = (c1 * (alpha + 1) * alpha + c2 * alpha * beta) / (c * (s + 1) * s)
    second = (c1 * (alpha + 2) * (alpha + 1) * alpha + c2 * (alpha + 1) * alpha * beta) / (c * (s + 2) * (s + 1) * s)
    new_alpha = (first - second) * first / (second - first**2)
    new_beta = (first - second) * (1 - first) / (second - first**2)
    means = mean_i + var_i * slope, mean_j - var_j * slope
    variances = var_i * max(1 + var_i * curvature, 1e-4), var_j * max(1 + var_j * curvature, 1e-4)
    return c, means, variances, (new_alpha, new_beta)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("quality", QUALITIES)
def test_win_is_the_papers(gap, quality):
    mean, variance = np.array([0.3 + gap, 0.3]), np.array([0.9, 0.4])
    better = float(kernels.truly_better(expit(gap), 1.3))
    chance, means, variances, beta = paper(*mean, *variance, *quality, better)
    assert kernels.win(gap, 1.3, *quality, 0.0)[0] == pytest.approx(chance, rel=1e-12)
    a, b = np.array([quality[0]]), np.array([quality[1]])
    zero = np.zeros(1, np.int32)
    kernels.play(zero, zero, zero + 1, np.ones(1, np.int8), mean, variance, a, b, np.zeros(2))
    assert mean == pytest.approx(means, rel=1e-12)
    assert variance == pytest.approx(variances, rel=1e-12)
    assert (a[0], b[0]) == pytest.approx(beta, rel=1e-9)


@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("better", [1e-9, 0.1, 0.5, 0.97, 1.0])
def test_quality_has_the_moments_of_the_true_posterior(quality, better):
    prior = stats.beta(*quality)
    right, wrong = better * quality[0], (1 - better) * quality[1]
    found = stats.beta(*kernels.matched(*quality, right / (right + wrong)))

    def moment(power):
        return integrate.quad(lambda x: x**power * (better * x + (1 - better) * (1 - x)) * prior.pdf(x), 0, 1)[0]

    assert found.mean() == pytest.approx(moment(1) / moment(0), rel=1e-7)
    assert found.var() == pytest.approx(moment(2) / moment(0) - (moment(1) / moment(0)) ** 2, rel=1e-6)


@pytest.mark.parametrize("spread", [0.01, 0.5, 2.0, 10.0, 1e4])
@pytest.mark.parametrize("gap", [*GAPS, 40.0, -800.0])
def test_who_is_truly_better(gap, spread):
    """C1 equals its integral to first order in the variance, within .025 at the usual priors, and is in [0, 1]."""
    x = np.linspace(-12, 12, 20_001)
    exact = integrate.trapezoid(expit(gap + math.sqrt(spread) * x) * stats.norm.pdf(x), x)
    found = kernels.truly_better(expit(gap), spread)
    assert 0 <= found <= 1
    if spread <= 10:  # wider beliefs than any prior one would use only have to stay chances
        assert found == pytest.approx(exact, abs=0.025 if spread <= 2 else 0.15)
    if spread < 0.1:
        p = expit(gap)
        assert found == pytest.approx(p + spread / 2 * p * (1 - p) * (1 - 2 * p), abs=2e-5)  # eq. 19


def tie_likelihood(gap, eta, ties):
    """Davidson's tie between entries as far apart, or (by as much as the annotator is a spammer) between equal ones."""
    use = (2 * eta - 1) ** 2
    return (1 - use) * ties / (ties + 2) + use * ties / (ties + 2 * np.cosh(gap / 2))


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("ties", [0.3, 4.0])
def test_ties_tell_quality_what_their_integral_does(gap, quality, ties):
    prior = stats.beta(*quality)

    def moment(power):
        return integrate.quad(lambda x: x**power * tie_likelihood(gap, x, ties) * prior.pdf(x), 0, 1)[0]

    chance, _, _, *beta = kernels.tie(gap, *quality, ties)
    assert chance == pytest.approx(moment(0), rel=1e-7)
    assert stats.beta(*beta).mean() == pytest.approx(moment(1) / moment(0), rel=1e-6)
    assert stats.beta(*beta).var() == pytest.approx(moment(2) / moment(0) - (moment(1) / moment(0)) ** 2, rel=1e-5)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("ties", [0.0, 0.3, 4.0])
def test_pull_and_bend_are_derivatives(build, gap, quality, ties):
    """Of the log-likelihood with the quality integrated out, by finite differences."""
    good = quality[0] / sum(quality)
    prior, x = stats.beta(*quality), np.linspace(0, 1, 20_001)
    use = integrate.simpson((2 * x - 1) ** 2 * prior.pdf(x), x=x)

    def tied(d):
        return (1 - use) * ties / (ties + 2) + use * ties / (ties + 2 * np.cosh(d / 2))

    def won(d):
        return (1 - tied(d)) * (good * expit(d) + (1 - good) * expit(-d))

    outcomes = [(won, kernels.win(gap, 1.0, *quality, ties))]
    if ties:
        outcomes.append((tied, kernels.tie(gap, *quality, ties)))
    for chance, (_, slope, curvature, *_) in outcomes:

        def rise(at, chance=chance):
            return build.slope(lambda point: np.log(chance(point[0])), np.array([at]), 1e-4)[0]

        assert slope == pytest.approx(rise(gap), abs=1e-5)
        assert curvature == pytest.approx((rise(gap + 1e-3) - rise(gap - 1e-3)) / 2e-3, abs=1e-4)


@pytest.mark.parametrize("gap", [-1.0, 0.0, 0.7, 3.0])
@pytest.mark.parametrize("quality", QUALITIES)
def test_scores_have_nearly_the_moments_of_the_true_posterior(gap, quality):
    """The error of the approximation: derivatives at the mean, not their average, which differs by order σ⁴."""
    for variance, allowed in ((0.04, 0.003), (0.25, 0.04), (1.0, 0.35)):
        x = np.linspace(-8, 8, 801) * math.sqrt(variance)
        density = stats.norm.pdf(x, scale=math.sqrt(variance))
        good = quality[0] / sum(quality)
        d = gap + x[:, None] - x[None, :]
        joint = (good * expit(d) + (1 - good) * expit(-d)) * density[:, None] * density[None, :]
        total = joint.sum()
        mean = (joint.sum(axis=1) @ x) / total
        square = (joint.sum(axis=1) @ x**2) / total
        _, slope, curvature, *_ = kernels.win(gap, 2 * variance, *quality, 0.0)
        assert variance * slope == pytest.approx(mean, abs=allowed * math.sqrt(variance))
        assert kernels.narrowed(variance, curvature) == pytest.approx(square - mean**2, abs=allowed * variance)


@pytest.mark.parametrize("share_of_ties", [0.0, 0.3])
@pytest.mark.parametrize("crowd", ["malicious", "random", "perfect", "one-sided"])
def test_ten_million_updates_stay_finite(crowd, share_of_ties):
    rng, n = np.random.default_rng(0), 2_500_000
    left = rng.integers(0, 40, n, dtype=np.int32)
    right = ((left + rng.integers(1, 40, n)) % 40).astype(np.int32)
    annotator = rng.integers(0, 5, n, dtype=np.int32)
    order = np.where(left < right, 1, -1)
    says = {"malicious": -order, "random": rng.choice([-1, 1], n), "perfect": order, "one-sided": np.ones(n)}[
        crowd
    ].astype(np.int8)
    outcome = np.where(rng.random(n) < share_of_ties, np.int8(0), says)
    mean = rng.choice([-700.0, 0.0, 700.0], 40) if crowd != "perfect" else np.zeros(40)
    variance, alpha, beta, counts = np.full(40, 4.0), np.full(5, 10.0), np.full(5, 1.0), np.zeros(2)
    for _ in range(4):
        kernels.play(annotator, left, right, outcome, mean, variance, alpha, beta, counts)
    assert counts.sum() == 4 * n
    for values in (mean, variance, alpha, beta):
        assert np.isfinite(values).all()
    assert variance.min() > 0
    assert variance.max() <= kernels.WIDEST
    assert min(alpha.min(), beta.min()) > 0


def test_many_votes_of_one_annotator_do_not_break_the_beta():
    """After millions of certain answers the Beta is as wide as so many answers make it."""
    alpha, beta = 2.0, 1.0
    for _ in range(1_000_000):
        alpha, beta = kernels.matched(alpha, beta, 1.0)
    assert (alpha, beta) == pytest.approx((1_000_002, 1.0), rel=1e-9)
    zero = np.zeros(1, np.int32)
    a, b = np.array([1e12]), np.array([1e12])
    kernels.play(zero, zero, zero + 1, np.zeros(1, np.int8), np.zeros(2), np.ones(2), a, b, np.zeros(2))
    assert (a[0], b[0]) == pytest.approx((1e12, 1e12), rel=1e-3)
