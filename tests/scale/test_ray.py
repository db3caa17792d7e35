"""The same results on a Ray cluster of two nodes, each its own processes; nodes and drivers that are killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.methods.pairs.votes import mode
from crowdrank.numerics.progress import listening
from crowdrank.scale.checkpoint import Checkpoint
from crowdrank.settings import SettingError

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own, of sockets and processes

ray = pytest.importorskip("ray")

CASES = {
    "bradley-terry": {},
    "variance-bt": {},
    "crowd-bt": {"intervals": False},
    "crowd-bt with the paper's prior": {"prior": 0.5, "intervals": False},
    "crowd-bt with order bias": {"order_bias": True, "intervals": False},
    "dawid-skene": {},
    "gda": {},
}


@pytest.fixture(scope="module")
def cluster():
    """Two nodes with a core each."""
    from ray.cluster_utils import Cluster

    os.environ["CROWDRANK_THREADS"] = "1"
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")  # the driver belongs to the first node
    made.add_node(num_cpus=1)
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()
    del os.environ["CROWDRANK_THREADS"]


@pytest.fixture(scope="module")
def studies() -> dict[str, cr.Judgments]:
    votes = cr.simulate.pairs(items=10, annotators=8, votes=600, ties=0.1, malicious=0.1, seed=1)
    return {"pairs": votes.judgments, "grades": cr.simulate.grades(items=30, annotators=10, labels=6, seed=2).judgments}


def study_of(studies: dict[str, cr.Judgments], name: str) -> cr.Judgments:
    return studies["grades" if name in ("dawid-skene", "gda") else "pairs"]


def assert_close(one: cr.Consensus, other: cr.Consensus) -> None:
    assert np.allclose(one.score, other.score, rtol=0, atol=1e-9, equal_nan=True)
    assert np.array_equal(one.rank, other.rank)
    quality, other_quality = (each.annotator_columns["quality"] for each in (one, other))
    assert np.allclose(quality, other_quality, rtol=0, atol=1e-9, equal_nan=True)
    if one.low is not None:
        assert np.allclose(one.low, other.low, rtol=0, atol=1e-9, equal_nan=True)
    assert one.notes == other.notes
    assert one.fit.converged == other.fit.converged


@pytest.mark.parametrize("case", CASES)
def test_the_same_as_in_one_process(cluster, studies, case):
    name, settings = case.split()[0], CASES[case]
    study = study_of(studies, name)
    assert_close(cr.fit(name, study, engine="ray", **settings), cr.fit(name, study, **settings))


def test_many_votes_take_the_same_steps(cluster, studies, monkeypatch):
    monkeypatch.setattr(mode, "MANY_VOTES", 0)
    study = studies["pairs"]
    assert_close(cr.fit("crowd-bt", study, engine="ray", intervals=False), cr.fit("crowd-bt", study, intervals=False))


def test_rounds_of_a_bootstrap(cluster, studies):
    from crowdrank.scale.fit import placed_work

    here = cr.bootstrap(cr.Borda(), studies["grades"], rounds=6, seed=1)
    with placed_work(None, "ray", None, None, ["borda"], as_tasks=True):
        there = cr.bootstrap(cr.Borda(), studies["grades"], rounds=6, seed=1)
    assert_close(there, here)


def test_a_driver_that_is_killed_goes_on(cluster, studies, tmp_path):
    """The second driver finds the steps of the first, and ends with the bits of a driver that was never killed."""
    path, folder = tmp_path / "grades.parquet", tmp_path / "steps"
    cr.write(studies["grades"], path)
    code = f"""
import os, signal
import crowdrank as cr
from crowdrank.numerics.progress import listening
def kill(what, done, at_most):
    if (what, done) == ("classes", 4):
        os.kill(os.getpid(), signal.SIGKILL)
with listening(kill):
    settings = {{"engine": "ray", "address": {cluster.address!r}, "checkpoint": {str(folder)!r}}}
    cr.fit("dawid-skene", {str(path)!r}, memory="9GB", **settings)
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}  # killed, it leaves its empty working folder
    assert subprocess.run([sys.executable, "-c", code], check=False, env=environment).returncode == -9
    assert len(list(folder.glob("step-*.npz"))) >= 6
    study = cr.read(path)
    resumed = cr.fit("dawid-skene", study, engine="ray", checkpoint=folder)
    assert not folder.exists()
    whole = cr.fit("dawid-skene", study, engine="ray")
    assert np.array_equal(resumed.score, whole.score)
    assert np.array_equal(resumed.grade_chances, whole.grade_chances)


def test_checkpoints_of_another_fit(tmp_path):
    first = Checkpoint(tmp_path)
    assert first.step((1, np.zeros(3)), lambda: (1.5, np.ones(2)))[0] == 1.5
    again = Checkpoint(tmp_path)
    value, array = again.step((1, np.zeros(3)), lambda: pytest.fail("it is known"))
    assert (value, array.tolist()) == (1.5, [1, 1])
    with pytest.raises(cr.JudgmentError, match="holds the checkpoints of another fit"):
        Checkpoint(tmp_path).step((1, np.ones(3)), lambda: (1.0,))
    next(Path(tmp_path).glob("*.npz")).write_bytes(b"PK")
    with pytest.raises(cr.JudgmentError, match="is damaged"):
        Checkpoint(tmp_path).step((1, np.zeros(3)), lambda: (1.0,))


def test_what_is_refused(studies):
    with pytest.raises(SettingError, match="borda runs on one machine; on Ray run bradley-terry"):
        cr.fit("borda", studies["grades"], engine="ray")
    with pytest.raises(SettingError, match="engine is 'spark'; it must be one of local, ray"):
        cr.fit("mean", studies["grades"], engine="spark")
    with pytest.raises(SettingError, match="add engine='ray'"):
        cr.fit("mean", studies["grades"], address="127.0.0.1:6379")


def test_a_node_that_is_killed(cluster, studies):
    """In the middle of a fit; its shard goes to the node that is left, and the result has the same bits."""
    whole = cr.fit("dawid-skene", studies["grades"], engine="ray")
    steps = []

    def kill(_: str, done: int, __: int) -> None:
        steps.append(done)
        if done == 3:
            cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)

    with listening(kill):
        survived = cr.fit("dawid-skene", studies["grades"], engine="ray")
    assert max(steps) > 3
    assert np.array_equal(survived.score, whole.score)
    assert np.array_equal(survived.annotator_columns["quality"], whole.annotator_columns["quality"])
