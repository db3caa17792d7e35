"""What the documents say is what the code does: examples run, pages are up to date, tables are complete."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from fractions import Fraction
from pathlib import Path

import examples
import numpy as np
import polars as pl
import pytest

import crowdrank as cr
import exports
from crowdrank.evaluation.measures import FAMILIES
from crowdrank.learning.catalogue import LEARNERS
from crowdrank.methods.catalogue import ALL, names_elsewhere

ROOT = Path(__file__).parent.parent
CONCEPTS_WITH_CODE = ("annotators", "collecting", "connectivity", "intervals", "kinds", "learning", "priors")
WITH_EXAMPLES = [
    "README.md",
    "docs/formats.md",
    "docs/getting-started.md",
    *(path.relative_to(ROOT).as_posix() for path in examples.TUTORIALS),
    *(f"docs/concepts/{name}.md" for name in CONCEPTS_WITH_CODE),
]
WITH_LINKS = [
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "papers/*/README.md", "examples/*.md")
    for path in sorted(ROOT.glob(pattern))
]


@pytest.fixture
def user_files(tmp_path, monkeypatch):
    """The files that the users in the documents have."""
    monkeypatch.chdir(tmp_path)
    study = cr.simulate.pairs(items=8, annotators=6, votes=300, seed=3)
    cr.write(study.judgments, "votes.csv")
    cr.write(study.gold, "known.csv")
    grades = pl.DataFrame(
        {"task": "q1", "annotator": ["a", "b"] * 3, "item": list("xxyyzz"), "grade": [0, 1, 1, 1, 2, 2]}
    )
    cr.write(grades, "grades.parquet")
    rng = np.random.default_rng(0)
    tasks, items = np.repeat(np.arange(10), 5), np.tile(np.arange(5), 10)
    lists = [
        pl.DataFrame(
            {
                "task": tasks,
                "annotator": name,
                "item": items,
                "rank": [*map(int, np.concatenate([rng.permutation(5) + 1 for _ in range(10)]))],
            }
        )
        for name in ("a", "b")
    ]
    cr.write(pl.concat(lists), "lists.csv")
    cr.write(
        pl.DataFrame({"task": tasks, "item": items, "length": rng.normal(size=50), "age": rng.normal(size=50)}),
        "features.csv",
    )
    cr.write(pl.DataFrame({"task": tasks, "item": items, "grade": items % 3}), "grades.csv")
    for system, order in (("bm25", "xyz"), ("dense", "zyx"), ("splade", "xzy")):
        lines = [f"q1 Q0 {item} {rank} {9 - rank} {system}" for rank, item in enumerate(order, 1)]
        Path(f"{system}.txt").write_text("\n".join(lines))
    Path("qrels.txt").write_text("q1 0 x 1\nq1 0 y 0\n")
    for name, content in exports.WHOLE.items():
        Path(name).write_bytes(content)


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


@pytest.mark.parametrize("page", WITH_EXAMPLES)
def test_examples_run(page, user_files):
    """Python blocks and commands, in the order of the page; commands write the files they name."""
    names, commands, printed = examples.run(ROOT / page)
    assert "cr" in names
    assert printed
    assert commands or page.startswith("docs/concepts/")
    for command in commands:
        written = re.findall(r"--(?:out|annotators|qrels|save|neighbours|report) (\S+\.\w+)", command)
        assert [name for name in written if not Path(name).exists()] == [], command


def test_every_export_has_an_example_and_a_command(tmp_path, monkeypatch):
    """The commands of the table are run with the page; the examples are files that are read."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/formats.md").read_text()
    section = page.partition("## Exports of other tools")[2].partition("\n## ")[0]
    commands = re.findall(r"^\| .* \| `(crowdrank .*)` \|$", section, re.MULTILINE)
    assert len(commands) == len(re.findall(r"^\| ", section, re.MULTILINE)) - 1  # a row is the header
    assert set(commands) <= set("\n".join(blocks("docs/formats.md", "sh")).splitlines())
    shown = re.findall(r"`([\w.]+)`:\n\n  ```text\n(.*?)  ```", section, re.DOTALL)
    assert len(shown) == len(commands)
    for name, content in shown:
        Path(name).write_text(re.sub(r"^  ", "", content, flags=re.MULTILINE))
        assert len(cr.read(name)), name


@pytest.mark.parametrize("page", examples.TUTORIALS, ids=lambda page: page.stem)
def test_pictures_of_a_tutorial_are_saved_by_its_code(page):
    text = page.read_text()
    shown = re.findall(r"^!\[[^]]+\]\(pictures/(\S+)\)", text, re.MULTILINE)
    assert len(shown) >= 2
    assert re.findall(r'\.save\("(\S+\.svg)"\)', text) == shown
    for name in shown:
        assert "<svg" in (examples.PICTURES / name).read_text()[:200], name


def test_the_readme_has_an_example_for_every_user():
    assert len(blocks("README.md", "python")) >= 2
    assert len("".join(blocks("README.md", "sh")).split("crowdrank ")) > 8


def test_make_targets_of_the_readme_exist():
    targets = re.findall(r"^make (\w+)", "\n".join(blocks("README.md", "sh")), re.MULTILINE)
    assert {"demo", "test"} <= set(targets)
    makefile = (ROOT / "Makefile").read_text()
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


