"""The tables of the Crowd-BT paper: `python papers/crowd-bt/run.py --table 3`. Tables 1 and 2 are simulated, 3 to 5 on
its own data.

Figures 2, 3 (`--table 2`) and 5 (`--table 5`) are written beside this file as SVG.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

import crowdrank as cr

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from active import figure_2, figure_3, table_4, table_5
from publish import Cell, data, publish

SEEDS = range(20)
QUALITIES = ((10, 1), (5, 1), (2, 1), (2, 2), (1, 2), (1, 5))


def accuracy(consensus: cr.Consensus, gold: cr.Gold) -> float:
    """ACC (eq. 20); a fit that has not converged must not pass for a result."""
    if not consensus.fit.converged:
        sys.exit(f"{consensus.method} did not converge")
    return cr.evaluate(consensus, gold, ["acc"]).mean["acc"]


def table_1() -> Iterator[Cell]:
    """400 pairs of 100 objects, each judged by 10 of 100 annotators, whose quality is drawn from Beta distributions."""
    for quality in QUALITIES:
        for seed in SEEDS:
            study = cr.simulate.pairs(100, 100, 4000, quality=quality, spread=None, votes_per_pair=10, seed=seed)
            judgments, known = with_gold_pairs(study, seed)
            fits = {
                "bradley-terry": cr.fit("bradley-terry", study.judgments, prior=0.5, intervals=False),
                "crowd-bt from 1": cr.fit("crowd-bt", study.judgments, prior=0.5, intervals=False),
                "crowd-bt from gold": cr.fit("crowd-bt", judgments, gold=known, prior=0.5, intervals=False),
            }
            for row, consensus in fits.items():
                yield {"row": row, "column": str(quality), "value": accuracy(consensus, study.gold)}


def with_gold_pairs(study: cr.simulate.SimulatedStudy, seed: int) -> tuple[cr.Judgments, cr.Gold]:
    """The study, and a second task in which every annotator judges five pairs whose order is known."""
    words, votes = study.judgments.vocabulary, study.judgments.pairs
    rng = np.random.default_rng(1000 + seed)
    annotator, pair = (part.ravel() for part in np.meshgrid(words.annotators, np.arange(5), indexing="ij"))
    right = rng.random(len(pair)) < np.repeat(study.quality, 5)
    better, worse = pair.astype(str).astype(object) + "+", pair.astype(str).astype(object) + "-"
    known = {
        "task": "gold",
        "annotator": annotator,
        "left": better,
        "right": worse,
        "winner": np.where(right, better, worse),
    }
    names = words.items[words.entry_item]
    own = {
        "task": words.tasks[0],
        "annotator": words.annotators[votes.annotator],
        "left": names[votes.left],
        "right": names[votes.right],
        "winner": np.where(votes.outcome > 0, names[votes.left], names[votes.right]),
    }
    gold = {"task": "gold", "item": [f"{number}{sign}" for number in range(5) for sign in "+-"], "score": [1, 0] * 5}
    return cr.judgments(pl.DataFrame(own), pl.DataFrame(known)), cr.gold(pl.DataFrame(gold))


def table_2() -> Iterator[Cell]:
    """4,000 votes on few pairs with many votes each, or many with few; quality from Beta(2, 1)."""
    for n, each in ((4000, 1), (400, 10), (200, 20)):
        for prior in (0.1, 0.5, 1):
            column = f"{n} × {each} λ={prior:g}"
            for seed in SEEDS:
                study = cr.simulate.pairs(100, 100, 4000, quality=(2, 1), spread=None, votes_per_pair=each, seed=seed)
                plain = cr.fit("bradley-terry", study.judgments, prior=prior, intervals=False)
                crowd = cr.fit("crowd-bt", study.judgments, prior=prior, intervals=False)
                yield {"row": "bradley-terry", "column": column, "value": accuracy(plain, study.gold)}
                yield {"row": "crowd-bt", "column": column, "value": accuracy(crowd, study.gold)}
                correlation = np.corrcoef(crowd.annotator_columns["quality"], study.quality)[0, 1]
                yield {"row": "quality correlation", "column": column, "value": float(correlation)}
    figure_2()
    figure_3()


def table_3() -> Iterator[Cell]:
    """ACC on the reading difficulty data, by method and strength of the prior."""
    folder = data("readability_crowdbt")
    judgments, gold = cr.read(folder / "pairwise.csv.gz"), cr.read_gold(folder / "gold.csv.gz")
    methods = {"majority-bradley-terry": {}, "bradley-terry": {}, "variance-bt": {"slope_spread": 0.2}, "crowd-bt": {}}
    for name, settings in methods.items():
        for prior in (0.1, 0.5, 1, 10, 50):
            consensus = cr.fit(name, judgments, prior=prior, intervals=False, **settings)
            yield {"row": name, "column": f"λ={prior:g}", "value": accuracy(consensus, gold)}
        yield {"row": name, "column": "λ chosen", "value": accuracy(cr.fit(name, judgments, intervals=False), gold)}


if __name__ == "__main__":
    publish(Path(__file__).parent, {1: table_1, 2: table_2, 3: table_3, 4: table_4, 5: table_5}, __doc__)
