"""Are ties worth modelling? `python benchmarks/ties.py` predicts votes that were left out, on real studies with many
ties.

Three ways to treat the ties among the votes that are learned from: modelled (as crowdrank does), halved (half a vote
for each side), and dropped. All three predict who wins the held-out votes that are no ties; the log-likelihood per vote
is compared, in five folds, with the prior chosen by leave-one-out prediction each time. The first also predicts the
ties themselves.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

import crowdrank as cr
from crowdrank.convert import as_pairs
from crowdrank.evaluation.significance import paired_t
from crowdrank.study import LEFT, RIGHT, TIE, Judgments, Pairs

STUDIES = ("rag_crowd25/pairwise.csv.gz", "mirex2005_music/pairwise.csv.gz")
FOLDS = 5


def taken(pairs: Pairs, rows: np.ndarray) -> Pairs:
    """Some of the pairs."""
    return Pairs(pairs.annotator[rows], pairs.left[rows], pairs.right[rows], pairs.outcome[rows])


def halved(pairs: Pairs) -> Pairs:
    """Every tie as half a vote for each side."""
    tied = np.flatnonzero(pairs.outcome == TIE)
    rows = np.concatenate([np.arange(len(pairs)), tied])
    twice = taken(pairs, rows)
    outcome, weight = twice.outcome.copy(), np.ones(len(rows))
    outcome[tied], outcome[len(pairs) :] = LEFT, RIGHT
    weight[tied], weight[len(pairs) :] = 0.5, 0.5
    return Pairs(twice.annotator, twice.left, twice.right, outcome, weight)


TREATMENTS = {
    "modelled": lambda pairs: pairs,
    "halved": halved,
    "dropped": lambda pairs: taken(pairs, np.flatnonzero(pairs.outcome != TIE)),
}


def held_out(method: str, judgments: Judgments, treatment: str, fold: np.ndarray) -> np.ndarray:
    """The log-probability of each decided vote, given that it is decided, learned from the other folds."""
    pairs = as_pairs(judgments)
    result = np.full(len(pairs), np.nan)
    for number in range(FOLDS):
        learned = TREATMENTS[treatment](taken(pairs, np.flatnonzero(fold != number)))
        consensus = cr.fit(method, replace(judgments, pairs=learned), intervals=False)
        test = np.flatnonzero((fold == number) & (pairs.outcome != TIE))
        gap = (consensus.score[pairs.left] - consensus.score[pairs.right])[test] * pairs.outcome[test]
        columns = consensus.annotator_columns
        eta = columns["quality"][pairs.annotator[test]] if method == "crowd-bt" else 1.0
        won, lost = 1 / (1 + np.exp(-gap)), 1 / (1 + np.exp(gap))
        right, wrong = eta * won + (1 - eta) * lost, eta * lost + (1 - eta) * won
        result[test] = np.log(right / (right + wrong))
    return result[~np.isnan(result)]


def main() -> None:
    """Print a table of held-out log-likelihoods per vote."""
    data = os.environ.get("CROWDRANK_DATA")
    if not data:
        sys.exit("set CROWDRANK_DATA to the folder that holds rag_crowd25/ and mirex2005_music/")
    rows = []
    for study in STUDIES:
        judgments = cr.read(Path(data) / study)
        fold = np.random.default_rng(0).permutation(len(judgments.pairs)) % FOLDS
        for method in ("crowd-bt",):
            values = {name: held_out(method, judgments, name, fold) for name in TREATMENTS}
            for name, value in values.items():
                gain = values["modelled"] - value
                p = paired_t(gain) if name != "modelled" else None
                rows.append(
                    {
                        "study": study.split("/")[0],
                        "method": method,
                        "ties": name,
                        "log-likelihood": value.mean(),
                        "p": p,
                    }
                )
    with pl.Config(tbl_rows=-1):
        print(pl.DataFrame(rows))


if __name__ == "__main__":
    main()
