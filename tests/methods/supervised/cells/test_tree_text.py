"""LightGBM's trees are checked before it gets them: a damaged text would crash the process."""

import re

import numpy as np
import pytest

import crowdrank as cr
from crowdrank.methods.supervised.cells.tree_text import booster, checked


@pytest.fixture(scope="module")
def grown():
    """Trees over two features, with their data."""
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    value = rng.normal(size=(300, 2))
    settings = {"num_leaves": 8, "verbose": -1, "num_threads": 1, "objective": "regression"}
    data = lightgbm.Dataset(value, value[:, 0] * value[:, 1])
    return value, lightgbm.train(settings, data, 5)


def test_whole_trees_predict_the_same(grown):
    value, trees = grown
    again = booster(trees.model_to_string(), 2)
    np.testing.assert_array_equal(again.predict(value), trees.predict(value))
    np.testing.assert_array_equal(again.feature_importance("gain"), trees.feature_importance("gain"))
    assert checked(again.model_to_string(), 2) == checked(trees.model_to_string(), 2)


def test_a_tree_of_one_leaf_is_whole(grown):
    lightgbm = pytest.importorskip("lightgbm")
    value, _ = grown
    constant = lightgbm.train({"verbose": -1, "num_threads": 1}, lightgbm.Dataset(value, np.full(len(value), 7.0)), 2)
    np.testing.assert_allclose(booster(constant.model_to_string(), 2).predict(value), 7.0)


DAMAGE = {
    "another number of features": lambda text: text.replace("max_feature_idx=1", "max_feature_idx=9"),
    "no end": lambda text: text[: text.index("end of trees")],
    "a feature that is not there": lambda text: re.sub(r"split_feature=\d", "split_feature=2", text, count=1),
    "a child beyond the tree": lambda text: re.sub(r"left_child=-?\d+", "left_child=99", text, count=1),
    "splits in a circle": lambda text: re.sub(r"left_child=-?\d+", "left_child=0", text, count=1),
    "too many leaves": lambda text: re.sub(r"num_leaves=\d+", "num_leaves=1000000000", text, count=1),
    "too few leaves": lambda text: re.sub(r"num_leaves=\d+", "num_leaves=2", text, count=1),
    "no leaf": lambda text: re.sub(r"num_leaves=\d+", "num_leaves=0", text, count=1),
    "categories": lambda text: text.replace("num_cat=0", "num_cat=3", 1),
    "linear leaves": lambda text: text.replace("is_linear=0", "is_linear=1", 1),
    "another decision": lambda text: re.sub(r"decision_type=\d", "decision_type=1", text, count=1),
    "no number": lambda text: re.sub(r"leaf_value=\S+", "leaf_value=nan", text, count=1),
    "a missing line": lambda text: re.sub(r"threshold=.*\n", "", text, count=1),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_trees_are_refused(grown, damage):
    whole = grown[1].model_to_string()
    broken = DAMAGE[damage](whole)
    assert broken != whole
    with pytest.raises((ValueError, KeyError)):
        booster(broken, 2)


def test_damaged_models_are_refused_with_one_clear_error(tmp_path):
    """Cut or edited, with the checksum or without."""
    study = cr.simulate.grades(items=40, annotators=3, labels=3, tasks=4, gold_grades=3, seed=1)
    path = tmp_path / "model.json"
    cr.save(cr.train("boosted", study.judgments, study.gold, rounds=2, models=1), path)
    whole = path.read_text()
    edited = re.sub(r"left_child=-?\d+", "left_child=0", whole)
    for broken in (edited, edited.replace('"checksum"', '"other"'), whole[: len(whole) // 2]):
        path.write_text(broken)
        with pytest.raises(cr.JudgmentError, match=r"model.json: is damaged"):
            cr.load(path)
