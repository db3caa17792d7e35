import numpy as np
import pytest
from scipy.stats import spearmanr

from crowdrank import simulate
from crowdrank.convert import wins
from crowdrank.methods.bradley_terry import BradleyTerry
from crowdrank.methods.bradley_terry import NegativeLogPosterior as PlainPosterior
from crowdrank.methods.crowd_bt import CrowdBT, NegativeLogPosterior, logistic
from crowdrank.numerics.newton import minimise
from crowdrank.settings import SettingError

HOSTILE = {"items": 200, "annotators": 200, "votes": 20_000, "spammers": 0.3, "malicious": 0.2, "spread": 1.0}
TABLE_1 = {"items": 100, "annotators": 100, "votes": 4000, "votes_per_pair": 10, "spread": None}  # 400 pairs × 10


def posterior(judgments, prior=0.7, quality_prior=(2.0, 1.5)):
    votes, words = wins(judgments.pairs, judgments.vocabulary), judgments.vocabulary
    return NegativeLogPosterior(votes, votes.annotator, words.n_entries, len(words.annotators), prior, quality_prior)


@pytest.mark.parametrize("quality_prior", [(1.0, 1.0), (4.0, 1.5)])
@pytest.mark.parametrize(("gaps", "logits"), [(0.0, 0.0), (1.0, 1.0), (10.0, 3.0), (3.0, 10.0), (12.0, 25.0), (1.0, 40.0)])
def test_derivatives_agree_with_finite_differences(build, quality_prior, gaps, logits):
    study = simulate.pairs(items=6, annotators=4, votes=80, ties=0.2, quality=(2, 1), seed=1).judgments
    objective = posterior(study, quality_prior=quality_prior)
    rng = np.random.default_rng(2)
    x = objective.layout.pack(score=gaps * rng.normal(size=6), quality=logits * np.array([1, -1, 0.5, -0.2]))
    slope = build.slope(lambda at: objective.evaluate(at)[0], x, step=1e-5)
    assert objective.evaluate(x)[1] == pytest.approx(slope, rel=1e-5, abs=1e-5)
    hessian = build.slope(lambda at: objective.evaluate(at)[1], x, step=1e-5)
    objective.evaluate(x)
    v = rng.normal(size=10)
    assert objective.curvature(v) == pytest.approx(hessian @ v, rel=1e-5, abs=1e-5)
    assert objective.diagonal() == pytest.approx(np.diag(hessian), rel=1e-5, abs=1e-5)


def test_the_value_is_the_log_posterior_written_out():
    study = simulate.pairs(items=5, annotators=3, votes=60, seed=4)
    votes, score, eta = study.judgments.pairs, study.gold.value, study.quality
    gap = (score[votes.left] - score[votes.right]) * votes.outcome
    sees = 1 / (1 + np.exp(-gap))
    chance = eta[votes.annotator] * sees + (1 - eta[votes.annotator]) * (1 - sees)
    expected = np.log(chance).sum() - 0.7 * (np.log1p(np.exp(-score)) + np.log1p(np.exp(score))).sum()
    expected += (1.0 * np.log(eta) + 0.5 * np.log(1 - eta)).sum()  # Beta(2, 1.5) but for its constant
    objective = posterior(study.judgments)
    x = objective.layout.pack(score=score, quality=np.log(eta / (1 - eta)))
    assert objective.evaluate(x)[0] == pytest.approx(-expected, rel=1e-12)


@pytest.mark.parametrize("x", [-700.0, -40.0, -3.0, 0.0, 3.0, 40.0, 700.0])
def test_the_logistic_keeps_its_digits_at_both_ends(x):
    expected = 1 / (1 + np.exp(-x)) if x > 0 else np.exp(x) / (1 + np.exp(x))
    assert logistic(np.array([x]))[0] == pytest.approx(expected, rel=1e-12, abs=0)


