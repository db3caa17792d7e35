import numpy as np
import pytest

import crowdrank as cr
from crowdrank.convert import as_lists
from crowdrank.learning.ltrma.crowd_lists import crowd_lists
from crowdrank.learning.ltrma.expertise import Expertise
from crowdrank.settings import SettingError
from crowdrank.simulate import rankings


def distances(study):
    """Of every list from the true order, pair by pair."""
    lists, value = study.judgments.rankings, study.gold.value
    parts = np.split(value[lists.entry], lists.list_starts[1:-1])
    return np.array([np.triu(part[:, None] < part[None, :], 1).sum() for part in parts])


def recovered(study):
    vocabulary = study.judgments.vocabulary
    lists = crowd_lists(as_lists(study.judgments), vocabulary, None)
    far = np.bincount(study.judgments.rankings.list_annotator, distances(study), len(vocabulary.annotators))
    return Expertise(lists, len(vocabulary.annotators), 0.0).solve(far)


def test_theta_is_recovered_within_five_percent_from_500_lists():
    theta = np.array([-1.5, -0.6, -0.3, 0.2])
    np.testing.assert_allclose(recovered(rankings(15, 4, tasks=500, theta=theta, seed=3)), theta, rtol=0.05)


def test_theta_is_recovered_from_parts_of_the_items():
    """The variance of the distance among 6 items at θ = 0 is 7: three standard errors of θ are 3 / √(500 · 7)."""
    theta = np.array([-0.3, -0.1, 0.0, 0.2])
    np.testing.assert_allclose(recovered(rankings(12, 4, tasks=500, theta=theta, length=6, seed=3)), theta, atol=0.055)


def test_quality_is_the_share_of_pairs_put_right():
    for swaps in (False, True):
        study = rankings(8, 4, tasks=2000, swaps=swaps, theta=(-1.0, 0.3), seed=1)
        far = np.bincount(study.judgments.rankings.list_annotator, distances(study), 4) / 2000
        np.testing.assert_allclose(1 - far / 28, study.quality, atol=0.01)


def test_drawn_distances_have_their_chances():
    study = rankings(6, 1, tasks=20_000, theta=np.array([-0.5]), swaps=True, seed=2)
    count = np.bincount(distances(study), minlength=16)
    chance = np.exp(-0.5 * np.arange(16)) * (np.arange(16) > 0)
    assert count[0] == 0
    np.testing.assert_allclose(count / count.sum(), chance / chance.sum(), atol=0.012)


def test_shares_lengths_and_cuts():
    study = rankings(10, 4, tasks=20, share=0.25, length=6, top_k=3, seed=1)
    lists = study.judgments.rankings
    assert np.bincount(lists.list_annotator).tolist() == [5] * 4
    assert np.diff(lists.list_starts).tolist() == [3] * 20
    assert lists.unlisted_below.all()


def test_items_and_ties_of_gold():
    gold = cr.gold({"task": ["a"] * 4 + ["b"] * 2, "item": list("wxyzxy"), "grade": [2, 2, 0, 1, 0, 1]})
    first, second = (rankings(annotators=1, theta=np.array([-20.0]), gold=gold, seed=seed) for seed in (1, 4))
    names = [
        study.judgments.vocabulary.items[study.judgments.vocabulary.entry_item[study.judgments.rankings.entry]]
        for study in (first, second)
    ]
    assert {"".join(each) for each in names} == {"wxzyyx", "xwzyyx"}  # equal grades in an order drawn at random


def test_the_same_seed_gives_the_same_lists():
    one, same, other = (rankings(seed=seed).judgments.rankings for seed in (1, 1, 2))
    assert (one.entry == same.entry).all()
    assert not (one.entry == other.entry).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"theta": (0.5, -1.0)}, "theta is"),
        ({"theta": np.zeros(3)}, "theta is"),
        ({"share": 2.0}, "share is 2.0"),
        ({"items": 1}, "items is 1"),
        ({"length": 1}, "length is 1"),
    ],
)
def test_bad_settings_are_refused(given, message):
    with pytest.raises(SettingError, match=message):
        rankings(**given)
