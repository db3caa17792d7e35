"""What the papers' scripts share: where data are, and tables of our figures beside the paper's.

`expected.csv` holds the paper's figures (table, row, column, value), `result.csv` ours, and the README shows both
between `<!-- table 1 -->` and `<!-- end -->`.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

import polars as pl

import crowdrank as cr

Cell = dict[str, object]  # row, column, value; one for every draw; and the table, where one run fills several


def data(name: str) -> Path:
    """The folder of a data set, below the one that the environment variable CROWDRANK_DATA names."""
    found = Path(os.environ.get("CROWDRANK_DATA", "")) / name
    if not os.environ.get("CROWDRANK_DATA") or not found.is_dir():
        sys.exit(f"set CROWDRANK_DATA to the folder that holds {name}/")
    return found


def publish(here: Path, tables: Mapping[int, Callable[[], Iterator[Cell]]], description: str | None) -> None:
    """Run the tables named on the command line, write result.csv, and show them in the README."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--table", type=int, choices=tables, action="append", help="which table; all of them by default"
    )
    wanted = parser.parse_args().table or list(tables)
    for work in dict.fromkeys(tables[number] for number in wanted):
        numbers = [number for number in tables if tables[number] is work]
        cells: list[Cell] = []
        for row, found in groupby(work(), key=lambda cell: cell["row"]):
            cells += ({"table": numbers[0]} | cell for cell in found)
            keep(here, summary(cells))
            print(f"table {', '.join(map(str, numbers))}: {row}", file=sys.stderr, flush=True)
        keep(here, summary(cells), whole=True)
        for number in numbers:
            show(here, number)


def keep(here: Path, ours: pl.DataFrame, *, whole: bool = False) -> None:
    """What is done of some tables into result.csv, in place of the same rows, or, of whole tables, of all: a run that
    is stopped has lost one row.
    """
    results = here / "result.csv"
    if results.exists():
        before = pl.read_csv(results, schema_overrides={"deviation": pl.Float64})
        rest = before.join(ours, on=["table"] if whole else ["table", "row"], how="anti", maintain_order="left")
        ours = pl.concat([rest, ours])
    cr.write(ours.sort("table", maintain_order=True), results)


def show(here: Path, number: int) -> None:
    """A table of result.csv, in the README and on the screen."""
    paper = pl.read_csv(
        here / "expected.csv", schema_overrides={"table": pl.Int64, "value": pl.Float64}
    )  # a paper of curves has none
    ours = pl.read_csv(here / "result.csv", schema_overrides={"deviation": pl.Float64}).filter(
        pl.col("table") == number
    )
    table = side_by_side(ours, paper)
    print(f"Table {number}, ours (paper's)\n\n{table}\n", flush=True)
    readme = (here / "README.md").read_text()
    marked = rf"(<!-- table {number} -->\n).*?(<!-- end -->)"
    (here / "README.md").write_text(re.sub(marked, rf"\g<1>{table}\n\g<2>", readme, flags=re.DOTALL))


def summary(cells: list[Cell]) -> pl.DataFrame:
    """The mean of every cell, and its standard deviation from draw to draw."""
    by_cell = pl.DataFrame(cells).group_by("table", "row", "column", maintain_order=True)
    spread = {"value": pl.col("value").mean().round(4), "deviation": pl.col("value").std().round(4)}
    return by_cell.agg(**spread, draws=pl.len().cast(pl.Int64)).with_columns(pl.col("table").cast(pl.Int64))


def side_by_side(ours: pl.DataFrame, paper: pl.DataFrame) -> str:
    """A Markdown table: ours (± from draw to draw), and the paper's in brackets."""
    both = ours.join(paper.rename({"value": "paper"}), on=["table", "row", "column"], how="left")
    rows, columns = (
        both["row"].unique(maintain_order=True).to_list(),
        both["column"].unique(maintain_order=True).to_list(),
    )
    cells = {(cell["row"], cell["column"]): _cell(cell) for cell in both.to_dicts()}
    lines = ["| | " + " | ".join(rows) + " |", "|---" * (len(rows) + 1) + "|"]
    return "\n".join(
        lines
        + [f"| {column} | " + " | ".join(cells.get((row, column), "") for row in rows) + " |" for column in columns]
    )


def _cell(cell: dict[str, float]) -> str:
    whole = max(cell["value"] or 0.0, cell["paper"] or 0.0) >= 10  # a count, not a share
    digits = 0 if whole else 4 if cell["deviation"] is None else 3
    ours = "–" if cell["value"] is None else f"{cell['value']:.{digits}f}"
    ours += f" ± {cell['deviation']:.{min(digits, 3)}f}" if cell["deviation"] is not None else ""
    if cell["paper"] is None:
        return ours
    far = (
        cell["deviation"] is not None
        and cell["value"] is not None
        and abs(cell["paper"] - cell["value"]) > 2 * cell["deviation"]
    )
    return f"{ours} ({cell['paper']:.{digits}f}{' !' if far else ''})"
