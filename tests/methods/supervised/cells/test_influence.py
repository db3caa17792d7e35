"""Influence against its definition, annotator by annotator and task by task."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.methods.supervised.cells.cells import cells_of
from crowdrank.methods.supervised.cells.influence import influence

WEIGHT = {"ann": (0.0, 1.0, 1.0), "bob": (0.0, -2.0, -1.0), "cy": (-3.0, 0.0, 0.0), "dee": (0.0, 0.01, 0.01)}


@pytest.fixture
def found():
    rng = np.random.default_rng(0)
    rows = [
        (f"q{task}", name, item, rank)
        for task in range(6)
        for name in WEIGHT
        for rank, item in enumerate(rng.permutation(7)[: rng.integers(3, 7)].tolist(), 1)
    ]
    judgments = cr.judgments(pl.DataFrame(rows, schema=["task", "annotator", "item", "rank"], orient="row"))
    cells = cells_of(judgments, "log")
    weight = np.array(list(WEIGHT.values()))[cells.annotator]
    return judgments, cells, weight, influence(cells, weight, 1, judgments.vocabulary)


def words_for(found, **changed):
    """What becomes of everybody under other weights."""
    judgments, cells, _, _ = found
    weight = np.array(list({**WEIGHT, **changed}.values()))[cells.annotator]
    return influence(cells, weight, 1, judgments.vocabulary)[1].tolist()


def test_it_is_the_deviation_of_what_is_added_within_a_task(found):
    judgments, cells, weight, (moved, _) = found
    vocabulary = judgments.vocabulary
    for who in range(4):
        variances = []
        for task in range(6):
            added = np.zeros(vocabulary.n_entries)
            own = cells.annotator == who
            added[cells.entry[own]] = (cells.value[own] * weight[own]).sum(axis=1)
            variances.append(added[vocabulary.entry_task == task].var())
        assert moved[who] == pytest.approx(np.sqrt(np.mean(variances)))


def test_the_words(found):
    """Cy's order says nothing, but whom they list does."""
    assert found[3][1].tolist() == ["used", "inverted", "used", "ignored"]


def test_nobody_is_ignored_because_another_is_heard_louder(found):
    """Ann moves the scores as much as before, and no less than the crowd does on average without cy."""
    assert words_for(found, cy=(0.0, 1.0, 1.0))[0] == words_for(found, cy=(-3.0, 1.0, 1.0))[0] == "used"


def test_whom_they_list_may_count_though_their_order_is_turned_around(found):
    assert words_for(found, cy=(-3.0, -1.0, -1.0))[2] == "inverted"
    assert words_for(found, cy=(-3.0, -0.01, -0.01))[2] == "used"


def test_without_weights_all_are_ignored(found):
    assert set(words_for(found, **dict.fromkeys(WEIGHT, (0.0, 0.0, 0.0)))) == {"ignored"}
