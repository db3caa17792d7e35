"""`crowdrank methods`."""

from __future__ import annotations

import json
import re
from dataclasses import fields

import pytest

import crowdrank as cr
from crowdrank.cli.methods import FAMILY_TITLES
from crowdrank.learning.catalogue import LEARNERS
from crowdrank.methods.catalogue import ALL

EVERY = {**ALL, **LEARNERS}


def test_methods(run):
    """All of them, family by family."""
    lines = run("methods").out.splitlines()
    assert [line for line in lines if line in FAMILY_TITLES.values()] == list(FAMILY_TITLES.values())
    assert [word for line in lines if (word := line.partition(" ")[0]) in EVERY] == list(EVERY)
    printed = json.loads(run("methods", "--json").out)
    assert set(printed) == set(EVERY)
    assert printed["crowd-bt"]["intervals"] is True


@pytest.mark.parametrize("name", EVERY)
def test_one_method(run, name):
    """Its summary, its properties, and each setting as `--set` takes it."""
    done = run("methods", name)
    about = EVERY[name].description
    assert done.out.startswith(f"{name}: {about.summary}\n")
    assert re.search(rf"^takes +{', '.join(about.takes)}", done.out, re.MULTILINE)
    assert re.search(rf"^gives intervals +{'yes' if about.gives_intervals else 'no'}", done.out, re.MULTILINE)
    settings = re.findall(r"^ *(\w+=\S+)", done.out.partition("--set ")[2], re.MULTILINE)
    assert [setting.partition("=")[0] for setting in settings] == [field.name for field in fields(EVERY[name])]
    if name in LEARNERS:
        return
    words = [word for setting in settings for word in ("--set", setting)]
    file = "rankings.jsonl" if "rankings" in EVERY[name].description.takes else "grades.parquet"
    learn = ["--train", file, "--train-gold", "gold.csv"] if name in cr.SUPERVISED else []
    assert run("rank", file, "--method", name, *words, *learn).code == 0
