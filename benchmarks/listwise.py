"""crowdrank beside what people use for rankings: `python benchmarks/listwise.py`. Writes docs/benchmarks-listwise.md.

Every run is a process of its own on the same simulated lists. Each tool is given the lists in the form it handles best,
which is not timed. Warm is the shortest of the next calls; cold is the import and the first call without compiled code
in the cache. Seconds are the processor's, every tool on one thread: other work on the machine disturbs them least.
Fusion: each run ranks the same 100 documents by a noisy relevance; measured by how many of the ten best are among the
first ten. Kemeny: tasks of so many items, seven lists each; measured by the total distance to the lists. Plackett-Luce:
without prior; measured by the root mean square error of the scores.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks-listwise.md"
LIMIT = 100  # seconds
SHORT = 20  # seconds; what takes less is called a few times more
ONE_THREAD = dict.fromkeys(("CROWDRANK_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
TOP = 10
Fit = Callable[[], Any]
Tool = tuple[
    str, Callable[[Any], Fit], Callable[[Any, Any], float]
]  # module to import, lists → fit, (lists, result) → figure


# The lists.


def runs(queries: int = 1000, pool: int = 100, depth: int = 100, systems: int = 10) -> np.ndarray:
    """The documents of each run, best first, as systems × queries × depth; 0 is the most relevant, then 1, …"""
    rng = np.random.default_rng(0)
    seen = -np.arange(pool) / 10 + rng.normal(0, 5, (systems, queries, pool))
    return np.argsort(-seen, axis=2)[:, :, :depth]


def profiles(tasks: int, items: int, lists: int = 7) -> np.ndarray:
    """Orders around the same one, with much noise, as tasks × lists × items."""
    rng = np.random.default_rng(1)
    return np.argsort(np.arange(items) + rng.normal(0, items, (tasks, lists, items)), axis=2)


def choices(lists: int, items: int = 1000, length: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Lists of a few items from a Plackett-Luce model, and its scores."""
    rng = np.random.default_rng(2)
    score = rng.normal(size=items)
    drawn = np.stack([rng.choice(items, length, replace=False) for _ in range(lists)])
    order = np.argsort(-(score[drawn] + rng.gumbel(size=drawn.shape)), axis=1)
    return np.take_along_axis(drawn, order, axis=1), score - score.mean()


# The tools.


def ours(name: str, *, top_k: bool = False, **settings: object) -> Callable[[Any], Fit]:
    """A method of ours on runs (the first axis is the system, the second the task), or on other lists, whose last axis
    is the list.
    """

    def tool(lists: Any) -> Fit:
        import crowdrank as cr

        lists = lists[0][None] if isinstance(lists, tuple) else lists
        task, who, place = np.indices(lists.shape)
        if top_k:
            task, who = who, task
        columns = {"task": task, "annotator": who, "list": who, "item": lists, "rank": place + 1}
        judgments = cr.judgments(pl.DataFrame({key: values.ravel() for key, values in columns.items()}), top_k=top_k)
        method = cr.METHODS[name](**settings)
        return lambda: method.fit(judgments)

    return tool


def ranx(method: str) -> Callable[[np.ndarray], Fit]:
    """Fusion of runs by ranx."""

    def tool(lists: np.ndarray) -> Fit:
        from ranx import Run, fuse

        score = np.arange(lists.shape[2], 0, -1, dtype=float).tolist()
        each = [
            Run(
                {
                    f"q{q}": dict(zip(map(str, documents), score, strict=True))
                    for q, documents in enumerate(system.tolist())
                }
            )
            for system in lists
        ]
        return lambda: fuse(each, norm=None, method=method, params={"k": 60} if method == "rrf" else None)

    return tool


def corankco(algorithm: str) -> Callable[[np.ndarray], Fit]:
    """Algorithms of corankco for Kemeny orders, one task after the other."""

    def tool(lists: np.ndarray) -> Fit:
        from corankco.dataset import Dataset
        from corankco.ranking import Ranking
        from corankco.scoringscheme import ScoringScheme

        tasks = [Dataset([Ranking([{int(item)} for item in order]) for order in task]) for task in lists]
        module = importlib.import_module(f"corankco.algorithms.{algorithm}".lower())
        chosen, scheme = (
            getattr(module, algorithm.rpartition(".")[2])(),
            ScoringScheme.get_induced_measure_scoring_scheme(),
        )
        return lambda: [chosen.compute_consensus_rankings(task, scheme, True) for task in tasks]

    return tool


def choix(name: str) -> Callable[[Any], Fit]:
    """Estimates of choix from rankings."""

    def tool(lists: Any) -> Fit:
        estimate = getattr(importlib.import_module("choix"), name)
        data = lists[0].tolist()
        return lambda: estimate(len(lists[1]), data)

    return tool


# How good is what they found?


def best_found(_: np.ndarray, result: Any) -> float:
    """The mean number of the ten best documents among the first ten."""
    if hasattr(result, "ranking"):
        top = result.ranking.group_by("task").head(TOP)
        return len(top.filter(pl.col("item") < TOP)) / top["task"].n_unique()
    return float(np.mean([sum(int(name) < TOP for name in list(query)[:TOP]) for query in result.to_dict().values()]))


