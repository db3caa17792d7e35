"""Labels beside crowd-kit's: `python benchmarks/labels.py [FOLDER]`. Writes docs/benchmarks-labels.md.

Accuracy of the labels and log-loss of the probabilities (cut at 1e-6) of `gda`, the default, and of crowd-kit's
aggregators with their defaults, on simulated items with one true grade: two, three and five grades, balanced and rare,
3 or 20 labels for each of 500 items by 100 annotators. Annotators err evenly, confuse grades (tables of their own), are
biased (each sees the truth through a shift and noise), or are mixed with a third of spammers; items differ in how hard
they are; or annotators are biased and share part of their error, as language models do. The last columns compare with
the most accurate peer of each study: the difference of the accuracies with the standard error of the difference (on the
same items), and that of the smallest log-loss of any peer. With a folder, it also measures the data there that have
gold grades (trec_rf10, llmjudge24). A tool that takes longer than the limit on a study has no figure.
"""

from __future__ import annotations

import argparse
import signal
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from harness import DOCS

import crowdrank as cr

SHARES = {
    2: {"balanced": [0.5, 0.5], "rare": [0.9, 0.1]},
    3: {"balanced": [1 / 3] * 3, "rare": [0.7, 0.2, 0.1]},
    5: {"balanced": [0.2] * 5, "rare": [0.55, 0.2, 0.12, 0.08, 0.05]},
}
KINDS = ("even", "confused", "biased", "spam", "hard", "shared")
LABELS = (3, 20)  # of each item
ITEMS, ANNOTATORS = 500, 100
PEERS = ("MajorityVote", "DawidSkene", "OneCoinDawidSkene", "MMSR", "GLAD", "MACE")
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # item, annotator, grade
Chances = tuple[np.ndarray, np.ndarray | None]  # labels, and the probability of each grade


class Measured(NamedTuple):
    """How right the labels of a tool are."""

    right: np.ndarray
    loss: float  # NaN without probabilities

    @property
    def accuracy(self) -> float:
        return float(self.right.mean())


@dataclass
class Row:
    """A study: ours minus the best peer's."""

    title: str
    gap: float
    error: float
    loss: float
    line: str = ""


def table_of(kind: str, size: int, rng: np.random.Generator) -> np.ndarray:
    """The table of one annotator: the chance of each grade for each true grade."""
    grade = np.arange(size)
    if kind == "confused":
        near = np.exp(-1.2 * np.abs(grade[:, None] - grade))
        return np.array([rng.dirichlet(6 * row / row.sum() + 0.1) for row in near])
    if kind == "biased":
        shift, noise = rng.normal(0, 0.5), 0.4 * np.exp(rng.normal(0, 0.4))
        below = [[NormalDist().cdf((edge - true - shift) / noise) for edge in grade[:-1] + 0.5] for true in grade]
        return 0.97 * np.diff(np.c_[np.zeros(size), below, np.ones(size)], axis=1) + 0.03 / size
    if kind == "spam" and rng.random() < 1 / 3:
        return np.tile(rng.dirichlet(np.ones(size)), (size, 1))
    right = rng.beta(8, 2) if kind == "spam" else rng.beta(4, 2)
    return (1 - right) / (size - 1) + (right - (1 - right) / (size - 1)) * np.eye(size)


def simulated(size: int, shares: str, kind: str, labels: int, seed: int) -> tuple[Rows, np.ndarray]:
    """The grades of a crowd, and the true ones."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(size, ITEMS, p=SHARES[size][shares])
    item = np.repeat(np.arange(ITEMS), labels)
    who = np.concatenate([rng.permutation(ANNOTATORS)[:labels] for _ in range(ITEMS)])
    if kind in ("hard", "shared"):
        grade = np.clip(np.rint(seen(kind, truth[item], item, who, rng)), 0, size - 1).astype(int)
        return (item, who, grade), truth
    tables = np.array([table_of(kind, size, rng) for _ in range(ANNOTATORS)])
    below = np.cumsum(tables[who, truth[item]], axis=1)
    return (item, who, (below < rng.random((len(item), 1)) * below[:, -1:]).sum(axis=1)), truth


def seen(kind: str, truth: np.ndarray, item: np.ndarray, who: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What annotators see, where that depends on the item; the nearest grade is given."""
    skill, noise = np.exp(rng.normal(0, 0.5, ANNOTATORS)), rng.normal(size=len(item))
    if kind == "hard":
        return truth + 0.55 * np.exp(rng.normal(0, 0.7, ITEMS))[item] / skill[who] * noise
    common, bias = rng.normal(0, 0.5, ITEMS), rng.normal(0, 0.5, ANNOTATORS) / skill
    return truth + common[item] + bias[who] + 0.5 / skill[who] * noise


