"""The tables and runtimes of the CRF paper: `python papers/crf/run.py --table 2`. Figures 1 and 2 are `--table fig1`
and `--table fig2`.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # on matrices this small, threads only get in each other's way

import polars as pl

import crowdrank as cr
from crowdrank.methods.protocols import Trained
from crowdrank.methods.supervised.ensemble import EnsembleAggregator

HERE = Path(__file__).parent
PARTS = ("S1", "S2", "S3", "S4", "S5")
NAMES = {
    **{f"ndcg@{k}": f"letor-ndcg@{k}" for k in range(1, 6)},
    **{f"p@{k}": f"p@{k}" for k in range(1, 6)},
    "map": "map",
}
UNSUPERVISED = ("cps", "svp", "plackett-luce", "condorcet", "rrf")
SUPERVISED = ("crf", "boosted", "ensemble", "svd", "weighted-borda", "weighted-rrf")
USELESS = ("r13", "r20", "r24", "r25")  # in the paper
EXPANSIONS = (1, 4, 7, 10)
Cell = dict[str, object]
Fold = tuple[tuple[str, ...], str, str]  # parts to learn from, to choose settings on, to test on


class Data:
    """MQ2008-agg and its five folds."""

    def __init__(self) -> None:
        data = os.environ.get("CROWDRANK_DATA")
        if not data:
            sys.exit("set CROWDRANK_DATA to the folder that holds letor_mq2008_agg/")
        folder = Path(data) / "letor_mq2008_agg"
        as_text = {"task": pl.String}
        self.rankings = pl.read_csv(folder / "rankings.csv.gz", schema_overrides=as_text)
        self.grades = pl.read_csv(folder / "gold.csv.gz", schema_overrides=as_text)
        self.part = dict(self.grades.select("task", "fold_part").unique().iter_rows())

    def folds(self) -> Iterator[Fold]:
        """Three parts to learn from, one to choose settings on, one to test; in LETOR's rotation."""
        for first in range(5):
            turned = PARTS[first:] + PARTS[:first]
            yield turned[:3], turned[3], turned[4]

    def of(self, *parts: str, without: tuple[str, ...] = (), top_k: bool = False) -> cr.Judgments:
        """The rankings of some parts, perhaps without some of the experts; `top_k`: documents that a list leaves out
        stand below.
        """
        inside = pl.col("task").replace_strict(self.part).is_in(parts)
        return cr.judgments(self.rankings.filter(inside, ~pl.col("annotator").is_in(without)), top_k=top_k)

    def gold(self, *parts: str) -> cr.Gold:
        """The gold of some parts."""
        return cr.gold(self.grades.filter(pl.col("fold_part").is_in(parts)).select("task", "item", "grade"))

    def tasks(self, part: str) -> list[str]:
        """The queries of a part."""
        return [task for task, own in self.part.items() if own == part]


@cache
def trained_on(data: Data, name: str, fold: Fold, without: tuple[str, ...] = ()) -> tuple[Trained, float]:
    """A method trained on a fold, and the processor seconds it took; it never sees the gold of the test part."""
    start = time.process_time()
    if name == "ensemble":  # it is its members, which need not be trained twice
        (crf, first), (boosted, second) = (trained_on(data, member, fold) for member in ("crf", "boosted"))
        return EnsembleAggregator(cr.Ensemble(), crf, boosted), first + second
    learned, validation, _ = fold
    judgments, gold = data.of(*learned, validation, without=without), data.gold(*learned, validation)
    known = set(map(str, judgments.vocabulary.tasks))
    trained = cr.train(name, judgments, gold, validation=[task for task in data.tasks(validation) if task in known])
    return trained, time.process_time() - start


def measured(data: Data, consensus: cr.Consensus, part: str) -> dict[str, float]:
    """All measures of a test part, in per cent."""
    mean = cr.evaluate(consensus, data.gold(part), list(NAMES.values())).mean
    return {column: 100 * mean[name] for column, name in NAMES.items()}


def table_2(data: Data) -> Iterator[Cell]:
    """Methods with and without gold: means of the test parts of the five folds."""
    for name in SUPERVISED:
        for fold in data.folds():
            trained, seconds = trained_on(data, name, fold)
            values = measured(data, trained.fit(data.of(fold[2])), fold[2])
            yield from _cells(name, {**values, "seconds to train": seconds})
    for name in UNSUPERVISED:
        for _, _, test in data.folds():
            yield from _cells(name, measured(data, cr.fit(name, data.of(test, top_k=True)), test))


def table_3(data: Data) -> Iterator[Cell]:
    """The CRF with all experts, without those the paper removes, and without those that our own weights ignore."""
    for row, leave_out in (
        ("crf", _nobody),
        ("crf without 13 20 24 25", _useless),
        ("crf without the ignored", _ignored),
    ):
        for fold in data.folds():
            without = leave_out(data, fold)
            trained, _ = trained_on(data, "crf", fold, without)
            values = measured(data, trained.fit(data.of(fold[2], without=without)), fold[2])
            ndcg = {column: value for column, value in values.items() if column.startswith("ndcg")}
            yield from _cells(row, {**ndcg, "experts removed": len(without)})


def _nobody(*_: object) -> tuple[str, ...]:
    return ()


