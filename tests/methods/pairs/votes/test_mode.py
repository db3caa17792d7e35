"""The mode of many votes: in few passes over them, and at least as good as with more."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.formats.decode import table_of
from crowdrank.methods.pairs.votes import mode
from crowdrank.methods.pairs.votes.learned_crowd import unknown_crowd
from crowdrank.methods.pairs.votes.marginal import MarginalModel


@pytest.fixture
def passes(monkeypatch):
    """Counts the passes over the votes."""
    done, likelihood = [], MarginalModel.likelihood

    def counted(self, *arguments):
        done.append(arguments)
        return likelihood(self, *arguments)

    monkeypatch.setattr(MarginalModel, "likelihood", counted)
    return done


def study(ties=0.0, **other):
    crowd = {"items": 300, "annotators": 60, "votes": 60_000, "malicious": 0.1, "seed": 3} | other
    return cr.simulate.pairs(ties=ties, **crowd).judgments


@pytest.mark.parametrize("ties", [0.0, 0.1])
def test_many_votes_need_fewer_passes(passes, monkeypatch, ties):
    monkeypatch.setattr(mode, "MANY_VOTES", 10**9)
    usual = cr.fit("crowd-bt", study(ties), intervals=False)
    of_usual = len(passes)
    monkeypatch.setattr(mode, "MANY_VOTES", 0)
    quick = cr.fit("crowd-bt", study(ties), intervals=False)
    assert len(passes) - of_usual < 0.7 * of_usual
    assert quick.fit.converged
    assert quick.fit.objective > usual.fit.objective - 1
    assert np.abs(quick.score - usual.score).max() < 0.03 * usual.score.std()


def test_of_many_votes_neither_names_nor_the_order_of_rows_matter(monkeypatch):
    monkeypatch.setattr(mode, "MANY_VOTES", 0)
    rows = table_of(study())
    renamed = rows.with_columns(pl.col("left", "right", "winner").str.reverse())
    other = renamed.sample(fraction=1.0, shuffle=True, seed=1)
    one, turned = (_scores(each) for each in (rows, other))
    assert one == pytest.approx({item[::-1]: score for item, score in turned.items()}, abs=1e-6)


def _scores(rows):
    ranking = cr.fit("crowd-bt", cr.judgments(rows), intervals=False).ranking
    return dict(zip(ranking["item"], ranking["score"], strict=True))


def test_learned_shares_are_those_that_they_lead_to():
    """A fixed point of EM: the shares are the mean of the posteriors that they give, with the virtual annotators."""
    rng = np.random.default_rng(0)
    crowd, likelihood = unknown_crowd(40), rng.dirichlet(np.full(25, 0.2), 40)
    posterior = likelihood * crowd.share
    weight = crowd.learned(crowd.likelihood(posterior / posterior.sum(axis=1, keepdims=True)), 3000).weight
    of_shapes = (likelihood @ crowd.shapes.T) * weight
    total = crowd.counts + (of_shapes / of_shapes.sum(axis=1, keepdims=True)).sum(axis=0)
    assert weight == pytest.approx(total / total.sum(), abs=1e-6)
