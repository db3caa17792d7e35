"""Online and active learning of the Crowd-BT paper: Tables 4 and 5, Figures 2, 3 and 5."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import altair as alt
import numpy as np
import polars as pl
from publish import Cell, data

import crowdrank as cr
from crowdrank.collect.policies import InformationGain, Random

HERE = Path(__file__).parent
BEST = 0.6843  # the paper's best accuracy of an online method after all judgments, of which Table 5 has shares
PAPERS_PRIORS = {"prior": 2.0, "quality_prior": (10.0, 1.0)}
ORDERS, SEEDS = 50, 20


def readability() -> tuple[cr.Judgments, cr.Gold]:
    """The comparisons of texts by reading difficulty, and the levels that are known."""
    folder = data("readability_crowdbt")
    return cr.read(folder / "pairwise.csv.gz"), cr.read_gold(folder / "gold.csv.gz")


def table_4() -> Iterator[Cell]:
    """ACC of the online methods over random orders of all comparisons."""
    judgments, gold = readability()
    pairs = judgments.pairs
    methods = {
        "trueskill": cr.TrueSkill(),
        "online-crowd-bt": cr.OnlineCrowdBT(**PAPERS_PRIORS),
        "online-crowd-bt, Beta(2, 1)": cr.OnlineCrowdBT(),
    }
    for seed in range(ORDERS):
        order = np.random.default_rng(seed).permutation(len(pairs))
        columns = {name: getattr(pairs, name)[order] for name in ("annotator", "left", "right", "outcome")}
        shuffled = replace(judgments, pairs=replace(pairs, **columns))
        for row, method in methods.items():
            yield {"row": row, "column": "ACC", "value": cr.evaluate(method.fit(shuffled), gold, ["acc"]).mean["acc"]}


def table_5() -> Iterator[Cell]:
    """Comparisons needed to reach a share of the best accuracy, and Figure 5: the curves behind them."""
    judgments, gold = readability()
    as_printed = {f"γ = {gamma}": InformationGain(gamma=float(gamma)) for gamma in (0, 5, 20, 50)}
    ours = {"ours": InformationGain(), "ours, random": Random()}
    papers = {"refit": False, "start": cr.State.start(judgments.vocabulary, **PAPERS_PRIORS), "seeds": 5}
    curves = pl.concat(
        [
            cr.replay(judgments, gold, as_printed, budget=4500, **papers),
            cr.replay(judgments, gold, "random", budget=8000, **papers),
            cr.replay(
                judgments, gold, ours, budget=2500, seeds=SEEDS, start=cr.State.start(judgments.vocabulary, prior=4.0)
            ),
        ]
    )
    cr.report.replay_curves(curves.filter(pl.col("votes") <= 4500)).save(HERE / "figure-5.svg")
    for (row, _), curve in curves.group_by("policy", "seed", maintain_order=True):
        if row == "γ = 50":  # in the figure alone
            continue
        for share in (0.98, 0.95, 0.90):
            reached = curve.filter(pl.col("acc") >= share * BEST)["votes"].min()
            yield {"row": row, "column": f"{share:.0%}", "value": reached if reached is None else float(reached)}


def simulated(quality: tuple[int, int], seed: int) -> cr.simulate.SimulatedStudy:
    """20,000 questions to choose from, 100 objects and annotators; answers are right with probability η."""
    return cr.simulate.pairs(100, 100, 20_000, quality=quality, spread=None, seed=seed)


def figure_2() -> None:
    """ACC against the number of judgments by γ; true quality from Beta(2, 1), taken to be from Beta(10, 1)."""
    policies = {f"γ = {gamma}": InformationGain(gamma=float(gamma)) for gamma in (0, 5, 30)} | {"random": Random()}
    curves = []
    for seed in range(5):
        study = simulated((2, 1), seed)
        start = cr.State.start(study.judgments.vocabulary, **PAPERS_PRIORS)
        curves.append(
            cr.replay(study.judgments, study.gold, policies, budget=2000, seeds=[seed], refit=False, start=start)
        )
    cr.report.replay_curves(pl.concat(curves)).save(HERE / "figure-2.svg")


def figure_3() -> None:
    """The mean of ACC over the first 1,000 judgments, by the crowd's quality and γ, for two priors on quality."""
    rows = []
    for quality in ((2, 1), (3, 1), (5, 1), (10, 1), (30, 1)):
        for seed in range(2):
            study = simulated(quality, seed)
            words = study.judgments.vocabulary
            start = cr.State.start(words, **PAPERS_PRIORS)
            right = np.random.default_rng(1000 + seed).binomial(5, study.quality)  # of five pairs with a known answer
            told = replace(start, alpha=1.0 + right, beta=6.0 - right)
            policies = {str(gamma): InformationGain(gamma=float(gamma)) for gamma in (0, 1, 5, 10, 30)}
            for prior, before in (("prior Beta(10, 1)", start), ("prior from 5 gold pairs", told)):
                found = cr.replay(
                    study.judgments,
                    study.gold,
                    policies,
                    budget=1000,
                    every=100,
                    seeds=[seed],
                    refit=False,
                    start=before,
                )
                mean = quality[0] / sum(quality)
                for (gamma,), curve in found.group_by("policy", maintain_order=True):
                    rows.append({"prior": prior, "average quality": mean, "γ": gamma, "area": curve["acc"].mean()})
    chart = alt.Chart(alt.InlineData(values=rows)).mark_line(point=True)
    area = alt.Y("mean(area):Q", title="mean ACC", scale=alt.Scale(zero=False))
    quality_axis = alt.X("average quality:Q", scale=alt.Scale(zero=False))
    order = alt.Color("γ:O", sort=["0", "1", "5", "10", "30"])
    chart.encode(x=quality_axis, y=area, color=order, column=alt.Column("prior:N", title=None)).save(
        HERE / "figure-3.svg"
    )
