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
