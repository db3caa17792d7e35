import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import spearmanr

from crowdrank import simulate
from crowdrank.methods.pairs.bradley_terry import BradleyTerry
from crowdrank.methods.pairs.variance_bt import VarianceBT
from crowdrank.settings import SettingError


def test_slopes_separate_spammers():
    study = simulate.pairs(items=50, annotators=40, votes=20_000, spammers=0.3, seed=1)
    consensus = VarianceBT().fit(study.judgments)
    slope = consensus.annotators["slope"].to_numpy()
    spammer = study.quality == 0.5
    assert consensus.fit.converged
    assert (slope > 0).all()
    assert slope[spammer].max() < slope[~spammer].min()
    assert spearmanr(slope, study.quality).statistic > 0.8


def test_slopes_of_the_model_itself_are_recovered(build):
    study = simulate.pairs(items=40, annotators=20, votes=20_000, seed=3)
    pairs, rng = study.judgments.pairs, np.random.default_rng(0)
    truth = np.exp(rng.normal(0, 0.7, 20))
    gap = study.gold.value[pairs.left] - study.gold.value[pairs.right]
    left = rng.random(len(pairs)) < 1 / (1 + np.exp(-truth[pairs.annotator] * gap))
    answers = build.with_pairs(study.judgments, outcome=np.where(left, 1, -1).astype(np.int8))
    slope = VarianceBT().fit(answers).annotators["slope"].to_numpy()
    off = np.log(slope / truth)  # the scale of all scores and slopes is the priors': only ratios are known
    assert np.abs(off - off.mean()).max() < 0.4
    assert np.std(off) < 0.2


@pytest.mark.parametrize("spread", [0.2, 1.0])
def test_it_is_the_maximum_of_the_posterior_written_out(build, spread):
    study = simulate.pairs(items=5, annotators=3, votes=200, quality=(3, 1), seed=4).judgments

    def cost(x):
        slopes = np.exp(x[5:])[study.pairs.annotator]
        of_scale = 200 * 3 * x[5:].mean() ** 2 / 2  # the mean logarithm, by as much as there are votes
        return of_scale - build.log_posterior(study, x[:5], 0.7, slope=slopes) + (x[5:] ** 2).sum() / (2 * spread**2)

    slow = minimize(cost, np.zeros(8), jac=lambda x: build.slope(cost, x, 1e-5), method="BFGS", options={"gtol": 1e-6})
    found = VarianceBT(prior=0.7, slope_spread=spread).fit(study)
    assert found.score == pytest.approx(slow.x[:5], abs=1e-4)
    assert found.annotators["slope"].to_numpy() == pytest.approx(np.exp(slow.x[5:]), abs=1e-4)
    assert found.fit.objective == pytest.approx(-slow.fun, abs=1e-7)


def test_without_spread_it_is_bradley_terry():
    study = simulate.pairs(items=12, annotators=5, votes=300, seed=3).judgments
    found = VarianceBT(prior=1.0, slope_spread=1e-4).fit(study)
    assert found.score == pytest.approx(BradleyTerry(prior=1.0).fit(study).score, abs=1e-4)


def test_better_than_bradley_terry_among_spammers(build):
    study = simulate.pairs(items=100, annotators=60, votes=6000, spammers=0.5, spread=1.0, seed=2)
    found, plain = (method().fit(study.judgments) for method in (VarianceBT, BradleyTerry))
    assert build.pair_accuracy(found.score, study.gold.value) > build.pair_accuracy(plain.score, study.gold.value)


def test_quality_is_the_agreement_with_the_scores(build):
    rows = [("t", who, "a", "b", "a") for who in ("p", "q", "r")] + [("t", "r", "a", "b", "b")]
    assert VarianceBT().fit(build.judgments(pairs=rows)).annotators["quality"].to_list() == [1.0, 1.0, 0.5]


def test_bad_settings():
    with pytest.raises(SettingError, match="slope_spread is 0"):
        VarianceBT(slope_spread=0.0)
