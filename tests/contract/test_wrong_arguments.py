"""A file name or a data frame instead of judgments: the error says what to pass."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import crowdrank as cr

FRAME = pl.DataFrame({"annotator": ["ann"], "left": ["a"], "right": ["b"], "winner": ["a"]})
GIVEN = [
    pytest.param("votes.csv", r"read it with cr\.read\('votes\.csv'\)", id="name"),
    pytest.param(Path("votes.csv"), r"read it with cr\.read\('votes\.csv'\)", id="path"),
    pytest.param(FRAME, r"not DataFrame: make them from a data frame with cr\.judgments\(frame\)", id="frame"),
]


@pytest.mark.parametrize(("given", "advice"), GIVEN)
@pytest.mark.parametrize("name", cr.METHODS)
def test_fit_needs_judgments(name, given, advice):
    with pytest.raises(cr.JudgmentError, match=f"judgments are needed, .*{advice}"):
        cr.METHODS[name]().fit(given)


@pytest.mark.parametrize(("given", "advice"), GIVEN)
@pytest.mark.parametrize("name", cr.SUPERVISED)
def test_train_needs_judgments(name, given, advice):
    with pytest.raises(cr.JudgmentError, match=f"judgments are needed, .*{advice}"):
        cr.SUPERVISED[name]().train(given, cr.gold({"item": ["a"], "grade": [1]}))
