"""True orders from the lists alone, then ListMLE."""

import numpy as np

import crowdrank as cr


def test_long_lists_of_weak_annotators_are_not_reversed(made):
    """θ of lists of a hundred items is much closer to 0 than the first θ: momentum must not carry it across."""
    theta = np.array([0.02, -0.3, -0.14, -0.03, -0.07])
    features, _, study = made(items=100, tasks=12, annotators=5, theta=theta)
    found = cr.learn("ltrma-d", features, study.judgments)
    np.testing.assert_allclose(found.annotators["theta"], theta, rtol=0.2, atol=0.01)


def test_annotators_do_not_depend_on_the_features(made):
    """θ is estimated from lists alone: other features of the same items change the ranker, not the annotators."""
    features, _, study = made(tasks=20)
    others, _, _ = made(seed=5, tasks=20)
    here, there = (cr.learn("ltrma-d", each, study.judgments) for each in (features, others))
    assert here.annotators.equals(there.annotators)
    assert np.abs(here.model.weight - there.model.weight).max() > 0.1
