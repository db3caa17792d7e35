"""The uncertainty of scores from the curvature of the marginal posterior at its mode, for studies too large to sample.

The curvature given all qualities is too large, because they are not known: each annotator's quality is eliminated. What
the slopes of their votes have in common with it is subtracted.
"""

from __future__ import annotations

import numpy as np

from crowdrank.methods.pairs.votes.marginal import MarginalModel
from crowdrank.methods.pairs.votes.mode import Mode
from crowdrank.methods.pairs.votes.model import VoteModel
from crowdrank.numerics.laplace import LARGEST_BLOCK, LARGEST_DENSE, Spread, block_spread, dense_spread, probed_spread
from crowdrank.numerics.sums import sum_by
from crowdrank.study import Floats, Vocabulary

TINY = 1e-12


def curvature_spread(
    model: MarginalModel, mode: Mode, vocabulary: Vocabulary, *, variance: Floats | None = None
) -> Spread:
    """The uncertainty of the scores, relative to the mean of their task.

    With the `variance` of every score given the others, if that is known better, all are multiplied by one factor.
    """
    model.evaluate(mode.x, mode.crowd.qualities, mode.hyper, curved=True)
    rate = 2 * mode.crowd.quality - 1
    mean = (mode.posterior * rate).sum(axis=1, keepdims=True)
    of_quality = (mode.posterior * (rate - mean) ** 2).sum(axis=1)
    by_curvature = 1 / np.maximum(_diagonal(model, of_quality), 1 / mode.hyper.spread**2)
    factor = 1.0 if variance is None else float(np.exp(np.log(variance / by_curvature).mean()))
    if model.n_entries <= LARGEST_DENSE:
        return dense_spread(_hessian(model, of_quality) / factor, vocabulary.entry_task, plain_mean=True)
    return Spread(factor * by_curvature)


def explicit_spread(model: VoteModel, x: Floats, vocabulary: Vocabulary) -> Spread:
    """The uncertainty of scores where every parameter has a value, by the exact inverse where that is small enough."""
    model.evaluate(x)
    if model.layout.size <= LARGEST_DENSE:
        return dense_spread(model.hessian(), vocabulary.entry_task, plain_mean=model.priors.score is None)
    diagonal = model.diagonal()
    if np.diff(vocabulary.task_starts).max() <= LARGEST_BLOCK:
        votes = model.votes
        return block_spread(diagonal, votes.winner, votes.loser, model.curvatures[:, 0], vocabulary.task_starts)
    return probed_spread(model.hessian_product, diagonal, vocabulary.entry_task)


def _hessian(model: MarginalModel, quality_variance: Floats) -> Floats:
    """The Hessian by the scores, with the annotators' qualities eliminated."""
    from scipy.sparse import csr_array  # not at the top: small studies do not need SciPy

    n, rows = model.n_entries, model.rows
    weight = model.gap_precision
    matrix = np.diag(model.diagonal()[:n])
    matrix -= sum_by(rows.winner.astype(np.int64) * n + rows.loser, weight, n * n).reshape(n, n)
    matrix -= sum_by(rows.loser.astype(np.int64) * n + rows.winner, weight, n * n).reshape(n, n)
    at = np.r_[rows.winner, rows.loser], np.r_[rows.profile, rows.profile]
    common = csr_array((np.r_[model.gap_quality, -model.gap_quality], at), shape=(n, model.n_profiles))
    scaled = common.multiply(1 / np.sqrt(np.maximum(quality_variance, TINY))).tocsr()
    return np.asarray(matrix - (scaled @ scaled.T).toarray())


def _diagonal(model: MarginalModel, quality_variance: Floats) -> Floats:
    """The diagonal of that Hessian, each annotator's votes on an item by themselves."""
    rows, n = model.rows, model.n_entries
    missing = model.gap_quality**2 / np.maximum(quality_variance, TINY)[rows.profile]
    diagonal = model.diagonal()[:n]
    for side in (rows.winner, rows.loser):
        diagonal -= sum_by(side, missing, n)
    return np.asarray(diagonal)
