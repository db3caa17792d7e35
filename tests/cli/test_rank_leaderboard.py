"""`rank --covariate --by --trust`: style control, categories in one fit, trusted annotators."""

import json

import numpy as np
import polars as pl
import pytest

VOTES = 400


@pytest.fixture(scope="module")
def arena():
    """Votes on five models, of which the longer answer wins more often."""
    rng = np.random.default_rng(2)
    left, right = rng.permuted(np.tile(np.arange(5), (VOTES, 1)), axis=1)[:, :2].T
    length = rng.integers(100, 900, size=(2, VOTES))
    gap = (left - right) / 2 + (length[0] - length[1]) / 300
    return pl.DataFrame(
        {
            "judge": rng.integers(4, size=VOTES),
            "model_a": left,
            "model_b": right,
            "winner": np.where(rng.logistic(size=VOTES) < gap, "model_a", "model_b"),
            "length_a": length[0],
            "length_b": length[1],
            "kind": rng.choice(["code", "chat"], size=VOTES),
        }
    )


@pytest.fixture
def files(arena, folder):
    arena.write_csv("arena.csv")
    pl.DataFrame({"annotator": [0, 1]}).write_csv("people.csv")


@pytest.mark.usefixtures("files")
def test_style_control_with_files(run):
    """The effect of length is written and shown, and the ranking says what it would be without."""
    given = ("--covariate", "length_a-length_b", "--effects", "effects.csv", "--out", "r.csv")
    done = run("rank", "arena.csv", "--method", "bradley-terry", *given)
    assert done.code == 0, done.err
    assert "effects of covariates" in done.out
    effect = pl.read_csv("effects.csv").row(0, named=True)
    assert effect["per_unit_low"] < 1 / 300 < effect["per_unit_high"]
    assert "rank_without" in pl.read_csv("r.csv").columns


@pytest.mark.usefixtures("folder")
def test_covariates_may_be_true_or_false(run, tmp_path):
    """In words or as 1 and 0: the same ranking."""
    rows = "a,x,y,x,{1}\na,y,x,x,{0}\nb,x,y,y,{1}\nb,y,z,y,{0}\nc,z,x,x,{1}\n"
    rankings = []
    for number, words in enumerate((("0", "1"), ("False", "true"))):
        votes, out = tmp_path / f"{number}.csv", tmp_path / f"{number}-ranking.csv"
        votes.write_text("annotator,left,right,winner,bold\n" + rows.format(*words))
        assert run("rank", str(votes), "--covariate", "bold", "--out", str(out)).code == 0
        rankings.append(out.read_text())
    assert rankings[0] == rankings[1]


def test_style_control_with_a_table_of_items(run):
    """The same effects as with columns of the votes; items of another task have another length."""
    rng = np.random.default_rng(3)
    length = rng.integers(100, 900, size=(40, 5))
    task, left, step = rng.integers(40, size=600), rng.integers(5, size=600), rng.integers(1, 5, size=600)
    right = (left + step) % 5
    gap = (left - right) / 2 + (length[task, left] - length[task, right]) / 300
    votes = {"task": task, "left": left, "right": right, "winner": np.where(rng.logistic(size=600) < gap, left, right)}
    beside = {"length_a": length[task, left], "length_b": length[task, right]}
    pl.DataFrame({**votes, **beside}).write_csv("asked.csv")
    items = {"task": np.repeat(np.arange(40), 5), "item": np.tile(np.arange(5), 40), "length": length.ravel()}
    pl.DataFrame(items).write_csv("answers.csv")
    given = "--method", "bradley-terry", "--effects"
    done = run("rank", "asked.csv", *given, "one.csv", "--covariate", "length", "--features", "answers.csv")
    assert done.code == 0, done.err
    assert run("rank", "asked.csv", *given, "two.csv", "--covariate", "length_a-length_b").code == 0
    one, two = (pl.read_csv(name).drop("covariate").row(0) for name in ("one.csv", "two.csv"))
    assert one == pytest.approx(two)
    pl.DataFrame(items).filter(pl.col("task") > 0).write_csv("some.csv")
    done = run("rank", "asked.csv", "--covariate", "length", "--features", "some.csv")
    assert (done.code, done.out) == (2, "")
    assert "some.csv: there is no row for item '" in done.err
    assert "of task '0', and for" in done.err
    pl.concat([pl.DataFrame(items)] * 2).write_csv("twice.csv")
    done = run("rank", "asked.csv", "--covariate", "length", "--features", "twice.csv")
    assert "twice.csv:202: item '0' has a second row" in done.err
    assert "none is named" in run("rank", "asked.csv", "--features", "answers.csv").err