def test_perfect_annotators_make_it_bradley_terry():
    study = simulate.pairs(items=12, annotators=5, votes=300, seed=3).judgments
    objective = posterior(study, prior=1.0, quality_prior=(1.0, 1.0))
    plain = PlainPosterior(wins(study.pairs, study.vocabulary, pooled=True), 12, 1.0)
    score = np.random.default_rng(0).normal(size=12)
    x = objective.layout.pack(score=score, quality=800.0)
    assert objective.evaluate(x)[0] == pytest.approx(plain.evaluate(score)[0], rel=1e-12)
    assert objective.layout.unpack(objective.evaluate(x)[1]).score == pytest.approx(plain.evaluate(score)[1], abs=1e-10)
    found = minimise(objective, x, max_iter=50, tol=1e-9, held=objective.layout.slices["quality"])
    assert found.x[:12] == pytest.approx(BradleyTerry(prior=1.0).fit(study).score, abs=1e-7)


@pytest.mark.parametrize("seed", [1, 2])
def test_recovers_quality_among_spammers_and_malicious(seed):
    study = simulate.pairs(items=100, annotators=60, votes=30_000, quality=(4, 1), spammers=0.2, malicious=0.2, seed=seed)
    consensus = CrowdBT().fit(study.judgments)
    assert consensus.fit.converged
    found = consensus.annotators["quality"].to_numpy()
    assert spearmanr(found, study.quality).statistic >= 0.9
    assert np.abs(found - study.quality).max() < 0.12
    verdict = consensus.annotators["verdict"].to_numpy()
    assert set(verdict[study.quality == 0]) == {"reversed"}


def test_a_hostile_crowd(build):
    # How far the items are apart is ours to choose: at the default spread of 2 both do better (about .955 and .807).
    for seed in range(4):
        study = simulate.pairs(**HOSTILE, seed=seed)
        consensus = CrowdBT().fit(study.judgments)
        assert consensus.fit.converged
        assert build.pair_accuracy(consensus.score, study.gold.value) >= 0.90
        assert build.pair_accuracy(BradleyTerry().fit(study.judgments).score, study.gold.value) < 0.8


def test_spammers_are_called_otherwise_no_more_often_than_two_standard_errors_allow():
    called = []
    for seed in range(4):
        study = simulate.pairs(**{**HOSTILE, "spread": 2.0}, seed=seed)
        called += CrowdBT().fit(study.judgments).annotators["verdict"].to_numpy()[study.quality == 0.5].tolist()
    wrongly = np.isin(called, ["informative", "weak", "reversed"]).mean()
    assert wrongly < 0.046 + 3 * np.sqrt(0.046 * 0.954 / len(called))


def test_gold_rescues_a_crowd_that_is_mostly_wrong(build):
    with_gold, without = [], []
    for seed in range(3):
        study = simulate.pairs(**TABLE_1, quality=(1, 5), seed=seed)
        for results, gold in ((with_gold, study.gold), (without, None)):
            consensus = CrowdBT(prior=0.5).fit(study.judgments, gold=gold)
            results.append(build.pair_accuracy(consensus.score, study.gold.value))
    assert np.mean(with_gold) >= 0.87
    assert np.mean(without) <= 0.2


@pytest.mark.parametrize(("quality", "paper"), [((10, 1), 0.901), ((5, 1), 0.893), ((2, 1), 0.880)])
def test_table_1_of_the_paper(build, quality, paper):
    studies = [simulate.pairs(**TABLE_1, quality=quality, seed=seed) for seed in range(5)]
    found = [build.pair_accuracy(CrowdBT(prior=0.5).fit(study.judgments).score, study.gold.value) for study in studies]
    assert np.mean(found) == pytest.approx(paper, abs=0.015)


def test_gold_of_a_few_items_is_enough(build):
    study = simulate.pairs(**TABLE_1, quality=(1, 5), seed=0)
    some = np.where(np.arange(100) % 3 == 0, study.gold.value, np.nan)
    consensus = CrowdBT(prior=0.5).fit(study.judgments, gold=build.gold(study.judgments, some))
    assert build.pair_accuracy(consensus.score, study.gold.value) >= 0.85


