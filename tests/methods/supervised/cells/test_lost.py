"""A trained method whose most used annotator is missing: it says so, and ranks no worse than rrf."""

import numpy as np
import pytest

import crowdrank as cr

NOISE = {"best": 0.1, "a": 1.0, "b": 1.0, "c": 1.0, "copy": 0.8}


def lists(seed, tasks, missing=""):
    """Lists of 20 items by annotators with normal errors."""
    rng = np.random.default_rng(seed)
    rows = {"task": [], "annotator": [], "item": [], "rank": []}
    gold = {"task": [], "item": [], "grade": []}
    for task in range(tasks):
        truth = rng.normal(size=20)
        common = rng.normal(size=20)
        gold["task"] += [f"{seed}-{task}"] * 20
        gold["item"] += [f"d{item:02}" for item in range(20)]
        gold["grade"] += np.digitize(truth, [0.0, 1.0]).tolist()
        for name, noise in NOISE.items():
            seen = truth + (common if name in ("best", "copy") else 0) * 0.1 + rng.normal(0, noise, 20)
            if name != missing:
                rows["task"] += [f"{seed}-{task}"] * 20
                rows["annotator"] += [name] * 20
                rows["item"] += [f"d{item:02}" for item in range(20)]
                rows["rank"] += (np.argsort(np.argsort(-seen)) + 1).tolist()
    return cr.judgments(rows), cr.gold(gold)


@pytest.mark.parametrize("method", ["weighted-rrf", "crf"])
def test_it_is_not_below_rrf(method):
    model = cr.train(method, *lists(0, 40), max_iter=30)
    whole, gold = lists(1, 60)
    part, _ = lists(1, 60, missing="best")
    assert not any("judged nothing here" in note for note in model.fit(whole).notes)
    found = model.fit(part)
    assert any("judged nothing here: rrf has" in note for note in found.notes)
    by_model, by_rrf = (cr.evaluate(each, gold, ["ndcg"]).mean["ndcg"] for each in (found, cr.fit("rrf", part)))
    assert by_model > by_rrf - 0.003
