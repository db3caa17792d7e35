"""Were items mostly compared with others of about the same score?

Rounds of a tournament, sorted lists and pairs that somebody chose by hand are like that. Gaps are then small though
scores are not. Scores that were all drawn from one normal distribution would have small gaps only if its spread were
small, and such a spread would make all scores nearly equal.

Two priors are compared by how probable they make the votes. In one the scores are normal, in the other the gaps between
compared items (an intrinsic Gaussian Markov random field on the graph of comparisons: Rue, Held: Gaussian Markov Random
Fields, 2005). The log-likelihood is taken as quadratic around equal scores. Then both probabilities are sums over the
eigenvalues of the graph's Laplacian.

Where every group of items was compared with the others about as often as among themselves, no eigenvalue is small, and
both priors say nearly the same. A few steps of Lanczos' method show that, without all eigenvalues.
"""

from __future__ import annotations

import numpy as np

from crowdrank.convert import TIED, Votes
from crowdrank.methods.pairs.votes.hyperparameters import START_SPREAD
from crowdrank.numerics.newton import dot
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.task_blocks import graph_blocks
from crowdrank.study import Floats, Vocabulary

LARGEST_BLOCK = 1000  # entries of a task whose eigenvalues are computed
CLEARLY = 2.0  # difference of log-probabilities
CURVATURE = 0.25  # of the log-chance of a vote between equal items
ERRORS = 1.5  # errors of annotators make scores look closer together by about this factor
LEAST_PRECISION = START_SPREAD**-2
SMALL = 0.3  # an eigenvalue, relative to their mean
LANCZOS_STEPS = 20
GAP_PRECISIONS = np.geomspace(1e-3, 30.0, 31)


def spread_of_gaps(table: Votes, vocabulary: Vocabulary) -> float | None:
    """The spread of `Hyperparameters.of_gaps` if items were mostly compared with similar ones, else None."""
    if np.diff(vocabulary.task_starts).max(initial=0) > LARGEST_BLOCK:
        return None
    slope = _slope(table, vocabulary.n_entries)
    mean_degree = 2 * float(table.weight.sum()) / vocabulary.n_entries
    if _lowest_eigenvalue(table, vocabulary, slope) > SMALL * mean_degree:
        return None
    eigenvalue, pull = _spectrum(table, vocabulary, slope)
    # Up to scores that are all equal: votes that contradict each other say no more than that.
    precisions = np.geomspace(LEAST_PRECISION, 1e3 * (1 + eigenvalue.max()), 45)
    of_scores = max(_log_evidence(eigenvalue, pull, np.full(len(pull), each)) for each in precisions)
    of_gaps = [_log_evidence(eigenvalue, pull, LEAST_PRECISION + each * eigenvalue) for each in GAP_PRECISIONS]
    best = int(np.argmax(of_gaps))
    if of_gaps[best] - of_scores < CLEARLY:
        return None
    return ERRORS / float(np.sqrt(GAP_PRECISIONS[best] * mean_degree))


def _slope(table: Votes, n_entries: int) -> Floats:
    """The slope of the log-likelihood where all scores are equal."""
    decided = np.where(table.kind == TIED, 0.0, table.weight)
    return (sum_by(table.winner, decided, n_entries) - sum_by(table.loser, decided, n_entries)) / 2


def _lowest_eigenvalue(table: Votes, vocabulary: Vocabulary, slope: Floats) -> float:
    """About the lowest eigenvalue of the graph of comparisons above 0 whose eigenvector the slope has a part of.

    0 where the items of a task are not connected: rounding errors bring in vectors that are constant on a part of them.
    """
    n, task, sizes = len(slope), vocabulary.entry_task, np.diff(vocabulary.task_starts)
    basis, diagonal, beside = [slope / max(float(np.linalg.norm(slope)), 1e-300)], [], []
    for _ in range(min(LANCZOS_STEPS, n)):
        gap = table.weight * (basis[-1][table.winner] - basis[-1][table.loser])
        vector = sum_by(table.winner, gap, n) - sum_by(table.loser, gap, n)
        diagonal.append(dot(vector, basis[-1]))
        for _ in range(2):  # rounding errors would bring back what was removed
            vector = vector - (sum_by(task, vector, len(sizes)) / np.maximum(sizes, 1))[task]
            for known in basis:
                vector = vector - dot(vector, known) * known
        beside.append(dot(vector, vector) ** 0.5)
        if beside[-1] <= 1e-9 * (1 + diagonal[-1]):
            break
        basis.append(vector / beside[-1])
    side = beside[: len(diagonal) - 1]
    return float(np.linalg.eigvalsh(np.diag(diagonal) + np.diag(side, 1) + np.diag(side, -1))[0])


def _spectrum(table: Votes, vocabulary: Vocabulary, slope: Floats) -> tuple[Floats, Floats]:
    """The eigenvalues of the graph of comparisons, and the slope of the log-likelihood along each eigenvector."""
    n = vocabulary.n_entries
    blocks = graph_blocks(vocabulary.task_starts, table.winner, table.loser, table.weight, np.zeros(n))
    values, pulls = [np.zeros(0)], [np.zeros(0)]
    for entries, stack in zip(blocks.entries, blocks.matrices, strict=True):
        value, vector = np.linalg.eigh(stack)
        values.append(np.where(value > 1e-9 * (1 + value[:, -1:]), value, 0.0).ravel())
        pulls.append(np.einsum("tij,ti->tj", vector, slope[entries]).ravel())
    return np.concatenate(values), np.concatenate(pulls)


def _log_evidence(eigenvalue: Floats, pull: Floats, prior: Floats) -> float:
    """The log-probability of the votes but for a constant, if the scores have this precision along each eigenvector."""
    posterior = prior + CURVATURE * eigenvalue
    return float((pull**2 / posterior + np.log(prior / posterior)).sum()) / 2
