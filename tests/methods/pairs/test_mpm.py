import numpy as np
import pytest

from crowdrank import simulate
from crowdrank.methods.pairs.mpm import MPM
from crowdrank.methods.pairs.variance_bt import VarianceBT
from crowdrank.settings import SettingError
from crowdrank.study import TIE

STUDY = simulate.pairs(items=12, annotators=5, votes=400, ties=0.15, quality=(4, 1), seed=3).judgments


def assert_same(one, other):
    for column in ("score", "low", "high"):
        assert getattr(one, column) == pytest.approx(getattr(other, column), abs=1e-6)
    assert one.annotators["slope"].to_numpy() == pytest.approx(other.annotators["slope"].to_numpy(), abs=1e-6)


@pytest.mark.parametrize("settings", [{}, {"prior": 0.5, "slope_spread": 0.3}])
def test_without_strengths_it_is_variance_bt(settings):
    one, other = MPM(**settings).fit(STUDY), VarianceBT(**settings).fit(STUDY)
    assert one.method == "mpm"
    assert_same(one, other)


def test_a_strong_preference_is_a_vote_repeated(build):
    strength = np.random.default_rng(0).integers(1, 6, len(STUDY.pairs))
    strong = build.with_pairs(STUDY, strength=strength.astype(float))
    tied = STUDY.pairs.outcome == TIE
    times = np.where(tied, 1, strength)
    repeated = build.rows_of(STUDY, np.repeat(np.arange(len(times)), times))
    mean = strength[~tied].mean()  # divided by it, a vote keeps the weight of a vote; a tie has no strength
    repeated = build.with_pairs(repeated, weight=np.where(repeated.pairs.outcome == TIE, 1.0, 1 / mean))
    assert_same(MPM(prior=1.0).fit(strong), VarianceBT(prior=1.0).fit(repeated))


def test_strengths_and_weights_multiply(build):
    rng = np.random.default_rng(1)
    decided = build.rows_of(STUDY, STUDY.pairs.outcome != TIE)
    strength, weight = (rng.uniform(0.5, 3.0, len(decided.pairs)) for _ in range(2))
    found = MPM(prior=1.0).fit(build.with_pairs(decided, strength=strength, weight=weight))
    assert_same(found, VarianceBT(prior=1.0).fit(build.with_pairs(decided, weight=weight * strength / strength.mean())))


def test_the_unit_of_strength_does_not_matter(build):
    strength = np.random.default_rng(0).uniform(1, 5, len(STUDY.pairs))
    assert_same(*(MPM().fit(build.with_pairs(STUDY, strength=unit * strength)) for unit in (1.0, 100.0)))


def test_the_distance_of_grades_is_the_strength(build):
    grades = [("t", "ann", "a", 9), ("t", "ann", "b", 1), ("t", "ann", "c", 0)]
    pairs = build.judgments(
        pairs=[("t", "ann", "a", "b", "a"), ("t", "ann", "b", "c", "b"), ("t", "ann", "a", "c", "a")]
    )
    expected = MPM(prior=1.0).fit(build.with_pairs(pairs, strength=np.array([8.0, 1.0, 9.0])))
    found = MPM(prior=1.0).fit(build.judgments(grades=grades))
    assert_same(found, expected)
    assert found.score[0] - found.score[1] > found.score[1] - found.score[2]


def test_bad_settings():
    with pytest.raises(SettingError, match="slope_spread is -1"):
        MPM(slope_spread=-1.0)