def distance(lists: np.ndarray, result: Any) -> float:
    """The total distance of the orders found from all lists."""
    if hasattr(result, "ranking"):
        ranking = result.ranking.sort("task", "rank")  # tasks are in the order of their texts: 10 comes before 2
        orders = [group["item"].to_numpy() for _, group in ranking.group_by("task", maintain_order=True)]
    else:
        orders = [
            np.array([element.value for bucket in consensus.consensus_rankings[0].buckets for element in bucket])
            for consensus in result
        ]
    total = 0
    for task, order in zip(lists, orders, strict=True):
        place = np.argsort(task, axis=1)[:, order]  # of the items in the order found, in each list
        total += int((np.triu(place[:, :, None] > place[:, None, :]).sum(axis=(1, 2))).sum())
    return total


def error(lists: Any, result: Any) -> float:
    """Root mean square error of the scores."""
    score = result.ranking.sort("item")["score"].to_numpy() if hasattr(result, "ranking") else result
    return float(np.sqrt(np.mean((score - score.mean() - lists[1]) ** 2)))


FUSION = {
    f"{tool} {name}": (tool, make(theirs), best_found)
    for name, theirs in (("rrf", "rrf"), ("borda", "bordafuse"), ("condorcet", "condorcet"))
    for tool, make in (("crowdrank", lambda _, name=name: ours(name, top_k=True)), ("ranx", ranx))
}
KEMENY = {
    "crowdrank mallows": ("crowdrank", ours("mallows"), distance),
    **{
        f"corankco {name.rpartition('.')[2]}": ("corankco", corankco(name), distance)
        for name in ("exact.ExactAlgorithmPulp", "bioconsert.BioConsert", "kwiksort.KwikSortRandom")
    },
}
LUCE = {
    "crowdrank plackett-luce": ("crowdrank", ours("plackett-luce", prior=0.0, intervals=False), error),
    "choix ilsr_rankings": ("choix", choix("ilsr_rankings"), error),
}
CASES: dict[str, tuple[str, Callable[[], Any], dict[str, Tool]]] = {
    "Fusion of 10 runs, 1,000 queries × 100 documents": ("found of 10", runs, FUSION),
    "Kemeny, 200 tasks of 10 items": ("distance", lambda: profiles(200, 10), KEMENY),
    "Kemeny, 50 tasks of 30 items": ("distance", lambda: profiles(50, 30), KEMENY),
    "Kemeny, 10 tasks of 100 items": ("distance", lambda: profiles(10, 100), KEMENY),
    "Plackett-Luce, 10,000 lists of 10 of 1,000 items": ("error", lambda: choices(10_000), LUCE),
    "Plackett-Luce, 100,000 lists of 10 of 1,000 items": ("error", lambda: choices(100_000), LUCE),
}


def one(case: str, name: str) -> dict[str, float]:
    """One tool on one case: seconds of the import with the first call, and of the next calls; and how good the result
    is.
    """
    module, tool, figure = CASES[case][2][name]
    lists = CASES[case][1]()
    began = spent()
    importlib.import_module(module)
    imported = spent() - began
    fit = tool(lists)
    calls = []
    while not calls or (sum(calls) < (LIMIT / 3 if len(calls) == 1 else SHORT) and len(calls) < 5):
        began = spent()
        result = fit()
        calls.append(spent() - began)
    return {"warm": min(calls[1:] or calls), "cold": imported + calls[0], "figure": figure(lists, result)}


def spent() -> float:
    """Seconds of the processor that this process and its children have had."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def measured(case: str, name: str) -> dict[str, Any]:
    """The same in a process of its own, without compiled code in the cache."""
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(
            [sys.executable, __file__, "--one", case, name],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **ONE_THREAD, "NUMBA_CACHE_DIR": empty},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT)),
        )
    if done.returncode < 0:
        return {"failed": f"over {LIMIT} s"}
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1][:80]}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    """All tools on all cases."""
    about = " ".join((__doc__ or "").split("\n\n")[1].split())
    text = [f"# Rankings, side by side\n\nGenerated by `python benchmarks/listwise.py`. {about}\n"]
    for case, (figure, _, tools) in CASES.items():
        text.append(f"## {case}\n\n| tool | warm, seconds | cold, seconds | {figure} |\n|---|---|---|---|")
        print(text[-1], flush=True)
        for name in tools:
            found = measured(case, name)
            cells = found.get("failed") or f"{found['warm']:.3f} | {found['cold']:.2f} | {found['figure']:.6g}"
            text.append(f"| {name} | {cells} |" + " | |" * ("failed" in found))
            print(text[-1], flush=True)
        text.append("")
        PAGE.write_text("\n".join(text))  # case by case: a run that is stopped has lost nothing
    import crowdagg  # here, not above: importing crowdrank is timed

    about = " ".join((crowdagg.__doc__ or "").split("\n\n")[1].split())
    text += [f"## CrowdAgg's fast path, and the paper's algorithms\n\n{about}\n", *crowdagg.tables(), ""]
    PAGE.write_text("\n".join(text))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one(*sys.argv[2:])))
    else:
        main()
