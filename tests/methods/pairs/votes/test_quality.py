"""Intervals of quality, against SciPy's integrals."""

import numpy as np
import pytest
from scipy.stats import beta

from crowdrank import simulate
from crowdrank.convert import TIED, WON_LEFT, votes
from crowdrank.methods.pairs.votes.model import Priors, VoteModel
from crowdrank.methods.pairs.votes.quality import quality_interval
from crowdrank.numerics.newton import minimise

GRID = (np.arange(20_000) + 0.5) / 20_000


def one_annotator(study, link, free, ties=0.7):
    """A model of somebody whose items are known for sure, as if by many others."""
    words = study.judgments.vocabulary
    table = votes(study.judgments.pairs, words, pooled=False, sides="bias" in free)
    normal = {"ties": (np.log(ties), 1.0), "bias": (0.0, 1.0)}
    model = VoteModel(
        table,
        table.annotator,
        words.n_entries,
        1,
        link,
        free,
        Priors(1e6, (2.0, 2.0), {name: normal[name] for name in free[1:]}),
    )
    start = model.layout.pack(score=study.gold.value, **{name: np.array([0.1]) for name in free})
    x = minimise(model, start, fixed=slice(words.n_entries), max_iter=50, tol=1e-6).x
    model.evaluate(x)
    return model, x


def expected_interval(build, model, x, link, prior):
    """From the posterior density, written out."""
    theta, table = model.layout.unpack(x), model.votes
    gap = theta.score[table.winner] - theta.score[table.loser]
    log_density = beta(*prior).logpdf(GRID)
    threshold = np.exp(theta.ties[0]) if "ties" in model.free else 0.0
    bias = theta.bias[0] if "bias" in model.free else 0.0
    for d, kind, weight in zip(gap, table.kind, table.weight, strict=True):
        sign = 1 if kind in (WON_LEFT, TIED) else -1
        left, right, tie = build.chances(sign * d, link, quality=GRID, threshold=threshold, bias=bias)
        log_density += weight * np.log(tie if kind == TIED else left if kind == WON_LEFT else right)
    share = np.cumsum(np.exp(log_density - log_density.max()))
    return np.interp([0.025, 0.975], share / share[-1], GRID)


@pytest.mark.parametrize("link", ["logistic", "normal"])
@pytest.mark.parametrize("free", [("quality",), ("quality", "ties"), ("quality", "ties", "bias")])
@pytest.mark.parametrize("good", [(20.0, 1.0), (1.0, 20.0), (3.0, 3.0)])
def test_intervals_are_those_of_the_posterior(build, link, free, good):
    study = simulate.pairs(items=10, annotators=1, votes=60, quality=good, ties=0.3 if "ties" in free else 0.0, seed=5)
    model, x = one_annotator(study, link, free)
    low, high = quality_interval(model, x, 1 / model.diagonal(), (1.5, 1.2))
    assert (low[0], high[0]) == pytest.approx(expected_interval(build, model, x, link, (1.5, 1.2)), abs=0.01)


def test_what_else_is_unknown_makes_it_longer():
    study = simulate.pairs(items=10, annotators=1, votes=200, quality=(5.0, 3.0), seed=5)
    model, x = one_annotator(study, "logistic", ("quality",))
    (low,), (high,) = quality_interval(model, x, 1 / model.diagonal(), (1.0, 1.0))
    (lower,), (higher,) = quality_interval(model, x, 4 / model.diagonal(), (1.0, 1.0))
    assert np.subtract(*np.log([higher / (1 - higher), lower / (1 - lower)])) == pytest.approx(
        2 * np.subtract(*np.log([high / (1 - high), low / (1 - low)]))
    )


def test_without_votes_it_is_the_prior(build):
    study = simulate.pairs(items=4, annotators=1, votes=0, seed=1)
    model, x = one_annotator(study, "logistic", ("quality",))
    low, high = quality_interval(model, x, 1 / model.diagonal(), (3.0, 2.0))
    assert (low[0], high[0]) == pytest.approx(beta(3, 2).ppf([0.025, 0.975]), abs=0.005)
