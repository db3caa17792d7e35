"""What must not matter: the order of the rows, the names, the number of threads, who fits a second time."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from crowdrank.numerics.threads import chunks

ITEM_COLUMNS = ("item", "left", "right", "winner")


def in_any_order(case):
    if case.method.description.depends_on_order:
        pytest.skip("judgments are processed one after the other: their order matters by design")


def test_shuffled_rows_change_nothing(case, studies):
    """The same rows in another order are the same study."""
    in_any_order(case)
    table = studies.table(case.kind)
    one, other = case.fit(studies.study(table)), case.fit(studies.study(studies.shuffled(table)))
    np.testing.assert_allclose(other.score, one.score, rtol=1e-12)
    np.testing.assert_array_equal(other.rank, one.rank)
    assert studies.quality(other) == pytest.approx(studies.quality(one), rel=1e-12)
    assert other.annotators.drop("quality").equals(one.annotators.drop("quality"))


def test_renamed_items_only_rename(case, studies):
    """Names that sort the other way around give the same scores under the new names."""
    table = studies.table(case.kind)
    changed, new = studies.renamed(table, ITEM_COLUMNS)
    one, other = case.fit(studies.study(table)), case.fit(studies.study(changed))
    expected = {(task, new[item]): score for (task, item), score in studies.scores(one).items()}
    assert studies.scores(other) == pytest.approx(expected, rel=1e-7, abs=1e-7)
    assert studies.ranks(other) == {(task, new[item]): rank for (task, item), rank in studies.ranks(one).items()}
    assert studies.quality(other) == pytest.approx(studies.quality(one), abs=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_ties_do_not_hang_on_rounding(case, studies, seed):
    """Which scores are equal, and the quality of those who voted on them, must not depend on the order of sums."""
    table = studies.table(case.kind, tasks=2, items=8, annotators=3, noise=2.0, seed=seed)
    changed, new = studies.renamed(table, ITEM_COLUMNS)
    one, other = case.fit(studies.study(table)), case.fit(studies.study(changed))
    assert studies.ranks(other) == {(task, new[item]): rank for (task, item), rank in studies.ranks(one).items()}
    assert studies.quality(other) == pytest.approx(studies.quality(one), abs=1e-7)


def test_renamed_annotators_only_rename(case, studies):
    """Nobody is trusted for their name."""
    in_any_order(case)
    table = studies.table(case.kind)
    changed, new = studies.renamed(table, ("annotator",))
    one, other = case.fit(studies.study(table)), case.fit(studies.study(changed))
    assert studies.scores(other) == pytest.approx(studies.scores(one), rel=1e-7, abs=1e-7)
    assert studies.ranks(other) == studies.ranks(one)
    expected = {new[name]: quality for name, quality in studies.quality(one).items()}
    assert studies.quality(other) == pytest.approx(expected, abs=1e-7)


def test_threads_change_nothing(main_case, studies, monkeypatch):
    """A study that is split gives the same bits on one thread and on two. Small chunks: it need not be large."""
    for module in ("numerics.threads", "methods.pairs.votes.marginal"):
        monkeypatch.setattr(f"crowdrank.{module}.ROWS_PER_CHUNK", 1 << 10, raising=False)
    judgments = studies.many_votes(main_case.kind)
    assert len(chunks(len(judgments))) >= 2
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("CROWDRANK_THREADS", threads)
        found.append(main_case.fit(judgments))
    one, two = found
    assert one.score.tobytes() == two.score.tobytes()
    assert one.annotators.equals(two.annotators)
    assert one.fit == two.fit


def test_the_same_twice(case, studies):
    """A method fitted twice (with the same seed, where it has one) finds the same, to the last bit."""
    judgments, method = studies.study(studies.table(case.kind)), case.method()
    one, two = method.fit(judgments), method.fit(judgments)
    assert one.score.tobytes() == two.score.tobytes()
    assert one.annotators.equals(two.annotators)
    assert (one.fit, one.notes) == (two.fit, two.notes)


def test_input_is_untouched(case, studies):
    """Arrays that cannot be written to are enough, and stay what they were."""
    judgments = studies.study(studies.table(case.kind))
    before = [array.copy() for array in studies.arrays(judgments)]
    assert len(before) > 5
    for array in studies.arrays(judgments):
        array.flags.writeable = False
    case.fit(judgments)
    for array, copy in zip(studies.arrays(judgments), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_pickles(case, studies):
    """Methods and results can be sent to another process."""
    judgments, method = studies.study(studies.table(case.kind)), case.method()
    again = pickle.loads(pickle.dumps(method))
    assert again == method
    one = method.fit(judgments)
    two = pickle.loads(pickle.dumps(one))
    assert two.ranking.equals(one.ranking)
    assert two.annotators.equals(one.annotators)
    assert again.fit(pickle.loads(pickle.dumps(judgments))).score.tobytes() == one.score.tobytes()


def test_repeated_rows_keep_the_ranking(case, studies):
    """Everything said twice is the same ranking, only surer."""
    in_any_order(case)
    table = studies.table(case.kind, noise=0.2)
    one, two = case.fit(studies.study(table)), case.fit(studies.study(studies.repeated(table)))
    assert studies.ranks(two) == studies.ranks(one)


def test_mirrored_votes_reverse_the_ranking(case, studies):
    """Annotators who say the opposite of everything reverse the ranking."""
    table = studies.table(case.kind, items=6, noise=0.15)  # little noise: a clear order without ties
    one, two = case.fit(studies.study(table)), case.fit(studies.study(studies.mirrored(case.kind, table)))
    assert sorted(one.rank.tolist()) == sorted([1, 2, 3, 4, 5, 6] * 3)
    np.testing.assert_array_equal(two.rank, 7 - one.rank)
