"""The tables and figures of the CrowdAgg paper: `python papers/crowdagg/run.py --part table-2`. Without --part, all of
them.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from studies import STUDIES, Data, trec

import crowdrank as cr
from crowdrank.evaluation.measures import quality_divergence
from crowdrank.evaluation.significance import randomisation

HERE = Path(__file__).parent
RESULTS = HERE / "result.csv"
SHARES = [round(0.05 * step, 2) for step in range(21)]
SHOWN = ("0%", "25%", "50%", "75%", "100%")
DRAWS = 20
QUALITY_BINS = 10
Cell = dict[str, Any]
# Methods of Figures 3 and 4, which are hundreds of fits each. On grades, those that write out millions of pairs would
# take days.
ROBUST = {
    "mirex": ("condorcet", "greedy-order", "bradley-terry", "mpm", "crowd-bt", "em-elo"),
    "readability": ("condorcet", "greedy-order", "bradley-terry", "crowd-bt", "em-elo"),
    "trec": ("mean", "borda", "dawid-skene", "gda"),
}

# Methods that fuse rankings without writing out their pairs.
FUSION = ("borda", "condorcet", "cps", "mallows", "median-rank", "plackett-luce", "rrf")

PAPER = "crowdagg(contest=task, quality_prior=(1.0, 1.0), against=all)"  # as the paper has it, but for eq. 6
EQUAL = {"crowdagg": "crowdagg(quality=equal)", "crowdagg(measure=rbp)": "crowdagg(measure=rbp, quality=equal)"}
CROWDAGG = {
    "crowdagg": cr.CrowdAgg(),
    "crowdagg(measure=rbp)": cr.CrowdAgg(measure="rbp"),
    "crowdagg(quality=equal)": cr.CrowdAgg(quality="equal"),
    "crowdagg(measure=rbp, quality=equal)": cr.CrowdAgg(measure="rbp", quality="equal"),
    PAPER: cr.CrowdAgg(contest="task", against="all", quality_prior=(1.0, 1.0)),
}
# Methods with a quality for every annotator, and what is left of them without.
WITHOUT = {"mpm": ("mpm", {"slope_spread": 1e-3}), "crowd-bt": ("bradley-terry", {}), "em-elo": ("elo", {})}


def method(name: str, **settings: Any) -> Any:
    """A method without the intervals, which cost time and change no ranking."""
    if name in CROWDAGG:
        return CROWDAGG[name]
    has = {field.name for field in fields(cr.METHODS[name])}
    return cr.METHODS[name](**({"intervals": False} if "intervals" in has else {}), **settings)


def all_methods(data: Data) -> list[str]:
    """Every method that takes what the study has."""
    return [
        name
        for name, kind in cr.METHODS.items()
        if set(kind.description.takes) & set(data.judgments.kinds) and name != "crowdagg"
    ]


def measured(consensus: cr.Consensus, data: Data) -> cr.Evaluation:
    """What a ranking is worth; a fit that has not converged must not pass for a result."""
    if not consensus.fit.converged:
        print(f"{consensus.method} did not converge", file=sys.stderr)
    return cr.evaluate(consensus, data.gold, data.measures, **data.how)


def table_2(name: str) -> Iterator[Cell]:
    """All methods; a star where one is significantly worse than the best (Fisher's randomisation test, Holm's
    correction).
    """
    data = STUDIES[name]()
    names = FUSION if name == "letor" else all_methods(data)
    methods = [*(method(each) for each in names), *CROWDAGG.values()]
    found = cr.compare(data.judgments, data.gold, methods, data.measures, limit=None, **data.how)
    worse = {(row["method"], row["measure"]) for row in found.tests.iter_rows(named=True) if row["significant"]}
    for label, evaluation in found.evaluations.items():
        for measure, value in evaluation.mean.items():
            yield {"row": label, "column": measure, "value": value, "worse": (label, measure) in worse}


def figure_1(name: str) -> Iterator[Cell]:
    """With the annotators' quality and without; p of the difference by Fisher's randomisation test."""
    data = STUDIES[name]()
    for label in (*EQUAL, *WITHOUT):
        plain = method(EQUAL[label]) if label in EQUAL else method(WITHOUT[label][0], **WITHOUT[label][1])
        one, other = (measured(each.fit(data.judgments), data) for each in (method(label), plain))
        chance = randomisation(one.values - other.values) if len(one.tasks) > 1 else [None] * len(data.measures)
        for measure, p in zip(data.measures, chance, strict=True):
            yield {"row": label, "column": measure, "value": one.mean[measure], "p": p}
        for measure in data.measures:
            yield {"row": f"{label}, without", "column": measure, "value": other.mean[measure]}


def figure_2(name: str) -> Iterator[Cell]:
    """Kullback-Leibler divergence of estimated from true quality, each task fitted alone; true quality is agreement
    with gold.
    """
    data = STUDIES[name]()
    words = data.judgments.vocabulary
    gold = data.gold.align(words)
    for label in ("crowdagg", PAPER, "crowd-bt", "em-elo", "mpm"):
        found, estimated, true = [], [], []
        for task in range(len(words.tasks)):
            part = of_task(data.judgments, task)
            pairs = part.pairs
            right = np.sign(gold[pairs.left] - gold[pairs.right]) * pairs.outcome
            told = np.bincount(pairs.annotator, right != 0, len(words.annotators))
            truth = np.bincount(pairs.annotator, right > 0, len(words.annotators))[told > 0] / told[told > 0]
            quality = method(label).fit(part).annotator_columns["quality"][told > 0]
            found.append(quality_divergence(quality, truth))
            estimated.append(quality)
            true.append(truth)
        yield {"row": label, "column": "divergence", "value": float(np.mean(found))}
        yield from quality_shares(label, np.concatenate(estimated))
    yield from quality_shares("truth", np.concatenate(true))


def quality_shares(row: str, quality: np.ndarray) -> Iterator[Cell]:
    """The share of the annotators in each tenth of the scale, for the chart."""
    for bin_, count in enumerate(np.histogram(quality, QUALITY_BINS, (0, 1))[0]):
        yield {"row": row, "column": f"quality {bin_ / QUALITY_BINS:.1f}", "value": count / len(quality)}


def of_task(judgments: cr.Judgments, task: int) -> cr.Judgments:
    """The pairs of one task."""
    pairs = judgments.pairs
    kept = judgments.vocabulary.entry_task[pairs.left] == task
    columns = {column: getattr(pairs, column)[kept] for column in ("annotator", "left", "right", "outcome")}
    return replace(judgments, pairs=replace(pairs, **columns))


def liars(data: Data, share: float, seed: int) -> cr.Judgments:
    """The paper's malicious annotators, who say the opposite of gold about the pairs of those they shadow."""
    spoiled = cr.simulate.spam(data.judgments, share, "malicious", seed)
    pairs, gold = spoiled.pairs, data.gold.align(spoiled.vocabulary)
    opposite = np.sign(gold[pairs.right] - gold[pairs.left]).astype(np.int8)
    added = pairs.annotator >= len(data.judgments.vocabulary.annotators)
    return replace(spoiled, pairs=replace(pairs, outcome=np.where(added, opposite, pairs.outcome)))


