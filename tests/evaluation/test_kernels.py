import itertools

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdrank.evaluation.evaluate import evaluate
from crowdrank.evaluation.kernels import letor_discount, log_discount

ITEMS = [f"d{number}" for number in range(14)]
TREC = {
    "map": "map",
    "map@5": "map_cut_5",
    "p@10": "P_10",
    "p@3": "P_3",
    "recall@5": "recall_5",
    "recall@10": "recall_10",
    "mrr": "recip_rank",
    "trec-ndcg": "ndcg",
    "trec-ndcg@10": "ndcg_cut_10",
    "trec-ndcg@3": "ndcg_cut_3",
}
# Not every ranked item has gold, not every item with gold is ranked, scores tie.
RUN = st.dictionaries(st.sampled_from(ITEMS), st.integers(0, 6), min_size=1)
QRELS = st.dictionaries(st.sampled_from(ITEMS), st.integers(-1, 4), min_size=1)
TASKS = st.lists(st.tuples(RUN, QRELS), min_size=1, max_size=3)


def as_dicts(tasks):
    run = {f"q{number}": {item: float(score) for item, score in one.items()} for number, (one, _) in enumerate(tasks)}
    return run, {f"q{number}": gold for number, (_, gold) in enumerate(tasks)}


def overlap(run, qrels):
    return any(run[task].keys() & qrels[task].keys() for task in run)


def pytrec(run, qrels, names):
    # trec_eval never returns when all grades of a task are negative; 0 is as worthless.
    floored = {task: {item: max(grade, 0) for item, grade in gold.items()} for task, gold in qrels.items()}
    found = pytrec_eval.RelevanceEvaluator(floored, set(names)).evaluate(run)
    return [[found[task][name] for name in names] for task in sorted(run)]


def ordered(run, qrels):
    """Grades in the order of the list: highest score first, later in the alphabet first among equals."""
    return [qrels.get(item, 0) for item in sorted(run, key=lambda item: (run[item], item), reverse=True)]


@given(TASKS)
@settings(max_examples=150, deadline=None)
def test_as_trec_eval_with_ties_unjudged_and_missing_items(ranking, truth, tasks):
    run, qrels = as_dicts(tasks)
    if overlap(run, qrels):
        found = evaluate(ranking(run), truth(qrels), list(TREC))
        np.testing.assert_allclose(found.values, pytrec(run, qrels, TREC.values()), atol=1e-12)


@given(TASKS)
@settings(max_examples=75, deadline=None)
def test_ndcg_is_trec_ndcg_of_exponential_gains(ranking, truth, tasks):
    run, qrels = as_dicts(tasks)
    if overlap(run, qrels):
        gains = {task: {item: 2 ** max(grade, 0) - 1 for item, grade in gold.items()} for task, gold in qrels.items()}
        found = evaluate(ranking(run), truth(qrels), ["ndcg", "ndcg@10", "ndcg@3"])
        np.testing.assert_allclose(found.values, pytrec(run, gains, ["ndcg", "ndcg_cut_10", "ndcg_cut_3"]), atol=1e-12)


@given(TASKS)
@settings(max_examples=75, deadline=None)
def test_err_rbp_and_letor_ndcg_as_written_in_the_papers(ranking, truth, tasks):
    run, qrels = as_dicts(tasks)
    if not overlap(run, qrels):
        return
    top = max(grade for gold in qrels.values() for grade in gold.values())
    found = evaluate(ranking(run), truth(qrels), ["err", "err@3", "rbp", "rbp.95", "rbp.5@2", "letor-ndcg@4", "mrr@2"])
    for row, task in enumerate(sorted(run)):
        grades = ordered(run[task], qrels[task])
        ideal = sorted(qrels[task].values(), reverse=True)
        expected = [
            slow_err(grades, top),
            slow_err(grades[:3], top),
            slow_rbp(grades, 0.8),
            slow_rbp(grades, 0.95),
            slow_rbp(grades[:2], 0.5),
            slow_letor_dcg(grades[:4]) / slow_letor_dcg(ideal[:4]) if max(ideal) > 0 else 0.0,
            next((1 / i for i, grade in enumerate(grades[:2], 1) if grade >= 1), 0.0),
        ]
        np.testing.assert_allclose(found.values[row], expected, atol=1e-12)


def slow_err(grades, top):
    """Chapelle et al., CIKM 2009, algorithm 2."""
    goes_on, total = 1.0, 0.0
    for position, grade in enumerate(grades, 1):
        stops = (2 ** max(grade, 0) - 1) / 2**top
        total += goes_on * stops / position
        goes_on *= 1 - stops
    return total


def slow_rbp(grades, persistence):
    """Moffat and Zobel, TOIS 2008, equation 4."""
    return (1 - persistence) * sum(persistence ** (i - 1) for i, grade in enumerate(grades, 1) if grade >= 1)


def slow_letor_dcg(grades):
    """Eval-Score-4.0.pl of LETOR: the first two positions in full, then over log2 of the position."""
    gains = [2 ** max(grade, 0) - 1 for grade in grades]
    return sum(gain if i <= 2 else gain / np.log2(i) for i, gain in enumerate(gains, 1))


def test_err_and_ndcg_as_gdeval(ranking, truth):
    # gdeval's top grade is 4 always, and it prints five digits.
    rng = np.random.default_rng(1)
    qrels = {f"{q}": {f"d{i}": int(rng.integers(0, 5)) for i in range(30)} for q in range(5)}
    qrels["0"]["d0"] = 4
    run = {q: {item: float(rng.normal()) for item in gold} for q, gold in qrels.items()}
    found = evaluate(ranking(run), truth(qrels), ["err@10", "ndcg@10"])
    theirs = ir_measures.calc_aggregate([ir_measures.ERR @ 10, ir_measures.nDCG(dcg="exp-log2") @ 10], qrels, run)
    assert list(found.mean.values()) == pytest.approx(
        [theirs[ir_measures.ERR @ 10], theirs[ir_measures.nDCG(dcg="exp-log2") @ 10]], abs=1e-5
    )


def test_discounts():
    assert log_discount(3).tolist() == pytest.approx([1, 1 / np.log2(3), 0.5])
    assert letor_discount(4).tolist() == pytest.approx([1, 1, 1 / np.log2(3), 0.5])


def test_no_order_beats_the_ideal_one(ranking, truth):
    qrels = {"q": {"a": 3, "b": 1, "c": 0, "d": 2}}
    orders = itertools.permutations("abcd")
    values = [
        evaluate(
            ranking({"q": {item: -place for place, item in enumerate(order)}}),
            truth(qrels),
            ["ndcg", "letor-ndcg", "map"],
        )
        for order in orders
    ]
    best = max(values, key=lambda found: found.mean["ndcg"])
    assert best.mean == {"ndcg": 1.0, "letor-ndcg": 1.0, "map": 1.0}
    assert sum(found.mean["ndcg"] == 1 for found in values) == 1


def test_huge_grades_do_not_overflow(ranking, truth):
    found = evaluate(ranking({"q": {"a": 1, "b": 2}}), truth({"q": {"a": 5000, "b": 4999}}), ["ndcg", "err"])
    # The gain of b is half that of a. At b every other user stops, at a all who are left.
    assert found.mean["ndcg"] == pytest.approx((0.5 + 1 / np.log2(3)) / (1 + 0.5 / np.log2(3)))
    assert found.mean["err"] == pytest.approx(0.5 + 0.5 / 2)
