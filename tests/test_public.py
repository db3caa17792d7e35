"""The public names: each exists, does what is promised, and importing them is quick."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import polars as pl
import pytest

import crowdrank as cr
from crowdrank.catalogue import ROWS
from crowdrank.methods.protocols import Description

HEAVY = ("numpy", "polars", "numba", "scipy", "narwhals", "rich", "typer")
EXTRAS = ("pandas", "pyarrow", "lightgbm", "altair", "fastapi", "sqlalchemy", "alembic", "uvicorn", "psycopg", "ray")


def loaded_after(code: str, cwd: os.PathLike[str] | str = ".") -> set[str]:
    """The modules a fresh Python has loaded after this code."""
    show = "import sys; sys.stdout.write('\\n' + ' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{show}"], capture_output=True, text=True, check=True, cwd=cwd
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("name", cr.__all__)
def test_every_public_name_resolves(name):
    assert getattr(cr, name) is not None


def test_dir_lists_the_public_names():
    assert dir(cr) == sorted(cr.__all__)


def test_public_names_are_typed():
    """Editors and mypy see every name that is resolved lazily."""
    text = Path(cr.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    for name in cr.__all__:
        assert name == "__version__" or f"import {name} as {name}\n" in text


def test_unknown_names_raise_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = cr.nonsense
    assert not hasattr(cr, "Nonsense")


def test_every_method_has_a_row_in_the_catalogue():
    """A class with a description that no row names would be missing from every list and page."""
    found = set()
    for module in walk_packages(cr.__path__, "crowdrank."):
        if module.name.startswith(("crowdrank.methods.", "crowdrank.learning.")):
            classes = [each for each in vars(import_module(module.name)).values() if isinstance(each, type)]
            found |= {each for each in classes if isinstance(vars(each).get("description"), Description)}
    listed = {*cr.METHODS.values(), *cr.SUPERVISED.values(), *cr.LEARNERS.values()}
    assert found == listed
    assert {each for each in listed if getattr(cr, each.__name__) is not each} == set()


@pytest.mark.parametrize("row", ROWS)
def test_every_method_has_a_test_file(row):
    """It stands in the folder of the same name, and has the name of the module."""
    *folders, module, _ = row.split(".")
    path = Path(__file__).parent.joinpath(*folders, f"test_{module}.py")
    assert path.exists(), f"write {path.relative_to(Path(__file__).parents[1])}"
    assert "def test_" in path.read_text()


@pytest.mark.parametrize("catalogue", [cr.METHODS, cr.SUPERVISED, cr.LEARNERS])
def test_a_description_says_where_its_method_stands(catalogue):
    """The name is that of the module, the family that of the package, the summary one sentence of one line."""
    for name, method in catalogue.items():
        about = method.description
        *_, package, module = method.__module__.split(".")
        assert (about.name, about.family) == (name, package) == (module.replace("_", "-"), package)
        assert re.fullmatch(r"[A-Z0-9a-z].{10,118}\.", about.summary), about.summary
        assert about.takes


def test_names_stay_what_they_are_after_all_modules_were_imported():
    """A submodule of the same name would otherwise take a function's place."""
    for module in walk_packages(cr.__path__, "crowdrank."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    for name in ("judgments", "gold", "evaluate", "compare", "fit", "read", "read_gold", "read_ranking", "write"):
        assert callable(getattr(cr, name)), name
    assert cr.simulate.__name__ == "crowdrank.simulate"


def test_the_public_names_work_together_as_the_design_says(tmp_path):
    study = cr.simulate.pairs(items=12, annotators=8, votes=600, seed=3)
    cr.write(study.judgments, tmp_path / "votes.csv")
    grade = [max(0, round(value)) for value in study.gold.value]
    names = list(study.gold.vocabulary.items)
    cr.write(pl.DataFrame({"task": ["task1"] * 12, "item": names, "grade": grade}), tmp_path / "gold.csv")
    grades = {"annotator": ["a", "a", "b"], "item": ["item01", "item02", "item01"], "grade": [1, 2, 1]}
    cr.write(pl.DataFrame({"task": ["task1"] * 3, **grades}), tmp_path / "grades.parquet")

    judgments = cr.read(tmp_path / "votes.csv", tmp_path / "grades.parquet")
    assert judgments.kinds == ("grades", "pairs")
    consensus = cr.CrowdBT(prior=0.5).fit(judgments)
    assert cr.fit("crowd-bt", judgments, prior=0.5).ranking.equals(consensus.ranking)
    assert consensus.ranking.columns[:6] == ["task", "item", "rank", "score", "low", "high"]
    assert consensus.annotators.columns[:3] == ["annotator", "judgments", "quality"]
    gold = cr.read_gold(tmp_path / "gold.csv")
    evaluation = cr.evaluate(consensus, gold, ["ndcg@10", "map", "rbp", "acc"])
    assert list(evaluation.mean) == ["ndcg@10", "map", "rbp", "acc"]
    assert evaluation.mean["acc"] > 0.75
    comparison = cr.compare(judgments, gold, methods=["crowd-bt", "bradley-terry"])
    assert set(comparison.table["method"]) == {"crowd-bt", "bradley-terry"}
    assert cr.judgments(pl.read_csv(tmp_path / "votes.csv")).kinds == ("pairs",)


def test_import_is_light():
    """Neither the numeric stack nor any extra is loaded by `import crowdrank`."""
    assert not loaded_after("import crowdrank") & {*HEAVY, *EXTRAS}


def test_importing_a_method_loads_no_other():
    """`from crowdrank import CrowdBT` needs the vote model, and none of the other families."""
    loaded = {name for name in loaded_after("from crowdrank import CrowdBT") if name.startswith("crowdrank.")}
    other = (
        "crowdrank.methods.grades.",
        "crowdrank.methods.rankings.",
        "crowdrank.methods.supervised.",
        "crowdrank.learning.",
    )
    assert not [name for name in loaded if name.startswith(other)]
    assert {name for name in loaded if name.count(".") == 3 and name.startswith("crowdrank.methods.pairs.")} <= {
        "crowdrank.methods.pairs.crowd_bt",
        "crowdrank.methods.pairs.leaderboard",
        "crowdrank.methods.pairs.votes",
    }


def test_ranking_loads_only_what_it_needs(tmp_path):
    """Numba loads SciPy's BLAS by itself; crowdrank loads no more of SciPy, and no other data frame library."""
    cr.write(cr.simulate.pairs(items=5, annotators=3, votes=50).judgments, tmp_path / "votes.csv")
    code = (
        "import sys; sys.argv = ['crowdrank', 'rank', 'votes.csv']\n"
        "from crowdrank.cli import main\n"
        "try: main()\nexcept SystemExit as leave: assert leave.code == 0"
    )
    loaded = loaded_after(code, tmp_path)
    assert not loaded & set(EXTRAS)
    assert not loaded & {"scipy.optimize", "scipy.stats", "scipy.sparse", "scipy.special", "scipy.integrate"}
