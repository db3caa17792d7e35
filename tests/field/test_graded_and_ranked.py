"""Awkward studies of grades and lists, by every method that takes them: a result without holes, or a plain refusal."""

import numpy as np
import pytest

import crowdrank as cr
from field_checks import check, fitted

RNG = np.random.default_rng(0)
N, K = 24, 6  # items, annotators
WHO, ITEM = np.divmod(np.arange(K * N), N)
TRUTH = RNG.normal(size=N)
SEEN = TRUTH[ITEM] + RNG.normal(0, 0.5, K * N)
SOME = RNG.random(K * N) < 0.5
LOWER = ITEM < N // 2

GRADES = {
    "one grade only": (WHO, ITEM, np.ones(K * N)),
    "binary": (WHO, ITEM, SEEN > 0),
    "sparse": (WHO[SOME], ITEM[SOME], np.digitize(SEEN, [-1, 0, 1])[SOME]),
    "0 to 100": (WHO, ITEM, np.clip(np.rint(50 + 25 * SEEN), 0, 100)),
    "real-valued": (WHO, ITEM, SEEN),
    "tiny": (WHO, ITEM, SEEN * 1e-9),
    "huge": (WHO, ITEM, SEEN * 1e9),
    "own scales": (WHO, ITEM, np.where(WHO % 2, np.clip(np.rint(2 + SEEN), 0, 4), np.clip(50 + 25 * SEEN, 0, 100))),
    "one label per item": (ITEM[:N] % K, np.arange(N), np.digitize(TRUTH, [-1, 0, 1])),
    "no overlap": (np.repeat([0, 1], N), np.arange(2 * N), np.tile(np.digitize(TRUTH, [-1, 0, 1]), 2)),
    "constant annotators": (WHO, ITEM, WHO % 3),
    "one annotator": (np.zeros(N, int), np.arange(N), np.digitize(TRUTH, [-1, 0, 1])),
    "one item": (np.arange(K), np.zeros(K, int), np.arange(K) % 3),
    "one judgment": (np.zeros(1, int), np.zeros(1, int), np.ones(1)),
    "two camps": (WHO, ITEM, np.digitize(np.where(WHO % 2, SEEN, -SEEN), [-1, 0, 1])),
    "repeated": (np.r_[WHO, WHO], np.r_[ITEM, ITEM], np.tile(np.digitize(SEEN, [-1, 0, 1]), 2)),
    "two halves never compared": (
        np.r_[WHO[LOWER], WHO[~LOWER] + K],
        np.r_[ITEM[LOWER], ITEM[~LOWER]],
        np.digitize(np.r_[SEEN[LOWER], SEEN[~LOWER]], [-1, 0, 1]),
    ),
}


def ranks_of(score, ties=None):
    """The place of each item of a list, the best first."""
    score = score if ties is None else np.round(score, ties)
    return 1 + (score[None, :] > score[:, None]).sum(axis=1)


def lists(orders):
    """A study of lists: for each annotator the items and their ranks."""
    who = np.concatenate([np.full(len(items), number) for number, (items, _) in enumerate(orders)])
    return who, np.concatenate([items for items, _ in orders]), np.concatenate([ranks for _, ranks in orders])


ALL = np.arange(N)
NOISY = [TRUTH + RNG.normal(0, 0.5, N) for _ in range(K)]
LISTS = {
    "identical": lists([(ALL, ranks_of(TRUTH))] * K),
    "opposite": lists([(ALL, ranks_of(TRUTH)), (ALL, ranks_of(-TRUTH))]),
    "of two": lists(
        [(pair, np.array([1, 2])) for pair in RNG.permutation(np.tile(ALL, 3)).reshape(-1, 2) if pair[0] != pair[1]]
    ),
    "heavy ties": lists([(ALL, ranks_of(seen / 3, 0)) for seen in NOISY]),
    "all tied": lists([(ALL, np.ones(N, int))] * K),
    "top 1": lists([(np.array([seen.argmax()]), np.array([1])) for seen in NOISY]),
    "one list": lists([(ALL, ranks_of(TRUTH))]),
    "partial": lists([(some, ranks_of(seen[some])) for seen in NOISY for some in [RNG.permutation(N)[:5]]]),
}
LONG = lists([(np.arange(150), RNG.permutation(150) + 1) for _ in range(3)])

GRADED = [name for name, kind in cr.METHODS.items() if "grades" in kind.description.takes]
RANKED = [name for name, kind in cr.METHODS.items() if "rankings" in kind.description.takes]


def study_of(kind, rows, order=None, names=""):
    who, item, value = rows
    order = np.arange(len(who)) if order is None else order
    columns = {
        "annotator": np.array([f"{names}a{code:03}" for code in who])[order],
        "item": np.array([f"{names}d{code:03}" for code in item])[order],
        kind: np.asarray(value, float if kind == "grade" else int)[order],
    }
    return cr.judgments(columns)


@pytest.mark.parametrize("name", GRADED)
@pytest.mark.parametrize("awkward", GRADES)
def test_grades(name, awkward):
    check(fitted(name, study_of("grade", GRADES[awkward])))


@pytest.mark.parametrize("name", RANKED)
@pytest.mark.parametrize("awkward", LISTS)
def test_lists(name, awkward):
    check(fitted(name, study_of("rank", LISTS[awkward])))


@pytest.mark.parametrize("name", [name for name in RANKED if name != "variance-bt"])  # it takes a minute
def test_lists_of_150(name):
    check(fitted(name, study_of("rank", LONG)))


ORDERLESS = [name for name, kind in cr.METHODS.items() if not kind.description.depends_on_order]


@pytest.mark.parametrize("name", [name for name in GRADED if name in ORDERLESS])
@pytest.mark.parametrize("awkward", ["binary", "sparse", "own scales", "two camps"])
def test_grades_in_another_order_and_by_other_names(name, awkward):
    same_ranks(name, "grade", GRADES[awkward])


@pytest.mark.parametrize("name", [name for name in RANKED if name in ORDERLESS])
@pytest.mark.parametrize("awkward", ["opposite", "heavy ties", "partial"])
def test_lists_in_another_order_and_by_other_names(name, awkward):
    same_ranks(name, "rank", LISTS[awkward])


def same_ranks(name, kind, rows):
    """Rows in reversed order, and names that sort the other way round, do not change the scores."""
    one = fitted(name, study_of(kind, rows))
    turned = fitted(name, study_of(kind, rows, np.arange(len(rows[0]))[::-1]))
    np.testing.assert_allclose(turned.score, one.score, atol=1e-6, equal_nan=True)
    who, item, value = rows
    renamed = fitted(name, study_of(kind, (99 - who, 99 - item, value)))
    ours = dict(zip((f"d{99 - int(d[1:]):03}" for d in one.vocabulary.items), one.score, strict=True))
    theirs = dict(zip(renamed.vocabulary.items, renamed.score, strict=True))
    gap = max(abs(ours[item] - theirs[item]) for item in ours if not np.isnan(ours[item]))
    assert gap < 1e-3 * max(np.nanmax(np.abs(one.score)), 1)
