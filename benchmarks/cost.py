"""What each method costs: `python benchmarks/cost.py [METHODS]`. Writes docs/cost.csv for the pages of the methods.

Processor seconds of a fit with default settings, code compiled beforehand, one thread, on 1,000 and on 10,000 simulated
judgments by 50 annotators: pairs on 100 items, grades of 500 items in ten tasks, lists of ten items in 25 tasks.
Rows of methods that are not named stay.
"""

from __future__ import annotations

import sys
import time

import polars as pl
from harness import DOCS

import crowdrank as cr

PAGE = DOCS / "cost.csv"
KIND = {"grades": "grades", "pairs": "pairs", "rankings": "rankings"}  # family → the judgments it is made for


def study(kind: str, size: int) -> cr.Judgments:
    """Simulated judgments: so many votes, grades, or rows of lists."""
    if kind == "pairs":
        return cr.simulate.pairs(items=100, annotators=50, votes=size, seed=1).judgments
    if kind == "grades":
        return cr.simulate.grades(items=50, tasks=10, annotators=50, labels=size // 500, seed=1).judgments
    return cr.simulate.rankings(items=10, tasks=25, annotators=size // 250, seed=1).judgments


def seconds(name: str, judgments: cr.Judgments) -> float:
    """Of the second fit: the first loads and compiles."""
    cr.fit(name, judgments)
    began = time.process_time()
    cr.fit(name, judgments)
    return time.process_time() - began


def main() -> None:
    """Measure, print as it goes, and write the table."""
    rows = {row["method"]: row for row in pl.read_csv(PAGE).to_dicts()} if PAGE.exists() else {}
    for name in sys.argv[1:] or cr.METHODS:
        kind = KIND[cr.METHODS[name].description.family]
        found = {f"seconds_{size}": round(seconds(name, study(kind, size)), 3) for size in (1000, 10_000)}
        rows[name] = {"method": name, "judgments": kind, **found}
        print(rows[name], flush=True)
        pl.DataFrame(list(rows.values())).sort("method").write_csv(PAGE)


if __name__ == "__main__":
    main()
