"""Run the code blocks of a page in order, and draw the pictures of the tutorials: `make docs`.

A tutorial makes its own data, and its code saves the pictures that it shows as .svg files in the current folder. A
block of text after code is what the code prints; numbers in it may differ a little from machine to machine.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import tempfile
from pathlib import Path
from typing import Any

from crowdrank.cli import app

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted(ROOT.glob("docs/guide-*.md"))
PICTURES = ROOT / "docs/pictures"


def run(page: Path) -> tuple[dict[str, Any], list[str], str]:
    """Run the Python blocks and crowdrank commands of a page in this folder: names, commands, what they print."""
    names: dict[str, Any] = {}
    commands: list[str] = []
    printed = ""
    text = page.read_text(encoding="utf-8")
    for language, block in re.findall(r"^```(python|sh|text)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if language == "text":
            assert _shape(block) in _shape(printed), f"not printed:\n{block}"
        elif language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block, page.name, "exec"), names)
            printed += out.getvalue()
        else:
            found = [line for line in block.replace("\\\n", " ").splitlines() if line.startswith("crowdrank ")]
            printed += "".join(map(_output, found))
            commands += found
    return names, commands, printed


def _shape(text: str) -> str:
    """A text without its numbers and the width of its columns."""
    return " ".join(re.sub(r"\d+(\.\d+)?", "#", text).split())


def _output(command: str) -> str:
    """What a command prints; in this process, because to start one takes longer than most commands do."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = app(shlex.split(command)[1:], prog_name="crowdrank", standalone_mode=False)
    assert not code, command
    return out.getvalue()


def draw() -> None:
    """The pictures of all tutorials, each run in a folder of its own."""
    for page in TUTORIALS:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            run(page)
            for picture in sorted(Path().glob("*.svg")):
                (PICTURES / picture.name).write_bytes(picture.read_bytes())


if __name__ == "__main__":
    draw()
