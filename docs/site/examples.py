"""Run the code blocks of a page in order, and draw the pictures of the tutorials: `make docs`.

A tutorial makes its own data, and its code saves the pictures that it shows as .svg files in the current folder.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted(ROOT.glob("docs/guide-*.md"))
PICTURES = ROOT / "docs/pictures"


def run(page: Path) -> tuple[dict[str, Any], list[str]]:
    """Run all Python blocks and crowdrank commands of a page in the current folder: the names and the commands."""
    names: dict[str, Any] = {}
    commands: list[str] = []
    for language, block in re.findall(r"```(python|sh)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        if language == "python":
            exec(compile(block, page.name, "exec"), names)
            continue
        for command in (line for line in block.splitlines() if line.startswith("crowdrank ")):
            done = subprocess.run(
                [sys.executable, "-m", *shlex.split(command)], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{command}\n{done.stderr}"
            commands.append(command)
    return names, commands


def draw() -> None:
    """The pictures of all tutorials, each run in a folder of its own."""
    for page in TUTORIALS:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), open(os.devnull, "w") as nowhere:
            with contextlib.redirect_stdout(nowhere):
                run(page)
            for picture in sorted(Path().glob("*.svg")):
                (PICTURES / picture.name).write_bytes(picture.read_bytes())


if __name__ == "__main__":
    draw()
