"""The chart of weights."""

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.consensus import Fit
from crowdrank.methods.supervised.cells.linear import LinearAggregator
from crowdrank.study import ids


@pytest.fixture
def trained():
    weight = np.array([[-2.0, 1.0, 0.5], [0.5, -4.0, 0.0], [0.0, 0.0, 0.0]])
    return LinearAggregator(cr.CRF(potential="log"), ids(["ann", "bob"]), weight, Fit())


def shown(trained):
    chart = cr.report.annotator_weights(trained).to_dict()
    (rows,) = chart["datasets"].values()
    return rows


def test_one_square_for_each_weight(trained):
    rows = {(row["annotator"], row["weight"]): row for row in shown(trained)}
    assert len(rows) == 6  # nothing is shared: no row for all others
    assert rows["ann", "missing"] == {
        "annotator": "ann",
        "weight": "missing",
        "value": -2.0,
        "size": 1.0,
        "sign": "negative",
    }
    assert rows["ann", "preferred"]["size"] == 0.25
    assert rows["bob", "preferred"]["sign"] == "negative"


def test_what_all_share_is_shown_too(trained):
    trained.weight[-1] = 0.1
    assert {row["annotator"] for row in shown(trained)} == {"ann", "bob", "(all others)"}


def test_it_can_be_saved(trained, tmp_path):
    cr.report.annotator_weights(trained).save(tmp_path / "weights.svg")
    assert "<svg" in (tmp_path / "weights.svg").read_text()


def test_trees_have_no_weights():
    class Trees:
        name = "boosted"

    with pytest.raises(cr.SettingError, match="boosted has no weights"):
        cr.report.annotator_weights(Trees())
