"""`crowdrank train`."""

import json

import polars as pl
import pytest

import crowdrank as cr

pytestmark = pytest.mark.usefixtures("features_and_lists")


def test_train_and_predict(run):
    done = run("train", "features.csv", "lists.csv", "--out", "ranker.json", "--annotators", "annotators.csv")
    assert (done.code, done.err) == (0, "")
    assert "ltrma-mle: learned from 2 columns of 180 items; converged" in done.out
    assert "ranker written to ranker.json" in done.out
    theta = pl.read_csv("annotators.csv")["theta"]
    assert theta.to_list() == sorted(theta)
    done = run("predict", "ranker.json", "features.csv", "--out", "ranking.csv")
    assert done.code == 0
    assert "ranking written to ranking.csv" in done.out
    assert cr.evaluate(cr.read_ranking("ranking.csv"), cr.read_gold("truth.csv"), ["tau"]).mean["tau"] > 0.95


def test_for_machines(run):
    done = run(
        "train",
        "features.csv",
        "lists.csv",
        "--method",
        "listmle",
        "--set",
        "labels=borda",
        "--out",
        "ranker.json",
        "--json",
    )
    printed = json.loads(done.out)
    assert (printed["method"], printed["settings"]["labels"], printed["columns"]) == ("listmle", "borda", ["a", "b"])
    printed = json.loads(run("predict", "ranker.json", "features.csv", "--json").out)
    assert len(printed["ranking"]) == 180


def test_gold_instead_of_judgments(run):
    assert run("train", "features.csv", "--gold", "truth.csv", "--method", "listmle", "--out", "ranker.json").code == 0


def test_side_information(run, folder):
    (folder / "side.toml").write_text(
        '[theta]\nannotator1 = -2\n[[better]]\nannotator = "annotator2"\nthan = ["annotator3"]\n'
    )
    words = ("--method", "ltrma-s1", "--side-information", "side.toml", "--annotators", "annotators.csv")
    assert run("train", "features.csv", "lists.csv", *words).code == 0
    assert pl.read_csv("annotators.csv")["theta"][0] == -2.0


def test_a_letor_file(run, folder):
    table = pl.read_csv("features.csv")
    lines = [f"0 qid:{task} 1:{a} 2:{b} #docid = {item}" for task, item, a, b in table.iter_rows()]
    (folder / "features.txt").write_text("\n".join(lines))
    assert run("train", "features.txt", "lists.csv", "--method", "ltrma-d", "--out", "ranker.json").code == 0
    assert run("predict", "ranker.json", "features.txt", "--out", "ranking.run").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "features.csv"], "give files of judgments to learn from, or --gold"),
        (
            ["train", "features.csv", "lists.csv", "--gold", "truth.csv"],
            "give files of judgments to learn from, or --gold",
        ),
        (["train", "features.csv", "lists.csv", "--method", "ltrma"], "did you mean 'ltrma-d'"),
        (["train", "features.csv", "lists.csv", "--method", "ltrma-s2"], "ltrma-s2 needs ranges"),
        (["train", "features.csv", "lists.csv", "--set", "sample=3"], "no setting 'sample'"),
        (["train", "features.csv", "votes.csv", "--method", "ltrma-mle"], "ltrma-mle needs rankings or grades"),
        (["train", "features.csv", "grades.parquet"], "share no item"),
        (["train", "features.csv", "lists.csv", "--leave-out", "c"], "no column 'c' to leave out"),
        (["train", "features.csv", "lists.csv", "--out", "features.csv"], "is named twice"),
        (["predict", "truth.csv", "features.csv"], "is damaged, or is no trained model"),
        (["predict", "nothing.json", "features.csv"], "No such file"),
    ],
)
def test_what_is_wrong_is_said(run, words, message):
    done = run(*words)
    assert done.code == 2
    assert message in done.err
