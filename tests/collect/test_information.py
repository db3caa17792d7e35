"""What answers tell, beside sums over all answers and draws written out."""

import numpy as np
import pytest
from scipy import stats

import crowdrank as cr
from crowdrank.collect.information import (
    candidates,
    chances,
    memberships,
    mutual_information,
    narrowed,
    places,
    quality_information,
    variance_reduction,
)


def draws_of(mean, error, seed=0, count=20_000):
    return np.random.default_rng(seed).normal(mean, error, (count, len(mean))).astype(np.float32)


@pytest.mark.parametrize("ties", [0.0, 0.7])
@pytest.mark.parametrize("quality", [0.95, 0.6, 0.1])
def test_mutual_information_is_that_of_scores_and_answer(build, ties, quality):
    """H(answer) − E[H(answer | gap)] by quadrature over a normal gap."""
    gap, error, rate = 0.4, 1.3, 2 * quality - 1
    x = np.linspace(gap - 9 * error, gap + 9 * error, 20_001)
    weight = stats.norm.pdf(x, gap, error) * (x[1] - x[0])
    tie = ties / (ties + 2 * np.cosh(rate * x / 2)) if ties else np.zeros(len(x))
    first = quality / (1 + np.exp(-x)) + (1 - quality) / (1 + np.exp(x))
    answers = np.array([(1 - tie) * first, (1 - tie) * (1 - first), tie])
    expected = stats.entropy(answers @ weight) - weight @ stats.entropy(answers, axis=0)
    draws = stats.norm.ppf((np.arange(4000) + 0.5) / 4000, gap, error).astype(np.float32)[:, None]
    found = chances(draws, np.array([rate], np.float32), ties)
    assert mutual_information(found)[0] == pytest.approx(expected, rel=0.01, abs=1e-6)


def test_information_about_quality():
    """For a known gap: H(mean chance) − mean H(chance) over a Beta distribution of quality."""
    alpha, beta, gap = 16.0, 4.0, 1.5
    eta = np.linspace(0, 1, 20_001)
    weight = stats.beta.pdf(eta, alpha, beta) / 20_000
    p = 1 / (1 + np.exp(-gap))
    chance = eta * p + (1 - eta) * (1 - p)
    both = np.array([chance, 1 - chance])
    expected = stats.entropy(both @ weight) - weight @ stats.entropy(both, axis=0)
    rate = np.array([2 * alpha / (alpha + beta) - 1], np.float32)
    found = chances(np.full((10, 1), gap, np.float32), rate, 0.0)
    variance = stats.beta.var(alpha, beta)
    assert quality_information(found, rate, np.array([variance]))[0] == pytest.approx(expected, rel=0.05)


def test_variance_reduction_is_the_variance_of_the_means_after_the_answers():
    draws = draws_of([0.5, 0.0], [0.8, 0.5])
    found = chances(draws[:, :1] - draws[:, 1:], np.array([0.8], np.float32), 0.0)
    centred = draws - draws.mean(axis=0)
    expected = 0.0
    for chance in (found.first[:, 0], found.second[:, 0]):
        after = chance @ centred / chance.sum()
        expected += chance.mean() * (after**2).sum()
    assert variance_reduction(found, centred[:, :1], centred[:, 1:])[0] == pytest.approx(expected, rel=1e-3)


def test_places_are_ranks_on_average():
    draws = draws_of([3.0, 1.0, 0.0, -2.0], [0.3, 1.0, 1.0, 0.1], count=4000)
    found = places(draws, np.array([0, 4]), np.zeros(1, np.int32)).mean(axis=0)
    expected = [np.mean(draws[:, [entry]] >= np.roll(draws, 7, axis=0)) * 4 for entry in range(4)]
    np.testing.assert_allclose(found, expected, atol=0.1)


def test_memberships_of_the_best_of_each_task():
    draws = np.array([[3, 2, 1, 9, 8], [1, 2, 3, 8, 9]], np.float32)
    found = memberships(draws, np.array([0, 3, 5]), np.array([0, 1]), 1)
    assert found.tolist() == [[1, 0, 0, 1, 0], [0, 0, 1, 0, 1]]


def test_an_outstanding_answer_narrows_as_answers_do():
    """The expected variance of the gap is that of a normal gap after a vote; what does not depend on it stays."""
    draws = draws_of([0.3, 0.0, 1.0], [0.5, 0.5, 0.7])
    after = narrowed(draws, 0, 1, 0.9)
    gap, gap_after = draws[:, 0] - draws[:, 1], after[:, 0] - after[:, 1]
    chance = 0.5 + 0.9 * np.tanh(gap / 2) / 2
    by_answer = sum(c.mean() * (c @ gap**2 / c.sum() - (c @ gap / c.sum()) ** 2) for c in (chance, 1 - chance))
    assert gap_after.var() == pytest.approx(by_answer, rel=0.02)
    np.testing.assert_allclose(after.mean(axis=0), draws.mean(axis=0), atol=1e-3)
    assert after[:, 2].var() == pytest.approx(draws[:, 2].var(), rel=1e-3)


def test_candidates_hold_the_best_question_of_many():
    """Among 200 items the candidates leave out most pairs, and not the most informative ones."""
    study = cr.simulate.pairs(items=200, annotators=20, votes=600, seed=1)
    state = cr.State.start(study.judgments.vocabulary).update(study.judgments)
    draws = state.draws
    left, right = np.triu_indices(200, 1)
    gap = draws[:, left] - draws[:, right]
    every = mutual_information(chances(gap, np.full(len(left), 0.8, np.float32), 0.0))
    one, other = candidates(state, draws, np.random.default_rng(0))
    assert len(one) < len(left) / 3
    best = mutual_information(chances(draws[:, one] - draws[:, other], np.full(len(one), 0.8, np.float32), 0.0))[:256]
    assert best.max() > 0.95 * every.max()
