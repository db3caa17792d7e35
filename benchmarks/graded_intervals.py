"""Intervals of grades and lists: `python benchmarks/graded_intervals.py [FOLDER]` writes docs/coverage-graded.md.

First, the share of true scores inside their 95 % intervals, on studies drawn from the model of each method, sparse and
dense, after a shift to the mean of the scores, since only their differences mean something; for gda with 12 items also
after the best factor, since these decide its scale. Second, the annotators are divided into two halves: the
share of items whose two scores lie no further apart than both intervals allow together, for simulated opinions and for
the data of a folder.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from harness import DOCS

import crowdrank as cr
from crowdrank.study import Grades

WIDTH = 1.959964
FEW = 20  # items; their own spread decides the scale of gda
GRADED = {"12 items × 60": (12, 60, 60), "200 items × 5": (200, 50, 5), "200 items × 20": (200, 100, 20)}
LISTED = {"200 items, 30 lists of 10": (200, 30, 10), "30 items, 100 lists of 10": (30, 100, 10)}
SPREADS = (1.0, 3.0)


def covered(consensus: cr.Consensus, truth: np.ndarray, *, own_scale: bool = False) -> float:
    """The share of true scores inside their intervals, after the best shift; few items decide the scale of gda."""
    known = ~np.isnan(consensus.score)
    score, true = consensus.score[known], truth[known]
    slope = np.polyfit(true, score, 1)[0] if own_scale and len(true) <= FEW else 1.0
    true = score.mean() + slope * (true - true.mean())
    return float(np.mean((consensus.low[known] <= true) & (true <= consensus.high[known])))


def rasch_study(items: int, annotators: int, labels: int, seed: int) -> tuple[cr.Judgments, np.ndarray]:
    """Grades from the model of rasch and its priors."""
    rng = np.random.default_rng(seed)
    truth, sharp = rng.normal(size=items), np.exp(-rng.normal(0, 0.25, items))
    thresholds = np.array([-1.5, -0.5, 0.5, 1.5]) + rng.normal(0, 1.0, (annotators, 4))
    item = np.repeat(np.arange(items), labels)
    who = np.concatenate([rng.permutation(annotators)[:labels] for _ in range(items)])
    log = np.c_[np.zeros(len(item)), np.cumsum(truth[item][:, None] - thresholds[who], axis=1)] * sharp[item][:, None]
    below = np.cumsum(np.exp(log - log.max(axis=1, keepdims=True)), axis=1)
    grade = (below < rng.random((len(item), 1)) * below[:, -1:]).sum(axis=1)
    return cr.judgments({"annotator": who, "item": item + 10_000, "grade": grade}), truth


def list_study(items: int, lists: int, length: int, spread: float, seed: int) -> tuple[cr.Judgments, np.ndarray]:
    """Lists of some items each, from the model of plackett-luce."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, spread, items)
    named = np.array([rng.permutation(items)[:length] for _ in range(lists)])
    seen = truth[named] + rng.gumbel(size=named.shape)
    rank = np.argsort(np.argsort(-seen, axis=1), axis=1) + 1
    who = np.repeat(np.arange(lists), length)
    present, code = np.unique(named.ravel(), return_inverse=True)
    return cr.judgments({"annotator": who, "item": code + 10_000, "rank": rank.ravel()}), truth[present]


def opinions(seed: int, levels: int, items: int = 12, annotators: int = 400) -> cr.Judgments:
    """People who grade all items by their own taste, in two dimensions, beside what is common to all."""
    rng = np.random.default_rng(seed)
    liking = rng.normal(size=items) + 0.6 * rng.normal(size=(annotators, 2)) @ rng.normal(size=(2, items))
    liking = liking + rng.normal(0, 0.7, (annotators, 1)) + rng.logistic(0, 1, (annotators, items))
    cuts = np.quantile(liking, [0.7] if levels == 2 else np.arange(1, levels) / levels)
    who, item = np.divmod(np.arange(liking.size), items)
    return cr.judgments({"annotator": who, "item": item, "grade": np.searchsorted(cuts, liking).ravel()})


def split_halves(study: cr.Judgments, method: str, seed: int) -> float:
    """The share of entries whose scores by two halves of the annotators are as near as their intervals say."""
    drawn = np.random.default_rng(seed).permutation(len(study.vocabulary.annotators))
    found, rows = [], study.grades
    for part in np.array_split(drawn, 2):
        kept = np.isin(rows.annotator, part)
        half = replace(study, grades=Grades(rows.annotator[kept], rows.entry[kept], rows.grade[kept]))
        found.append(cr.fit(method, half))
    error = [(each.high - each.low) / (2 * WIDTH) for each in found]
    gap, both = np.abs(found[0].score - found[1].score), np.hypot(*error)
    return float(np.mean((gap <= WIDTH * both)[~np.isnan(gap)]))


def row(*cells: object) -> str:
    """A line of a table, printed."""
    line = f"| {' | '.join(f'{cell:.3f}' if isinstance(cell, float) else str(cell) for cell in cells)} |"
    print(line, flush=True)
    return line


def own_models(seeds: int) -> list[str]:
    """The first table."""
    lines = [row("method", "study", "inside"), "|---|---|---|"]
    for title, (items, annotators, labels) in GRADED.items():
        count = seeds * (8 if items <= FEW else 1)  # what is unknown about the scale is common to all items of a study
        studies = [cr.simulate.grades(items, annotators, labels, seed=seed) for seed in range(count)]
        found = [covered(cr.fit("gda", each.judgments), each.gold.value, own_scale=True) for each in studies]
        lines.append(row("gda", title, float(np.mean(found))))
        drawn = [rasch_study(items, annotators, labels, seed) for seed in range(count)]
        lines.append(
            row("rasch", title, float(np.mean([covered(cr.fit("rasch", each), truth) for each, truth in drawn])))
        )
    for title, size in LISTED.items():
        for spread in SPREADS:
            # The error of the spread is common to all items of a study: more studies are needed.
            drawn = [list_study(*size, spread, seed) for seed in range(4 * seeds)]
            found = [covered(cr.fit("plackett-luce", each), truth) for each, truth in drawn]
            lines.append(row("plackett-luce", f"{title}, spread {spread:g}", float(np.mean(found))))
    return lines


def halves(folder: Path | None, seeds: int) -> list[str]:
    """The second table."""
    lines = [row("method", "study", "as near as their intervals say"), "|---|---|---|"]
    for levels in (2, 5):
        found = [split_halves(opinions(seed, levels), "gda", seed) for seed in range(seeds)]
        lines.append(row("gda", f"opinions, {levels} grades", float(np.mean(found))))
    for path in sorted(folder.glob("*/grades.csv.gz")) if folder else ():
        lines += [row(method, path.parent.name, split_halves(cr.read(path), method, 0)) for method in ("gda", "rasch")]
    return lines


def main() -> None:
    """Print the tables; write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="a folder with data sets of grades")
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    about = (__doc__ or "").split("\n\n")[1]
    text = ["# Intervals of grades and lists\n", f"Generated by `python benchmarks/graded_intervals.py`. {about}"]
    text += [*own_models(given.seeds), "", *halves(given.folder, given.seeds), ""]
    (DOCS / "coverage-graded.md").write_text("\n".join(text))


if __name__ == "__main__":
    main()
