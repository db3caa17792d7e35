"""docs/serving.md: its study can be read, its table has every key, and its Python runs."""

from __future__ import annotations

import re
from pathlib import Path

from crowdrank.server import study_file

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text()


def block(language: str) -> str:
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[1]


def test_the_study_and_the_program_of_the_page(process, tmp_path):
    (tmp_path / "study.toml").write_text(block("toml"))
    (tmp_path / "items.csv").write_text("id,title\na,A\nb,B\nc,C\n")
    server = process(tmp_path / "study.toml", "--port", "0")
    names: dict[str, object] = {}
    exec(block("python").replace("http://127.0.0.1:8000", server.url), names)
    assert len(names["client"].get("judgments")["judgments"]) == 3
    assert server.end() in (0, -15)


def test_the_table_has_every_key():
    source = Path(study_file.__file__).read_text()
    keys = set(re.findall(r'\.(?:text|choice|flag|number|whole|names|any)\(\s*"(\w+)"', source))
    assert {"kind", "budget", "gold_share", "days"} <= keys
    missing = {key for key in keys if f"`{key}`" not in PAGE and f"{key} = " not in PAGE}
    assert missing - {"seed"} == set()
