import pickle
import time
from dataclasses import replace

import numba
import numpy as np
import polars as pl
import pytest
from scipy import stats

import crowdrank as cr
from crowdrank.evaluation.comparison import compare
from crowdrank.evaluation.evaluate import evaluate
from crowdrank.methods.catalogue import METHODS
from crowdrank.methods.grades.mean import Mean
from crowdrank.methods.pairs.bradley_terry import BradleyTerry
from crowdrank.methods.protocols import Description
from crowdrank.methods.rankings.borda import Borda
from crowdrank.numerics.progress import listening, report
from crowdrank.settings import SettingError
from crowdrank.study import Gold, JudgmentError


@pytest.fixture(scope="module")
def graded(build):
    """Twenty tasks of eight items, graded by three annotators with little noise and three sometimes reversed."""
    rng = np.random.default_rng(0)
    value, rows = {}, []
    for t in range(20):
        for i in range(8):
            value[f"t{t:02}", f"d{i}"] = grade = int(rng.integers(0, 4))
            rows += [
                (f"t{t:02}", f"ann{a}", f"d{i}", float(np.round(grade + rng.normal(0, 0.5 + a)))) for a in range(4)
            ]
    study = build.judgments(grades=rows)
    words = study.vocabulary
    names = zip(words.tasks[words.entry_task], words.items[words.entry_item], strict=True)
    return study, Gold(words, np.array([value[pair] for pair in names], dtype=float), "grade")


@pytest.fixture(scope="module")
def comparison(graded):
    return compare(*graded, measures=["ndcg@10", "tau"])


def test_every_method_that_takes_the_study_is_there_best_first(graded, comparison):
    able = [name for name, kind in METHODS.items() if "grades" in kind.description.takes]
    assert sorted(comparison.table["method"]) == sorted(able)
    assert comparison.table.columns == ["method", "ndcg@10", "tau", "seconds"]
    assert comparison.table["ndcg@10"].is_sorted(descending=True)
    assert (comparison.table["seconds"] >= 0).all()


def test_means_are_those_of_evaluate(graded, comparison):
    study, gold = graded
    row = comparison.table.row(by_predicate=pl.col("method") == "mean", named=True)
    alone = evaluate(Mean().fit(study), gold, ["ndcg@10", "tau"])
    assert {name: row[name] for name in alone.mean} == alone.mean
    own = comparison.per_task.filter(pl.col("method") == "mean").drop("method")
    assert own.equals(alone.per_task)


def test_tests_are_those_of_scipy_against_the_best(comparison):
    for row in comparison.tests.iter_rows(named=True):
        best = comparison.evaluations[row["against"]]
        own = comparison.evaluations[row["method"]]
        column = comparison.measures.index(row["measure"])
        assert best.mean[row["measure"]] == comparison.table[row["measure"]].max()
        assert row["difference"] == pytest.approx(own.mean[row["measure"]] - best.mean[row["measure"]])
        a, b = own.values[:, column], best.values[:, column]
        if np.any(a != b):
            assert row["p_t"] == pytest.approx(stats.ttest_rel(a, b).pvalue)
        assert row["significant"] == (row["p_holm"] < 0.05)
        assert row["p_holm"] >= row["p_randomisation"]
    assert len(comparison.tests) == 2 * (len(comparison.table) - 1)


def test_a_method_much_worse_is_marked(build, graded):
    study, gold = graded
    found = compare(study, gold, [Mean(), Backwards()], "ndcg@10")
    test = found.tests.row(0, named=True)
    assert (test["method"], test["against"], test["significant"]) == ("backwards", "mean", True)
    assert [line.count("†") for line in str(found).splitlines()[:4]] == [0, 0, 1, 1]


class Backwards(Mean):
    """The mean, reversed."""

    description = replace(Mean.description, name="backwards")

    def fit(self, judgments):
        consensus = Mean.fit(self, judgments)
        return replace(consensus, score=-consensus.score, notes=(*consensus.notes, "this is reversed"))


