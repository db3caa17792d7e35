"""Only kernels go without types: mypy is strict everywhere else."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMPILED = ("kernel", "njit", "cfunc")


def is_compiled(function: ast.FunctionDef) -> bool:
    return any(name in ast.unparse(decorator) for decorator in function.decorator_list for name in COMPILED)


def functions(path: Path) -> list[ast.FunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def is_typed(function: ast.FunctionDef) -> bool:
    given = function.args
    named = [each for each in (*given.posonlyargs, *given.args, *given.kwonlyargs) if each.arg not in ("self", "cls")]
    return function.returns is not None and all(each.annotation is not None for each in named)


def test_every_function_but_kernels_is_typed():
    untyped = [
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}"
        for path in (ROOT / "src").rglob("*.py")
        if "kernels" not in path.stem
        for function in functions(path)
        if not is_compiled(function) and not is_typed(function)
    ]
    assert untyped == []


def test_mypy_is_lenient_with_modules_that_hold_kernels_alone():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lenient = {
        module
        for override in settings["tool"]["mypy"]["overrides"]
        if override.get("disallow_untyped_defs") is False
        for module in override["module"]
    }
    with_kernels = {
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        for path in (ROOT / "src").rglob("*.py")
        if any(is_compiled(function) for function in functions(path))
    }
    assert lenient == with_kernels


USER = """
import crowdrank as cr
import pandas as pd

judgments = cr.read("votes.csv")
consensus = cr.fit("crowd-bt", judgments)
reveal_type(consensus.ranking)
reveal_type(cr.fit("elo", cr.judgments(pd.DataFrame())).annotators)
reveal_type(cr.CrowdBT().fit(judgments).method)
cr.nope
consensus.ranking.nope
"""


def test_a_user_of_mypy_is_told_what_things_are(tmp_path):
    (tmp_path / "script.py").write_text(USER)
    command = [sys.executable, "-m", "mypy", "--no-incremental", "--ignore-missing-imports", "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    said = [line.partition(": ")[2] for line in done.stdout.splitlines()]
    assert said[0] == 'note: Revealed type is "polars.dataframe.frame.DataFrame"'
    assert 'note: Revealed type is "str"' in said
    assert 'error: Module has no attribute "nope"  [attr-defined]' in said
    assert 'error: "DataFrame" has no attribute "nope"  [attr-defined]' in said