@pytest.mark.usefixtures("files")
def test_categories_in_one_fit_and_trusted_annotators(run):
    """All items have a row in every category, and the notes say what the other votes are worth."""
    done = run(
        "rank",
        "arena.csv",
        "--by",
        "kind",
        "--trust",
        "people.csv",
        "--out",
        "r.csv",
        "--annotators",
        "a.csv",
        "--json",
    )
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert list(found["by"]) == ["chat", "code"]
    assert any("are worth about" in note for note in found["notes"])
    assert pl.read_csv("r.csv")["category"].value_counts().sort("category").rows() == [
        (None, 5),
        ("chat", 5),
        ("code", 5),
    ]
    assert pl.read_csv("a.csv")["trusted"].to_list() == [True, True, False, False]


@pytest.mark.usefixtures("files")
def test_a_column_says_who_is_trusted(run, arena):
    """As the file does; unknown columns, other words, and annotators of both groups are refused."""
    arena.with_columns(human=pl.col("judge") < 2).write_csv("both.csv")
    named = run("rank", "arena.csv", "--trust", "people.csv", "--json")
    done = run("rank", "both.csv", "--trust", "human", "--json")
    assert done.code == 0, done.err
    scores = [[row["score"] for row in json.loads(each.out)["ranking"]] for each in (named, done)]
    assert scores[0] == scores[1]
    misspelt = run("rank", "both.csv", "--trust", "humen")
    assert "no column 'humen' that says who is trusted (did you mean 'human'?)" in misspelt.err
    arena.with_columns(human=pl.lit("perhaps")).write_csv("both.csv")
    assert "both.csv:2: human 'perhaps' is neither yes nor no" in run("rank", "both.csv", "--trust", "human").err
    arena.with_columns(human=pl.Series([n % 2 for n in range(VOTES)])).write_csv("both.csv")
    assert "human says both yes and no of annotator" in run("rank", "both.csv", "--trust", "human").err


@pytest.mark.usefixtures("files")
def test_methods_without_pooling_fit_each_category_alone(run):
    done = run("rank", "arena.csv", "--method", "elo", "--by", "kind", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert list(found["by"]) == ["chat", "code"]
    assert not any("categories" in note for note in found["notes"])


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--covariate length", "is no column"),
        ("--effects e.csv", "name them with --covariate"),
        ("--trust arena.csv", "has no column 'annotator'"),
        ("--by sort", "there is no column 'sort'"),
    ],
)
def test_wrong_options_are_refused(run, options, said):
    done = run("rank", "arena.csv", *options.split())
    assert done.code == 2
    assert said in " ".join(done.err.split())


@pytest.mark.usefixtures("folder")
def test_next_asks_people_where_machines_share_a_taste(run):
    """A thousand votes of machines whose taste differs from people's: one more of them brings nearly nothing."""
    rng = np.random.default_rng(1)
    who = rng.choice(["ann", "bob", "llm1", "llm2"], 1200, p=[0.1, 0.1, 0.4, 0.4])
    left, right = rng.permuted(np.tile(np.arange(25), (1200, 1)), axis=1)[:, :2].T
    score = np.where(np.char.startswith(who, "llm")[:, None], *rng.normal(size=(2, 1, 25)))
    gap = score[np.arange(1200), left] - score[np.arange(1200), right]
    winner = np.where(rng.logistic(size=1200) < gap, left, right)
    pl.DataFrame({"annotator": who, "left": left, "right": right, "winner": winner}).write_csv("machines.csv")
    pl.DataFrame({"annotator": ["ann", "bob"]}).write_csv("people.csv")
    pl.DataFrame({"annotator": ["llm1", "llm2"], "cost": [0.5, 0.5]}).write_csv("costs.csv")
    asked = []
    for trust in ((), ("--trust", "people.csv")):
        done = run("next", "machines.csv", "--costs", "costs.csv", "--count", "3", "--json", *trust)
        assert done.code == 0, done.err
        asked.append({question["annotator"] for question in json.loads(done.out)["questions"]})
    assert asked[0] <= {"llm1", "llm2"}
    assert asked[1] <= {"ann", "bob"}