def test_quality_may_differ_from_task_to_task(build):
    simulated = simulate.pairs(items=15, annotators=4, votes=4000, tasks=2, seed=5)
    study = simulated.judgments
    task = study.vocabulary.entry_task[study.pairs.left]
    turncoat = (study.pairs.annotator == 1) & (task == 1)
    study = build.with_pairs(study, outcome=np.where(turncoat, -study.pairs.outcome, study.pairs.outcome))
    rows = CrowdBT(quality_per="task").fit(study).annotators
    assert rows["annotator"].to_list() == [f"annotator{k}" for k in (1, 2, 3, 4) for _ in range(2)]
    assert rows["task"].to_list() == ["task1", "task2"] * 4
    assert rows["judgments"].to_list() == [
        int(((study.pairs.annotator == k) & (task == t)).sum()) for k in range(4) for t in (0, 1)
    ]
    quality = rows["quality"].to_numpy()
    expected = np.repeat(simulated.quality, 2)
    expected[3] = 1 - expected[3]
    assert quality == pytest.approx(expected, abs=0.1)
    assert 0.3 < CrowdBT().fit(study).annotators["quality"][1] < 0.7


def test_one_task_has_one_quality_either_way():
    study = simulate.pairs(items=15, annotators=6, votes=800, seed=5).judgments
    one, per_task = CrowdBT().fit(study), CrowdBT(quality_per="task").fit(study)
    assert one.score == pytest.approx(per_task.score, abs=1e-7)


@pytest.mark.parametrize("strength", [1.05, 2.0, 10.0])
def test_the_quality_prior_shrinks_an_annotator_of_one_vote(build, strength):
    rows = [
        ("t", who, left, right, min(left, right))
        for who in ("ann", "bob")
        for left, right in (("a", "b"), ("b", "c"), ("c", "a"))
    ]
    study = build.judgments(pairs=[*rows * 10, ("t", "new", "a", "b", "a"), ("t", "odd", "a", "b", "b")])
    quality = CrowdBT(prior=0.1, quality_prior=(strength, strength)).fit(study).annotators["quality"].to_list()
    # Even a vote that is surely right gives no more than the mode of Beta(strength + 1, strength).
    most = strength / (2 * strength - 1)
    assert 0.5 < quality[2] <= most + 1e-9
    assert 1 - most - 1e-9 <= quality[3] < 0.5
    assert quality[2] == pytest.approx(most, abs=0.05)
    assert quality[0] > quality[2] or strength < 2


def test_a_flat_prior_lets_quality_reach_its_ends(build):
    study = simulate.pairs(items=20, annotators=6, votes=3000, malicious=0.3, quality=(1e9, 1), seed=2)
    consensus = CrowdBT(quality_prior=(1.0, 1.0)).fit(study.judgments)
    assert consensus.fit.converged
    assert consensus.annotators["quality"].to_numpy() == pytest.approx(study.quality, abs=0.03)


def test_turning_everybody_around_is_the_mirror_image(build):
    study = simulate.pairs(items=8, annotators=5, votes=400, seed=6).judgments
    objective = posterior(study, quality_prior=(1.3, 1.3))
    x = np.random.default_rng(0).normal(size=13)
    assert objective.evaluate(x)[0] == pytest.approx(objective.evaluate(-x)[0], rel=1e-12)


def test_the_end_is_a_minimum():
    study = simulate.pairs(items=10, annotators=6, votes=500, spammers=0.2, ties=0.2, seed=7).judgments
    consensus = CrowdBT(prior=0.7, quality_prior=(2.0, 1.5)).fit(study)
    objective = posterior(study)
    eta = consensus.annotators["quality"].to_numpy()
    value, slope = objective.evaluate(objective.layout.pack(score=consensus.score, quality=np.log(eta / (1 - eta))))
    assert value == pytest.approx(-consensus.fit.objective)
    assert np.abs(slope).max() < 1e-6
    hessian = np.array([objective.curvature(unit) for unit in np.eye(16)])
    assert np.linalg.eigvalsh(hessian).min() > 0


def test_parts_never_compared_and_empty_studies_are_reported(build):
    consensus = CrowdBT().fit(build.judgments(pairs=[("t", "k", "a", "b", "a"), ("t", "k", "c", "d", "c")]))
    assert consensus.disconnected == {"t": 2}
    assert CrowdBT().fit(build.judgments(entries=[("t", "a"), ("t", "b")])).score.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prior": -0.1}, "prior is -0.1"),
        ({"quality_prior": (0.5, 1.0)}, "quality_prior"),
        ({"quality_per": "item"}, "one of study, task"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(SettingError, match=message):
        CrowdBT(**settings)
