"""Borda count with learned weights."""

import numpy as np
import pytest

import build
import crowdrank as cr


def test_the_share_of_a_list_that_an_item_beats_by_hand():
    """Of three items the first beats two and half of itself; tied items share the middle of their places."""
    study = build.judgments(
        lists=[("t", "ann", [["x"], ["y"], ["z"]], False), ("t", "bob", [["y", "z"], ["x"]], False)]
    )
    cells = cr.WeightedBorda().cells(study)
    assert cells.entry.tolist() == [0, 0, 1, 1, 2, 2]
    assert cells.annotator.tolist() == [0, 1] * 3
    assert cells.value[:, 0] == pytest.approx(np.array([5, 1, 3, 4, 1, 4]) / 6)


def test_reliable_annotators_get_weight_and_reversed_ones_a_negative_weight():
    crowd = cr.simulate.rankings(8, 3, tasks=40, theta=[-1.5, 0.0, 1.5], seed=1)
    trained = cr.WeightedBorda(weights="own").train(crowd.judgments, crowd.gold)
    good, random, reversed_one = trained.fit(crowd.judgments).annotators["weight"].to_list()
    assert good > abs(random)
    assert reversed_one < -abs(random)
    new = cr.simulate.rankings(8, 3, tasks=20, theta=[-1.5, 0.0, 1.5], seed=2)
    tau = {
        name: cr.evaluate(consensus, new.gold, ["tau"]).mean["tau"]
        for name, consensus in {"trained": trained.fit(new.judgments), "borda": cr.fit("borda", new.judgments)}.items()
    }
    assert tau["trained"] > tau["borda"] + 0.2
