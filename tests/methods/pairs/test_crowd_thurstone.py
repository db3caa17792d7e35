import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm, spearmanr

from crowdrank import simulate
from crowdrank.methods.pairs.crowd_thurstone import CrowdThurstone
from crowdrank.methods.pairs.thurstone import Thurstone
from crowdrank.settings import SettingError


def normal_answers(build, study, seed=0):
    """The same crowd, seeing with normal noise."""
    pairs, truth = study.judgments.pairs, study.gold.value
    rng = np.random.default_rng(seed)
    sees = rng.random(len(pairs)) < norm.cdf((truth[pairs.left] - truth[pairs.right]) / np.sqrt(2))
    reports = rng.random(len(pairs)) < study.quality[pairs.annotator]
    return build.with_pairs(study.judgments, outcome=np.where(sees == reports, 1, -1).astype(np.int8))


@pytest.mark.parametrize("seed", [1, 2])
def test_recovers_quality_among_spammers_and_malicious(build, seed):
    study = simulate.pairs(
        items=100, annotators=60, votes=30_000, quality=(4, 1), spammers=0.2, malicious=0.2, seed=seed
    )
    consensus = CrowdThurstone().fit(normal_answers(build, study, seed))
    assert consensus.fit.converged
    found = consensus.annotators["quality"].to_numpy()
    assert spearmanr(found, study.quality).statistic >= 0.9
    assert np.abs(found - study.quality).max() < 0.12
    malicious = consensus.annotators["verdict"].to_numpy()[study.quality == 0]
    assert set(malicious) <= {"reversed", "differs from the consensus"}
    assert build.pair_accuracy(consensus.score, study.gold.value) > 0.95


def test_a_hostile_crowd(build):
    study = simulate.pairs(items=200, annotators=200, votes=20_000, spammers=0.3, malicious=0.2, spread=1.0, seed=0)
    found, plain = (method(intervals=False).fit(study.judgments) for method in (CrowdThurstone, Thurstone))
    assert build.pair_accuracy(found.score, study.gold.value) >= 0.90
    assert build.pair_accuracy(plain.score, study.gold.value) < 0.8


def test_it_is_a_maximum_of_the_posterior_written_out(build):
    study = simulate.pairs(items=5, annotators=3, votes=200, seed=4).judgments

    def cost(x):
        eta = 1 / (1 + np.exp(-x[5:]))
        prior = 1.0 * np.log(eta).sum() + 0.5 * np.log(1 - eta).sum()  # Beta(2, 1.5)
        return -build.log_posterior(study, x[:5], 0.7, "normal", quality=eta[study.pairs.annotator]) - prior

    found = CrowdThurstone(prior=0.7, quality_prior=(2.0, 1.5)).fit(study)
    eta = found.annotators["quality"].to_numpy()
    x = np.r_[found.score, np.log(eta / (1 - eta))]
    slow = minimize(cost, x + 0.3, jac=lambda x: build.slope(cost, x, 1e-5), method="BFGS", options={"gtol": 1e-6})
    assert x == pytest.approx(slow.x, abs=1e-4)
    assert found.fit.objective == pytest.approx(-slow.fun, abs=1e-7)


def test_gold_rescues_a_crowd_that_is_mostly_wrong(build):
    study = simulate.pairs(
        items=100, annotators=100, votes=4000, votes_per_pair=10, spread=None, quality=(1, 5), seed=0
    )
    assert build.pair_accuracy(CrowdThurstone().fit(study.judgments, gold=study.gold).score, study.gold.value) >= 0.85


def test_quality_may_differ_from_task_to_task(build):
    simulated = simulate.pairs(items=15, annotators=4, votes=4000, tasks=2, seed=5)
    study = simulated.judgments
    turncoat = (study.pairs.annotator == 1) & (study.vocabulary.entry_task[study.pairs.left] == 1)
    study = build.with_pairs(study, outcome=np.where(turncoat, -study.pairs.outcome, study.pairs.outcome))
    quality = CrowdThurstone(quality_per="task").fit(study).annotators["quality"].to_numpy()
    assert quality[3] < 0.35
    assert np.delete(quality, 3).min() > 0.65


def test_bad_settings():
    with pytest.raises(SettingError, match="quality_prior"):
        CrowdThurstone(quality_prior=(0.5, 1.0))
