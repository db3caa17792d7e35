"""The conditional random field: its weights, and which annotators have weights of their own."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.methods.supervised.cells.linear import first_unless_better


def crowd(tasks=60, items=7, seed=0, prefix="q"):
    """`good` sees the grade, `reversed` its opposite, `random` guesses, `picky` lists relevant items, unordered."""
    rng = np.random.default_rng(seed)
    rows, gold = [], []
    for task in (f"{prefix}{number:03}" for number in range(tasks)):
        grade = rng.choice([0, 0, 1, 2], items)
        gold += [(task, f"{task}-{item}", int(value)) for item, value in enumerate(grade)]
        seen = {
            "good": grade + rng.normal(0, 0.6, items),
            "reversed": -grade + rng.normal(0, 0.6, items),
            "random": rng.normal(size=items),
            "picky": np.where(rng.random(items) < 0.9, np.where(grade > 0, rng.normal(size=items), np.nan), np.nan),
        }
        for name, values in seen.items():
            listed = [item for item in np.argsort(-values) if not np.isnan(values[item])]
            rows += [(task, name, f"{task}-{item}", rank) for rank, item in enumerate(listed, 1)]
    columns = {"schema": ["task", "annotator", "item", "rank"], "orient": "row"}
    return pl.DataFrame(rows, **columns), pl.DataFrame(gold, schema=["task", "item", "grade"], orient="row")


LISTS, GOLD = crowd()
MANY, MANY_GOLD = crowd(tasks=300, seed=1)


@pytest.fixture(scope="module")
def trained():
    return cr.CRF(max_iter=45).train(cr.judgments(LISTS), cr.gold(GOLD))


def test_weights_say_who_is_used_ignored_and_turned_around():
    trained = cr.CRF(max_iter=30).train(cr.judgments(MANY), cr.gold(MANY_GOLD))
    known = trained.fit(cr.judgments(LISTS)).annotators
    use = dict(zip(known["annotator"], known["use"], strict=True))
    assert use == {"good": "used", "picky": "used", "random": "ignored", "reversed": "inverted"}
    rows = {row["annotator"]: row for row in known.to_dicts()}
    assert rows["picky"]["missing"] < -1  # being listed by them speaks for an item
    assert min(rows["good"]["preferred"], rows["good"]["beaten"]) > 0
    assert max(rows["reversed"]["preferred"], rows["reversed"]["beaten"]) < 0


def test_training_says_how_it_ended(trained):
    assert 0.8 < trained.training.objective <= 1
    assert trained.training.steps in (15, 30, 45)
    short = cr.CRF(max_iter=3, potential="log").train(cr.judgments(LISTS), cr.gold(GOLD))
    assert not short.training.converged
    assert any("still improving" in note for note in short.fit(cr.judgments(LISTS)).notes)


def test_shared_weights_do_not_know_names(trained):
    """The consensus model ranks the same whoever says it."""
    model = cr.CRF(weights="shared", max_iter=15).train(cr.judgments(LISTS), cr.gold(GOLD))
    renamed = LISTS.with_columns(pl.col("annotator") + " the second")
    assert model.fit(cr.judgments(renamed)).score == pytest.approx(model.fit(cr.judgments(LISTS)).score)
    assert len(model.annotators) == 0


def test_own_weights_leave_unknown_annotators_out():
    model = cr.CRF(weights="own", max_iter=15).train(cr.judgments(LISTS), cr.gold(GOLD))
    other, _ = crowd(tasks=60, seed=0)
    stranger = other.with_columns(annotator=pl.lit("stranger-") + pl.col("annotator"))
    alone, together = model.fit(cr.judgments(LISTS)), model.fit(cr.judgments(pl.concat([LISTS, stranger])))
    assert together.score == pytest.approx(alone.score)
    assert any("their judgments do not count" in note for note in together.notes)


def test_strangers_get_the_shared_weights():
    """In a crowd where most are good, the shared weights trust a stranger."""
    names = {f"good{number}": pl.lit(f"good{number}") for number in range(4)}
    good = LISTS.filter(pl.col("annotator") == "good")
    many = pl.concat([good.with_columns(annotator=name) for name in names.values()])
    model = cr.CRF(max_iter=15).train(cr.judgments(many), cr.gold(GOLD))
    test, test_gold = crowd(tasks=20, seed=5, prefix="t")
    stranger = test.filter(pl.col("annotator") == "good").with_columns(annotator=pl.lit("stranger"))
    found = model.fit(cr.judgments(stranger))
    assert any("1 annotator with too few training tasks" in note for note in found.notes)
    assert cr.evaluate(found, cr.gold(test_gold), ["ndcg"]).mean["ndcg"] > 0.9


def test_annotators_met_seldom_have_no_weights_of_their_own():
    seldom = LISTS.filter((pl.col("annotator") != "good") | (pl.col("task") < "q005"))
    model = cr.CRF(max_iter=3).train(cr.judgments(seldom), cr.gold(GOLD))
    assert "good" not in set(model.annotators)
    assert len(model.annotators) == 3


@pytest.mark.parametrize("measure", ["ndcg@1", "err", "map", "p@2"])
def test_any_measure_can_be_learned_for(measure):
    model = cr.CRF(measure=measure, max_iter=15, potential="log").train(cr.judgments(LISTS), cr.gold(GOLD))
    test, test_gold = crowd(tasks=20, seed=5, prefix="t")
    plain = cr.evaluate(cr.fit("borda", cr.judgments(test)), cr.gold(test_gold), ["map"]).mean["map"]
    assert cr.evaluate(model.fit(cr.judgments(test)), cr.gold(test_gold), ["map"]).mean["map"] > plain + 0.1


def test_the_usual_is_taken_unless_another_is_better_by_more_than_chance():
    rng = np.random.default_rng(0)
    usual = rng.random(50)
    assert first_unless_better([usual, usual + rng.normal(0, 0.3, 50) * 0.01, usual]) in (0, 1)
    assert first_unless_better([usual, usual + 0.1]) == 1
    assert first_unless_better([usual, usual + np.r_[np.full(49, -0.02), 1.0]]) == 0
    assert first_unless_better([usual, usual.copy()]) == 0
