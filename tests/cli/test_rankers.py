"""`crowdrank train` and `crowdrank predict`."""

import json

import numpy as np
import polars as pl
import pytest

import crowdrank as cr


@pytest.fixture(autouse=True)
def learning(folder):
    """Features of a true order, and the lists of a crowd."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30 * 6, 2))
    names = {"task": [f"q{n:02}" for n in np.repeat(np.arange(30), 6)], "item": np.tile(np.arange(6), 30).tolist()}
    cr.write(pl.DataFrame({**names, "a": x[:, 0], "b": x[:, 1]}), "features.csv")
    gold = cr.gold({**names, "score": x @ [1.0, 2.0]})
    cr.write(gold, "truth.csv")
    study = cr.simulate.rankings(annotators=4, theta=np.array([-2.0, -1.0, -0.5, 0.3]), gold=gold, seed=1)
    cr.write(study.judgments, "lists.csv")


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
    told = json.loads(done.out)
    assert (told["method"], told["settings"]["labels"], told["columns"]) == ("listmle", "borda", ["a", "b"])
    told = json.loads(run("predict", "ranker.json", "features.csv", "--json").out)
    assert len(told["ranking"]) == 180


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
    ("words", "told"),
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
        (["predict", "truth.csv", "features.csv"], "is not a whole trained model"),
        (["predict", "nothing.json", "features.csv"], "No such file"),
    ],
)
def test_what_is_wrong_is_said(run, words, told):
    done = run(*words)
    assert done.code == 2
    assert told in done.err


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


def test_simulated_rankings(run):
    done = run(
        "simulate",
        "rankings",
        "--out",
        "made.csv",
        "--gold",
        "made-gold.csv",
        "--tasks",
        "4",
        "--cut",
        "3",
        "--theta=-1,0.2",
    )
    assert done.code == 0
    assert "simulated 40 rankings by 10 annotators on 10 items in 4 tasks" in done.out
    assert run("simulate", "rankings", "--out", "again.csv", "--truth", "made-gold.csv", "--swaps").code == 0
    assert run("simulate", "rankings", "--out", "bad.csv", "--theta", "x").code == 2


def test_methods_lists_rankers(run):
    assert "ltrma-mle" in run("methods").out
    assert "Plackett-Luce" in run("methods", "ltrma-mle").out
