"""SVDsup: the features are those of the factorised preferences."""

import numpy as np
import pytest

import crowdrank as cr


def test_features_rebuild_preferences_of_rank_one():
    """One pair has a matrix of rank one: the product of its features is the preference."""
    votes = {"annotator": ["ann"] * 3, "left": list("xxx"), "right": list("yyy"), "winner": list("xxx")}
    cells = cr.SVD(potential="binary").cells(cr.judgments(votes))
    assert cells.value[:, 0].tolist() == [-1, -1]
    beats, beaten = cells.value[:, 1], -cells.value[:, 2]
    assert np.outer(beats, beaten) == pytest.approx(np.array([[0, 3], [0, 0]]))


@pytest.mark.parametrize("potential", ["log", "difference", "binary"])
def test_the_better_an_item_the_more_it_beats_and_the_less_it_is_beaten(potential):
    ranked = {"annotator": ["ann"] * 5, "item": list("abcde"), "rank": [1, 2, 3, 4, 5]}
    value = cr.SVD(potential=potential).cells(cr.judgments(ranked)).value
    assert (np.diff(value[:, 1]) < 1e-12).all()
    assert (np.diff(value[:, 2]) < 1e-12).all()


def test_ties_and_single_items_say_nothing():
    ranked = {"task": ["q", "q", "r"], "annotator": ["ann"] * 3, "item": list("abc"), "rank": [1, 1, 1]}
    assert cr.SVD().cells(cr.judgments(ranked)).value[:, 1:].tolist() == [[0, 0]] * 3
