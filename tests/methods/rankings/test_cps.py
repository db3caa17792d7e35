import numpy as np
import pytest
from scipy.optimize import check_grad

import crowdrank as cr
from crowdrank.convert import as_lists
from crowdrank.methods.rankings.cps import CPS, StageModel, Stages
from crowdrank.methods.rankings.lists.kemeny import by_task

LISTS = [
    ("t", "ann", [["a"], ["b"], ["c", "d"]], False),
    ("t", "bob", [["d"], ["a"]], False),
    ("t", "cy", [["b"], ["d"]], True),
    ("u", "ann", [["c"], ["b"], ["a"]], False),
    ("u", "bob", [["a", "c"]], True),
    ("v", "cy", [["a"], ["b"]], False),
]
TRUTH = {
    ("t", "a"): 2,
    ("t", "b"): 1,
    ("t", "c"): 0,
    ("t", "d"): 1,
    ("u", "a"): 0,
    ("u", "b"): 1,
    ("v", "a"): 1,
    ("v", "b"): 1,
}


def truth_of(vocabulary):
    return np.array(
        [
            TRUTH.get((vocabulary.tasks[t], vocabulary.items[i]), np.nan)
            for t, i in zip(vocabulary.entry_task, vocabulary.entry_item, strict=True)
        ]
    )


def stages_of(judgments):
    return Stages.of(by_task(as_lists(judgments)), judgments.vocabulary, truth_of(judgments.vocabulary))


def half_pairs(lists, task, who, item, left) -> float:
    """Items put before `item`, pairs that are tied or not there counting half: one pair after the other."""
    total = 0.0
    for _, _, places, below in [each for each in lists if each[:2] == (task, who)]:
        place = {name: number for number, group in enumerate(places) for name in group}
        if below:
            place = dict.fromkeys(left, len(places)) | place
        for other in left:
            if other != item:
                known = item in place and other in place and place[item] != place[other]
                total += (place[other] < place[item]) if known else 0.5
    return total


def test_stages_hold_what_each_list_puts_before_each_item(build):
    """But for a number that all items of a stage share."""
    stages = stages_of(build.judgments(lists=LISTS))
    wanted = [("t", "bcd"), ("t", "abcd"), ("u", "ab")]
    assert stages.stage.tolist() == [0, 0, 0, 1, 1, 1, 1, 2, 2]
    assert stages.good.tolist() == [True, False, True, True, False, False, False, False, True]
    row = 0
    for task, left in wanted:
        slow = np.array([[half_pairs(LISTS, task, who, item, left) for who in ("ann", "bob", "cy")] for item in left])
        fast = stages.before[row : row + len(left)]
        np.testing.assert_allclose(fast - fast[0], slow - slow[0])
        row += len(left)


def test_the_likelihood_by_hand(build):
    stages = stages_of(build.judgments(lists=LISTS))
    theta, u = np.array([0.5, -0.2, 0.3]), 0.0
    worth = np.exp(-stages.before @ theta)
    for stage in range(3):
        good, bad = (worth[(stages.stage == stage) & (stages.good == wanted)] for wanted in (True, False))
        u -= np.log(good / (good + bad.sum())).sum()
    assert StageModel(stages, 0.0, np.zeros(3)).evaluate(theta)[0] == pytest.approx(u)


def test_derivatives(build):
    model = StageModel(stages_of(build.judgments(lists=LISTS)), 0.7, np.full(3, 0.2))
    x, v = np.array([0.5, -0.3, 0.1]), np.array([1.0, -2.0, 0.5])
    assert check_grad(lambda x: model.evaluate(x)[0], lambda x: model.evaluate(x)[1], x) < 1e-5
    slope = (model.evaluate(x + 1e-5 * v)[1] - model.evaluate(x - 1e-5 * v)[1]) / 2e-5
    model.evaluate(x)
    np.testing.assert_allclose(model.hessian_product(v), slope, atol=1e-8)
    np.testing.assert_allclose(model.diagonal(), [model.hessian_product(row)[i] for i, row in enumerate(np.eye(3))])


