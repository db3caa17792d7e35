"""docs/design.md describes the code as it is: its directories exist, and its walks name what is really called."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import crowdrank as cr
from crowdrank.catalogue import ROWS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "crowdrank"
DESIGN = (ROOT / "docs" / "design.md").read_text()
WALKS = dict(re.findall(r"^### [^:\n]+: `crowdrank ([^`]+)`\n(.*?)(?=^##)", DESIGN, re.DOTALL | re.MULTILINE))
TRACED = """
import sys
calls = {}
def trace(frame, event, _):
    code = frame.f_code
    if event == "call" and "/crowdrank/" in code.co_filename:
        calls[code.co_filename.rpartition("/src/crowdrank/")[2] + " " + code.co_qualname] = None
sys.argv[0] = "crowdrank"
from crowdrank.cli import main
sys.setprofile(trace)
try:
    main()
finally:
    sys.setprofile(None)
    open("calls.txt", "w").write("\\n".join(calls))
"""


def definitions(path: Path) -> set[str]:
    """The functions, classes and methods of a module."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
            found |= {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
    return found


def hops(text: str) -> list[list[tuple[str, str]]]:
    """Per step of a walk, the modules and names it says are called; other code words, such as types, are left out."""
    steps = re.split(r"^\d+\. ", text, flags=re.MULTILINE)[1:]
    found = []
    for step in steps:
        calls, module = [], ""
        for word in re.findall(r"`([\w./]+)`", step.split("\n\n")[0]):
            if word.endswith(".py"):
                (path,) = [path for path in SOURCE.rglob(Path(word).name) if path.as_posix().endswith(f"/{word}")]
                module = path.relative_to(SOURCE).as_posix()
            elif module and word in definitions(SOURCE / module):
                calls.append((module, word))
        found.append(calls)
    return found


@pytest.fixture
def user_files(tmp_path, monkeypatch):
    """The files of the walks."""
    monkeypatch.chdir(tmp_path)
    cr.write(cr.simulate.pairs(items=5, annotators=4, votes=60, seed=1).judgments, "votes.csv")
    cr.write(cr.simulate.grades(items=6, annotators=4, labels=3, seed=1).judgments, "grades.parquet")
    lists = cr.simulate.rankings(4, 3, tasks=3, seed=1)
    cr.write(lists.judgments, "lists.csv")
    items = cr.fit("borda", lists.judgments).ranking
    cr.write(items.select("task", "item", length="rank"), "features.csv")


@pytest.mark.parametrize("command", WALKS)
def test_each_hop_of_a_walk_is_called_in_its_turn(command, user_files):
    steps = hops(WALKS[command])
    assert sum(map(len, steps)) >= len(steps) > 4
    done = subprocess.run([sys.executable, "-c", TRACED, *command.split()], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    called = [line.split(" ") for line in Path("calls.txt").read_text().splitlines()]
    first_calls = []
    for number, step in enumerate(steps, 1):
        times = [first_call(called, module, name) for module, name in step]
        missing = [each for each, time in zip(step, times, strict=True) if time is None]
        assert not missing, f"step {number} of `{command}` names what is not called: {missing}"
        first_calls += [min(time for time in times if time is not None)] if times else []
    assert first_calls == sorted(first_calls), f"the steps of `{command}` are not in order: {first_calls}"


def first_call(called: list[list[str]], module: str, name: str) -> int | None:
    """When a function of a module, or any method of a class, was called for the first time."""
    within = r"\..+" if name[0].isupper() and "." not in name else ""  # the body of a class runs when it is imported
    pattern = re.compile(rf"(\w+\.)?{re.escape(name)}{within}")
    return next((at for at, (where, what) in enumerate(called) if where == module and pattern.fullmatch(what)), None)


def test_the_directories_are_those_that_exist():
    """Every package of the code stands in the tree, nothing else does, and each family has its methods."""
    tree = re.search(r"^    src/crowdrank/\n(.*?)^    papers/", DESIGN, re.DOTALL | re.MULTILINE)
    assert tree is not None
    parents: dict[int, str] = {}
    listed, methods = {}, set()
    for line in tree[1].splitlines():
        entry = re.match(r"( {6,8} *)([\w.]+/?)  +(.*)", line)
        if entry is None or len(entry[1]) > 10:
            text = line
        else:
            parents[len(entry[1])] = entry[2]
            above = "".join(name for depth, name in sorted(parents.items()) if depth < len(entry[1]))
            path, text = above + entry[2], entry[3]
            parents = {depth: name for depth, name in parents.items() if depth <= len(entry[1])}
            listed[path] = text
        methods |= set(re.findall(r"[\w-]+", text))
    folders = {f"{path.parent.relative_to(SOURCE).as_posix()}/" for path in SOURCE.rglob("*/__init__.py")}
    modules = {path.name for path in SOURCE.glob("*.py")} - {"__main__.py"}
    assert set(listed) == folders | modules
    for row in ROWS:
        folder, name = "/".join(row.split(".")[:-2]) + "/", row.split(".")[-2].replace("_", "-")
        assert name in methods, f"{name} is missing in the tree of docs/design.md"
        assert folder in listed
