"""Items whose grade depends on their features in no linear way, and a crowd that grades them."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import crowdrank as cr


def items(tasks, seed=0, prefix="q", size=10):
    """A data frame of features with the true grade: high where two features have the same sign."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(tasks * size, 4))
    relevance = np.sign(x[:, 0] * x[:, 1]) * np.minimum(np.abs(x[:, 0]), np.abs(x[:, 1])) + 0.2 * rng.normal(
        size=len(x)
    )
    names = {
        "task": [f"{prefix}{n // size:03}" for n in range(len(x))],
        "item": [f"{prefix}{n // size:03}-{n % size:02}" for n in range(len(x))],
    }
    grade = np.searchsorted([0.0, 0.6], relevance)
    return pl.DataFrame({**names, **{f"f{n}": x[:, n] for n in range(4)}, "grade": grade})


def training_set(frame):
    """Features, and gold."""
    return cr.features(frame.drop("grade")), cr.gold(frame.select("task", "item", "grade"))


def crowd(gold, seed=0, **settings):
    """Three grades for every item, many of them by spammers."""
    chosen = {"annotators": 30, "labels": 3, "noise": 0.7, "spammers": 0.4, **settings}
    return cr.simulate.regrade(gold, seed=seed, **chosen).judgments


def unanimous(frame):
    """Three annotators who give the true grade."""
    grades = frame.select("task", "item", "grade")
    return cr.judgments(*(grades.with_columns(annotator=pl.lit(name)) for name in ("ann", "bob", "cat")))


def ndcg(ranker, frame):
    """Of new items."""
    features, gold = training_set(frame)
    return cr.evaluate(ranker.rank(features), gold, ["ndcg@5"], skip_empty=True).mean["ndcg@5"]


@pytest.fixture(scope="session")
def graded():
    """The functions above."""
    return SimpleNamespace(items=items, training_set=training_set, crowd=crowd, unanimous=unanimous, ndcg=ndcg)
