"""Awkward studies of pairwise votes, by every method that takes them: results without holes, by any names."""

import numpy as np
import pytest

import crowdrank as cr
from field_checks import check, fitted

RNG = np.random.default_rng(0)
N, K, V = 12, 8, 240  # items, annotators, votes
SCORE = RNG.normal(0, 2, N)
HEAVY = 1 / np.arange(1, 31)  # tails of activity and exposure


def votes(items, annotators, count, *, ties=0.0, weights=None, taste=None, pairs=None):
    """Annotator, left, right and outcome (1 left, -1 right, 0 tie) of votes by Bradley-Terry."""
    score = RNG.normal(0, 2, items)
    if pairs is None:
        left = RNG.choice(items, count, p=weights)
        right = (left + RNG.integers(1, items, count)) % items
    else:
        left, right = np.array(pairs)[RNG.integers(0, len(pairs), count)].T
    who = RNG.integers(0, annotators, count)
    rate = np.ones(annotators) if taste is None else np.asarray(taste)
    right_chance = 1 / (1 + np.exp(score[right] - score[left]))
    outcome = np.where(RNG.random(count) < 0.5 + rate[who] * (right_chance - 0.5), 1, -1)
    return who, left, right, np.where(RNG.random(count) < ties, 0, outcome)


def one_vote_each(per_annotator, ties=0.0):
    """`per_annotator` votes of each of 60 annotators."""
    who, left, right, outcome = votes(N, 1, 60 * per_annotator, ties=ties)
    return np.repeat(np.arange(60), per_annotator) + who, left, right, outcome


def no_overlap():
    """Two annotators, each with items of their own."""
    one, other = votes(N, 1, 60), votes(N, 1, 60)
    moved = (other[0] + 1, other[1] + N, other[2] + N, other[3])
    return tuple(np.concatenate(columns) for columns in zip(one, moved, strict=True))


ACTIVE = RNG.choice(30, V, p=HEAVY / HEAVY.sum())
SEPARABLE = votes(N, K, V)
STUDIES = {
    "one vote each": one_vote_each(1),
    "three votes each, ties": one_vote_each(3, ties=0.3),
    "five votes each": one_vote_each(5),
    "few ties": votes(N, K, V, ties=0.05),
    "mostly ties": votes(N, K, V, ties=0.7),
    "only ties": votes(N, K, 40, ties=1.0),
    "separable": (*SEPARABLE[:3], np.where(SCORE[SEPARABLE[1]] > SCORE[SEPARABLE[2]], 1, -1)),
    "chain": votes(N, K, 120, pairs=[(i, i + 1) for i in range(N - 1)]),
    "star": votes(N, K, 120, pairs=[(0, i) for i in range(1, N)]),
    "bipartite": votes(N, K, V, pairs=[(i, j) for i in range(N // 2) for j in range(N // 2, N)]),
    "two items": votes(2, K, 20),
    "three items, two votes": (np.zeros(2, int), np.array([0, 1]), np.array([1, 2]), np.ones(2, int)),
    "one vote": (np.zeros(1, int), np.zeros(1, int), np.ones(1, int), np.ones(1, int)),
    "one annotator": votes(N, 1, 60),
    "few are active": (ACTIVE, *votes(N, 1, V)[1:]),
    "few are shown": votes(30, K, V, weights=HEAVY / HEAVY.sum()),
    "spam": votes(N, K, V, taste=[1, 1, 1, 1, 0, 0, 0, 0]),
    "reversed": votes(N, K, V, taste=[1, 1, 1, 1, 1, -1, -1, -1]),
    "two camps": votes(N, K, V, taste=[1, 1, 1, 1, -1, -1, -1, -1]),
    "no overlap": no_overlap(),
    "each vote 50 times": tuple(np.repeat(column, 50) for column in votes(6, 4, 30)),
}
METHODS = [name for name, kind in cr.METHODS.items() if "pairs" in kind.description.takes]
ORDERLESS = [name for name in METHODS if not cr.METHODS[name].description.depends_on_order]


def study_of(rows, *, order=None, renamed=False, weight=None):
    """The study; `renamed`: with names that sort the other way round."""
    who, left, right, outcome = (column if order is None else column[order] for column in rows)
    item = np.array([f"d{999 - code if renamed else code:03}" for code in range(1000)])
    columns = {
        "annotator": np.array([f"a{99 - code if renamed else code:03}" for code in who]),
        "left": item[left],
        "right": item[right],
        "winner": np.where(outcome == 0, "tie", np.where(outcome > 0, item[left], item[right])),
    }
    return cr.judgments(columns | ({} if weight is None else {"weight": np.full(len(who), weight)}))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("awkward", STUDIES)
def test_votes(name, awkward):
    found = fitted(name, study_of(STUDIES[awkward]))
    check(found)
    assert found.fit.converged or any("not converged" in note for note in found.notes)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("weight", [1e-6, 1e6])
def test_tiny_and_huge_weights(name, weight):
    if "weight" in cr.METHODS[name].description.pair_columns:
        check(fitted(name, study_of(STUDIES["few ties"], weight=weight)))


@pytest.mark.parametrize("name", ORDERLESS)
@pytest.mark.parametrize("awkward", ["three votes each, ties", "chain", "reversed", "two camps"])
def test_votes_in_another_order_and_by_other_names(name, awkward):
    rows = STUDIES[awkward]
    one = fitted(name, study_of(rows))
    turned = fitted(name, study_of(rows, order=np.arange(len(rows[0]))[::-1]))
    np.testing.assert_allclose(turned.score, one.score, atol=1e-6)
    renamed = fitted(name, study_of(rows, renamed=True))
    ours = dict(zip((f"d{999 - int(item[1:]):03}" for item in one.vocabulary.items), one.score, strict=True))
    theirs = dict(zip(renamed.vocabulary.items, renamed.score, strict=True))
    gap = max(abs(ours[item] - theirs[item]) for item in ours)
    assert gap < 1e-3 * max(np.abs(one.score).max(), 1)


@pytest.mark.parametrize("name", ["bradley-terry", "crowd-bt"])
def test_thousands_of_tasks_of_two_items(name):
    rng, tasks = np.random.default_rng(1), 5000
    task = np.array([f"t{code}" for code in range(tasks)]).repeat(3)
    left = rng.random(len(task)) < 0.5
    columns = {
        "task": task,
        "annotator": rng.integers(0, 20, len(task)).astype(str),
        "left": np.where(left, "a", "b"),
        "right": np.where(left, "b", "a"),
        "winner": rng.choice(["a", "b"], len(task)),
    }
    check(fitted(name, cr.judgments(columns)))
