"""A crowd that ranks items whose true order follows from two features, but for noise."""

import numpy as np
import pytest

import crowdrank as cr


@pytest.fixture
def made():
    return crowd_and_features


@pytest.fixture
def tau():
    return mean_tau


def crowd_and_features(seed=0, tasks=60, items=10, annotators=6, theta=None, **crowd):
    """Features, the true order, and a simulated study."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(tasks * items, 2))
    names = {"task": np.repeat(np.arange(tasks), items).tolist(), "item": np.tile(np.arange(items), tasks).tolist()}
    features = cr.features({**names, "a": x[:, 0], "b": x[:, 1]})
    gold = cr.gold({**names, "score": x @ [1.0, 3.0] + rng.normal(0, 0.2, len(x))})
    own = np.linspace(-0.7, 0.1, annotators) if theta is None else theta
    return features, gold, cr.simulate.rankings(annotators=annotators, theta=own, gold=gold, seed=seed, **crowd)


def mean_tau(ranker, features, gold):
    return cr.evaluate(ranker.rank(features), gold, ["tau"]).mean["tau"]
