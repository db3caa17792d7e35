"""Processes forked from one that has fitted: they fit too, and what polars cannot do there fails at once."""

import multiprocessing
import os

import pytest

import crowdrank as cr

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

LARGE = 200_000  # votes: enough for several threads
SECONDS = 60


@pytest.fixture(scope="module")
def study():
    return cr.simulate.pairs(items=20, annotators=10, votes=LARGE, seed=0).judgments


def in_child(work):
    """What the work returns in a forked process; an error where it takes too long."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    def run():
        try:
            theirs.send(work())
        except Exception as error:
            theirs.send(repr(error))

    child = context.Process(target=run)
    child.start()
    try:
        assert ours.poll(SECONDS), "the child never answered"
        return ours.recv()
    finally:
        child.kill()
        child.join()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
class TestAfterAFork:
    def test_a_fit_gives_the_same_in_a_child(self, study):
        here = cr.fit("bradley-terry", study)
        assert in_child(lambda: cr.fit("bradley-terry", study).score.tolist()) == here.score.tolist()

    def test_the_frames_of_a_result_can_be_made(self, study):
        here = cr.fit("bradley-terry", study).ranking.rows()
        assert in_child(lambda: cr.fit("bradley-terry", study).ranking.rows()) == here

    def test_reading_fails_at_once_and_says_what_to_do(self, study, tmp_path):
        cr.write(cr.fit("bradley-terry", study), tmp_path / "ranking.csv")  # polars has threads from here on
        cr.read_ranking(tmp_path / "ranking.csv")
        votes = {"left": ["a"], "right": ["b"], "winner": ["a"]}
        works = (
            lambda: cr.read_ranking(tmp_path / "ranking.csv"),
            lambda: cr.judgments(votes),
            lambda: cr.write(cr.fit("bradley-terry", study), tmp_path / "again.csv"),
        )
        for work in works:
            assert "spawn" in in_child(work)

    def test_a_child_of_a_child_knows_too(self, study, tmp_path):
        cr.write(cr.fit("bradley-terry", study), tmp_path / "ranking.csv")
        assert "spawn" in in_child(lambda: in_child(lambda: cr.read_ranking(tmp_path / "ranking.csv")))

    def test_a_pandas_ranking_needs_no_polars(self):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame({"left": ["a", "b"], "right": ["b", "c"], "winner": ["a", "tie"]})
        judgments = cr.judgments(frame)
        assert in_child(lambda: len(cr.fit("elo", judgments).ranking)) == 3
