import math
from itertools import pairwise

import numpy as np
import pytest

from crowdrank.convert import WON_LEFT, Votes
from crowdrank.methods.pairs.votes.model import Priors, VoteModel
from crowdrank.numerics.threads import MOST_CHUNKS, RowSum, chunks, n_threads, parallel_map
from crowdrank.settings import SettingError

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
        seen.add((value, gradient.tobytes(), objective.hessian_product(score).tobytes()))
    assert len(seen) == 1


@pytest.mark.parametrize("wanted", ["two", "-1", "1.5"])
def test_a_number_of_threads_that_is_none_is_refused(monkeypatch, wanted):
    monkeypatch.setenv("CROWDRANK_THREADS", wanted)
    with pytest.raises(SettingError, match="CROWDRANK_THREADS"):
        n_threads()


def test_jobs_side_by_side_come_back_in_order_and_few_are_made_ahead(monkeypatch):
    monkeypatch.setenv("CROWDRANK_THREADS", "2")
    made, most_ahead = [], 0
    for number, square in enumerate(parallel_map(lambda job: job**2, (made.append(job) or job for job in range(20)))):
        assert square == number**2
        most_ahead = max(most_ahead, len(made) - number)
    assert len(made) == 20
    assert most_ahead <= 3


def test_what_goes_wrong_side_by_side_is_raised():
    with pytest.raises(ZeroDivisionError):
        list(parallel_map(lambda job: 1 / job, [1, 0]))
