"""Beyond memory and beyond one machine: cost per vote, memory against its limit, one pass, and workers on Ray.

    python benchmarks/scale.py [1e6,1e7] [--memory 1GB] [--method bradley-terry]

Each study has a hundred votes for each item and a thousand for each annotator. Every run is a process of its own.
Seconds are those of the wall clock; CPU seconds hardly depend on what else the machine does. Writes
docs/benchmarks-scale.md.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks-scale.md"
STEPS = 15  # of a measured pass, of which the fastest counts
RAY_VOTES = 2_000_000
LATER = (4, 16, 64, 256)  # workers of larger clusters, predicted


def write_votes(path: Path, votes: int) -> None:
    """Votes of a crowd with spammers and reversed annotators, as Parquet, some rows at a time."""
    import pyarrow as pa
    from pyarrow import parquet

    items, annotators, rng = max(votes // 100, 10), max(votes // 1000, 5), np.random.default_rng(0)
    score, kind = rng.normal(size=items), rng.random(annotators)
    quality = np.where(kind < 0.15, 0.5, np.where(kind < 0.2, 0.1, rng.beta(8, 2, annotators)))
    item, annotator = (
        pa.array([f"{what}-{number}" for number in range(count)])
        for what, count in (("item", items), ("annotator", annotators))
    )
    writer = None
    for start in range(0, votes, 1 << 21):
        rows = min(1 << 21, votes - start)
        who, left = rng.integers(0, annotators, rows), rng.integers(0, items, rows)
        right = (left + rng.integers(1, items, rows)) % items
        better = 1 / (1 + np.exp(score[right] - score[left]))
        won = rng.random(rows) < quality[who] * better + (1 - quality[who]) * (1 - better)
        columns = {"annotator": annotator.take(pa.array(who)), "left": item.take(pa.array(left))}
        table = pa.table(
            {**columns, "right": item.take(pa.array(right)), "winner": np.where(won, "left", "right").tolist()}
        )
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    if writer:
        writer.close()


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What some work gives, and its seconds and CPU seconds."""
    began, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}


def one_fit(path: str, method: str, memory: str) -> dict[str, Any]:
    """Reading, fit and intervals of one study, in this process."""
    from contextlib import nullcontext

    import crowdrank as cr
    from crowdrank.scale.memory import limited_memory

    with nullcontext() if memory == "none" else limited_memory(memory):
        judgments, reading = timed(lambda: cr.read(path))
        fitted, fit = timed(lambda: cr.fit(method, judgments, intervals=False))
        whole, both = timed(lambda: cr.fit(method, judgments))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    intervals = {name: max(both[name] - fit[name], 0.0) for name in both}
    converged = fitted.fit.converged and whole.fit.converged
    return {"reading": reading, "fit": fit, "intervals": intervals, "peak": peak, "converged": converged}