def robustness(name: str, kind: Any) -> Iterator[Cell]:
    """Figures 3 and 4: annotators added, from none to as many as there are, and the coefficient of variation over the
    shares.
    """
    data = trec(every=5) if name == "trec" else STUDIES[name]()

    def spoiled(share: float, seed: int) -> cr.Judgments:
        return liars(data, share, seed) if kind == "liars" else cr.simulate.spam(data.judgments, share, kind, seed)

    for label in ("crowdagg", EQUAL["crowdagg"], *ROBUST[name]):
        # By default the prior is chosen by leave-one-out prediction: for mpm that is most of the time.
        fitted = method(label, prior=1.0) if label == "mpm" else method(label)
        by_share = []
        for share in SHARES:
            found = [measured(fitted.fit(spoiled(share, seed)), data).mean for seed in range(DRAWS if share else 1)]
            by_share.append(np.array([[each[measure] for measure in data.measures] for each in found]))
        for at, measure in enumerate(data.measures):
            values = [draws[:, at] for draws in by_share]
            for share, each in zip(SHARES, values, strict=True):
                yield {
                    "row": label,
                    "column": f"{measure} at {share:.0%}",
                    "value": each.mean(),
                    "deviation": each.std(),
                }
            means = np.array([each.mean() for each in values])
            yield {"row": label, "column": f"{measure} variation", "value": means.std() / means.mean()}


def readings(name: str) -> Iterator[Cell]:
    """What eq. 6 may mean, and against whose ranking quality is measured."""
    data = STUDIES[name]()
    for contest in ("judged", "hard", "task", "literal"):
        for label, settings in {
            "equal": {"quality": "equal"},
            "all, no prior": {"against": "all", "quality_prior": (1.0, 1.0)},
            "all": {"against": "all"},
            "others": {},
            "others, per task": {"quality_per": "task"},
        }.items():
            value = measured(cr.CrowdAgg(contest=contest, **settings).fit(data.judgments), data).mean
            measure = "map" if "map" in value else "acc"
            yield {"row": f"{contest}: {label}", "column": f"{name} {measure}", "value": value[measure]}


