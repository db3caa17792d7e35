import numpy as np
import pytest
from scipy.special import expit

from crowdrank.settings import SettingError
from crowdrank.simulate import pairs
from crowdrank.study import LEFT, RIGHT, TIE


def assert_share(hits, chance):
    """The share of hits is what the chance (one, or one per trial) says, within five standard deviations."""
    chance = np.broadcast_to(chance, len(hits))
    assert abs(hits.sum() - chance.sum()) <= 5 * np.sqrt((chance * (1 - chance)).sum()) + 1e-9


def left_chance(study):
    """Crowd-BT as the paper writes it."""
    votes, truth = study.judgments.pairs, study.gold.value
    gap, eta = truth[votes.left] - truth[votes.right], study.quality[votes.annotator]
    return eta * expit(gap) + (1 - eta) * expit(-gap)


def test_shares_of_annotators():
    quality = pairs(annotators=200, spammers=0.3, malicious=0.2, quality=(10, 1), seed=3).quality
    assert (quality == 0.5).sum() == 60
    assert (quality == 0).sum() == 40
    others = quality[(quality != 0.5) & (quality != 0)]
    assert others.mean() == pytest.approx(10 / 11, abs=0.04)


def test_everybody_may_be_a_spammer_or_malicious():
    quality = pairs(annotators=3, spammers=0.5, malicious=0.5).quality
    assert set(quality) <= {0.0, 0.5}


def test_a_seed_gives_the_same_study_and_another_seed_another():
    one = pairs(ties=0.2, fatigue=0.01, order_bias=0.3, seed=7)
    again, other = pairs(**one.parameters), pairs(**{**one.parameters, "seed": 8})
    for column in ("annotator", "left", "right", "outcome"):
        assert np.array_equal(getattr(one.judgments.pairs, column), getattr(again.judgments.pairs, column))
        assert not np.array_equal(getattr(one.judgments.pairs, column), getattr(other.judgments.pairs, column))
    assert np.array_equal(one.gold.value, again.gold.value)
    assert np.array_equal(one.quality, again.quality)


def test_answers_follow_crowd_bt():
    study = pairs(items=10, annotators=5, votes=100_000, quality=(2, 1), malicious=0.2, spread=1.0)
    chance, left = left_chance(study), study.judgments.pairs.outcome == LEFT
    assert_share(left, chance)
    for annotator in range(5):
        of = study.judgments.pairs.annotator == annotator
        assert_share(left[of & (chance > 0.5)], chance[of & (chance > 0.5)])
        assert_share(left[of & (chance < 0.5)], chance[of & (chance < 0.5)])


def test_without_spread_an_answer_is_right_with_probability_quality():
    study = pairs(items=10, annotators=4, votes=40_000, quality=(2, 1), spread=None)
    votes, truth = study.judgments.pairs, study.gold.value
    assert sorted(truth) == list(range(1, 11))
    right = (votes.outcome == LEFT) == (truth[votes.left] > truth[votes.right])
    for annotator in range(4):
        assert_share(right[votes.annotator == annotator], study.quality[annotator])


def test_true_scores_have_the_spread_asked_for():
    assert pairs(items=20_000, votes=1, spread=3.0).gold.value.std() == pytest.approx(3, rel=0.03)


def test_all_pairs_are_equally_likely_and_sides_are_random():
    study = pairs(items=5, votes=50_000)
    votes = study.judgments.pairs
    for left in range(5):
        for right in range(5):
            assert_share((votes.left == left) & (votes.right == right), 0.05 if left != right else 0.0)


def test_only_neighbours_meet():
    study = pairs(items=30, votes=20_000, neighbours=3, tasks=2)
    votes = study.judgments.pairs
    place = np.argsort(np.argsort(study.gold.value.reshape(2, 30), axis=1), axis=1).ravel()
    apart = np.abs(place[votes.left] - place[votes.right])
    assert set(apart) == {1, 2, 3}
    for places in (1, 2, 3):  # 29, 28 and 27 pairs are so far apart
        assert_share(apart == places, (30 - places) / (29 + 28 + 27))


def model(study, ties=0.0, bias=0.0):
    """The chances of left, right and tie by Davidson's model with quality and bias, written out."""
    votes, truth = study.judgments.pairs, study.gold.value
    gap, eta = truth[votes.left] - truth[votes.right], study.quality[votes.annotator]
    tau = 2 * ties / (1 - ties)  # so that equal items tie with chance `ties`
    seen = (2 * eta - 1) * gap / 2
    tied = tau / (tau + np.exp(seen) + np.exp(-seen))
    left = eta * expit(gap + bias) + (1 - eta) * expit(-gap + bias)
    return (1 - tied) * left, (1 - tied) * (1 - left), tied


