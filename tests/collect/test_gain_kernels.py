"""Gains beside eq. 10 written out, and the fast kernels beside the exact ones."""

import math

import numpy as np
import pytest
from scipy import integrate
from scipy.special import betaln

from crowdrank.collect import gain_kernels as kernels
from crowdrank.methods.pairs.votes.online_kernels import KAPPA, tie, win

GAPS = (-5.0, -0.7, 0.0, 0.3, 2.0)
BETAS = ((30.0, 2.0), (10.0, 1.0), (2.0, 1.0), (1.0, 4.0), (3.0, 3.0))


def kl_normal(mean, variance, mean_before, variance_before):
    return 0.5 * (
        math.log(variance_before / variance)
        + variance / variance_before
        - 1
        + (mean - mean_before) ** 2 / variance_before
    )


def kl_beta(after, before):
    """By quadrature over the log-odds, where Betas have bell shapes."""
    t = np.linspace(-60, 60, 24_001)
    log_x, log_rest = -np.logaddexp(0, -t), -np.logaddexp(0, t)
    p, q = (a * log_x + b * log_rest - betaln(a, b) for a, b in (after, before))
    return integrate.trapezoid(np.exp(p) * (p - q), t)


def expected_gain(gap, v, w, beta, ties, gamma):
    """Eq. 10: every answer, its chance, and the beliefs after it."""
    answers = [(win(gap, v + w, *beta, ties), 1), (win(-gap, v + w, *beta, ties), -1)]
    if ties:
        answers.append((tie(gap, *beta, ties), 1))
    total = 0.0
    for (chance, pull, curvature, *after), sign in answers:
        gained = gamma * kl_beta(after, beta)
        for mean, variance, direction in ((gap, v, sign), (0.0, w, -sign)):
            moved = mean + direction * variance * pull
            gained += kl_normal(moved, variance * max(1 + variance * curvature, KAPPA), mean, variance)
        total += chance * gained
    assert sum(chance for (chance, *_), _ in answers) == pytest.approx(1)
    return total


def one_gain(gap, v, w, beta, ties, gamma):
    out, zero = np.empty(1), np.zeros(1, np.int32)
    mean, variance = np.array([gap, 0.0]), np.array([v, w])
    kernels.gains(zero, zero, zero + 1, mean, variance, np.array([beta[0]]), np.array([beta[1]]), ties, gamma, out)
    return out[0]


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("ties", [0.0, 0.6])
@pytest.mark.parametrize("gamma", [0.0, 1.0, 20.0])
def test_gains_are_those_of_the_paper(gap, beta, ties, gamma):
    for v, w in ((0.5, 0.5), (0.05, 1.5), (9.0, 3.0)):
        assert one_gain(gap, v, w, beta, ties, gamma) == pytest.approx(
            expected_gain(gap, v, w, beta, ties, gamma), rel=1e-5, abs=1e-9
        )


def test_divergence_of_betas():
    for after in BETAS:
        for before in BETAS:
            assert kernels.beta_divergence(*after, *before) == pytest.approx(kl_beta(after, before), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("beta", BETAS)
def test_rows_agree_with_the_list(beta):
    """The kernel that takes several pairs at once, and the table of quality gains."""
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(0, 2, 60), rng.uniform(1e-3, kernels.NARROW, 60)
    a, b = np.array([beta[0]]), np.array([beta[1]])
    j = np.arange(1, 60, dtype=np.int32)
    exact, gain, lead = np.empty(59), np.empty(60), np.empty(60)
    kernels.gains(np.zeros(59, np.int32), np.zeros(59, np.int32), j, mean, variance, a, b, 0.0, 2.0, exact)
    kernels.row_gains(0, 1, 60, np.exp(mean), variance, *beta, gain, lead)
    table = np.zeros((2, kernels.CELLS + 1))
    kernels.fill_table(*beta, 0.0, table)
    found = gain[1:] + 2.0 * np.array([kernels.looked_up(table[0], 2 * abs(x)) for x in lead[1:]])
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-8)


def test_the_table_of_ties():
    table, rarer = np.zeros((2, kernels.CELLS + 1)), np.linspace(0, 1, 101)
    kernels.fill_table(10.0, 1.0, 0.5, table)
    exact = [kernels.tied_quality_gain(x, 10.0, 1.0) for x in rarer]
    np.testing.assert_allclose([kernels.looked_up(table[1], x) for x in rarer], exact, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("alpha", [1.0, 2.0, 10.0, 30.0, 400.0])
@pytest.mark.parametrize("beta", [0.3, 1.0, 5.0, 100.0])
def test_quality_gains_are_convex(alpha, beta):
    """The bound that the pool relies on: at most in proportion to what is known of the pair."""
    table = np.zeros((2, kernels.CELLS + 1))
    kernels.fill_table(alpha, beta, 0.0, table)
    assert np.diff(table[0], 2).min() >= -1e-12
    assert (table[0] <= np.linspace(0, 1, kernels.CELLS + 1) * table[0, -1] + 1e-12).all()


def test_what_gains_mean():
    """Close pairs, uncertain items and good annotators gain more; of a pair in known order only quality is learned."""
    good, spammer = (30.0, 2.0), (30.0, 30.0)
    assert one_gain(0.0, 0.5, 0.5, good, 0.0, 0.0) > one_gain(3.0, 0.5, 0.5, good, 0.0, 0.0)
    assert one_gain(0.0, 0.5, 0.5, good, 0.0, 0.0) > one_gain(0.0, 0.1, 0.1, good, 0.0, 0.0)
    assert one_gain(0.0, 0.5, 0.5, good, 0.0, 0.0) > 100 * one_gain(0.0, 0.5, 0.5, spammer, 0.0, 0.0)
    assert one_gain(6.0, 0.01, 0.01, (2.0, 1.0), 0.0, 1.0) > 50 * one_gain(6.0, 0.01, 0.01, (2.0, 1.0), 0.0, 0.0)
    assert kernels.quality_gain(0.0, 0.5, 10.0, 1.0, 0.0) == pytest.approx(0, abs=1e-12)
