"""The tables and runtimes of the CRF paper: `python papers/crf/run.py --table 2`. Figures 1 and 2 are `--table fig1` and `--table fig2`."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # on matrices this small, threads only get in each other's way

import polars as pl

import crowdrank as cr
from crowdrank.methods import Trained
from crowdrank.methods.ensemble import EnsembleAggregator

HERE = Path(__file__).parent
PARTS = ("S1", "S2", "S3", "S4", "S5")
NAMES = {**{f"ndcg@{k}": f"letor-ndcg@{k}" for k in range(1, 6)}, **{f"p@{k}": f"p@{k}" for k in range(1, 6)}, "map": "map"}
UNSUPERVISED = ("cps", "svp", "plackett-luce", "condorcet", "rrf")
SUPERVISED = ("weighted-rrf", "weighted-borda", "svd", "crf", "boosted")
USELESS = ("r13", "r20", "r24", "r25")  # in the paper
EXPANSIONS = (1, 2, 4, 6, 8, 10)
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

    def of(self, *parts: str, without: tuple[str, ...] = ()) -> cr.Judgments:
        """The rankings of some parts, perhaps without some of the experts."""
        inside = pl.col("task").replace_strict(self.part).is_in(parts)
        return cr.judgments(self.rankings.filter(inside, ~pl.col("annotator").is_in(without)))

    def gold(self, *parts: str) -> cr.Gold:
        """The gold of some parts."""
        return cr.gold(self.grades.filter(pl.col("fold_part").is_in(parts)).select("task", "item", "grade"))

    def tasks(self, part: str) -> list[str]:
        """The queries of a part."""
        return [task for task, own in self.part.items() if own == part]


def trained_on(data: Data, name: str, fold: Fold, without: tuple[str, ...] = ()) -> Trained:
    """A method trained on a fold: it sees the gold of the test part nowhere."""
    learned, validation, _ = fold
    judgments, gold = data.of(*learned, validation, without=without), data.gold(*learned, validation)
    known = set(map(str, judgments.vocabulary.tasks))
    return cr.train(name, judgments, gold, validation=[task for task in data.tasks(validation) if task in known])


def measured(data: Data, consensus: cr.Consensus, part: str) -> dict[str, float]:
    """All measures of a test part, in per cent."""
    mean = cr.evaluate(consensus, data.gold(part), list(NAMES.values())).mean
    return {column: 100 * mean[name] for column, name in NAMES.items()}


def table_2() -> Iterator[Cell]:
    """Methods with and without gold: means of the test parts of the five folds."""
    data = Data()
    for name in UNSUPERVISED:
        for _, _, test in data.folds():
            yield from _cells(name, measured(data, cr.fit(name, data.of(test)), test))
    for fold in data.folds():
        trained, seconds = {}, {}
        for name in SUPERVISED:
            start = time.process_time()
            trained[name] = trained_on(data, name, fold)
            seconds[name] = time.process_time() - start
        # The ensemble is its members, which need not be trained twice.
        trained["ensemble"] = EnsembleAggregator(cr.Ensemble(), trained["crf"], trained["boosted"])
        seconds["ensemble"] = seconds["crf"] + seconds["boosted"]
        for name, aggregator in trained.items():
            yield {"row": name, "column": "seconds to train", "value": seconds[name]}
            yield from _cells(name, measured(data, aggregator.fit(data.of(fold[2])), fold[2]))


def table_3() -> Iterator[Cell]:
    """The CRF with all experts, without those the paper removes, and without those that our own weights ignore."""
    data = Data()
    for fold in data.folds():
        whole = trained_on(data, "crf", fold)
        found = whole.fit(data.of(fold[2]))
        ignored = tuple(found.annotators.filter(pl.col("use") == "ignored")["annotator"])
        for row, without in {"crf": (), "crf without 13 20 24 25": USELESS, "crf without the ignored": ignored}.items():
            again = trained_on(data, "crf", fold, without) if without else whole
            values = measured(data, again.fit(data.of(fold[2], without=without)), fold[2])
            yield from _cells(row, {column: value for column, value in values.items() if column.startswith("ndcg")})
        yield {"row": "crf without the ignored", "column": "experts removed", "value": float(len(ignored))}


def figure_1() -> Iterator[Cell]:
    """The weights of the first fold, as a picture and as numbers."""
    data = Data()
    trained = trained_on(data, "crf", next(data.folds()))
    cr.report.annotator_weights(trained).save(HERE / "figure-1.svg")
    for name, weights in zip(trained.annotators, trained.weight, strict=False):
        for column, value in zip(trained.method.columns, weights, strict=True):
            yield {"row": str(name), "column": column, "value": float(value)}


def figure_2() -> Iterator[Cell]:
    """Milliseconds per query of the first test part, with its experts, or its documents, there several times over."""
    data = Data()
    fold = next(data.folds())
    methods = {name: trained_on(data, name, fold) for name in ("crf", "svd")}
    test = data.rankings.filter(pl.col("task").replace_strict(data.part) == fold[2])
    for what, column in (("experts", "annotator"), ("documents", "item")):
        for times in EXPANSIONS:
            copies = [test.with_columns(pl.col(column) + f"-{copy}" if copy else pl.col(column)) for copy in range(times)]
            judgments = cr.judgments(pl.concat(copies))
            queries = len(judgments.vocabulary.tasks)
            spent = {name: 1000 * _seconds(trained.scores, judgments) / queries for name, trained in methods.items()}
            for name, value in {**spent, "svd / crf": spent["svd"] / spent["crf"]}.items():
                yield {"row": name, "column": f"{what} × {times}", "value": value}


def _seconds(score: Callable[[cr.Judgments], object], judgments: cr.Judgments) -> float:
    """The least processor time of five runs: unlike the time on the clock, it does not depend on what else the machine does."""
    spent = []
    for _ in range(5):
        start = time.process_time()
        score(judgments)
        spent.append(time.process_time() - start)
    return min(spent)


def _cells(row: str, values: Mapping[str, float]) -> Iterator[Cell]:
    for column, value in values.items():
        yield {"row": row, "column": column, "value": value}


TABLES = {"2": table_2, "3": table_3, "fig1": figure_1, "fig2": figure_2}


def summary(table: str) -> pl.DataFrame:
    """The mean of every cell over the folds."""
    cells = pl.DataFrame(list(TABLES[table]()))
    by_cell = cells.group_by("row", "column", maintain_order=True).agg(pl.col("value").mean().round(3))
    return by_cell.select(pl.lit(table).alias("table"), pl.all())


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
    """Run the wanted tables, write result.csv, and show them in the README."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", choices=TABLES, action="append", help="which table; all of them by default")
    wanted = parser.parse_args().table or list(TABLES)
    text = {"table": pl.String}
    paper = pl.read_csv(HERE / "expected.csv", schema_overrides=text)
    results, readme = HERE / "result.csv", (HERE / "README.md").read_text()
    kept = pl.read_csv(results, schema_overrides=text) if results.exists() else None
    for table in wanted:
        ours = summary(table)
        shown = side_by_side(ours, paper)
        print(f"{table}, ours (paper's)\n\n{shown}\n", flush=True)
        readme = re.sub(rf"(<!-- table {table} -->\n).*?(<!-- end -->)", rf"\g<1>{shown}\n\g<2>", readme, flags=re.DOTALL)
        kept = (
            ours if kept is None else pl.concat([kept.filter(pl.col("table") != table), ours]).sort("table", maintain_order=True)
        )
        cr.write(kept, results)
        (HERE / "README.md").write_text(readme)


if __name__ == "__main__":
    main()
