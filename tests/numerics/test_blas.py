"""One thread of BLAS during a fit, as many as before afterwards."""

from threading import Barrier, Thread

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import crowdrank as cr
from crowdrank.methods.grades import gda
from crowdrank.numerics.blas import one_blas_thread


def blas_threads():
    np.linalg.inv(np.eye(2))
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS has one thread only")
        yield


def test_one_thread_inside_and_all_of_them_afterwards(two_threads):
    """Also in a function that another one calls, and after an error."""

    @one_blas_thread
    def failing():
        assert blas_threads() == {1}
        raise ValueError

    @one_blas_thread
    def outer():
        with pytest.raises(ValueError):
            failing()
        return blas_threads()

    assert outer() == {1}
    assert blas_threads() == {2}


def test_fits_that_overlap_leave_as_many_threads_as_before():
    """The first to begin ends first: the second must not put the first one's limit back."""
    before, both_in, first_out = blas_threads(), Barrier(2), Barrier(2)

    @one_blas_thread
    def fit(*barriers):
        for barrier in barriers:
            barrier.wait(10)

    def run_first():
        fit(both_in)
        first_out.wait(10)

    threads = Thread(target=run_first), Thread(target=fit, args=(both_in, first_out))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blas_threads() == before


def test_a_fit_uses_one(two_threads, monkeypatch):
    seen, prepare = [], gda.prepare
    monkeypatch.setattr(gda, "prepare", lambda *given: (seen.append(blas_threads()), prepare(*given))[1])
    cr.GDA().fit(cr.simulate.grades(tasks=1, seed=0).judgments)
    assert seen == [{1}]
