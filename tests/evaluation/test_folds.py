"""Cross-validation: folds, and who learns from which gold."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.evaluation.folds import cross_fitted, folds_of, outside
from crowdrank.methods.protocols import Description


def study(tasks=10):
    names = [f"q{number}" for number in range(tasks) for _ in range(4)]
    columns = {"task": names, "item": [*"abcd"] * tasks}
    ranks = {"annotator": "ann", "rank": [1, 2, 3, 4] * tasks}
    return cr.judgments(pl.DataFrame({**columns, **ranks})), cr.gold({**columns, "grade": [2, 1, 0, 0] * tasks})


@dataclass(frozen=True)
class Spy:
    """A supervised method that records whose gold it saw, and scores every task by how often it was trained."""

    seen: ClassVar[list[set[str]]] = []
    description: ClassVar[Description] = Description(
        name="crf", family="supervised", summary="Records what it sees.", takes=("rankings",)
    )

    def train(self, judgments, gold, validation=None):  # noqa: ARG002
        value = gold.align(judgments.vocabulary)
        tasks = {str(judgments.vocabulary.tasks[t]) for t in judgments.vocabulary.entry_task[~np.isnan(value)]}
        self.seen.append(tasks)
        return self

    def fit(self, judgments):
        words = judgments.vocabulary
        return cr.Consensus(
            vocabulary=words, method="spy", score=np.full(words.n_entries, len(self.seen)), annotator_columns={}
        )


def test_each_task_is_ranked_by_what_was_learned_elsewhere():
    judgments, gold = study()
    fold = folds_of({f"q{number}": number % 3 for number in range(10)}, judgments, gold, seed=0)
    Spy.seen.clear()
    found = cross_fitted(Spy(), judgments, gold, fold)
    assert [sorted({f"q{n}" for n in range(10)} - tasks) for tasks in Spy.seen] == [
        [f"q{n}" for n in range(10) if n % 3 == part] for part in range(3)
    ]
    assert found.score.reshape(10, 4)[:, 0].tolist() == [n % 3 + 1 for n in range(10)]


def test_a_number_of_folds_of_equal_size():
    judgments, gold = study()
    assert np.bincount(folds_of(4, judgments, gold, seed=0)).tolist() == [3, 3, 2, 2]
    for number in (1, 11):
        with pytest.raises(cr.SettingError, match="from 2 to the number of tasks with gold, 10"):
            folds_of(number, judgments, gold, seed=0)


def test_every_task_with_gold_must_be_in_a_fold():
    judgments, gold = study()
    with pytest.raises(cr.JudgmentError, match="9 tasks with gold are in no fold, for example 'q1'"):
        folds_of({"q0": "a"}, judgments, gold, seed=0)
    with pytest.raises(cr.SettingError, match="at least 2"):
        folds_of({f"q{number}": "a" for number in range(10)}, judgments, gold, seed=0)


def test_outside_hides_gold_and_nothing_else():
    judgments, gold = study()
    hidden = outside(gold, judgments, np.arange(10) == 2)
    assert np.isnan(hidden.value).reshape(10, 4).all(axis=1).tolist() == [n == 2 for n in range(10)]
    assert len(hidden) == len(gold)


def test_compare_puts_supervised_methods_beside_the_others():
    judgments, gold = study(30)
    result = cr.compare(judgments, gold, ["borda", cr.CRF(max_iter=3), "weighted-borda"], ["ndcg"], folds=3)
    assert set(result.table["method"]) == {"borda", "crf", "weighted-borda"}
    assert result.table["ndcg"].to_list() == [1.0] * 3


def test_compare_without_folds_says_what_is_missing():
    judgments, gold = study()
    with pytest.raises(cr.SettingError, match="give folds"):
        cr.compare(judgments, gold, ["borda", "crf"])
    with pytest.raises(cr.JudgmentError, match="crf: learns from gold: give folds"):
        cr.compare(judgments, gold, [cr.CRF()])


def test_folds_from_a_file(tmp_path):
    cr.write(pl.DataFrame({"task": ["a", "b", "a"], "fold": [1, 2, 1]}), tmp_path / "folds.csv")
    assert cr.read_folds(tmp_path / "folds.csv") == {"a": "1", "b": "2"}
    cr.write(pl.DataFrame({"task": ["a", "b", "a"], "fold": [1, 2, 2]}), tmp_path / "folds.csv")
    with pytest.raises(cr.JudgmentError, match=r"folds.csv:4: task 'a' is also in fold '1'"):
        cr.read_folds(tmp_path / "folds.csv")
    cr.write(pl.DataFrame({"task": ["a"], "part": [1]}), tmp_path / "folds.csv")
    with pytest.raises(cr.JudgmentError, match="no column 'fold'"):
        cr.read_folds(tmp_path / "folds.csv")
