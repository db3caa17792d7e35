import numpy as np
import pytest

from crowdrank import simulate
from crowdrank.methods.pairs.em_elo import EMElo, Games, NegativeLogPosterior, _pair_votes
from crowdrank.settings import SettingError


def logistic(x):
    return 1 / (1 + np.exp(-x))


def em(study, quality_prior, steps=5000):
    """Plain EM: in turn the chance of each pair's truth, and the share of right answers of each annotator."""
    pairs = study.pairs
    low, high = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
    toward = np.where(pairs.left < pairs.right, pairs.outcome, -pairs.outcome)
    names = sorted(set(zip(low.tolist(), high.tolist(), strict=True)))
    pair = np.array([names.index(key) for key in zip(low.tolist(), high.tolist(), strict=True)])
    alpha, beta = quality_prior[0] - 1, quality_prior[1] - 1
    n = len(study.vocabulary.annotators)
    eta = np.full(n, alpha / (alpha + beta))
    for _ in range(steps):
        left = np.where(toward == 1, eta[pairs.annotator], np.where(toward == -1, 1 - eta[pairs.annotator], 1.0))
        right = np.where(toward == -1, eta[pairs.annotator], np.where(toward == 1, 1 - eta[pairs.annotator], 1.0))
        for_left = np.array([np.prod(left[pair == p]) for p in range(len(names))])
        for_right = np.array([np.prod(right[pair == p]) for p in range(len(names))])
        q = for_left / (for_left + for_right)
        correct = np.where(toward == 1, q[pair], np.where(toward == -1, 1 - q[pair], 0.0))
        new = (np.bincount(pairs.annotator, correct, n) + alpha) / (
            np.bincount(pairs.annotator, toward != 0, n) + alpha + beta
        )
        if np.abs(new - eta).max() < 1e-12:
            break
        eta = new
    return eta, names, q, pair, toward


@pytest.fixture(scope="module")
def study():
    return simulate.pairs(items=8, annotators=6, votes=200, ties=0.2, malicious=0.2, seed=3).judgments


def test_finds_the_fixed_point_of_em(study):
    eta = em(study, (4.0, 2.0))[0]
    found = EMElo().fit(study)
    assert found.fit.converged
    assert found.annotators["quality"].to_numpy() == pytest.approx(eta, abs=1e-6)


def test_ratings_are_the_fixed_point_of_elo(study):
    _, names, q, pair, toward = em(study, (4.0, 2.0))
    rating = EMElo(prior=0.3).fit(study).score
    move = 0.3 - 0.6 / (1 + 10 ** ((1000 - rating) / 400))  # a win and a loss, 0.3 times each, against a player of 1000
    for p, (i, j) in enumerate(names):
        tied = (toward[pair == p] == 0).mean()
        points = tied / 2 + (1 - tied) * q[p]
        expected = 1 / (1 + 10 ** ((rating[j] - rating[i]) / 400))
        move[i] += points - expected
        move[j] -= points - expected
    assert move == pytest.approx(np.zeros(8), abs=1e-5)


def test_derivatives_agree_with_finite_differences(build, study):
    rng = np.random.default_rng(0)
    votes = _pair_votes(study.pairs, 8, 6)
    games = Games(votes.left, votes.right, rng.random(len(votes.left)), 8, 0.7)
    for objective, size in ((NegativeLogPosterior(votes, 6, (3.0, 1.5)), 6), (games, 8)):
        x, v = rng.normal(size=size), rng.normal(size=size)
        assert objective.evaluate(x)[1] == pytest.approx(build.slope(lambda x: objective.evaluate(x)[0], x), abs=1e-5)  # noqa: B023
        hessian = build.slope(lambda x: objective.evaluate(x)[1], x)  # noqa: B023
        objective.evaluate(x)
        assert objective.hessian_product(v) == pytest.approx(hessian @ v, abs=1e-5)
        assert objective.diagonal() == pytest.approx(np.diag(hessian), abs=1e-5)


def test_the_value_is_the_log_posterior_written_out(study):
    logit = np.random.default_rng(1).normal(size=6)
    eta, pairs = logistic(logit), study.pairs
    expected = (2 * np.log(eta) + np.log(1 - eta)).sum()
    for i in range(8):
        for j in range(i):
            both = [1.0, 1.0]
            of = ((pairs.left == i) & (pairs.right == j)) | ((pairs.left == j) & (pairs.right == i))
            for k, left, outcome in zip(pairs.annotator[of], pairs.left[of], pairs.outcome[of], strict=True):
                if outcome:
                    says_i = (outcome == 1) == (left == i)
                    both[0] *= eta[k] if says_i else 1 - eta[k]
                    both[1] *= 1 - eta[k] if says_i else eta[k]
            expected += np.log(both[0] / 2 + both[1] / 2)
    objective = NegativeLogPosterior(_pair_votes(pairs, 8, 6), 6, (3.0, 2.0))
    start = np.zeros(6)
    at_start = (3 * np.log(0.5)) * 6 + len(pairs.outcome[pairs.outcome != 0]) * np.log(0.5)
    assert objective.evaluate(start)[0] - objective.evaluate(logit)[0] == pytest.approx(expected - at_start, rel=1e-9)


def test_a_hostile_crowd_is_seen_through(build):
    study = simulate.pairs(items=50, annotators=50, votes=6000, votes_per_pair=5, spammers=0.3, malicious=0.2, seed=1)
    found = EMElo().fit(study.judgments)
    assert build.pair_accuracy(found.score, study.gold.value) > 0.92
    quality = found.annotators["quality"].to_numpy()
    assert np.corrcoef(quality, study.quality)[0, 1] > 0.9
    assert set(np.array(found.annotators["verdict"])[study.quality == 0]) == {"reversed"}


def test_who_was_never_checked_by_others_keeps_the_prior(build):
    found = EMElo(quality_prior=(5.0, 2.0)).fit(
        build.judgments(pairs=[("t", "k", "a", "b", "a"), ("t", "l", "b", "c", "b")])
    )
    assert found.annotators["quality"].to_list() == pytest.approx([0.8, 0.8])
    assert found.annotators["verdict"].to_list() == ["unclear", "unclear"]
    assert found.rank.tolist() == [1, 2, 3]


def test_ties_alone_are_a_tie(build):
    found = EMElo().fit(build.judgments(pairs=[("t", "k", "a", "b", "tie")] * 3))
    assert found.score.tolist() == [1000, 1000]


@pytest.mark.parametrize("prior", [(1.0, 1.0), (2.0, 3.0), (np.nan, 1.5)])
def test_bad_settings(prior):
    with pytest.raises(SettingError, match="quality_prior"):
        EMElo(quality_prior=prior)
