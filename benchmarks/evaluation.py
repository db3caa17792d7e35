"""Five measures on ten runs of 1,000 tasks × 100 items: crowdrank beside pytrec_eval, in one run, values compared.

    python benchmarks/evaluation.py

What each side starts from is not timed: nested dicts and the evaluator made of the gold there, Consensus and Gold here.
The ranks of a Consensus and matching its names with gold's are timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytrec_eval

from crowdrank.consensus import Consensus
from crowdrank.evaluation.evaluate import Evaluation, evaluate
from crowdrank.evaluation.matching import match
from crowdrank.study import Gold, Vocabulary, ids

TASKS, ITEMS, RUNS, REPEATS = 1000, 100, 10, 3
MEASURES = {"trec-ndcg": "ndcg", "trec-ndcg@10": "ndcg_cut_10", "map": "map", "p@10": "P_10", "mrr": "recip_rank"}
OURS = ["ndcg@10", "map", "p@10", "mrr", "trec-ndcg"]


def vocabulary(names: list[str]) -> Vocabulary:
    """Items d0, d1, … of which every task has its own hundred."""
    code = {name: number for number, name in enumerate(names)}
    item = np.array([[code[f"d{task}_{i}"] for i in range(ITEMS)] for task in range(TASKS)], dtype=np.int32)
    return Vocabulary(
        ids([f"q{task}" for task in range(TASKS)]),
        ids(names),
        ids([]),
        np.repeat(np.arange(TASKS, dtype=np.int32), ITEMS),
        np.sort(item, axis=1).ravel(),
    )


def best_of(work: Callable[[], Any]) -> float:
    """The shortest of a few times, in seconds."""
    taken = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def main() -> None:
    """Time both and print a table."""
    rng = np.random.default_rng(0)
    names = [f"d{task}_{i}" for task in range(TASKS) for i in range(ITEMS)]
    words = vocabulary(names)
    shuffled = vocabulary([str(name) for name in rng.permutation(names)])
    gold = Gold(words, rng.integers(0, 4, TASKS * ITEMS).astype(float), "grade")
    scores = [rng.normal(size=TASKS * ITEMS).astype(np.float32).astype(float) for _ in range(RUNS)]
    qrels, runs = as_dicts(words, gold.value, int), [as_dicts(words, score, float) for score in scores]
    others_order = Gold(shuffled, gold.align(shuffled), "grade")

    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(MEASURES.values()))
    theirs = [evaluator.evaluate(run) for run in runs]
    check(theirs, [evaluate(Consensus(words, "run", score, {}), gold, list(MEASURES)) for score in scores])

    def ours(gold: Gold) -> None:
        match.cache_clear()  # every repetition matches the names once, as a user's first loop would
        for score in scores:
            evaluate(Consensus(words, "run", score, {}), gold, OURS)

    peer = best_of(lambda: [evaluator.evaluate(run) for run in runs])
    print(f"{RUNS} runs × {TASKS:,} tasks × {ITEMS} items, five measures, best of {REPEATS}; values agree")
    print(f"{'':<42}{'seconds':>8}  {'× pytrec_eval':>13}")
    rows = {
        "pytrec_eval": peer,
        "crowdrank": best_of(lambda: ours(gold)),
        "crowdrank, gold's ids in another order": best_of(lambda: ours(others_order)),
    }
    for name, seconds in rows.items():
        print(f"{name:<42}{seconds:>8.3f}  {seconds / peer:>13.2f}")


def as_dicts(words: Vocabulary, values: Any, kind: type) -> dict[str, dict[str, Any]]:
    """What pytrec_eval takes."""
    table: dict[str, dict[str, Any]] = {str(task): {} for task in words.tasks}
    for task, item, value in zip(
        words.tasks[words.entry_task], words.items[words.entry_item], values.tolist(), strict=True
    ):
        table[task][item] = kind(value)
    return table


def check(theirs: list[dict[str, dict[str, float]]], ours: list[Evaluation]) -> None:
    """The same value in every run, task and measure."""
    for peer, own in zip(theirs, ours, strict=True):
        expected = [[peer[task][name] for name in MEASURES.values()] for task in own.tasks]
        np.testing.assert_allclose(own.values, expected, atol=1e-9)


if __name__ == "__main__":
    main()