def ours(rows: Rows, size: int) -> Chances:
    """The labels of the default method."""
    item, who, grade = rows
    frame = cr.labels(cr.fit("gda", cr.judgments({"annotator": who, "item": item, "grade": grade}))).sort("item")
    chance = np.zeros((len(frame), size))
    for number in range(size):
        if f"p_{number}" in frame.columns:
            chance[:, number] = frame[f"p_{number}"]
    return frame["grade"].to_numpy().astype(int), chance


def crowd_kit(name: str) -> Callable[[Rows, int], Chances]:
    """One of crowd-kit's aggregators."""

    def labels(rows: Rows, size: int) -> Chances:
        import crowdkit.aggregation
        import pandas as pd

        item, who, grade = rows
        model = getattr(crowdkit.aggregation, name)()
        found = model.fit_predict(pd.DataFrame({"task": item, "worker": who, "label": grade})).sort_index()
        chance = getattr(model, "probas_", None)
        if chance is not None:
            chance = chance.sort_index().reindex(columns=range(size)).fillna(0).to_numpy()
        return found.to_numpy().astype(int), chance

    return labels


TOOLS = {"crowdrank gda": ours, **{f"crowd-kit {name}": crowd_kit(name) for name in PEERS}}


def measured(tool: str, rows: Rows, truth: np.ndarray, size: int, limit: int) -> Measured | None:
    """What one tool finds; None where it fails or takes too long."""

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(limit)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, chance = TOOLS[tool](rows, size)
    except Exception:
        return None
    finally:
        signal.alarm(0)
    judged = truth >= 0
    loss = np.nan
    if chance is not None:
        chance = np.maximum(chance, 1e-6) / np.maximum(chance, 1e-6).sum(axis=1, keepdims=True)
        loss = float(-np.log(chance[judged][np.arange(judged.sum()), truth[judged]]).mean())
    return Measured(found[judged] == truth[judged], loss)


def real(folder: Path, name: str) -> tuple[Rows, np.ndarray, int]:
    """A data set with gold grades from 0 on; items without gold have -1."""
    study = cr.read(folder / name / "grades.csv.gz")
    used = (study.grades.grade >= 0) & (study.grades.grade <= 3)
    item, who, grade = (
        np.asarray(column)[used] for column in (study.grades.entry, study.grades.annotator, study.grades.grade)
    )
    codes, item = np.unique(item, return_inverse=True)
    truth = np.nan_to_num(cr.read_gold(folder / name / "gold.csv.gz").align(study.vocabulary), nan=-1)[codes]
    return (item, who, grade.astype(int)), np.where(truth < 0, -1, truth).astype(int), int(grade.max()) + 1


def row_of(title: str, rows: Rows, truth: np.ndarray, size: int, limit: int) -> Row:
    """A line of the table: accuracy and log-loss of every tool, and ours beside the best."""
    found = {tool: measured(tool, rows, truth, size, limit) for tool in TOOLS}
    cells = [
        "" if each is None else f"{each.accuracy:.3f} / {each.loss:.3f}".removesuffix(" / nan")
        for each in found.values()
    ]
    own, *others = (each for each in found.values() if each is not None)
    best = max(others, key=lambda each: each.accuracy)
    gap = own.right.astype(float) - best.right
    error = float(gap.std() / np.sqrt(len(gap)))
    row = Row(title, float(gap.mean()), error, own.loss - float(np.nanmin([each.loss for each in others])))
    row.line = f"| {title} | {' | '.join(cells)} | {row.gap:+.3f} ± {error:.3f} | {row.loss:+.3f} |"
    print(row.line, flush=True)
    return row


