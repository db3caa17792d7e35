"""Some annotators are known to be better than others."""

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.settings import SettingError


def test_to_know_the_two_best_is_enough(made, tau):
    """Two good annotators among six of whom four reverse the order cannot be found without side information."""
    features, _, study = made(tasks=40, annotators=6, theta=np.array([-0.5, -0.5, 0.25, 0.25, 0.25, 0.25]))
    first, second = study.judgments.vocabulary.annotators[:2].tolist()
    side = cr.Side(orders=(cr.Better(first), cr.Better(second)))
    test, truth, _ = made(seed=99)
    assert tau(cr.learn("ltrma-mle", features, study.judgments), test, truth) < 0
    assert tau(cr.learn("ltrma-s3", features, study.judgments, side=side), test, truth) > 0.8


def test_the_order_holds(made):
    """The last annotator is the worst; said to be better than the first, they get an equal θ."""
    features, _, study = made(tasks=30)
    first, *_, last = study.judgments.vocabulary.annotators.tolist()
    side = cr.Side(orders=(cr.Better(last, (first,)),))
    theta = cr.learn("ltrma-s3", features, study.judgments, side=side).annotators["theta"].to_list()
    assert theta[-1] <= theta[0] + 1e-6


def test_it_must_be_given(made):
    features, _, study = made(tasks=3)
    with pytest.raises(SettingError, match=r"ltrma-s3 needs .* as side information"):
        cr.learn("ltrma-s3", features, study.judgments)
    with pytest.raises(SettingError, match=r"ltrma-s3 needs .* as side information"):
        cr.learn("ltrma-s3", features, study.judgments, side=cr.Side(ranges=(cr.Range("annotator1", -3.0, -0.3),)))