def test_notes_of_one_method_carry_its_name_and_shared_ones_do_not(graded):
    study, gold = graded
    half = Gold(gold.vocabulary, np.where(np.arange(len(gold)) % 2, gold.value, np.nan), "grade")
    found = compare(study, half, ["mean", Backwards()])
    assert "backwards: this is reversed" in found.notes
    assert sum("have no gold" in note for note in found.notes) == 1


def test_a_method_that_cannot_is_a_note(build):
    study = build.judgments(pairs=[("t", "ann", "a", "b", "a"), ("u", "ann", "a", "b", "b")])
    gold = Gold(study.vocabulary, np.array([1.0, 0.0, 0.0, 1.0]), "grade")
    found = compare(study, gold, ["mean", "bradley-terry"])
    assert list(found.evaluations) == ["bradley-terry"]
    assert found.notes[0].startswith("mean: needs grades")
    assert len(found.tests) == 0
    with pytest.raises(JudgmentError, match="no method could be fitted: mean: needs grades"):
        compare(study, gold, ["mean"])


def test_the_same_refusal_of_several_methods_is_one_note(build):
    study = build.judgments(pairs=[("t", "ann", "a", "b", "a"), ("u", "ann", "a", "b", "b")])
    gold = Gold(study.vocabulary, np.array([1.0, 0.0, 0.0, 1.0]), "grade")
    found = compare(study, gold, ["mean", "rasch", "bradley-terry"])
    assert found.notes[0].startswith("mean, rasch: needs grades")
    assert sum("needs grades" in note for note in found.notes) == 1


def test_one_task_cannot_be_tested(build):
    study = build.judgments(pairs=[("t", "ann", "a", "b", "a"), ("t", "bob", "b", "c", "b")])
    found = compare(study, Gold(study.vocabulary, np.array([2.0, 1.0, 0.0]), "score"))
    assert "the study has one task: significance tests need at least two" in found.notes
    assert len(found.tests) == 0
    assert found.tests.columns[:3] == ["measure", "method", "against"]


def test_the_same_method_twice_is_labelled_by_its_settings(graded):
    found = compare(*graded, [BradleyTerry(), BradleyTerry(prior=5.0), Borda()], "map")
    assert sorted(found.evaluations) == ["borda", "bradley-terry", "bradley-terry(prior=5.0)"]
    with pytest.raises(SettingError, match="borda is given twice"):
        compare(*graded, ["borda", Borda()], "map")


def test_unknown_names_stop_at_once(graded):
    with pytest.raises(SettingError, match="no method 'bordo'"):
        compare(*graded, ["bordo"])
    with pytest.raises(SettingError, match="no measure"):
        compare(*graded, ["borda"], "nope")
    with pytest.raises(JudgmentError, match="no method to compare"):
        compare(*graded, [])


def test_it_says_how_far_it_is(graded):
    heard = []
    with listening(lambda what, done, most: heard.append((what, done, most))):
        compare(*graded, ["mean", "borda"], "map")
    assert [each for each in heard if each[0] == "comparing"] == [
        ("comparing", 0, 2),
        ("comparing", 1, 2),
        ("comparing", 2, 2),
    ]


def test_same_seed_same_result_and_it_pickles(graded, comparison):
    again = compare(*graded, measures=["ndcg@10", "tau"])
    assert again.tests.equals(comparison.tests)
    copy = pickle.loads(pickle.dumps(comparison))
    assert copy.tests.equals(comparison.tests)
    assert str(copy) == str(comparison)


def test_methods_that_write_out_millions_of_pairs_are_left_out():
    """Three lists of 850 items make 1.1 million pairs."""
    place = np.tile(np.arange(1, 851), 3)
    lists = cr.judgments({"annotator": np.repeat([1, 2, 3], 850), "item": place, "rank": place})
    gold = cr.gold({"item": place[:850], "rank": place[:850]})
    found = cr.compare(lists, gold, measures=["tau"], limit=3)
    assert "borda" in found.evaluations
    assert not any(METHODS[name].description.expands_to_pairs for name in found.evaluations)
    assert any(note.startswith("not compared: variance-bt, mpm") and "name them" in note for note in found.notes)