def test_ties_are_likely_between_close_items():
    study = pairs(items=20, votes=100_000, ties=0.4, spread=1.0)
    left, _, tied = model(study, ties=0.4)
    outcome = study.judgments.pairs.outcome
    for part in (tied > 0.3, tied < 0.3):
        assert_share((outcome == TIE)[part], tied[part])
        assert_share((outcome == LEFT)[part], left[part])
    assert_share(pairs(items=2, votes=20_000, ties=0.4, spread=0.0).judgments.pairs.outcome == TIE, 0.4)
    assert_share(pairs(votes=20_000, ties=0.3, spread=None).judgments.pairs.outcome == TIE, 0.3)


def test_votes_per_pair_come_from_different_annotators():
    study = pairs(items=100, annotators=12, votes=40_000, votes_per_pair=4)
    votes = study.judgments.pairs
    for side in (votes.left, votes.right):
        blocks = side.reshape(-1, 4)
        assert (blocks == blocks[:, :1]).all()
    blocks = np.sort(votes.annotator.reshape(-1, 4), axis=1)
    assert (blocks[:, 1:] > blocks[:, :-1]).all()
    for annotator in range(12):
        assert_share((blocks == annotator).any(axis=1), 4 / 12)
    everybody = pairs(annotators=3, votes=300, votes_per_pair=3).judgments.pairs.annotator.reshape(-1, 3)
    assert (np.sort(everybody, axis=1) == [0, 1, 2]).all()


def test_order_bias_adds_log_odds_to_the_left():
    for bias in (0.8, -0.8):
        study = pairs(items=6, votes=50_000, order_bias=bias, ties=0.2, spread=1.0)
        left, right, _ = model(study, ties=0.2, bias=bias)
        assert_share(study.judgments.pairs.outcome == LEFT, left)
        assert_share(study.judgments.pairs.outcome == RIGHT, right)
    assert_share(
        pairs(votes=50_000, spammers=1.0, spread=None, order_bias=0.8).judgments.pairs.outcome == LEFT, expit(0.8)
    )


def test_fatigue_wears_quality_down_to_a_coin():
    study = pairs(annotators=2000, votes=100_000, quality=(10, 1), malicious=0.5, spread=None, fatigue=0.05)
    votes, truth = study.judgments.pairs, study.gold.value
    right = (votes.outcome == LEFT) == (truth[votes.left] > truth[votes.right])
    seen: dict[int, int] = {}
    earlier = np.array([seen.update({k: seen.get(k, -1) + 1}) or seen[k] for k in votes.annotator.tolist()])
    chance = 0.5 + (study.quality[votes.annotator] - 0.5) * 0.95**earlier
    for part in (earlier == 0, earlier < 10, earlier > 40):
        for malicious in (True, False):
            of = part & ((study.quality == 0)[votes.annotator] == malicious)
            assert_share(right[of], chance[of])


def test_votes_are_spread_evenly_over_tasks_and_never_across():
    study = pairs(items=7, votes=1001, tasks=3)
    vocabulary, votes = study.judgments.vocabulary, study.judgments.pairs
    assert vocabulary.n_entries == len(study.gold) == 21
    assert np.array_equal(vocabulary.entry_task[votes.left], vocabulary.entry_task[votes.right])
    assert sorted(np.bincount(vocabulary.entry_task[votes.left])) == [333, 334, 334]
    assert not np.array_equal(study.gold.value[:7], study.gold.value[7:14])


def test_names_sort_in_the_order_of_their_codes():
    vocabulary = pairs(items=100, annotators=50, tasks=10, votes=100).judgments.vocabulary
    for names, first in (
        (vocabulary.items, "item001"),
        (vocabulary.annotators, "annotator01"),
        (vocabulary.tasks, "task01"),
    ):
        assert names[0] == first
        assert sorted(names) == list(names)


def test_no_votes_is_an_empty_study():
    assert len(pairs(votes=0).judgments) == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("items", 1),
        ("items", 2.5),
        ("annotators", 0),
        ("votes", -1),
        ("tasks", 0),
        ("quality", (0.0, 1.0)),
        ("quality", (1.0,)),
        ("spammers", 1.5),
        ("malicious", -0.1),
        ("ties", 2.0),
        ("fatigue", -1.0),
        ("spread", -1.0),
        ("spread", float("nan")),
        ("order_bias", float("inf")),
        ("neighbours", 0),
        ("votes_per_pair", 0),
        ("votes_per_pair", 51),
        ("votes_per_pair", 7),  # 5000 votes do not divide by it
    ],
)
def test_bad_parameters_are_refused_by_name(name, value):
    with pytest.raises(SettingError, match=f"{name}|votes"):
        pairs(**{name: value})


def test_more_than_everybody_is_refused():
    with pytest.raises(SettingError, match="together with spammers"):
        pairs(spammers=0.6, malicious=0.6)
