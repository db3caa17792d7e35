"""A whole study through the API: 60 items, 40 annotators, 12 of whom answer at random."""

from __future__ import annotations

import numpy as np
import pytest

import crowdrank as cr

ITEMS, PEOPLE, SPAMMERS, VOTES = 60, 40, 12, 1600


@pytest.fixture(scope="module")
def truth():
    return np.random.default_rng(1).normal(0, 2, ITEMS)


def outcome(rng, truth, who, left, right):
    """The winner: spammers toss a coin, others follow Bradley-Terry."""
    chance = 0.5 if who < SPAMMERS else 1 / (1 + np.exp(truth[right] - truth[left]))
    return left if rng.random() < chance else right


def accuracy(score, truth):
    """The share of pairs in the right order."""
    left, right = np.triu_indices(ITEMS, 1)
    return float(np.mean((score[left] > score[right]) == (truth[left] > truth[right])))


def test_the_accuracy_that_replay_promises(hall, truth):
    study = hall(items=ITEMS, rest=f"[collection]\nbudget = {VOTES}")
    rng, people = np.random.default_rng(2), [study.join(annotator=f"a{k}") for k in range(PEOPLE)]
    stored = 0
    while stored < VOTES:
        for number, each in enumerate(people):
            answers = []
            for question in each.questions(4):
                left, right = (int(item["id"][1:]) for item in question["items"])
                winner = f"i{outcome(rng, truth, number, left, right)}"
                answers.append({"key": question["id"], "question": question["id"], "winner": winner})
            if answers:
                stored += len(each.ok("POST", "judgments", json=answers)["stored"])
    owner = study.owner()
    found = owner.ok("GET", "consensus?wait=30")
    assert (found["judgments"], found["stale"]) == (VOTES, False)
    score = {row["item"]: row["score"] for row in found["ranking"]}
    reached = accuracy(np.array([score[f"i{k}"] for k in range(ITEMS)]), truth)
    assert reached >= promised(truth) - 0.03  # answers come faster here than questions can be planned
    quality = {row["id"]: row["quality"] for row in owner.ok("GET", "annotators?wait=30")["annotators"]}
    assert max(quality[f"a{k}"] for k in range(SPAMMERS)) < np.median(
        [quality[f"a{k}"] for k in range(SPAMMERS, PEOPLE)]
    )


def promised(truth):
    """What `replay` reaches with as many judgments of the same crowd, chosen by the default policy."""
    rng = np.random.default_rng(3)
    rows = []
    for who in range(PEOPLE):
        left, right = np.triu_indices(ITEMS, 1)
        chosen = rng.choice(len(left), 400, replace=False)
        rows += [(f"a{who}", left[k], right[k], outcome(rng, truth, who, left[k], right[k])) for k in chosen]
    names = ("annotator", "left", "right", "winner")
    pool = cr.judgments({name: [str(row[k]) for row in rows] for k, name in enumerate(names)})
    gold = cr.gold({"item": [str(k) for k in range(ITEMS)], "score": truth.tolist()})
    curve = cr.replay(pool, gold, "mutual-information", budget=VOTES, every=VOTES)
    return float(curve["acc"].to_list()[-1])