def one_pass(votes: int) -> dict[str, float]:
    """Nanoseconds per vote of NumPy's sum of the columns, and of a pass of two kernels over them."""
    import crowdrank as cr
    from crowdrank.methods.pairs.votes.explicit import ModelVariant, explicit_model
    from crowdrank.methods.pairs.votes.fit import VoteStudy
    from crowdrank.methods.pairs.votes.learned_crowd import unknown_crowd
    from crowdrank.methods.profiles import POOLED, profiles_of

    judgments = cr.simulate.pairs(items=votes // 100, annotators=votes // 1000, votes=votes, seed=0).judgments
    vocabulary, rng = judgments.vocabulary, np.random.default_rng(0)
    table = cr_votes(judgments, pooled=True)
    model = explicit_model(table, POOLED, vocabulary, ModelVariant(), None)
    study = VoteStudy(
        judgments,
        judgments.pairs,
        cr_votes(judgments),
        profiles_of(judgments, "study"),
        ModelVariant(free_parameters=("quality",)),
    )
    marginal = study.marginal_model()
    x, qualities = rng.normal(size=vocabulary.n_entries), unknown_crowd(marginal.n_profiles).qualities
    columns = [np.asarray(column) for column in (table.winner, table.loser, table.kind, table.weight)]
    passes: dict[str, Callable[[], Any]] = {
        "NumPy's sum of the columns": lambda: [column.sum() for column in columns],
        "bradley-terry": lambda: model.likelihood(x),
        "crowd-bt": lambda: marginal.likelihood(x, qualities, False),
    }
    found = {}
    for name, work in passes.items():
        work()  # compiles
        found[name] = min(timed(work)[1]["seconds"] for _ in range(STEPS)) / len(table) * 1e9
    return found


def cr_votes(judgments: Any, *, pooled: bool = False) -> Any:
    """The votes of a study, counted."""
    from crowdrank.convert import votes

    return votes(judgments.pairs, judgments.vocabulary, pooled=pooled)


def ray_steps(workers: int) -> dict[str, float]:
    """Seconds of a step with so many workers, and what does not depend on the votes."""
    import ray

    import crowdrank as cr
    from crowdrank.methods.pairs.votes.explicit import ModelVariant, explicit_model
    from crowdrank.methods.profiles import POOLED
    from crowdrank.numerics.engine import replacing
    from crowdrank.scale.cluster import Cluster
    from crowdrank.scale.distributed import replacements

    ray.init("local", num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    seconds = {}
    for name, votes in (("step", RAY_VOTES), ("empty", 1000)):
        study = cr.simulate.pairs(items=RAY_VOTES // 100, annotators=100, votes=votes, seed=0).judgments
        with replacing(replacements(Cluster())):
            model = explicit_model(cr_votes(study, pooled=True), POOLED, study.vocabulary, ModelVariant(), None)
            x = np.zeros(study.vocabulary.n_entries)
            model.likelihood(x)
            step = partial(model.likelihood, x)
            seconds[name] = min(timed(step)[1]["seconds"] for _ in range(STEPS))
        seconds["bytes"] = float(2 * x.nbytes)
    return seconds


def run(*words: str, threads: int = 2) -> dict[str, Any]:
    """A part of this benchmark in a process of its own."""
    import os

    environment = {**os.environ, "CROWDRANK_THREADS": str(threads)}
    command = [sys.executable, __file__, "--one", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["?"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def fits_table(sizes: list[int], memory: str, method: str) -> list[str]:
    """Every size in memory and within the limit."""
    lines = [
        f"## {method}: cost per vote\n",
        "| votes | memory | reading | fit | intervals | µs of CPU per vote | peak |",
    ]
    lines.append("|---:|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for votes in sizes:
            path = Path(folder) / "votes.parquet"
            write_votes(path, votes)
            for limit in ("none", memory):
                found = run("fit", str(path), method, limit)
                lines.append(_fit_line(votes, limit, found))
                print(lines[-1], flush=True)
    return lines


def _fit_line(votes: int, limit: str, found: dict[str, Any]) -> str:
    if "failed" in found:
        return f"| {votes:,} | {limit} | {found['failed']} | | | | |"
    parts = [found[name] for name in ("reading", "fit", "intervals")]
    whole = sum(part["seconds"] for part in parts) or 1.0
    cells = " | ".join(f"{part['seconds']:.1f} s ({part['seconds'] / whole:.0%})" for part in parts)
    cpu = sum(part["cpu"] for part in parts) / votes * 1e6
    late = "" if found["converged"] else " (not converged)"
    return f"| {votes:,} | {limit} | {cells}{late} | {cpu:.2f} | {found['peak']:.2f} GB |"


def pass_table(votes: int) -> list[str]:
    """One pass on one and on two threads."""
    lines = [
        "\n## One pass over the votes\n",
        "| threads | what | ns per vote | times NumPy's sum |",
        "|---:|---|---:|---:|",
    ]
    for threads in (1, 2):
        found = run("pass", str(votes), threads=threads)
        sums = found.get("NumPy's sum of the columns", float("nan"))
        lines += [f"| {threads} | {name} | {value:.2f} | {value / sums:.1f} |" for name, value in found.items()]
    print("\n".join(lines), flush=True)
    return lines


def ray_table() -> list[str]:
    """One and two workers, and what the measured constants say about more."""
    one, two = (run("ray", str(workers)) for workers in (1, 2))
    compute, empty = one["step"] - one["empty"], one["empty"]
    each = max(two["empty"] - one["empty"], 1e-4)  # a further worker: its message, and its sums added
    lines = [
        "\n## Workers on Ray\n",
        f"bradley-terry, {RAY_VOTES:,} votes, {one['bytes'] / 1e6:.2f} MB of sums per worker and step.",
        f"Its seconds: votes × {compute / RAY_VOTES:.2g} / workers + {empty:.2g} + {each:.2g} × further workers.\n",
        "| workers | seconds per step, measured | predicted |",
        "|---:|---:|---:|",
    ]
    for workers, measured in ((1, one["step"]), (2, two["step"])):
        lines.append(f"| {workers} | {measured:.3f} | {compute / workers + empty + each * (workers - 1):.3f} |")
    larger = compute * 50  # 100M votes
    lines += [f"| {n}, 100M votes | | {larger / n + empty + each * (n - 1):.3f} |" for n in LATER]
    lines.append(f"\nMore than {int((larger / each) ** 0.5):,} workers make 100M votes slower again.")
    print("\n".join(lines), flush=True)
    return lines


def main() -> None:
    """Run everything, and write the page."""
    words = sys.argv[1:]
    if words[:1] == ["--one"]:
        parts: dict[str, Callable[..., Any]] = {"fit": one_fit, "pass": one_pass, "ray": ray_steps}
        numbers = [int(word) if word.isdecimal() else word for word in words[2:]]
        print(json.dumps(parts[words[1]](*numbers)))
        return
    memory = words[words.index("--memory") + 1] if "--memory" in words else "1GB"
    methods = [words[words.index("--method") + 1]] if "--method" in words else ["bradley-terry", "crowd-bt"]
    sizes = [int(float(word)) for word in words[0].split(",")] if words[:1] and words[0][0] != "-" else [10**6, 10**7]
    lines = ["# Beyond memory and beyond one machine\n", f"Made by `python benchmarks/scale.py {' '.join(words)}`.\n"]
    for method in methods:
        lines += fits_table(sizes, memory, method)
    PAGE.write_text("\n".join([*lines, *pass_table(2_000_000), *ray_table()]) + "\n")


if __name__ == "__main__":
    main()
