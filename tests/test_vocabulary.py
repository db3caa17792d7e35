"""One vocabulary: a class name means one thing, and nothing has a name that the vocabulary rules out."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "crowdrank"
MODULES = {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}
RULED_OUT = {
    "rater",
    "raters",
    "worker",
    "workers",
    "judge",
    "judges",
    "utils",
    "helpers",
}  # an annotator is none of these
MOST_LINES = 400


def names(tree: ast.AST) -> set[str]:
    """Everything that a module gives a name to: classes, functions, parameters, variables."""
    nodes = list(ast.walk(tree))
    defined = {node.name for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assigned = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return defined | assigned | {node.arg for node in nodes if isinstance(node, ast.arg)}


def test_no_class_name_occurs_twice():
    found = Counter(
        node.name
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in found.items() if count > 1] == []


@pytest.mark.parametrize("module", MODULES)
def test_names_keep_the_vocabulary(module):
    defined = names(ast.parse(MODULES[module].read_text())) | set(re.split(r"[/.]", module))
    assert {name for name in defined if set(name.lower().split("_")) & RULED_OUT} == set()


@pytest.mark.parametrize("module", MODULES)
def test_files_are_short(module):
    assert len(MODULES[module].read_text().splitlines()) <= MOST_LINES