@pytest.mark.parametrize("page", WITH_LINKS)
def test_links_lead_somewhere(page):
    """Every relative link is a file or a folder, and what follows a # is one of its headings."""
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)
    folder = ROOT if page == "docs/site/index.md" else (ROOT / page).parent  # the site has its start page at the top
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = folder / path if path else ROOT / page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def anchors(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_decision_is_in_the_index():
    pages = sorted(path.name for path in (ROOT / "docs/decisions").glob("0*.md"))
    assert re.findall(r"^\| \[\d+\]\(([^)]+)\)", (ROOT / "docs/decisions/README.md").read_text(), re.MULTILINE) == pages
    for page in pages:
        headings = re.findall(r"^## (.+)$", (ROOT / "docs/decisions" / page).read_text(), re.MULTILINE)
        assert headings == ["Context", "Decision", "Evidence", "How to repeat"], page


def test_generated_pages_are_up_to_date():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    for name, page in generate.PAGES.items():
        assert (ROOT / name).read_text() == page(), f"{name} is out of date: make docs"


def test_the_example_study_is_what_its_readme_says():
    command = re.search(r"crowdrank (simulate.*?)--out", (ROOT / "examples" / "README.md").read_text(), re.DOTALL)
    assert command is not None
    words = command[1].replace("\\", "").split()
    options = {words[i].removeprefix("--"): float(words[i + 1]) for i in range(2, len(words), 2)}
    whole = {name: int(options.pop(name)) for name in ("items", "annotators", "votes", "seed")}
    study = cr.simulate.pairs(**whole, **options)
    shipped = cr.read(ROOT / "examples" / "votes.csv")
    assert (study.judgments.pairs.outcome == shipped.pairs.outcome).all()
    assert (study.judgments.pairs.left == shipped.pairs.left).all()


def test_the_page_of_measures_has_them_all_and_its_example_holds():
    page = (ROOT / "docs/measures.md").read_text()
    assert [name for name in FAMILIES if f"| `{name}" not in page] == []
    gold = cr.gold({"item": ["a", "b", "c"], "grade": [2, 1, 0]})
    rows = re.findall(r"^\| `([^`]+)` \| (.+?) \|$", page.partition("## An example")[2], re.MULTILINE)
    said = {name: re.search(r"= (\.\d+)|^([\d/]+)", text) for name, text in rows}
    found = cr.evaluate({"item": ["b", "x", "a"], "rank": [1, 2, 3]}, gold, list(said)).mean
    assert len(said) == 8
    for name, value in said.items():
        assert found[name] == pytest.approx(float(Fraction(value[1] or value[2])), abs=5e-5)


def test_ties_and_what_is_missing_are_measured_as_the_page_says():
    gold = cr.gold({"task": ["s"] * 3 + ["t"], "item": ["a", "b", "c", "d"], "grade": [2, 1, 0, 1]})
    tied = {"task": ["s"] * 3, "item": ["a", "b", "c"], "score": [1.0, 1.0, 1.0]}
    found = cr.evaluate(tied, gold, ["acc", "tau", "spearman", "mrr", "p@10", "recall@1"])
    # c, later in the alphabet, comes first, and is not relevant; task t, which is not ranked, counts nothing.
    assert found.mean == pytest.approx({"acc": 0, "tau": 0, "spearman": 0, "mrr": 1 / 2, "p@10": 2 / 10, "recall@1": 0})
    assert "1 task of the gold not ranked: not evaluated" in found.notes


def test_every_setting_is_explained():
    page = (ROOT / "docs/methods.md").read_text()
    assert "| `difficulty_spread` | float | `0.25` | standard deviation of the logarithm of the difficulty |" in page
    assert re.findall(r"^.*\|\s*\|$", page, re.MULTILINE) == []


def test_names_that_methods_have_elsewhere_lead_to_ours():
    every = [method.description for method in (*ALL.values(), *LEARNERS.values())]
    assert len(names_elsewhere()) == sum(len(each.other_names) for each in every), "two methods claim the same name"
    assert not set(names_elsewhere()) & {*ALL, *LEARNERS}
    with pytest.raises(cr.SettingError, match=r"no method 'kemeny' \(here it is 'mallows'\)"):
        cr.fit("kemeny", cr.judgments({"item": ["x"], "rank": [1]}))
    with pytest.raises(cr.SettingError, match="here it is 'lambdamart', which learns from features"):
        cr.fit("lambdamart", cr.judgments({"item": ["x"], "rank": [1]}))


def test_the_migration_page_runs_with_the_same_scores_as_other_tools(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, _, printed = examples.run(ROOT / "docs/migrating.md")
    assert printed.count("True") == 4


def test_methods_of_the_migration_page_exist():
    names = re.findall(r'cr\.fit\("([\w-]+)"|--method ([\w-]+)', (ROOT / "docs/migrating.md").read_text())
    assert {one or other for one, other in names} <= set(ALL)
    assert len(names) >= 8


def test_the_site_builds_without_a_warning():
    """Warnings are errors; links between pages and to headings are checked by Sphinx."""
    done = subprocess.run([sys.executable, ROOT / "docs/site/build.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    built = ROOT / "docs/_build/html"
    for page in ("index", "docs/guide-search", "docs/method/crowd-bt", "docs/api", "docs/concepts/intervals"):
        assert (built / f"{page}.html").exists(), page


def test_every_method_says_when_to_use_it_and_when_not():
    entries = tomllib.loads((ROOT / "docs/use.toml").read_text())
    assert set(entries) == {*ALL, *LEARNERS}
    assert all(set(entry) == {"use", "not", "cost"} for entry in entries.values())
