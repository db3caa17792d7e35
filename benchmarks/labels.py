"""Labels beside crowd-kit's: `python benchmarks/labels.py [FOLDER]`. Writes docs/benchmarks-labels.md.

Accuracy of the labels and log-loss of the probabilities (cut at 1e-6) of `gda`, the default, and of crowd-kit's
aggregators with their defaults, on items with one true grade: two, three and five grades, balanced and rare, three to
twenty labels for each of 200 items, annotators who err evenly, confuse neighbouring grades, are biased, or are mixed
with a third of spammers. Each figure is the mean of the seeds, with the standard error of the accuracy. With a folder,
it also measures the data there that have gold grades (trec_rf10, llmjudge24). A tool that takes longer than the limit
on a study is left out of it.
"""

from __future__ import annotations

import argparse
import signal
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist

import numpy as np
from harness import DOCS

import crowdrank as cr

SHARES = {
    2: {"balanced": [0.5, 0.5], "rare": [0.9, 0.1]},
    3: {"balanced": [1 / 3] * 3, "rare": [0.7, 0.2, 0.1]},
    5: {"balanced": [0.2] * 5, "rare": [0.55, 0.2, 0.12, 0.08, 0.05]},
}
KINDS = ("even", "confused", "biased", "spam")
LABELS = {3: 40, 20: 40}  # labels of an item → annotators
ITEMS = 200
PEERS = ("MajorityVote", "DawidSkene", "OneCoinDawidSkene", "MMSR", "GLAD", "MACE")
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # item, annotator, grade
Chances = tuple[np.ndarray, np.ndarray | None]  # labels, and the probability of each grade


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
    tables = np.array([table_of(kind, size, rng) for _ in range(LABELS[labels])])
    item = np.repeat(np.arange(ITEMS), labels)
    who = np.concatenate([rng.permutation(len(tables))[:labels] for _ in range(ITEMS)])
    below = np.cumsum(tables[who, truth[item]], axis=1)
    return (item, who, (below < rng.random((len(item), 1)) * below[:, -1:]).sum(axis=1)), truth


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


def measured(tool: str, rows: Rows, truth: np.ndarray, size: int, limit: int) -> tuple[float, float] | None:
    """Accuracy and log-loss of one tool; None where it fails or takes too long."""

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
    return float((found[judged] == truth[judged]).mean()), loss


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


def row_of(title: str, studies: list[tuple[Rows, np.ndarray]], size: int, limit: int) -> str:
    """A line of the table: accuracy and log-loss of every tool."""
    cells, error = [], 0.0
    for tool in TOOLS:
        found = [measured(tool, rows, truth, size, limit) for rows, truth in studies]
        if any(each is None for each in found):
            cells.append("")
            continue
        accuracy, loss = np.mean(np.array(found), axis=0)
        judged = sum(int((truth >= 0).sum()) for _, truth in studies)
        error = error or float(np.sqrt(accuracy * (1 - accuracy) / judged))
        cells.append(f"{accuracy:.3f}" + ("" if np.isnan(loss) else f" / {loss:.3f}"))
    line = f"| {title} | ± {error:.3f} | {' | '.join(cells)} |"
    print(line, flush=True)
    return line


def main() -> None:
    """Run everything, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="a folder with trec_rf10 and llmjudge24")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=20, help="seconds for one tool on one study")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    given = parser.parse_args()
    for tool in set(TOOLS) - set(given.tools):
        del TOOLS[tool]
    about = " ".join((__doc__ or "").split("\n\n")[1].split())
    lines = ["# Labels, beside other tools\n", f"Generated by `python benchmarks/labels.py`. {about}\n"]
    lines += [f"| study | | {' | '.join(TOOLS)} |", "|---" * (2 + len(TOOLS)) + "|"]
    for name in ("trec_rf10", "llmjudge24"):
        if given.folder and (given.folder / name).is_dir():
            rows, truth, size = real(given.folder, name)
            lines.append(row_of(name, [(rows, truth)], size, 15 * given.limit))
    for size in SHARES:
        for shares in SHARES[size]:
            for kind in KINDS:
                for labels in LABELS:
                    studies = [simulated(size, shares, kind, labels, seed) for seed in range(given.seeds)]
                    lines.append(
                        row_of(f"{size} grades, {shares}, {kind}, {labels} labels", studies, size, given.limit)
                    )
    (DOCS / "benchmarks-labels.md").write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
