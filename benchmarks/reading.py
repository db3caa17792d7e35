"""Ten million votes from a Parquet file: how long `crowdrank.read` takes, and how much memory beside the arrays it
makes.

    python benchmarks/reading.py [votes]

The promise is seconds, and a peak of at most five times the arrays (left, right, annotator and outcome: 13 bytes a
vote). Files are written and read by processes of their own: a process inherits the peak of the one that started it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

VOTES, ITEMS, ANNOTATORS = 10_000_000, 100_000, 10_000
PROMISED_RATIO = 5
STUDIES = {"one task": 0, "1,000 tasks of 100 items": 1000, "1,000 tasks that share all items": -1000}

WRITE = """
import sys
import numpy as np, polars as pl
path, votes, items, annotators, tasks = sys.argv[1], *map(int, sys.argv[2:])
rng = np.random.default_rng(0)

def names(what, count, codes):
    return pl.Series(what, [f"{what}-{number:06d}" for number in range(count)]).gather(codes)

task = rng.integers(0, max(abs(tasks), 1), votes)
of_task = items // tasks if tasks > 0 else items  # an item belongs to one task, or to every task
first = task * of_task if tasks > 0 else 0
left = rng.integers(0, of_task, votes)
right = (left + rng.integers(1, of_task, votes)) % of_task
left, right = names("item", items, first + left).alias("left"), names("item", items, first + right).alias("right")
chance = pl.Series(rng.integers(0, 10, votes))
winner = pl.when(chance == 0).then(pl.lit("tie")).when(chance < 6).then(left).otherwise(right).alias("winner")
columns = [names("task", abs(tasks), task)] if tasks else []
columns += [names("annotator", annotators, rng.integers(0, annotators, votes)), left, right]
pl.DataFrame(columns).with_columns(winner).write_parquet(path)
"""

READ = """
import json, resource, sys, time
import crowdrank
crowdrank.read(sys.argv[2])  # a small file first: what is imported or started once does not count
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
study = crowdrank.read(sys.argv[1])
seconds = time.perf_counter() - start
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
arrays = sum(getattr(study.pairs, name).nbytes for name in ("annotator", "left", "right", "outcome"))
print(json.dumps({"study": repr(study), "seconds": seconds, "arrays": arrays, "peak": (after - before) * 1024}))
"""


def run(code: str, *arguments: object) -> str:
    """What a fresh Python prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Write, read, print."""
    votes = int(sys.argv[1]) if len(sys.argv) > 1 else VOTES
    with tempfile.TemporaryDirectory() as folder:
        path, small = Path(folder, "votes.parquet"), Path(folder, "small.parquet")
        run(WRITE, small, 100, 10, 5, 0)
        for name, tasks in STUDIES.items():
            run(WRITE, path, votes, ITEMS, ANNOTATORS, tasks)
            got: dict[str, Any] = json.loads(run(READ, path, small))
            ratio = got["peak"] / got["arrays"]
            print(f"{name}: {got['study']}")
            print(
                f"  {got['seconds']:.1f} s; arrays {got['arrays'] / 1e6:.0f} MB, "
                f"peak {got['peak'] / 1e6:.0f} MB above the start"
            )
            print(f"  ratio {ratio:.1f}, promised {PROMISED_RATIO}: {'kept' if ratio <= PROMISED_RATIO else 'BROKEN'}")


if __name__ == "__main__":
    main()