Part = Callable[[str], Iterator[Cell]]
PARTS: dict[str, tuple[Part, tuple[str, ...]]] = {
    "readings": (readings, ("trec", "readability", "mirex", "preflib")),
    "table-2": (table_2, ("trec", "mirex", "readability", "preflib", "wmt", "letor")),
    "figure-1": (figure_1, ("mirex", "readability", "preflib", "wmt")),
    "figure-2": (figure_2, ("mirex",)),
    "figure-3": (lambda name: robustness(name, "random"), ("mirex", "readability", "trec")),
    "figure-4": (lambda name: robustness(name, "malicious"), ("mirex", "readability", "trec")),
    "figure-4-gold": (lambda name: robustness(name, "liars"), ("mirex", "readability")),
}
KEYS = ("part", "data", "row", "column")


def shown(cells: list[Cell], paper: dict[tuple[str, ...], float]) -> str:
    """A Markdown table: ours, and the paper's in brackets. What the charts show in full is shown in part."""
    wanted = [cell for cell in cells if _in_table(cell["column"])]
    rows, columns = (list(dict.fromkeys(cell[key] for cell in wanted)) for key in ("row", "column"))
    text = {(cell["row"], cell["column"]): _cell(cell, paper) for cell in wanted}
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    return "\n".join(
        lines + [f"| {row} | " + " | ".join(text.get((row, column), "") for column in columns) + " |" for row in rows]
    )


def _in_table(column: str) -> bool:
    """Of Figures 3 and 4 every fifth share of one measure, of Figure 2 no distributions."""
    measure, _, share = column.partition(" at ")
    if share or column.endswith(" variation"):
        return measure.startswith(("ndcg@10", "acc")) and (not share or share in SHOWN)
    return not column.startswith("quality ")


def _cell(cell: Cell, paper: dict[tuple[str, ...], float]) -> str:
    theirs = paper.get(tuple(cell[key] for key in KEYS))
    star = "*" if cell["worse"] else ""
    p = f" p={cell['p']:.3f}" if cell["p"] is not None else ""
    return f"{cell['value']:.4f}{star}{p}" + (f" ({theirs:.3f})" if theirs is not None else "")


def main() -> None:
    """Run the wanted parts, write result.csv, and show them in the README."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append", help="which part; all of them by default")
    parser.add_argument("--data", choices=STUDIES, action="append", help="which study; all of the part's by default")
    wanted = parser.parse_args()
    for part in wanted.part or PARTS:
        compute, names = PARTS[part]
        for name in wanted.data or names:
            if name in names:
                done = []
                for row, cells in groupby(compute(name), key=lambda cell: cell["row"]):
                    keep([{"part": part, "data": name, **cell} for cell in cells])
                    done.append(row)
                    print(f"{part}, {name}: {row}", file=sys.stderr, flush=True)
                publish(part, name, done)


def results() -> pl.DataFrame:
    """What was found so far."""
    kinds = {"value": pl.Float64, "deviation": pl.Float64, "p": pl.Float64, "worse": pl.Boolean}
    if not RESULTS.exists():
        return pl.DataFrame(schema={**dict.fromkeys(KEYS, pl.String), **kinds})
    return pl.read_csv(RESULTS, schema_overrides=kinds)


def keep(cells: list[Cell]) -> None:
    """A row of a table into result.csv, in place of what was there: a run that is stopped has lost one row."""
    before = results()
    ours = pl.DataFrame([{name: cell.get(name) for name in before.columns} for cell in cells], schema=before.schema)
    rest = before.join(ours, on=["part", "data", "row"], how="anti", maintain_order="left")
    numbers = pl.col("value", "deviation", "p").round(4)
    cr.write(pl.concat([rest, ours.with_columns(numbers)]).sort("part", "data", maintain_order=True), RESULTS)


def publish(part: str, name: str, rows: list[str]) -> None:
    """Rows that are no longer made go; the others are shown in the README."""
    of_table = (pl.col("part") == part) & (pl.col("data") == name)
    found = results().filter(~of_table | pl.col("row").is_in(rows))
    cr.write(found, RESULTS)
    paper = {
        tuple(row[key] for key in KEYS): row["value"]
        for row in pl.read_csv(HERE / "expected.csv").iter_rows(named=True)
    }
    text = shown(found.filter(of_table).to_dicts(), paper)
    print(f"{part}, {name}\n\n{text}\n", flush=True)
    marked = rf"(<!-- {part} {name} -->\n).*?(<!-- end -->)"
    readme = (HERE / "README.md").read_text()
    (HERE / "README.md").write_text(re.sub(marked, rf"\g<1>{text}\n\g<2>", readme, flags=re.DOTALL))


if __name__ == "__main__":
    main()
