"""Ranges of θ are known."""

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.settings import SettingError


def test_a_range_for_one_good_annotator_is_enough(made, tau):
    """Two good annotators among six of whom four reverse the order cannot be found without side information."""
    features, _, study = made(tasks=40, annotators=6, theta=np.array([-0.5, -0.5, 0.25, 0.25, 0.25, 0.25]))
    first, *_ = study.judgments.vocabulary.annotators.tolist()
    side = cr.Side(ranges=(cr.Range(first, -3, -0.3),))
    test, truth, _ = made(seed=99)
    assert tau(cr.learn("ltrma-mle", features, study.judgments), test, truth) < 0
    assert tau(cr.learn("ltrma-s2", features, study.judgments, side=side), test, truth) > 0.8


def test_theta_stays_in_its_range(made):
    """The best annotator's θ is −0.7; the range that is given ends before."""
    features, _, study = made(tasks=30)
    first, *_ = study.judgments.vocabulary.annotators.tolist()
    side = cr.Side(ranges=(cr.Range(first, -0.4, -0.1),))
    assert cr.learn("ltrma-s2", features, study.judgments, side=side).annotators["theta"][0] == pytest.approx(-0.4)


def test_it_must_be_given(made):
    features, _, study = made(tasks=3)
    with pytest.raises(SettingError, match=r"ltrma-s2 needs .* as side information"):
        cr.learn("ltrma-s2", features, study.judgments)
    with pytest.raises(SettingError, match=r"ltrma-s2 needs .* as side information"):
        cr.learn("ltrma-s2", features, study.judgments, side=cr.Side(orders=(cr.Better("annotator1"),)))