@pytest.mark.parametrize("seed", range(10))
def test_each_stage_takes_the_most_likely_item(build, seed):
    rng = np.random.default_rng(seed)
    items = list("abcdefg")
    lists = [
        ("t", f"k{n}", [[item] for item in rng.permutation(items)[: rng.integers(2, 8)]], bool(n % 2)) for n in range(5)
    ]
    found = CPS().fit(build.judgments(lists=lists, entries=[("t", item) for item in items])).ranking
    left = [item for item, rank in found.select("item", "rank").iter_rows() if rank is not None]
    for _, group in found.drop_nulls("rank").group_by("rank", maintain_order=True):
        cost = {
            item: sum(half_pairs(lists, "t", who, item, left) for who in {each[1] for each in lists}) for item in left
        }
        for item in group["item"]:
            assert cost[item] == pytest.approx(min(cost.values()))
        left = [item for item in left if item not in group["item"].to_list()]


def crowd(rng, tasks=80, items=8):
    """Two good annotators, a random one and a reversed one; the true order is that of the names."""
    names = [f"i{n}" for n in range(items)]
    rows = [
        (f"t{task:02}", who, names[i], rank)
        for task in range(tasks)
        for who, sign, noise in (("good", 1, 2), ("fair", 1, 4), ("none", 0, 1), ("rev", -1, 2))
        for rank, i in enumerate(np.argsort(sign * np.arange(items) + rng.normal(0, noise, items)))
    ]
    columns = dict(zip(("task", "annotator", "item", "rank"), map(list, zip(*rows, strict=True)), strict=True))
    grade = [max(0, 2 - n // 2) for n in range(items)]
    truth = {"task": [f"t{t:02}" for t in range(tasks) for _ in names], "item": names * tasks, "grade": grade * tasks}
    return cr.judgments(columns), truth


def test_weights_are_learned_from_gold():
    judgments, truth = crowd(np.random.default_rng(1))
    half = len(truth["task"]) // 2
    train, test = (
        cr.gold({name: values[part] for name, values in truth.items()}) for part in (slice(half), slice(half, None))
    )
    untrained, trained = CPS().fit(judgments), CPS().fit(judgments, gold=train)
    theta = dict(trained.annotators.select("annotator", "theta").iter_rows())
    assert theta["good"] > theta["fair"] > theta["none"] > theta["rev"]
    assert abs(theta["none"]) < 0.05 < theta["fair"]
    assert trained.fit.converged
    ndcg = [cr.evaluate(found, test, "ndcg").mean["ndcg"] for found in (untrained, trained)]
    assert ndcg[1] > ndcg[0] + 0.05


def test_a_large_penalty_makes_all_weights_equal():
    judgments, truth = crowd(np.random.default_rng(2), tasks=10)
    theta = CPS(penalty=1e9).fit(judgments, gold=cr.gold(truth)).annotators["theta"].to_numpy()
    assert np.ptp(theta) < 1e-5


def test_gold_of_equal_grades_is_refused(build):
    judgments = build.judgments(lists=LISTS)
    with pytest.raises(cr.JudgmentError, match="tasks whose gold has two different grades"):
        CPS().fit(judgments, gold=cr.gold({"task": ["t", "t"], "item": ["a", "b"], "grade": [1, 1]}))


def test_items_on_few_lists_do_not_come_first_for_that(build):
    """Nobody puts anything before z, since only one list has it, last but one."""
    lists = [("t", f"k{n}", [["a"], ["b"], ["c"]], False) for n in range(5)] + [
        ("t", "z", [["a"], ["z"], ["c"]], False)
    ]
    assert CPS().fit(build.judgments(lists=lists)).ranking["item"][0] == "a"