def _useless(*_: object) -> tuple[str, ...]:
    return USELESS


def _ignored(data: Data, fold: Fold) -> tuple[str, ...]:
    """Whom the weights ignore on the parts they were learned from."""
    known = trained_on(data, "crf", fold)[0].fit(data.of(*fold[0])).annotators
    return tuple(known.filter(pl.col("use") == "ignored")["annotator"])


def figure_1(data: Data) -> Iterator[Cell]:
    """The weights of the first fold, as a picture and as numbers."""
    trained, _ = trained_on(data, "crf", next(data.folds()))
    cr.report.annotator_weights(trained).save(HERE / "figure-1.svg")
    for name, weights in zip(trained.annotators, trained.weight, strict=False):
        for column, value in zip(trained.method.columns, weights, strict=True):
            yield {"row": str(name), "column": column, "value": float(value)}


def figure_2(data: Data) -> Iterator[Cell]:
    """Milliseconds per query of the first test part, with its experts, or its documents, there several times over."""
    fold = next(data.folds())
    judgments, gold = data.of(*fold[0]), data.gold(*fold[0])
    # Three passes are enough: what the weights are makes no difference to the time it takes to use them.
    quick = (cr.CRF(potential="log", max_iter=3), cr.SVD(potential="log", max_iter=3))
    methods = {method.name: method.train(judgments, gold, validation=()) for method in quick}
    cells = list[Cell]()
    test = data.rankings.filter(pl.col("task").replace_strict(data.part) == fold[2])
    for what, column in (("experts", "annotator"), ("documents", "item")):
        for times in EXPANSIONS:
            copies = [
                test.with_columns(pl.col(column) + f"-{copy}" if copy else pl.col(column)) for copy in range(times)
            ]
            expanded = cr.judgments(pl.concat(copies))
            queries = len(expanded.vocabulary.tasks)
            spent = {name: 1000 * _seconds(trained.scores, expanded) / queries for name, trained in methods.items()}
            for name, value in {**spent, "svd / crf": spent["svd"] / spent["crf"]}.items():
                cells += _cells(name, {f"{what} × {times}": value})
    yield from sorted(cells, key=_row)


def _seconds(score: Callable[[cr.Judgments], object], judgments: cr.Judgments) -> float:
    """The least processor time of five runs, or of those that fit into a second; other work on the machine does not
    count.
    """
    spent = list[float]()
    while len(spent) < 5 and sum(spent) < 1:
        start = time.process_time()
        score(judgments)
        spent.append(time.process_time() - start)
    return min(spent)


def _cells(row: str, values: Mapping[str, float]) -> Iterator[Cell]:
    for column, value in values.items():
        yield {"row": row, "column": column, "value": value}


TABLES = {"2": table_2, "3": table_3, "fig1": figure_1, "fig2": figure_2}


def _row(cell: Cell) -> object:
    return cell["row"]


def mean_of_row(table: str, row: object, cells: Iterable[Cell]) -> pl.DataFrame:
    """The mean of every cell of a row over the folds."""
    by_column = pl.DataFrame(list(cells)).group_by("column", maintain_order=True).agg(pl.col("value").mean().round(3))
    return by_column.select(pl.lit(table).alias("table"), pl.lit(row).alias("row"), pl.all())


def side_by_side(ours: pl.DataFrame, paper: pl.DataFrame) -> str:
    """A Markdown table: ours, and the paper's in brackets."""
    both = ours.join(paper.rename({"value": "paper"}), on=["table", "row", "column"], how="left")
    columns = both["column"].unique(maintain_order=True).to_list()
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for row in both["row"].unique(maintain_order=True):
        cells = {cell["column"]: _cell(cell) for cell in both.filter(pl.col("row") == row).to_dicts()}
        lines.append(f"| {row} | " + " | ".join(cells.get(column, "") for column in columns) + " |")
    return "\n".join(lines)


def _cell(cell: Mapping[str, float]) -> str:
    return f"{cell['value']:.2f}" + ("" if cell["paper"] is None else f" ({cell['paper']:.2f})")


def main() -> None:
    """Run the wanted tables; every row is written to result.csv, and shown in the README, as soon as it is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", choices=TABLES, action="append", help="which table; all of them by default")
    text = {"table": pl.String}
    paper = pl.read_csv(HERE / "expected.csv", schema_overrides=text)
    results, readme, data = HERE / "result.csv", HERE / "README.md", Data()
    for table in parser.parse_args().table or TABLES:
        for row, cells in groupby(TABLES[table](data), key=_row):
            done = mean_of_row(table, row, cells)
            kept = pl.read_csv(results, schema_overrides=text) if results.exists() else paper.clear()
            other = kept.filter((pl.col("table") != table) | (pl.col("row") != row))
            kept = pl.concat([other, done]).sort("table", maintain_order=True)
            shown = side_by_side(kept.filter(pl.col("table") == table), paper)
            replaced = rf"(<!-- table {table} -->\n).*?(<!-- end -->)"
            cr.write(kept, results)
            readme.write_text(re.sub(replaced, rf"\g<1>{shown}\n\g<2>", readme.read_text(), flags=re.DOTALL))
        print(f"{table}, ours (paper's)\n\n{shown}\n", flush=True)


if __name__ == "__main__":
    main()
