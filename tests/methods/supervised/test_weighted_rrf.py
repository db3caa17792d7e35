"""Reciprocal rank fusion with learned weights."""

import numpy as np
import pytest

import build
import crowdrank as cr


def test_values_of_ranks_by_hand():
    """(k + 1) / (k + rank); with k = 1: 1, 2/3, 2/4."""
    study = build.judgments(lists=[("t", "ann", [["x"], ["y"], ["z"]], False)])
    assert cr.WeightedRRF(k=1.0).cells(study).value[:, 0] == pytest.approx(np.array([1, 2 / 3, 1 / 2]))


def test_with_equal_weights_it_is_rrf():
    """One weight for all annotators, learned from gold that they mostly agree with, leaves the order of rrf."""
    crowd = cr.simulate.rankings(6, 4, tasks=30, theta=(-0.8, -0.8), seed=3)
    trained = cr.WeightedRRF(weights="shared").train(crowd.judgments, crowd.gold)
    assert np.array_equal(trained.fit(crowd.judgments).rank, cr.fit("rrf", crowd.judgments).rank)


def test_reversed_annotators_get_a_negative_weight():
    crowd = cr.simulate.rankings(8, 2, tasks=40, theta=[-1.5, 1.5], seed=1)
    trained = cr.WeightedRRF(weights="own").train(crowd.judgments, crowd.gold)
    good, reversed_one = trained.fit(crowd.judgments).annotators["weight"].to_list()
    assert good > 0 > reversed_one
