"""Gold that is pairs: which of two items is better is known, not how good each of them is."""

import json

import pytest
from scipy import stats

import crowdrank as cr

RANKED = {"item": list("abcd"), "score": [4.0, 3.0, 3.0, 1.0]}


def test_the_share_of_known_pairs_in_the_right_order():
    """a > b and a > d hold, d > b does not, b and c are tied: 2 of 4, and τ-b of the pairs is (2 − 1) / √(4 · 3)."""
    gold = cr.gold({"left": ["a", "a", "b", "b"], "right": ["b", "d", "d", "c"], "winner": ["a", "left", "d", "c"]})
    assert repr(gold) == "Gold(4 pairs over 1 tasks)"
    found = cr.evaluate(RANKED, gold)
    assert found.mean == pytest.approx({"acc": 2 / 4, "tau": 1 / 12**0.5})
    assert not found.notes


def test_all_pairs_of_an_order_measure_as_the_order_does():
    order = ["b", "a", "d", "c"]
    pairs = [(one, other) for number, one in enumerate(order) for other in order[number + 1 :]]
    by_pairs = cr.evaluate(RANKED, cr.gold({"winner": [w for w, _ in pairs], "loser": [o for _, o in pairs]}))
    by_rank = cr.evaluate(RANKED, cr.gold({"item": order, "rank": [1, 2, 3, 4]}), ["acc", "tau"])
    assert by_pairs.mean == pytest.approx(by_rank.mean)
    assert by_pairs.mean["tau"] == pytest.approx(stats.kendalltau(RANKED["score"], [3, 4, 1, 2]).statistic)


def test_each_task_has_its_own_pairs_and_what_cannot_be_used_is_said():
    gold = cr.gold({"task": ["t", "t", "u", "u"], "winner": ["x", "x", "y", "x"], "loser": ["y", "x2", "x", "z"]})
    ranked = {"task": ["t", "t", "u", "u"], "item": ["x", "y", "x", "y"], "score": [2, 1, 2, 1]}
    found = cr.evaluate(ranked, gold, "acc")
    assert found.per_task["acc"].to_list() == [1.0, 0.0]
    assert found.notes == ("2 of 4 gold pairs have an item that is not ranked: not used",)


def test_repeated_pairs_count_once_and_ties_not_at_all():
    gold = cr.gold({"left": ["a", "a", "c"], "right": ["b", "b", "d"], "winner": ["a", "a", "tie"]})
    assert len(gold) == 1


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"winner": ["a", "b"], "loser": ["b", "a"]}, "both that 'a' is better than 'b' and the opposite"),
        ({"left": ["a"], "right": ["b"], "winner": ["tie"]}, "all known pairs are ties"),
    ],
)
def test_what_is_no_gold(frame, message):
    with pytest.raises(cr.JudgmentError, match=message):
        cr.gold(frame)


def test_pairs_and_grades_are_not_mixed():
    with pytest.raises(cr.JudgmentError, match="pairs are mixed with grades"):
        cr.gold({"winner": ["a"], "loser": ["b"]}, {"item": ["a"], "grade": [1]})


def test_measures_and_methods_that_need_values_say_so():
    gold = cr.gold({"winner": ["a"], "loser": ["b"]})
    for measure in ("ndcg@10", "spearman"):
        with pytest.raises(cr.JudgmentError, match=r"this gold has pairs: use acc, tau"):
            cr.evaluate(RANKED, gold, measure)
    study = cr.judgments({"annotator": ["u"], "left": ["a"], "right": ["b"], "winner": ["a"]})
    with pytest.raises(cr.JudgmentError, match="give grades, scores or ranks of items"):
        cr.fit("crowd-bt", study, gold=gold)


@pytest.mark.parametrize("name", ["gold.csv", "gold.jsonl", "gold.parquet"])
def test_written_and_read_again(tmp_path, name):
    gold = cr.gold({"task": ["t", "u"], "left": ["a", "a"], "right": ["b", "b"], "winner": ["a", "b"]})
    cr.write(gold, tmp_path / name)
    again = cr.read_gold(tmp_path / name)
    assert (
        (again.better.tolist(), again.worse.tolist()) == (gold.better.tolist(), gold.worse.tolist()) == ([0, 3], [1, 2])
    )


def test_of_label_studio_and_toloka(tmp_path):
    """Each file holds its own gold: gpt is better than llama."""
    shown = {"model_a": "gpt", "model_b": "llama"}
    result = [{"from_name": "pw", "type": "pairwise", "value": {"selected": "left"}}]
    answers = [{"completed_by": user, "ground_truth": user == 3, "result": result} for user in (1, 2, 3)]
    (tmp_path / "pairs.json").write_text(json.dumps([{"id": 1, "data": shown, "annotations": answers}]))
    (tmp_path / "pool.tsv").write_text(
        "INPUT:image_a\tINPUT:image_b\tOUTPUT:result\tGOLDEN:result\tASSIGNMENT:worker_id\n"
        "gpt\tllama\timage_a\tgpt\tu1\n\ngpt\tllama\timage_b\tgpt\tu2\nllama\tmistral\timage_a\t\tu2\n"
    )
    for name in ("pairs.json", "pool.tsv"):
        gold = cr.read_gold(tmp_path / name)
        assert (len(gold), gold.vocabulary.items[gold.vocabulary.entry_item[gold.better]].tolist()) == (1, ["gpt"])
        assert cr.compare(cr.read(tmp_path / name), gold, ["bradley-terry"]).measures == ("acc", "tau")
        assert any("--gold" in note for note in cr.read(tmp_path / name).notes)
