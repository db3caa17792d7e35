"""Do intervals hold the truth, and are probabilities and verdicts right? `python benchmarks/intervals.py` asks;
it writes docs/coverage.md.

Votes are simulated from the model: scores are normal with a standard deviation of `spread`, honest annotators have a
quality from Beta(5, 1), spammers ½, reversed ones 0. Every method has its default settings. `scores`, `ranks` and
`quality` are the shares, over all seeds, that lie inside their 95 % intervals; scores are relative to the mean of all
items. `τ` is Kendall's correlation with the truth, beside that of bradley-terry, and that of the best of four fixed
priors on quality (chosen knowing the truth). `next` is how far the stated probability that an item is above the next
one is from the observed share. Verdicts: the share of honest annotators (quality of at least 0.7) who are called random
or reversed; of spammers, with 40 votes or more, who are called random; of reversed ones, with 40 votes or more, who are
called reversed or different. `undecided` is the share of studies in which the result itself says that the opposite
ranking is nearly as probable; these are left out of the other figures. Each cell of a table is computed on one core.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

import crowdrank as cr

PAGE = Path(__file__).parent.parent / "docs" / "coverage.md"
VOTES_PER_ANNOTATOR = (100, 15, 5)
SPREADS = (1.0, 2.0, 3.0)
TIES = (0.0, 0.3)
CROWDS = {"honest": (0.0, 0.0), "30 % spam": (0.3, 0.0), "20 % spam, 30 % reversed": (0.2, 0.3)}
ITEMS, VOTES = 40, 2000
FIXED_PRIORS = ((2.0, 2.0), (8.0, 2.0), (5.0, 1.0), (1.05, 1.05))
# Items, annotators, votes.
DENSE = ((50, 50, 5_000), (200, 100, 20_000), (200, 200, 40_000), (200, 8_000, 40_000), (1_500, 3_300, 66_000))
COLUMNS = ("scores", "ranks", "quality", "τ", "τ bt", "τ best prior", "next", "accused", "spam found", "reversed found")
ENOUGH = 40  # votes
HONEST = 0.7  # quality
ACCUSATIONS = ("random", "reversed", "differs from the consensus")


def figures(study: cr.simulate.SimulatedStudy, *, priors: bool) -> dict[str, float]:
    """The figures of one study."""
    consensus = cr.fit("crowd-bt", study.judgments)
    if any("the opposite ranking" in note for note in consensus.notes):
        return {"undecided": 1.0}
    truth = study.gold.value - study.gold.value.mean()
    rank, columns = np.argsort(np.argsort(-truth)) + 1, consensus.annotator_columns
    near = cr.neighbours(consensus)
    place = dict(zip(study.judgments.vocabulary.items.tolist(), truth.tolist(), strict=True))
    right = [place[a] > place[b] for a, b in zip(near["item"], near["next_item"], strict=True)]
    enough, quality, verdict = columns["judgments"] >= ENOUGH, study.quality, columns["verdict"]
    found = {
        "undecided": 0.0,
        "scores": _inside(consensus.low, truth, consensus.high),
        "ranks": _inside(consensus.rank_low, rank, consensus.rank_high),
        "quality": _inside(columns["quality_low"], quality, columns["quality_high"]),
        "τ": kendalltau(consensus.score, truth)[0],
        "τ bt": kendalltau(cr.fit("bradley-terry", study.judgments, intervals=False).score, truth)[0],
        "next": float(np.mean(near["probability"].to_numpy()) - np.mean(right)),
        "accused": _share(quality >= HONEST, np.isin(verdict, ACCUSATIONS)),
        "spam found": _share(enough & (quality == 0.5), verdict == "random"),
        "reversed found": _share(enough & (quality == 0), np.isin(verdict, ACCUSATIONS[1:])),
    }
    if priors:
        fits = [cr.fit("crowd-bt", study.judgments, quality_prior=prior, intervals=False) for prior in FIXED_PRIORS]
        found |= {f"τ {i}": kendalltau(fit.score, truth)[0] for i, fit in enumerate(fits)}
    return found


def _inside(low: np.ndarray, true: np.ndarray, high: np.ndarray) -> float:
    return float(np.mean((low - 1e-9 <= true) & (true <= high + 1e-9)))


def _share(of: np.ndarray, which: np.ndarray) -> float:
    return float(which[of].mean()) if of.any() else np.nan


def row(studies: list[cr.simulate.SimulatedStudy], *, priors: bool = True) -> list[str]:
    """The figures of a cell: means over its studies."""
    start = time.perf_counter()
    found = [figures(study, priors=priors) for study in studies]
    decided = [each for each in found if not each["undecided"]]
    mean = {name: _mean([each[name] for each in decided]) for name in (decided[0] if decided else {})}
    mean["τ best prior"] = max((mean[name] for name in mean if name[:2] == "τ " and name[2:].isdigit()), default=np.nan)
    texts = ["" if np.isnan(mean.get(name, np.nan)) else f"{mean[name]:.3f}" for name in COLUMNS]
    undecided = f"{_mean([each['undecided'] for each in found]):.2f}"
    return [*texts, undecided, f"{(time.perf_counter() - start) / len(studies):.1f}"]


def _mean(values: list[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else np.nan


def table(title: str, first: tuple[str, ...], rows: list[str]) -> list[str]:
    """A table in Markdown."""
    names = [*first, *COLUMNS, "undecided", "seconds"]
    return [f"## {title}\n", f"| {' | '.join(names)} |", "|" + "---|" * len(names), *rows, ""]


def sparse_row(each: int, spread: float, ties: float, crowd: str, seeds: int) -> list[str]:
    """The figures of a cell with few votes."""
    spam, reversed_ = CROWDS[crowd]
    settings = {"spread": spread, "ties": ties, "spammers": spam, "malicious": reversed_, "quality": (5.0, 1.0)}
    studies = [cr.simulate.pairs(ITEMS, VOTES // each, VOTES, seed=seed, **settings) for seed in range(seeds)]
    return [str(each), f"{spread:g}", f"{ties:g}", crowd, *row(studies)]


def dense_row(items: int, annotators: int, votes: int, ties: float, seeds: int) -> list[str]:
    """The figures of a cell with many votes."""
    studies = [
        cr.simulate.pairs(items, annotators, votes, ties=ties, quality=(5.0, 1.0), seed=seed) for seed in range(seeds)
    ]
    return [f"{items:,}", f"{annotators:,}", f"{votes:,}", f"{ties:g}", *row(studies, priors=False)]


def shown(rows: Iterable[list[str]]) -> Iterator[str]:
    """Rows in Markdown; each is printed when it is there."""
    for cells in rows:
        line = f"| {' | '.join(cells)} |"
        print(line, flush=True)
        yield line


def main() -> None:
    """Print the tables; write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--write", action="store_true", help="write docs/coverage.md")
    given = parser.parse_args()
    about = " ".join((__doc__ or "").split("\n\n")[1].split())
    text = ["# How often intervals hold the truth\n"]
    text.append(f"Generated by `python benchmarks/intervals.py --seeds {given.seeds} --write`. {about}\n")
    os.environ["CROWDRANK_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    sparse = itertools.product(VOTES_PER_ANNOTATOR, SPREADS, TIES, CROWDS, [given.seeds])
    dense = [(*size, ties, max(given.seeds // 3, 1)) for size, ties in itertools.product(DENSE, TIES)]
    with ProcessPoolExecutor() as pool:
        few, many = pool.map(sparse_row, *zip(*sparse, strict=True)), pool.map(dense_row, *zip(*dense, strict=True))
        first = ("votes per annotator", "spread", "ties", "crowd")
        text += table(f"Few votes: {ITEMS} items, {VOTES:,} votes", first, list(shown(few)))
        names = ("items", "annotators", "votes", "ties")
        text += table("Many votes, a third as many seeds", names, list(shown(many)))
    if given.write:
        PAGE.write_text("\n".join(text))


if __name__ == "__main__":
    main()
