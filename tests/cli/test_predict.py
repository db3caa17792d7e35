"""`crowdrank predict`."""

import pytest

pytestmark = pytest.mark.usefixtures("features_and_lists")


def test_other_columns_are_refused(run):
    run("train", "features.csv", "--gold", "truth.csv", "--method", "listmle", "--out", "ranker.json")
    done = run("predict", "ranker.json", "features.csv", "--leave-out", "b", "--out", "ranking.csv")
    assert done.code == 2
    assert "these features lack b" in done.err


def test_rankers_are_no_aggregators(run):
    run("train", "features.csv", "--gold", "truth.csv", "--method", "listmle", "--out", "ranker.json")
    done = run("rank", "lists.csv", "--load", "ranker.json")
    assert done.code == 2
    assert "crowdrank predict" in done.err
