"""CrowdAgg's expected discounts by generating functions, and by the paper's Algorithms 1 and 2: `python
benchmarks/crowdagg.py`.

The first table is of one pass over the ballots of 20 annotators who judged ten items each; the algorithms run on one of
the annotators, and are multiplied up. The second is of whole fits. Seconds are the processor's, the least of several
runs on one thread. `benchmarks/listwise.py` puts both on its page.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl

import crowdrank as cr
from crowdrank.methods.rankings.crowdagg import CrowdAgg, StudyBallots

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from reference.crowdagg import algorithm_1, algorithm_2, expected_discounts

ANNOTATORS, JUDGED = 20, 10


def graded(tasks: int, items: int, annotators: int, judged: int, grades: int = 3, seed: int = 0) -> cr.Judgments:
    """In every task so many annotators grade so many of the items each, with noise around the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(tasks, items))
    task, annotator = (part.ravel() for part in np.indices((tasks, annotators)))
    item = np.argsort(rng.random((tasks * annotators, items)), axis=1)[:, :judged]
    seen = truth[task[:, None], item] + rng.normal(0, 1, item.shape)
    grade = np.digitize(seen, np.linspace(-1, 1, grades - 1)) if grades < judged else seen
    columns = {
        "task": task.repeat(judged),
        "annotator": annotator.repeat(judged),
        "item": item.ravel(),
        "grade": grade.ravel(),
    }
    return cr.judgments(pl.DataFrame(columns))


def seconds(work: Callable[[], object], times: int = 5) -> float:
    """The shortest of several runs."""
    took = []
    for _ in range(times):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return min(took)


def chances(ballots: StudyBallots, n: int) -> np.ndarray:
    """What the first annotator said, as the matrix that the algorithms take."""
    lists = ballots.lists
    rows = slice(lists.row_starts[0], lists.row_starts[1])
    entry, won = lists.entry[rows], lists.won[lists.row_level[rows]]
    chance = np.full((n, n), 0.5)
    chance[np.ix_(entry, entry)] += lists.slope[0] * (won[:, None] - won)
    return chance


def one_pass(n: int) -> str:
    """A row of the first table."""
    ballots = StudyBallots(graded(1, n, ANNOTATORS, JUDGED), CrowdAgg())
    ours = seconds(lambda: ballots.gains(np.ones(ANNOTATORS)))
    chance, discount = chances(ballots, n), lambda rank: 1 / np.log2(1 + rank)
    slow = ANNOTATORS * seconds(lambda: expected_discounts(algorithm_1(chance), discount), 1) if n <= 1000 else np.nan
    fast = ANNOTATORS * seconds(lambda: expected_discounts(algorithm_2(chance), discount), 1)
    return f"| {n:,} | {ours * 1e3:.2f} ms | {slow:.2f} s | {fast:.2f} s | {fast / ours:,.0f} × |".replace("nan s", "–")


def whole_fit(name: str, judgments: cr.Judgments) -> str:
    """A row of the second table."""
    found = CrowdAgg().fit(judgments)
    took, equal = (
        seconds(lambda: CrowdAgg().fit(judgments), 3),
        seconds(lambda: CrowdAgg(quality="equal").fit(judgments), 3),
    )
    return f"| {name} | {len(judgments):,} | {found.fit.steps} | {took:.2f} s | {equal:.2f} s |"


def tables() -> Iterator[str]:
    """Both tables, line by line."""
    yield "| items | generating function | Algorithm 1 | Algorithm 2 | Algorithm 2 takes |\n|---|---|---|---|---|"
    yield from (one_pass(n) for n in (100, 1000, 2000))
    yield "\n| study | judgments | steps | fit | with equal quality |\n|---|---|---|---|---|"
    for name, tasks, judged, grades in (
        ("100 tasks × 190 items, 43 annotators, 10 items each", 100, 10, 3),
        ("the same, all 190 items each, 3 grades", 100, 190, 3),
        ("the same, all 190 items ranked", 100, 190, 190),
    ):
        yield whole_fit(name, graded(tasks, 190, 43, judged, grades))


if __name__ == "__main__":
    for line in tables():
        print(line, flush=True)
