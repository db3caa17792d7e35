"""`crowdrank rank --train`, `--save` and `--load`: methods that learn from gold."""

import json

import polars as pl
import pytest

import crowdrank as cr

pytestmark = pytest.mark.usefixtures("training_and_test_files")


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
        (["--train", "train.csv", "--train-gold", "train-gold.csv"], "need a --method that learns from gold"),
        (["--load", "model.json", "--method", "crf"], "--load ranks with what was learned before"),
        ([*TRAIN, "--save", "model.csv"], "written to a .json file"),
        ([*TRAIN, "--gold", "test-gold.csv"], "give the gold to learn from as --train-gold"),
        (["--load", "nowhere.json"], "nowhere.json: No such file"),
        (["--load", "train.csv"], "train.csv: is damaged, or is no trained model"),
    ],
)
def test_options_that_do_not_go_together(run, words, message):
    done = run("rank", "test.csv", *words, "--out", "ranking.csv")
    assert done.code == 2
    assert message in done.err
    with pytest.raises(FileNotFoundError):
        pl.read_csv("ranking.csv")
