"""A newcomer adds a method by following CONTRIBUTING.md word for word."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"`([\w./-]+)`[^`\n]*\n+```(\w+)\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def steps() -> list[tuple[str, str, str]]:
    """The path, language and content of each code block under "Add a method"."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = re.search(r"^## Add a method\n(.*?)^## ", text, re.DOTALL | re.MULTILINE)
    assert section is not None
    found = BLOCK.findall(re.sub(r"^ {3}", "", section[1], flags=re.MULTILINE))
    assert [language for _, language, _ in found] == ["python", "python", "text"]
    return found


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """The project as it is, without what it does not need to be tested."""
    place = tmp_path_factory.mktemp("copy") / "crowdrank"
    left_out = shutil.ignore_patterns(".git", ".venv*", "demo", ".*_cache", ".hypothesis")
    shutil.copytree(ROOT, place, ignore=left_out)
    return place


def run(copy: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    return subprocess.run(
        [sys.executable, *command], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )


def run_tests(copy: Path, *what: str) -> subprocess.CompletedProcess[str]:
    return run(copy, "-m", "pytest", "-q", "-p", "no:xdist", *what)


def test_a_method_added_as_contributing_says_is_complete(copy, steps):
    """Its contract, documentation and command-line tests exist and pass; what is left out makes a test fail."""
    (method_path, _, method), (test_path, _, test), (catalogue_path, _, row) = steps
    (copy / method_path).write_text(method)
    name = Path(method_path).stem.replace("_", "-")
    forgotten = run_tests(copy, "tests/test_public.py", "-k", "row_in_the_catalogue")
    assert forgotten.returncode == 1, forgotten.stdout

    catalogue = (copy / catalogue_path).read_text()
    family = method_path.split("/")[-2]
    last_of_family = list(re.finditer(rf'^    "methods\.{family}\..*\n', catalogue, re.MULTILINE))[-1].end()
    (copy / catalogue_path).write_text(f"{catalogue[:last_of_family]}    {row.strip()}\n{catalogue[last_of_family:]}")
    pages = ("tests/test_public.py", "tests/test_docs.py", "tests/test_design.py")
    failed = run_tests(copy, *pages, "-rf", "-k", "(test_file and Dowdall) or up_to_date or directories")
    assert [page for page in pages if f"FAILED {page}" not in failed.stdout] == [], failed.stdout

    (copy / test_path).write_text(test)

    assert run(copy, "docs/generate.py").returncode == 0
    documented = "up_to_date or setting or elsewhere or directories"
    public = "row_in_the_catalogue or typed or where_its_method_stands or public_name or (test_file and Dowdall)"
    for what in (
        (test_path, method_path, "tests/contract", "tests/cli", "-k", name),
        (*pages, "-k", f"{documented} or {public}"),
    ):
        done = run_tests(copy, *what)
        assert done.returncode == 0, f"{what}\n{done.stdout}"
        assert " passed" in done.stdout or re.search(r"^\.+", done.stdout, re.MULTILINE)
    listed = run(copy, "-m", "crowdrank", "methods", "--json")
    assert f'"{name}"' in listed.stdout
