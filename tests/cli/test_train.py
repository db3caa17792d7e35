"""`rank --train`, `--save`, `--load`, and `compare --folds`."""

import json

import numpy as np
import polars as pl
import pytest

import crowdrank as cr


@pytest.fixture(autouse=True)
def learning(folder):
    """Training and test files: `ann` is right, `bob` the other way around."""
    rng = np.random.default_rng(0)
    for name, tasks in (("train", 15), ("test", 5)):
        rows, gold = [], []
        for task in range(tasks):
            grade = rng.permutation([0, 1, 2, 3])
            gold += [(f"{name}{task}", item, int(value)) for item, value in enumerate(grade)]
            rows += [(f"{name}{task}", "ann", item, 4 - int(value)) for item, value in enumerate(grade)]
            rows += [(f"{name}{task}", "bob", item, 1 + int(value)) for item, value in enumerate(grade)]
        cr.write(pl.DataFrame(rows, schema=["task", "annotator", "item", "rank"], orient="row"), f"{name}.csv")
        cr.write(pl.DataFrame(gold, schema=["task", "item", "grade"], orient="row"), f"{name}-gold.csv")


TRAIN = ["--method", "crf", "--train", "train.csv", "--train-gold", "train-gold.csv", "--set", "max_iter=15"]


def test_train_and_rank(run):
    done = run("rank", "test.csv", *TRAIN, "--out", "ranking.csv", "--annotators", "annotators.csv")
    assert (done.code, done.err) == (0, "")
    found = cr.evaluate(cr.read_ranking("ranking.csv"), cr.read_gold("test-gold.csv"), ["ndcg"])
    assert found.mean["ndcg"] == 1.0
    annotators = pl.read_csv("annotators.csv")
    assert annotators["use"].to_list() == ["used", "inverted"]
    assert {"missing", "preferred", "beaten"} <= set(annotators.columns)


def test_save_and_load(run):
    assert run("rank", "test.csv", *TRAIN, "--save", "model.json", "--out", "first.csv").code == 0
    done = run("rank", "test.csv", "--load", "model.json", "--out", "second.csv")
    assert (done.code, done.err) == (0, "")
    assert pl.read_csv("second.csv").equals(pl.read_csv("first.csv"))
    said = json.loads(run("rank", "test.csv", "--load", "model.json", "--json").out)
    assert said["method"] == "crf"
    assert said["settings"]["max_iter"] == 15


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--method", "crf"],
            "crf learns from gold before it ranks: give --train FILE and --train-gold FILE, or --load FILE",
        ),
        (["--method", "crf", "--train", "train.csv"], "give --train FILE and --train-gold FILE"),
        (
            ["--method", "borda", "--train", "train.csv", "--train-gold", "train-gold.csv"],
            "borda does not learn from gold",
        ),
        (["--train", "train.csv", "--train-gold", "train-gold.csv"], "need a --method that learns"),
        (["--load", "model.json", "--method", "crf"], "--load ranks by what was learned before"),
        ([*TRAIN, "--save", "model.csv"], "written to a .json file"),
        ([*TRAIN, "--gold", "test-gold.csv"], "what is learned from is --train-gold"),
        (["--load", "nowhere.json"], "nowhere.json: No such file"),
        (["--load", "train.csv"], "train.csv: is not a whole trained model"),
    ],
)
def test_options_that_do_not_go_together(run, words, message):
    done = run("rank", "test.csv", *words, "--out", "ranking.csv")
    assert done.code == 2
    assert message in done.err
    with pytest.raises(FileNotFoundError):
        pl.read_csv("ranking.csv")


def test_compare_with_folds(run):
    words = ["--gold", "train-gold.csv", "--method", "borda,weighted-borda", "--measure", "ndcg", "--out", "table.csv"]
    assert run("compare", "train.csv", *words, "--folds", "3").code == 0
    assert pl.read_csv("table.csv")["method"].to_list() == ["weighted-borda", "borda"]
    folds = {"task": [f"train{number}" for number in range(15)], "fold": [number % 2 for number in range(15)]}
    cr.write(pl.DataFrame(folds), "folds.csv")
    done = run("compare", "train.csv", *words, "--folds", "folds.csv")
    assert (done.code, done.err) == (0, "")
    assert "give folds" in run("compare", "train.csv", *words).err
