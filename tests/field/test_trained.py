"""Awkward training data and long lists, by supervised methods and rankers: a result without holes, or a refusal."""

import warnings

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.settings import InputError

RNG = np.random.default_rng(0)
TASKS, N, K = 12, 8, 4
SHORT = {"max_iter": 6}
SETTINGS = {"boosted": {"rounds": 5, "models": 1}, "ensemble": {"rounds": 5, "max_iter": 6}}
TRUTH = RNG.normal(size=(TASKS, N))
ROWS = [(task, who, item) for task in range(TASKS) for who in range(K) for item in range(N)]
TASK, WHO, ITEM = np.array(ROWS).T
SEEN = TRUTH[TASK, ITEM] + RNG.normal(0, 0.7, len(TASK))
TOP = np.digitize(TRUTH, [-0.5, 0.5])

JUDGMENTS = {
    "grades": np.digitize(SEEN, [-1, 0, 1]),
    "one grade only": np.ones(len(TASK)),
    "real-valued": SEEN,
    "one who disagrees": np.digitize(np.where(WHO == 0, -SEEN, SEEN), [-1, 0, 1]),
}
GOLD = {
    "graded": TOP,
    "binary": TOP > 0,
    "one task": np.where(np.arange(TASKS)[:, None] == 0, TOP, np.nan),
    "nothing to learn": np.ones((TASKS, N)),
}


def study(grade, tasks=TASKS):
    rows = tasks * K * N
    columns = {"task": TASK[:rows], "annotator": WHO[:rows], "item": ITEM[:rows], "grade": grade[:rows]}
    return cr.judgments(columns)


def gold(value):
    task, item = np.divmod(np.arange(TASKS * N), N)
    known = ~np.isnan(np.asarray(value, float).ravel())
    return cr.gold({"task": task[known], "item": item[known], "grade": np.asarray(value, float).ravel()[known]})


def check(found, entries):
    assert len(found.score) == entries
    assert np.isfinite(found.score).all()


def quietly(action):
    """What it gives, or None where it refuses with a reason; a Python warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return action()
        except InputError:
            return None


@pytest.mark.parametrize("name", cr.SUPERVISED)
@pytest.mark.parametrize(("judged", "known"), [(each, "graded") for each in JUDGMENTS] + [("grades", k) for k in GOLD])
def test_supervised(name, judged, known):
    given = study(JUDGMENTS[judged])
    model = quietly(lambda: cr.train(name, given, gold(GOLD[known]), **SETTINGS.get(name, SHORT)))
    assert (model is None) == (known == "nothing to learn")
    if model is not None:
        check(model.fit(given), TASKS * N)


@pytest.mark.parametrize("name", ["lambdamart", "listmle", "lregma", "ltrma-mle"])
@pytest.mark.parametrize("awkward", ["usual", "constant feature", "one feature", "huge", "one task"])
def test_rankers(name, awkward):
    x = np.c_[TRUTH.ravel(), RNG.normal(size=(TASKS * N, 2))]
    x = {"constant feature": x * [1, 0, 1], "one feature": x[:, :1], "huge": 1e9 * x}.get(awkward, x)
    tasks = 1 if awkward == "one task" else TASKS
    task, item = np.divmod(np.arange(tasks * N), N)
    table = {"task": task, "item": item, **{f"f{k}": x[: tasks * N, k] for k in range(x.shape[1])}}
    features = cr.features(table)
    ranker = quietly(lambda: cr.learn(name, features, study(JUDGMENTS["grades"], tasks)))
    if ranker is not None:
        check(ranker.rank(features), tasks * N)


LISTED = [name for name, kind in cr.METHODS.items() if kind.description.family == "rankings"]


@pytest.mark.parametrize("name", [*LISTED, "condorcet", "greedy-order", "svp", "elo"])
def test_lists_of_a_thousand(name):
    """Three lists of 1,000 items: a result, or a refusal that says what to use instead."""
    item = np.tile(np.arange(1000), 3)
    rank = np.concatenate([np.argsort(np.argsort(np.arange(1000) + RNG.normal(0, 100, 1000))) + 1 for _ in range(3)])
    given = cr.judgments({"annotator": np.repeat(np.arange(3), 1000), "item": item + 10_000, "rank": rank})
    found = quietly(lambda: cr.fit(name, given))
    if found is not None:
        check(found, 1000)
        assert np.corrcoef(found.score, -np.arange(1000))[0, 1] > 0.75