def summary(rows: list[Row]) -> str:
    """How many studies are behind."""
    gaps = np.array([row.gap for row in rows])
    behind = [row for row in rows if row.gap < -row.error]
    far = [row.title for row in rows if row.gap < -2 * row.error]
    names = f" ({'; '.join(far)})" if far else ""
    return (
        f"\nOf {len(rows)} studies, gda is at least as accurate as the best peer in {(gaps >= 0).sum()}, behind "
        f"by more than one standard error in {len(behind)}, by more than two in {len(far)}{names}. The mean difference "
        f"is {gaps.mean():+.4f}. Its log-loss is smaller than every peer's, or equal to two digits, in "
        f"{sum(row.loss < 0.005 for row in rows)}. The best peer of each study is chosen after the fact, among six.\n"
    )


def beside_each(rows: list[Row]) -> list[str]:
    """Ours minus each single peer's, over all studies: no peer is chosen after the fact."""
    lines = [
        "Beside each peer by itself: the mean difference of the accuracies over the studies, with its standard error.",
        "(If all tools were equally good, the best of six would often be ahead by more than a standard error.)\n",
        "| peer | studies | accuracy − peer's | ahead | behind | log-loss − peer's |",
        "|---|---|---|---|---|---|",
    ]
    cells = [[cell.strip().split(" / ") for cell in row.line.strip("|").split("|")[1 : 1 + len(TOOLS)]] for row in rows]
    for at, peer in enumerate(list(TOOLS)[1:], start=1):
        both = [(row[0], row[at]) for row in cells if row[at][0]]
        gap = np.array([float(own[0]) - float(other[0]) for own, other in both])
        loss = [float(own[1]) - float(other[1]) for own, other in both if len(other) > 1]
        error = gap.std(ddof=1) / np.sqrt(len(gap))
        shares = f"{np.mean(gap > 0):.0%} | {np.mean(gap < 0):.0%} | {f'{np.mean(loss):+.3f}' if loss else ''}"
        lines.append(f"| {peer} | {len(gap)} | {gap.mean():+.4f} ± {error:.4f} | {shares} |")
    return [*lines, ""]


def rows_of_page() -> dict[str, Row]:
    """The studies that the page has already."""
    found = {}
    for line in (DOCS / "benchmarks-labels.md").read_text().splitlines()[1:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) > len(TOOLS) and " ± " in cells[-2]:
            gap, error = cells[-2].split(" ± ")
            found[cells[0]] = Row(cells[0], float(gap), float(error), float(cells[-1]), line)
    return found


def write_page(rows: list[Row]) -> None:
    """The page of these studies."""
    about = " ".join((__doc__ or "").split("\n\n")[1].split())
    lines = [
        "# Labels, beside other tools\n",
        f"Generated by `python benchmarks/labels.py FOLDER`. {about}",
        summary(rows),
        *(beside_each(rows) if len(rows) > 1 else []),
    ]
    lines += [f"| study | {' | '.join(TOOLS)} | accuracy − best | log-loss − best |", "|---" * (3 + len(TOOLS)) + "|"]
    (DOCS / "benchmarks-labels.md").write_text("\n".join([*lines, *(row.line for row in rows), ""]))


def main() -> None:
    """Run everything, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="a folder with trec_rf10 and llmjudge24")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--limit", type=int, default=45, help="seconds for one tool on one study; three times as many on data"
    )
    parser.add_argument("--resume", action="store_true", help="keep the rows that the page has, and add the others")
    given = parser.parse_args()
    folder, known = given.folder or Path("-"), rows_of_page() if given.resume else {}
    data = [name for name in ("trec_rf10", "llmjudge24") if name in known or (folder / name).is_dir()]
    rows = [known.get(name) or row_of(name, *real(folder, name), 3 * given.limit) for name in data]
    for size in SHARES:
        for shares, kind, labels in product(SHARES[size], KINDS, LABELS):
            title = f"{size} grades, {shares}, {kind}, {labels} labels"
            study = simulated(size, shares, kind, labels, given.seed)
            rows.append(known.get(title) or row_of(title, *study, size, given.limit))
            write_page(rows)  # after each: a run takes an hour


if __name__ == "__main__":
    main()
