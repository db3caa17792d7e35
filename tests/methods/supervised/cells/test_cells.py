"""Cells against the definition: sums over all pairs of a list."""

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.methods.supervised.cells.cells import POTENTIALS, cells_of


def phi(potential, better, worse, largest):
    """How far one item is preferred to another, by their ranks."""
    if better >= worse:
        return 0.0
    if potential == "binary":
        return 1.0
    if potential == "difference":
        return (worse - better) / largest
    return (np.log(worse) - np.log(better)) / np.log(largest)


def by_definition(ranks, potential, size, unlisted=0):
    """Preferred and beaten, of each listed item; unlisted items stand on the rank after the last."""
    largest = max(ranks) + (unlisted > 0)
    below = [largest] * unlisted
    others = [*ranks, *below]
    preferred = [sum(phi(potential, rank, other, largest) for other in others) / size for rank in ranks]
    beaten = [sum(phi(potential, other, rank, largest) for other in ranks) / size for rank in ranks]
    return preferred, beaten


def lists(ranks, annotator="ann", task="q"):
    items = [f"i{number}" for number in range(len(ranks))]
    return {"task": [task] * len(ranks), "annotator": [annotator] * len(ranks), "item": items, "rank": ranks}


@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("ranks", [[1, 2, 3], [2, 7, 7, 30], [5], [1, 1, 1], [3, 1, 2, 2]])
def test_lists(potential, ranks):
    cells = cells_of(cr.judgments(lists(ranks)), potential)
    preferred, beaten = by_definition(ranks, potential, len(ranks))
    assert (cells.value[:, 0] == -1).all()
    assert cells.value[:, 1] == pytest.approx(preferred)
    assert -cells.value[:, 2] == pytest.approx(beaten)


@pytest.mark.parametrize("potential", POTENTIALS)
def test_top_k_lists_prefer_what_they_list(potential):
    """Two annotators list items 0 and 1, and 0 to 3; the first leaves two out."""
    import polars as pl

    frame = pl.concat([pl.DataFrame(lists([1, 2])), pl.DataFrame(lists([1, 2, 3, 4], "bob"))])
    judgments = cr.judgments(frame, top_k=True)
    cells = cells_of(judgments, potential)
    ann = cells.annotator == 0
    preferred, beaten = by_definition([1, 2], potential, 4, unlisted=2)
    assert cells.entry[ann].tolist() == [0, 1]
    assert cells.value[ann, 1] == pytest.approx(preferred)
    assert -cells.value[ann, 2] == pytest.approx(beaten)


def test_pairs_and_repeated_judgments_add_up():
    votes = {"annotator": ["ann"] * 4, "left": list("xxyx"), "right": list("yyzz"), "winner": ["x", "y", "tie", "x"]}
    cells = cells_of(cr.judgments(votes), "log")
    assert cells.entry.tolist() == [0, 1, 2]
    assert cells.value.tolist() == [[-1, 2 / 3, -1 / 3], [-1, 1 / 3, -1 / 3], [-1, 0, -1 / 3]]


def test_grades_are_lists_best_first():
    graded = {"annotator": ["ann"] * 3, "item": list("xyz"), "grade": [1, 3, 2]}
    ranked = {"annotator": ["ann"] * 3, "item": list("xyz"), "rank": [3, 1, 2]}
    assert cells_of(cr.judgments(graded), "log").value == pytest.approx(cells_of(cr.judgments(ranked), "log").value)


def test_nothing_gives_no_cells():
    empty = {"annotator": [], "item": [], "rank": []}
    for potential in POTENTIALS:
        assert cells_of(cr.judgments(empty), potential).value.shape == (0, 3)
