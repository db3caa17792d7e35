import itertools

import numpy as np
import pytest
from scipy import stats

from crowdrank.evaluation.significance import holm, paired_t, randomisation


def column(values):
    return np.array(values, dtype=float)[:, None]


@pytest.mark.parametrize("tasks", [2, 5, 60])
def test_paired_t_as_scipy(tasks):
    rng = np.random.default_rng(tasks)
    a, b = rng.random(tasks), rng.random(tasks)
    assert paired_t(a - b) == pytest.approx(stats.ttest_rel(a, b).pvalue)


def test_paired_t_at_the_edges():
    assert np.isnan(paired_t(np.array([0.1])))
    assert paired_t(np.zeros(5)) == 1
    assert paired_t(np.full(4, 0.5)) == 0
    assert paired_t(np.array([0.1, np.nan, 0.4, 0.2])) == pytest.approx(stats.ttest_1samp([0.1, 0.4, 0.2], 0).pvalue)


def test_few_tasks_are_enumerated():
    difference = np.array([0.3, -0.1, 0.2, 0.25, 0.05, -0.02])
    sums = [np.dot(signs, difference) for signs in itertools.product([1, -1], repeat=6)]
    expected = np.mean([abs(each) >= abs(difference.sum()) - 1e-12 for each in sums])
    assert randomisation(column(difference))[0] == expected


@pytest.mark.parametrize("tasks", [8, 12])
def test_exact_randomisation_as_scipy(tasks):
    rng = np.random.default_rng(tasks)
    a, b = rng.random(tasks), rng.random(tasks)
    theirs = stats.permutation_test((a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf)
    assert randomisation(column(a - b))[0] == pytest.approx(theirs.pvalue)


def test_sampled_randomisation_is_near_the_exact_value_and_repeatable():
    # Fourteen differences of the same size, ten of them up: the number up is binomial, so p is known.
    difference = column([1.0] * 10 + [-1.0] * 4)
    exact = 2 * stats.binom.sf(9, 14, 0.5)
    found = randomisation(difference, seed=3)
    assert found[0] == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 10_000))
    assert found == randomisation(difference, seed=3)


def test_columns_are_tested_each_for_itself():
    rng = np.random.default_rng(0)
    few, many = np.zeros(40), rng.normal(0.1, 1, 40)
    few[:3] = [0.1, 0.2, 0.3]
    few[3] = np.nan
    both = randomisation(np.stack([few, many], axis=1), seed=1)
    assert both[0] == 0.25  # all three up or all three down, of eight
    assert both[1] == randomisation(column(many), seed=1)[0]


def test_randomisation_at_the_edges():
    assert randomisation(column([0.0, 0.0, 0.0]))[0] == 1
    assert np.isnan(randomisation(column([0.4, np.nan]))[0])
    assert randomisation(column([1.0] * 30))[0] == 1 / 10_001  # never 0


def test_holm_by_hand():
    # Sorted: .005 × 4, .01 × 3, .03 × 2, .04 × 1 → .02, .03, .06, .04 → never below the one before.
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.6, 0.7])) == pytest.approx([1.0, 1.0])
    np.testing.assert_allclose(holm(np.array([np.nan, 0.02, 0.03])), [np.nan, 0.04, 0.04])
    assert holm(np.array([])).tolist() == []
