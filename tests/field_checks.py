"""What every result of an awkward study must satisfy; for the tests in field/."""

import warnings

import numpy as np

import crowdrank as cr


def fitted(name, study):
    """The result; no warning on the way."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return cr.fit(name, study)


def check(found):
    """No hole without a note; intervals hold their score; everybody has a verdict."""
    assert len(set(found.notes)) == len(found.notes)
    notes = " ".join(found.notes)
    assert not np.isnan(found.score).any() or "not ranked" in notes or "no judgments" in notes
    assert not np.isinf(found.score).any()
    if found.low is not None and found.high is not None:
        scored = ~np.isnan(found.score)
        assert not np.isnan(found.low[scored]).any() or "interval" in notes
        whole = scored & ~np.isnan(found.low)
        assert (found.low[whole] <= found.score[whole] + 1e-9).all()
        assert (found.score[whole] <= found.high[whole] + 1e-9).all()
    if found.label_chances is not None:
        chance = found.label_chances[~np.isnan(found.label_chances).any(axis=1)]
        assert (chance >= 0).all()
        np.testing.assert_allclose(chance.sum(axis=1), 1, atol=1e-9)
    assert all(isinstance(verdict, str) for verdict in found.annotator_columns["verdict"])
    quality = found.annotator_columns["quality"]
    assert ((quality >= -1e-9) & (quality <= 1 + 1e-9) | np.isnan(quality)).all()