def test_what_is_no_judgments_is_refused():
    with pytest.raises(JudgmentError, match=r"cr\.read"):
        cr.compare("votes.csv", cr.gold({"item": ["x"], "grade": [1]}))
    with pytest.raises(JudgmentError, match=r"cr\.read"):
        cr.Borda().fit("votes.csv")


class Slow:
    """A method that reports a step every hundredth of a second, for longer than anybody waits."""

    description = Description(name="slow", family="grades", summary="", takes=("grades",))

    def fit(self, judgments):
        for step in range(10_000):
            report("waiting", step, 10_000)
            time.sleep(0.01 if len(judgments) > 9 else 0)  # the tiny study that compiles is fitted at once
        return cr.fit("mean", judgments)


def test_a_method_beyond_the_limit_is_left_out_and_named(graded):
    began = time.monotonic()
    found = cr.compare(*graded, ["mean", Slow()], limit=0.2)
    assert list(found.evaluations) == ["mean"]
    assert any(note.startswith("not compared: slow; not ready after 0.2 seconds") for note in found.notes)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("limit", [0, -1, float("nan"), "ten"])
def test_a_limit_is_a_number_of_seconds(graded, limit):
    with pytest.raises(cr.SettingError, match="limit"):
        cr.compare(*graded, ["mean"], limit=limit)


def test_the_same_note_of_several_methods_is_one_note(build):
    """Both methods leave out the same pairs, and say so with their own name."""
    study = build.judgments(
        grades=[("t", "a", "x", 1), ("t", "a", "y", 2), ("u", "a", "x", 1), ("u", "a", "y", 0)],
        pairs=[("t", "a", "x", "y", "x")],
    )
    found = cr.compare(study, build.gold(study, [0, 1, 1, 0]), ["mean", "gda", "condorcet"])
    assert sum("1 pairs not used" in note for note in found.notes) == 1
    assert any(note.startswith(("mean, gda: ", "gda, mean: ")) for note in found.notes)


def test_seconds_do_not_contain_compilation(graded):
    """What a method spends on its first fit of all does not count."""

    class Compiled(Slow):
        compiled = False

        def fit(self, judgments):
            if not Compiled.compiled:
                time.sleep(0.5)
                Compiled.compiled = True
            return cr.fit("mean", judgments)

    assert cr.compare(*graded, [Compiled()]).seconds["slow"] < 0.4


class CompilesLate(Slow):
    """A method that compiles for larger studies only, as those do whose kernels run as Python on small ones."""

    def fit(self, judgments):
        if len(judgments) > 9:
            numba.njit(lambda x: np.sort(x) + np.cumsum(x))(np.ones(3))
            report("compiled", 1, 1)
        return cr.fit("mean", judgments)


def test_compilation_during_the_fit_counts_neither_as_seconds_nor_for_the_limit(graded):
    began = time.monotonic()
    found = cr.compare(*graded, [CompilesLate()], limit=0.3)
    assert found.seconds["slow"] < 0.3 < time.monotonic() - began


@pytest.mark.parametrize("name", ["crowd-bt", "crowd-thurstone", "bradley-terry", "variance-bt"])
def test_methods_are_compared_as_they_rank(name):
    """By the scores of the call that users make, whatever is left out to save time."""
    study = cr.simulate.pairs(items=8, annotators=6, votes=120, seed=3)
    found = cr.compare(study.judgments, study.gold, [name], measures=["tau"]).table
    expected = cr.evaluate(cr.fit(name, study.judgments), study.gold, ["tau"]).mean["tau"]
    assert found["tau"][0] == pytest.approx(expected)
