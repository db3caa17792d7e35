import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ndtri

from crowdrank import simulate
from crowdrank.methods.pairs.bradley_terry import BradleyTerry
from crowdrank.methods.pairs.thurstone import Thurstone
from crowdrank.settings import SettingError
from crowdrank.study import TIE


@pytest.mark.parametrize("ties", [0.0, 0.4])
@pytest.mark.parametrize("prior", [0.2, 3.0])
def test_it_is_the_maximum_of_the_posterior_written_out(build, ties, prior):
    study = simulate.pairs(items=6, votes=150, ties=ties, seed=8).judgments
    tied = (study.pairs.outcome == TIE).mean()
    expected = build.usual_ties(study, "normal") if tied else -np.inf  # of the threshold, before any vote

    def cost(x):
        score, log_threshold = (x[:-1], x[-1]) if tied else (x, -np.inf)
        value = build.log_posterior(study, score, prior, "normal", threshold=np.exp(log_threshold))
        return -value + ((log_threshold - expected) ** 2 / 2 if tied else 0.0)

    start = np.r_[np.zeros(6), expected] if tied else np.zeros(6)
    slow = minimize(cost, start, jac=lambda x: build.slope(cost, x, 1e-5), method="BFGS", options={"gtol": 1e-6})
    found = Thurstone(prior=prior).fit(study)
    assert found.fit.converged
    assert found.score == pytest.approx(slow.x[:6], abs=1e-5)
    assert found.fit.objective == pytest.approx(-slow.fun, abs=1e-8)


def test_two_items_are_as_far_apart_as_the_share_of_wins_says(build):
    rows = [("t", "k", "a", "b", "a")] * 30 + [("t", "k", "a", "b", "b")] * 10
    score = Thurstone(prior=0.0).fit(build.judgments(pairs=rows)).score
    assert score[0] - score[1] == pytest.approx(np.sqrt(2) * ndtri(0.75), abs=1e-6)


def test_ranks_hardly_differ_from_bradley_terry(build):
    study = simulate.pairs(items=40, votes=4000, seed=1)
    found, other = (method().fit(study.judgments) for method in (Thurstone, BradleyTerry))
    assert build.pair_accuracy(found.score, other.score) > 0.98
    assert build.pair_accuracy(found.score, study.gold.value) > 0.9


def test_turning_every_vote_around_turns_the_scores_around(build):
    study = simulate.pairs(items=10, votes=200, ties=0.2, seed=9).judgments
    one, other = Thurstone().fit(study), Thurstone().fit(build.with_pairs(study, outcome=-study.pairs.outcome))
    assert one.score == pytest.approx(-other.score, abs=1e-8)


def test_an_item_that_wins_everything_stays_finite(build):
    rows = [("t", "k", "a", other, "a") for other in "bcd"] * 50 + [("t", "k", x, y, x) for x, y in ("bc", "cd", "db")]
    consensus = Thurstone().fit(build.judgments(pairs=rows))
    assert consensus.fit.converged
    assert np.isfinite([consensus.score, consensus.low, consensus.high]).all()
    assert consensus.rank.tolist() == [1, 2, 2, 2]


def test_neighbours_alone_give_the_whole_order(build):
    study = simulate.pairs(items=200, annotators=50, votes=40_000, neighbours=2, spread=5.0, seed=1)
    consensus = Thurstone().fit(study.judgments)
    assert consensus.fit.converged
    assert build.pair_accuracy(consensus.score, study.gold.value) >= 0.98


def test_bad_settings():
    with pytest.raises(SettingError, match="prior is -1"):
        Thurstone(prior=-1)
