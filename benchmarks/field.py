"""Every method on every file of a folder: `python benchmarks/field.py FOLDER`. Writes docs/benchmarks-field.md.

Each method runs on each file of judgments in a process of its own, with its default settings and limits of time and
memory. The page shows how it ended (a refusal is an error message that says what to do), the processor time of the fit,
the memory of the process, holes (scores or intervals that are missing without a note), Python warnings, how many notes
there are, and the pair accuracy where the folder of the file has gold. Code is compiled beforehand; times contain its
loading. Files that were not run again keep their table, which then says so. `--resume` keeps the rows that the page
has, except those that were left out for want of time; `--only` runs the files whose names contain one of the words.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from harness import DOCS

import crowdrank as cr
from crowdrank.warming import warm_up

COLUMNS = ("method", "ended", "seconds", "MB", "holes", "warnings", "notes", "pair accuracy")
NOT_JUDGMENTS = ("gold", "features", "tasks", "fold")
GB = 1 << 30
NO_TIME = "left out: no time"
EARLIER = "From an earlier run."
PAGE = DOCS / "benchmarks-field.md"
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


def read(path: Path) -> cr.Judgments:
    """The judgments of a file; where lists need a column that separates them, with the one that the message offers."""
    try:
        return cr.read(path)
    except cr.JudgmentError as error:
        offered = re.search(r"--column list=(\w+)", str(error))
        if offered is None:
            raise
        return cr.read(path, columns={"list": offered[1]})


def peak_memory() -> float:
    """MB of this program; `getrusage` would count the process that started it too."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def one(path: Path, method: str) -> Row:
    """Fit one method to one file, in this process."""
    judgments = read(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.process_time()
        try:
            consensus = cr.fit(method, judgments)
        except cr.JudgmentError as error:
            return {"ended": f"refused: {error}"}
        seconds = time.process_time() - began
    found: Row = {
        "ended": "well" if consensus.fit.converged else "not converged",
        "seconds": seconds,
        "MB": peak_memory(),
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
        return {"method": method, "ended": NO_TIME}

    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 1))
        resource.setrlimit(resource.RLIMIT_DATA, (int(memory * GB), int(memory * GB)))

    command = [sys.executable, __file__, str(path), "--one", method]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=10 * limit, preexec_fn=limits, check=False
        )
    except subprocess.TimeoutExpired:
        return {"method": method, "ended": f"over {10 * limit:g} s by the clock"}
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
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


def line_of(row: Row) -> str:
    """The line of one method."""
    return f"| {' | '.join(cell(row.get(column)) for column in COLUMNS)} |"


def table(title: str, lines: list[str]) -> str:
    """The table of one file."""
    return "\n".join([f"## {title}\n", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|", *lines, ""])


def sections_of_page() -> dict[str, str]:
    """File → its section of the page as it is."""
    found = {}
    for part in PAGE.read_text().split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        found[title.partition(": ")[0]] = f"## {title}\n\n{EARLIER} {text.replace(EARLIER, '').strip()}\n"
    return found


def rows_of(section: str) -> dict[str, str]:
    """Method → its line, for the runs that were not left out."""
    lines = [line for line in section.splitlines() if line.startswith("| ") and NO_TIME not in line]
    return {line.split(" | ")[0].removeprefix("| "): line for line in lines}


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
    parser.add_argument("--limit", type=float, default=30.0, help="processor seconds for each method, with the reading")
    parser.add_argument("--memory", type=float, default=4.0, help="GB for each method")
    parser.add_argument("--minutes", type=float, default=60.0, help="for all files; what does not fit is left out")
    parser.add_argument("--resume", action="store_true", help="keep the rows that the page has")
    parser.add_argument("--only", nargs="+", default=[""], help="words in the names of the files to run")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.folder, given.one)))
        return
    if not given.resume:
        warm_up()
    about = " ".join((__doc__ or "").split("\n\n")[1].split())
    limits = f"Limits: {given.limit:g} s and {given.memory:g} GB for each run, one at a time."
    limits += f" Methods: {', '.join(given.methods)}." if given.methods else ""
    head = f"# Every method in the field\n\nGenerated by `python benchmarks/field.py FOLDER`. {about} {limits}\n"
    files = {str(path.relative_to(given.folder)): path for path in files_of(given.folder)}
    sections, last = sections_of_page(), time.monotonic() + given.minutes * 60
    wanted = [name for name in files if any(word in name for word in given.only)]
    for number, name in enumerate(wanted):
        now = time.monotonic()
        end = now + (last - now) / (len(wanted) - number)  # what quick files leave goes to the others
        known = rows_of(sections.get(name, "")) if given.resume else {}
        sections[name] = section_of(name, files[name], known, given, end)
        print(sections[name], flush=True)
        PAGE.write_text("\n".join([head, *(sections[file] for file in files if file in sections)]))


def section_of(name: str, path: Path, known: dict[str, str], given: argparse.Namespace, end: float) -> str:
    """The table of a file; methods whose lines are known are not run."""
    try:
        judgments = read(path)
    except cr.JudgmentError as error:
        return f"## {name}\n\nNot judgments: {str(error).splitlines()[0].replace(str(given.folder), '')}\n"
    lines = [
        known.get(method) or line_of(in_process(path, method, given.limit, given.memory, end))
        for method in methods_for(judgments, given.methods)
    ]
    return table(f"{name}: {judgments!r}", lines)


if __name__ == "__main__":
    main()
