"""Rankings and gold from nested dicts, as pytrec_eval has them."""

import numpy as np
import pytest

from crowdrank.consensus import Consensus
from crowdrank.study import Gold


@pytest.fixture(scope="session")
def ranking(build):
    """{task: {item: score}} → Consensus."""

    def make(run, frame="polars"):
        rows = sorted((task, item) for task in run for item in run[task])
        score = np.array([run[task][item] for task, item in rows], dtype=float)
        return Consensus(build.vocabulary(rows, [], frame), "run", score, {})

    return make


@pytest.fixture(scope="session")
def truth(build):
    """{task: {item: value}} → Gold."""

    def make(qrels, kind="grade"):
        rows = sorted((task, item) for task in qrels for item in qrels[task])
        value = np.array([qrels[task][item] for task, item in rows], dtype=float)
        return Gold(build.vocabulary(rows, []), value, kind)

    return make
