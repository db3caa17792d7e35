import numpy as np
import pytest
from scipy.special import polygamma, psi

from crowdrank.numerics.special import digamma, trigamma

X = np.r_[1e-6, 0.01, 0.3, np.linspace(0.5, 30, 60), 1e3, 1e8]


def test_they_are_scipys():
    assert digamma(X) == pytest.approx(psi(X), rel=1e-12, abs=1e-12)
    assert trigamma(X) == pytest.approx(polygamma(1, X), rel=1e-12, abs=1e-12)
