import math
from itertools import pairwise

import numpy as np
import pytest

from crowdrank.convert import WON_LEFT, Votes
from crowdrank.methods.vote_model import Priors, VoteModel
from crowdrank.numerics.threads import MOST_CHUNKS, RowSum, chunks, n_threads

ROWS = 1_300_000


@pytest.mark.parametrize("n_rows", [0, 1, 2, 65_535, 65_536, 131_072, 1_000_003, 100_000_000])
def test_chunks_cover_every_row_once(n_rows):
    parts = chunks(n_rows)
    assert parts[0].start == 0
    assert parts[-1].stop == n_rows
    assert all(one.stop == other.start for one, other in pairwise(parts))
    assert 1 <= len(parts) <= MOST_CHUNKS


def test_the_number_of_threads_can_be_set(monkeypatch):
    monkeypatch.setenv("CROWDRANK_THREADS", "3")
    assert n_threads() == 3
    monkeypatch.delenv("CROWDRANK_THREADS")
    assert n_threads() >= 1


def test_a_sum_has_the_same_bits_on_one_and_two_threads(monkeypatch):
    rng = np.random.default_rng(0)
    where, what = rng.integers(0, 5, ROWS), rng.normal(size=ROWS) * 10.0 ** rng.integers(-8, 8, ROWS)
    row_sum = RowSum(ROWS, 5)

    def kernel(rows, total):
        total += np.bincount(where[rows], what[rows], 5)
        return rows.stop - rows.start

    results = []
    for threads in ("1", "2", "2"):
        monkeypatch.setenv("CROWDRANK_THREADS", threads)
        results.append(row_sum(kernel))
    totals = [total.tobytes() for total, _ in results]
    assert len(set(totals)) == 1
    assert sum(results[0][1]) == ROWS
    exact = [math.fsum(what[where == code]) for code in range(5)]
    assert results[0][0] == pytest.approx(exact, rel=1e-9)


def test_an_objective_has_the_same_bits_on_one_and_two_threads(monkeypatch):
    rng = np.random.default_rng(1)
    winner = rng.integers(0, 1000, ROWS).astype(np.int32)
    loser = ((winner + rng.integers(1, 1000, ROWS)) % 1000).astype(np.int32)
    nobody = np.zeros(ROWS, np.int32)
    votes = Votes(nobody, winner, loser, np.full(ROWS, WON_LEFT, np.int8), rng.random(ROWS))
    score = rng.normal(size=1000)
    seen = set()
    for threads in ("1", "2"):
        monkeypatch.setenv("CROWDRANK_THREADS", threads)
        objective = VoteModel(votes, nobody, 1000, 1, "logistic", (), Priors(1.0))
        value, gradient = objective.evaluate(score)
        seen.add((value, gradient.tobytes(), objective.curvature(score).tobytes()))
    assert len(seen) == 1
