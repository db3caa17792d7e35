import numpy as np
import pytest

import crowdrank as cr
from crowdrank.settings import SettingError
from crowdrank.simulate import spam
from crowdrank.study import TIE

GRADES = [("t", "a", "x", 0), ("t", "a", "y", 3), ("t", "b", "y", 4), ("u", "b", "z", 1)]
PAIRS = [("t", "a", "x", "y", "x"), ("t", "b", "y", "x", "tie"), ("u", "b", "z", "w", "w")]
LISTS = [("t", "a", [["x"], ["y", "z"], ["w"]], True), ("u", "b", [["w"], ["z"]], False)]


@pytest.fixture
def mixed(build):
    return build.judgments(grades=GRADES, pairs=PAIRS, lists=LISTS)


def copied_by(spoilt, added):
    """The annotator whom an added one copies, by what they judged."""
    pairs = spoilt.pairs
    what = {
        k: [*zip(pairs.left[pairs.annotator == k], pairs.right[pairs.annotator == k], strict=True)]
        for k in (0, 1, added)
    }
    return next(k for k in (0, 1) if what[k] == what[added])


def test_malicious_annotators_say_the_opposite(mixed):
    spoilt = spam(mixed, 1.0, "malicious", seed=3)
    assert spoilt.vocabulary.annotators.tolist() == ["a", "b", "malicious1", "malicious2"]
    for added in (2, 3):
        k = copied_by(spoilt, added)
        pairs, grades, lists = spoilt.pairs, spoilt.grades, spoilt.rankings
        np.testing.assert_array_equal(pairs.outcome[pairs.annotator == added], -pairs.outcome[pairs.annotator == k])
        np.testing.assert_array_equal(grades.entry[grades.annotator == added], grades.entry[grades.annotator == k])
        np.testing.assert_array_equal(grades.grade[grades.annotator == added], 4 - grades.grade[grades.annotator == k])
        (own,), (other,) = np.flatnonzero(lists.list_annotator == added), np.flatnonzero(lists.list_annotator == k)
        assert lists.unlisted_below[own] == lists.unlisted_below[other]
        assert lists.list_task[own] == lists.list_task[other]
        places_added, places_copied = places(lists, own), places(lists, other)
        assert places_added == {entry: max(places_copied.values()) - place for entry, place in places_copied.items()}


def places(lists, number):
    rows = lists.row_list == number
    assert (np.diff(lists.position[rows]) >= 0).all()
    return dict(zip(lists.entry[rows].tolist(), lists.position[rows].tolist(), strict=True))


def test_what_there_was_stays(mixed):
    for kind in ("random", "malicious"):
        spoilt = spam(mixed, 0.5, kind)
        np.testing.assert_array_equal(spoilt.grades.grade[:4], mixed.grades.grade)
        np.testing.assert_array_equal(spoilt.pairs.outcome[:3], mixed.pairs.outcome)
        np.testing.assert_array_equal(spoilt.rankings.position[: len(mixed.rankings)], mixed.rankings.position)
        assert len(spoilt.vocabulary.annotators) == 3


def test_random_annotators_know_nothing():
    study = cr.simulate.pairs(items=30, annotators=40, votes=20_000, ties=0.2, seed=1)
    spoilt = spam(study.judgments, 0.5, "random", seed=2)
    votes = spoilt.pairs
    new = votes.annotator >= 40
    assert len(spoilt.vocabulary.annotators) == 60
    assert new.mean() == pytest.approx(1 / 3, abs=0.03)
    truth = np.sign(study.gold.value[votes.left] - study.gold.value[votes.right])
    right = (votes.outcome * truth)[new & (votes.outcome != TIE)]
    assert (right > 0).mean() == pytest.approx(0.5, abs=0.02)
    assert (votes.outcome[new] == TIE).mean() == pytest.approx((votes.outcome[~new] == TIE).mean(), abs=0.02)


def test_random_lists_are_in_any_order(build):
    lists = [("t", f"a{k:03}", [["x"], ["y"], ["z"]], False) for k in range(300)]
    spoilt = spam(build.judgments(lists=lists), 1.0)
    first = spoilt.rankings.entry[900::3]
    assert np.bincount(first) == pytest.approx([100, 100, 100], abs=30)
    assert spoilt.rankings.position[900:].tolist() == [0, 1, 2] * 300


def test_random_grades_are_those_of_the_study(build):
    grades = [("t", f"a{k}", f"i{j}", (j == 0) * 2) for k in range(50) for j in range(10)]
    spoilt = spam(build.judgments(grades=grades), 1.0)
    new = spoilt.grades.grade[500:]
    assert set(new) == {0, 2}
    assert (new == 2).mean() == pytest.approx(0.1, abs=0.05)


def test_the_seed_decides(mixed):
    study = cr.simulate.pairs(items=5, annotators=10, votes=500, seed=1).judgments
    one, again, other = (spam(study, 0.4, "random", seed).pairs.outcome for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert len(one) != len(other) or (one != other).any()


def test_shares_above_one_copy_everybody_before_anybody_twice():
    study = cr.simulate.pairs(items=5, annotators=10, votes=500, seed=1).judgments
    spoilt = spam(study, 2.0, "malicious")
    assert len(spoilt.pairs) == 1500
    assert spoilt.pairs.outcome.sum() == -study.pairs.outcome.sum()


@pytest.mark.parametrize("share", [0.0, 0.04])
def test_none_to_add(mixed, share):
    spoilt = spam(mixed, share)
    assert len(spoilt) == len(mixed)
    assert spoilt.vocabulary.annotators.tolist() == ["a", "b"]


def test_spoilt_twice_has_new_names(mixed):
    names = spam(spam(mixed, 0.5), 0.5).vocabulary.annotators.tolist()
    assert len(set(names)) == len(names) == 5


@pytest.mark.parametrize(
    ("share", "kind", "named"), [(-0.1, "random", "share"), (float("nan"), "random", "share"), (0.1, "evil", "kind")]
)
def test_bad_settings(mixed, share, kind, named):
    with pytest.raises(SettingError, match=named):
        spam(mixed, share, kind)


def test_crowd_methods_bear_it_better():
    study = cr.simulate.pairs(items=30, annotators=40, votes=3000, seed=1)
    spoilt = spam(study.judgments, 0.8, "malicious", seed=1)
    acc = {
        name: cr.evaluate(cr.fit(name, spoilt), study.gold, "acc").mean["acc"]
        for name in ("bradley-terry", "crowd-bt", "crowdagg")
    }
    assert min(acc["crowd-bt"], acc["crowdagg"]) > acc["bradley-terry"] + 0.02
