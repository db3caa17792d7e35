"""Draws of shares of qualities: from the right distribution, whatever the moves are."""

import numpy as np
import pytest

from crowdrank.methods.pairs.votes import few_votes
from crowdrank.methods.pairs.votes.crowd import SHAPES
from crowdrank.methods.pairs.votes.learned_crowd import unknown_crowd
from crowdrank.methods.pairs.votes.share_kernels import divided_anew
from crowdrank.methods.pairs.votes.share_moves import ShareMoves
from crowdrank.methods.verdicts import QUALITY

DRAWS = 6000


def mean_qualities(crowd, likelihood, seed):
    """The crowd's mean quality in each draw, if annotators' votes have this likelihood by quality."""
    moves, rng, found = ShareMoves(few=False), np.random.default_rng(seed), []
    for number in range(DRAWS):
        posterior = likelihood * crowd.share
        posterior /= posterior.sum(axis=1, keepdims=True)
        crowd = moves.drawn(crowd, posterior, rng, 1 / (1 + number) if number < 100 else 0.0)
        found.append(crowd.share @ QUALITY)
    return np.array(found[100:])


def moments(counts):
    """Mean and variance of the crowd's mean quality, if the shares of shapes have a Dirichlet distribution."""
    quality, total = SHAPES @ QUALITY, counts.sum()
    mean = counts @ quality / total
    return mean, (counts @ quality**2 / total - mean**2) / (total + 1)


def test_without_votes_shares_are_those_of_the_prior():
    crowd = unknown_crowd(3)
    mean, variance = moments(crowd.counts)
    found = mean_qualities(crowd, np.ones((3, len(QUALITY))), 0)
    assert found.mean() == pytest.approx(mean, abs=0.01)
    assert found.std() == pytest.approx(variance**0.5, rel=0.1)


def test_an_annotator_whose_quality_is_known_counts_like_a_virtual_one():
    """They are of one of the shapes, by how probable their quality is in each."""
    crowd, cell = unknown_crowd(1), 3
    likelihood = np.zeros((1, len(QUALITY)))
    likelihood[:, cell] = 1.0
    of_shape = crowd.counts * SHAPES[:, cell]
    of_shape /= of_shape.sum()
    means, variances = np.transpose([moments(crowd.counts + one) for one in np.eye(len(SHAPES))])
    mean = of_shape @ means
    found = mean_qualities(crowd, likelihood, 1)
    assert found.mean() == pytest.approx(mean, abs=0.01)
    assert found.std() == pytest.approx((of_shape @ (variances + means**2) - mean**2) ** 0.5, rel=0.1)


@pytest.mark.parametrize("profiles", [1, 7, 500])
def test_the_kernel_divides_neighbours_like_numpy(profiles):
    rng, cells = np.random.default_rng(profiles), len(QUALITY)
    weights, share = rng.gamma(1.0, size=(profiles, cells)), rng.dirichlet(np.ones(cells))
    divisions, limits = rng.random(cells - 1), np.log(rng.random(cells - 1))
    arguments = share, weights @ share, np.ascontiguousarray(weights.T), divisions, limits
    found = divided_anew(*arguments)
    assert found == pytest.approx(few_votes.divided_anew(*arguments), rel=1e-9)
    assert found.sum() == pytest.approx(1.0)
    assert (found != share).any()
