"""Every method on every file of a folder: `python benchmarks/field.py FOLDER`. Writes docs/benchmarks-field.md.

Each method runs on each file of judgments in a process of its own, with its default settings and limits of time and
memory. The page shows how it ended (a refusal is an error message that says what to do), the time of the fit, the
memory of the process, holes (scores or intervals that are missing without a note), Python warnings, how many notes
there are, and the pair accuracy where the folder of the file has gold. Code is compiled beforehand;
times contain its loading.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import DOCS

import crowdrank as cr
from crowdrank.warming import warm_up

COLUMNS = ("method", "ended", "seconds", "MB", "holes", "warnings", "notes", "pair accuracy")
NOT_JUDGMENTS = ("gold", "features", "tasks", "fold")
GB = 1 << 30
Row = dict[str, Any]


def files_of(folder: Path) -> list[Path]:
    """The files that may hold judgments."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".md", ".txt"))
    return [path for path in found if not path.name.startswith(NOT_JUDGMENTS)]


def gold_beside(path: Path) -> cr.Gold | None:
    """The gold in the folder of a file."""
    beside = sorted(path.parent.glob("gold.*"))
    return cr.read_gold(beside[0]) if beside else None


def holes_in(consensus: cr.Consensus) -> int:
    """Entries without score, or with a score and an empty interval; entries that a note explains do not count."""
    missing = np.isnan(consensus.score)
    if any("not ranked" in note for note in consensus.notes):
        missing[:] = False
    if consensus.low is not None and consensus.high is not None:
        missing |= ~np.isnan(consensus.score) & np.isnan(consensus.low + consensus.high)
    return int(missing.sum())


def one(path: Path, method: str) -> Row:
    """Fit one method to one file, in this process."""
    judgments = cr.read(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        try:
            consensus = cr.fit(method, judgments)
        except cr.JudgmentError as error:
            return {"ended": f"refused: {error}"}
        seconds = time.perf_counter() - began
    found: Row = {
        "ended": "well" if consensus.fit.converged else "not converged",
        "seconds": seconds,
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "holes": holes_in(consensus),
        "warnings": len(caught),
        "notes": len(consensus.notes),
    }
    gold = gold_beside(path)
    if gold is not None:
        found["pair accuracy"] = cr.evaluate(consensus, gold, ["acc"]).mean["acc"]
    return found


def in_process(path: Path, method: str, limit: float, memory: float, end: float) -> Row:
    """The same in a process with limits, unless it is too late."""
    if time.monotonic() > end:
        return {"method": method, "ended": "left out: no time"}

    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (int(memory * GB), int(memory * GB)))

    command = [sys.executable, __file__, str(path), "--one", method]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, preexec_fn=limits, check=False)
    except subprocess.TimeoutExpired:
        return {"method": method, "ended": f"over {limit:g} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        return {"method": method, "ended": f"crashed: {last[:100]}"}
    return {"method": method, **json.loads(done.stdout.splitlines()[-1])}


def cell(value: object) -> str:
    """A figure as the page shows it."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}" if value < 1 else f"{value:,.1f}" if value < 10 else f"{value:,.0f}"
    return str(value).replace("|", "\\|")


def table(title: str, rows: list[Row]) -> str:
    """The table of one file."""
    lines = [f"## {title}\n", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    lines += [f"| {' | '.join(cell(row.get(column)) for column in COLUMNS)} |" for row in rows]
    return "\n".join(lines) + "\n"


def methods_for(judgments: cr.Judgments, named: list[str] | None) -> list[str]:
    """The methods that take what the file has."""
    takes = {name: set(method.description.takes) for name, method in cr.METHODS.items()}
    return [name for name in named or takes if takes[name] & set(judgments.kinds)]


def main() -> None:
    """Run all, print as it goes, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--one", help="fit this method to the file, in this process")
    parser.add_argument("--methods", nargs="+", help="only these, in this order")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds for each method, with the reading")
    parser.add_argument("--memory", type=float, default=4.0, help="GB for each method")
    parser.add_argument("--minutes", type=float, default=30.0, help="for all files; what does not fit is left out")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.folder, given.one)))
        return
    warm_up()
    about = " ".join((__doc__ or "").split("\n\n")[1].split())
    limits = (
        f"Limits: {given.limit:g} s and {given.memory:g} GB for each run, two at a time, {given.minutes:g} minutes."
    )
    limits += f" Methods: {', '.join(given.methods)}." if given.methods else ""
    text = ["# Every method in the field\n", f"Generated by `python benchmarks/field.py FOLDER`. {about} {limits}\n"]
    paths = files_of(given.folder)
    for path in paths:
        name = str(path.relative_to(given.folder))
        try:
            judgments = cr.read(path)
        except cr.JudgmentError as error:
            text.append(f"## {name}\n\nNot judgments: {str(error).splitlines()[0].replace(str(given.folder), '')}\n")
            continue
        with ThreadPoolExecutor(2) as pool:
            end = time.monotonic() + given.minutes * 60 / len(paths)
            run = partial(in_process, path, limit=given.limit, memory=given.memory, end=end)
            rows = list(pool.map(run, methods_for(judgments, given.methods)))
        text.append(table(f"{name}: {judgments!r}", rows))
        print(text[-1], flush=True)
    (DOCS / "benchmarks-field.md").write_text("\n".join(text))


if __name__ == "__main__":
    main()
