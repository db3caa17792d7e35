"""What asking costs, and what it saves: `python benchmarks/collect.py` writes docs/benchmarks-collect.md.

Times are processor time, the least of several runs, and are relative to the formulas of the paper as one would first
write them: in plain Python (as gavel, a judging system for contests, has them), or in NumPy for all pairs at once. Both
give the same numbers. Savings are judgments needed, as the mean over seeds, to reach what questions by lot reach with
the whole budget. Simulated annotators have a quality from Beta(5, 1), some guess, and scores have a spread of 1.5; the
ranking is that of crowd-bt after every batch, for all policies. Real data are found through CROWDRANK_DATA. Arguments:
minutes for the simulated crowds, seeds at most, seeds of the recorded answers.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from live import Collection, Setting
from scipy.special import betaln, digamma

import crowdrank as cr
from crowdrank.collect.chooser import QuestionChooser
from crowdrank.collect.limits import Limits
from crowdrank.collect.policies import MutualInformation
from crowdrank.collect.pool import Pool
from crowdrank.collect.protocols import Known

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks-collect.md"
ITEMS, ANNOTATORS = 500, 600


def least(job: Callable[[], Any], runs: int) -> float:
    """The shortest time of several runs, in seconds; the first one compiles."""
    job()
    times = []
    for _ in range(runs):
        began = time.process_time()
        job()
        times.append(time.process_time() - began)
    return min(times)


def plain_update(
    alpha: float, beta: float, mean_w: float, var_w: float, mean_l: float, var_l: float
) -> tuple[float, ...]:
    """One judgment, equations 12 to 19."""
    e_w, e_l, size = math.exp(mean_w), math.exp(mean_l), alpha + beta
    p = e_w / (e_w + e_l)
    pull = alpha * e_w / (alpha * e_w + beta * e_l) - p
    curvature = alpha * e_w * beta * e_l / (alpha * e_w + beta * e_l) ** 2 - p * (1 - p)
    c1 = 0.5 + (p - 0.5) / (1 + (var_w + var_l) * p * (1 - p))
    c = (c1 * alpha + (1 - c1) * beta) / size
    first = (c1 * (alpha + 1) * alpha + (1 - c1) * alpha * beta) / (c * (size + 1) * size)
    second = (c1 * (alpha + 2) * (alpha + 1) * alpha + (1 - c1) * (alpha + 1) * alpha * beta) / (
        c * (size + 2) * (size + 1) * size
    )
    new = (first - second) / (second - first**2)
    return (
        new * first,
        new * (1 - first),
        mean_w + var_w * pull,
        var_w * max(1 + var_w * curvature, 1e-4),
        mean_l - var_l * pull,
        var_l * max(1 + var_l * curvature, 1e-4),
    )


def plain_updates(pairs: Any, n: int, crowd: int) -> list[float]:
    """All judgments, one after the other."""
    mean, variance, alpha, beta = [0.0] * n, [0.5] * n, [30.0] * crowd, [2.0] * crowd
    rows = zip(pairs.annotator.tolist(), pairs.left.tolist(), pairs.right.tolist(), pairs.outcome.tolist(), strict=True)
    for k, i, j, outcome in rows:
        w, l = (i, j) if outcome > 0 else (j, i)  # noqa: E741
        found = plain_update(alpha[k], beta[k], mean[w], variance[w], mean[l], variance[l])
        alpha[k], beta[k], mean[w], variance[w], mean[l], variance[l] = found
    return mean


def numpy_gains(state: cr.State, k: int, gamma: float) -> np.ndarray:
    """The expected gain of all pairs for one annotator, eq. 10."""
    i, j = np.triu_indices(len(state.mean), 1)
    alpha, beta, size = state.alpha[k], state.beta[k], state.alpha[k] + state.beta[k]
    v, w = state.variance[i], state.variance[j]
    total = np.zeros(len(i))
    for gap in (state.mean[i] - state.mean[j], state.mean[j] - state.mean[i]):
        p = 1 / (1 + np.exp(-gap))
        updated = alpha * p / (alpha * p + beta * (1 - p))
        pull, curvature = updated - p, updated * (1 - updated) - p * (1 - p)
        c1 = 0.5 + (p - 0.5) / (1 + (v + w) * p * (1 - p))
        share = c1 * alpha / (c1 * alpha + (1 - c1) * beta)
        keep = alpha * beta + share * beta + (1 - share) * alpha
        keep = keep / (keep + share * (1 - share) * (size + 2))
        a, b = (alpha + share) * keep, (beta + 1 - share) * keep
        quality = betaln(alpha, beta) - betaln(a, b) + (a - alpha) * digamma(a) + (b - beta) * digamma(b)
        quality += (size - a - b) * digamma(a + b)
        x, y = np.maximum(1 + v * curvature, 1e-4), np.maximum(1 + w * curvature, 1e-4)
        scores = (x + y - 2 - np.log(x * y) + (v + w) * pull**2) / 2
        total += (c1 * alpha + (1 - c1) * beta) / size * (scores + gamma * quality)
    return total


def speed() -> Iterator[tuple[str, str, str, str]]:
    """What is timed, ours, the reference, and the ratio."""
    many = cr.simulate.pairs(ITEMS, ANNOTATORS, 1_000_000, seed=1).judgments
    few = cr.simulate.pairs(ITEMS, ANNOTATORS, 20_000, seed=1).judgments
    start = cr.State.start(many.vocabulary, prior=4.0, quality_prior=(30.0, 2.0))
    ours = least(lambda: start.update(many), 5)
    plain = least(lambda: plain_updates(few.pairs, ITEMS, ANNOTATORS), 3) / 20_000
    np.testing.assert_allclose(plain_updates(few.pairs, ITEMS, ANNOTATORS), start.update(few).mean, rtol=1e-6)
    yield (
        "online updates, a million at once",
        f"{1 / ours:.1f} M/s",
        f"{plain * 1e6:.1f} µs each in Python",
        f"{plain / ours * 1e6:.0f}",
    )

    state = start.update(few)
    one = least(lambda: state.answer("annotator001", "item001", "item002", "item001", task="task1"), 200)
    yield "one judgment by name, a new state", f"{one * 1e6:.0f} µs", "", ""

    fitted = cr.State.start().refit(cr.simulate.pairs(ITEMS, ANNOTATORS, 5_000, seed=1).judgments)
    known = Known(fitted, np.zeros(ITEMS, np.int64))
    chooser = QuestionChooser(known, Limits.none(fitted.vocabulary), MutualInformation(), repeat=True)
    asked = least(lambda: chooser.questions(np.array([3]), 1), 30)
    yield f"next question for one annotator by mutual information, {ITEMS} items", f"{asked * 1e3:.2f} ms", "", ""

    limits = Limits.none(few.vocabulary).without_judged(few.pairs)
    alone = least(lambda: Pool(state, limits, 1.0, np.array([3])).best(), 50)
    reference = least(lambda: numpy_gains(state, 3, 1.0), 3)
    assert (
        abs(Pool(state, Limits.none(few.vocabulary), 1.0, np.array([3])).best()[3] - numpy_gains(state, 3, 1.0).max())
        < 1e-6
    )
    title = f"the same by information gain, {ITEMS * (ITEMS - 1) // 2:,} pairs"
    yield title, f"{alone * 1e3:.2f} ms", f"{reference * 1e3:.0f} ms in NumPy", f"{reference / alone:.0f}"

    began = time.process_time()
    pool = Pool(state, limits, 1.0)
    begun = time.process_time() - began
    rng, times = np.random.default_rng(0), []
    for _ in range(60):
        began = time.process_time()
        k, i, j, _ = pool.best()
        codes = [np.array([code]) for code in (k, i, j)]
        state, limits = state.after(*codes, rng.choice([-1, 1], 1).astype(np.int8)), limits.without(*codes)
        pool.change(state, (i, j), k, limits)
        times.append(time.process_time() - began)
    title = f"best of the whole pool, {ITEMS * (ITEMS - 1) // 2 * ANNOTATORS:,} triplets, a round"
    median = f"{np.median(times[5:]) * 1e3:.0f} ms (median; least {min(times) * 1e3:.0f})"
    yield (
        title,
        median,
        f"{reference * ANNOTATORS:.0f} s in NumPy",
        f"{reference * ANNOTATORS / np.median(times[5:]):,.0f}",
    )
    yield "the same, to begin with", f"{begun:.1f} s", "", ""


POLICIES = [
    "mutual-information", "random", "information-gain", "uncertainty", "asap", "hybrid-mst", "sorting", "swiss",
]  # fmt: skip
SETTINGS = {  # and their share of the time
    Setting(): 0.4,
    Setting(spam=0.0): 0.15,
    Setting(chosen=True): 0.15,
    Setting(spam=0.5): 0.1,
    Setting(batch=1): 0.1,
    Setting(items=100, votes=1500): 0.1,
}


def live(minutes: float, seeds: int) -> Iterator[tuple[Setting, str, list[float], float]]:
    """A setting, a policy, Kendall's τ after every batch, and seconds for a question; as many runs as there is time."""
    for setting, share in SETTINGS.items():
        began = time.perf_counter()
        for seed in range(seeds):
            if time.perf_counter() - began > 60 * minutes * share:
                break
            for policy in POLICIES:
                collection = Collection(setting, policy, seed)
                curve = [tau for _, tau in collection.run()]
                yield setting, policy, curve, collection.seconds / len(collection.votes)


def live_lines(minutes: float, seeds: int) -> Iterator[str]:
    """A table for each setting: τ at quarters of the votes, the worst, and votes until what chance reaches at last."""
    runs: dict[Setting, dict[str, list[list[float]]]] = {}
    seconds: dict[str, list[float]] = {}
    for setting, policy, curve, each in live(minutes, seeds):
        runs.setdefault(setting, {}).setdefault(policy, []).append(curve)
        seconds.setdefault(policy, []).append(each)
        print(setting, policy, f"{curve[-1]:.3f}", f"{each * 1e3:.1f} ms", flush=True)
    for setting, found in runs.items():
        count = min(len(found.get(policy, [])) for policy in POLICIES)
        if not count:
            continue
        yield f"\n{setting}; {setting.votes:,} votes, {count} seeds:\n"
        yield "| policy | τ at ¼ | ½ | ¾ | 1 | standard error | worst | votes to match chance | a question |"
        yield "|---|---|---|---|---|---|---|---|---|"
        wanted = np.mean([curve[-1] for curve in found["random"][:count]])
        for policy in POLICIES:
            curves = np.array(found[policy][:count])
            mean = curves.mean(axis=0)
            smooth = np.convolve(np.r_[mean[0], mean, mean[-1]], np.ones(3) / 3, "valid")
            at = [mean[len(mean) * quarter // 4 - 1] for quarter in range(1, 5)]
            error = curves[:, -1].std(ddof=1) / np.sqrt(count) if count > 1 else np.nan
            reached = np.flatnonzero(smooth >= wanted)
            votes = f"{(reached[0] + 1) * setting.batch:,}" if len(reached) else "–"
            quarters = " | ".join(f"{value:.3f}" for value in at)
            each = f"{np.mean(seconds[policy]) * 1e3:.1f} ms"
            yield f"| {policy} | {quarters} | {error:.3f} | {curves[:, -1].min():.2f} | {votes} | {each} |"


def studies() -> Iterator[tuple[str, cr.Judgments, cr.Gold, int]]:
    """Name, pool of answers, gold, budget."""
    data = Path(os.environ.get("CROWDRANK_DATA", ""))
    if not (data / "country_population").is_dir():
        return
    folder = data / "country_population"
    yield "country_population", cr.read(folder / "pairwise.csv.gz"), cr.read_gold(folder / "gold.csv.gz"), 800
    rows = (pl.read_csv(data / "rag_crowd25" / name) for name in ("pairwise.csv.gz", "bt_grades_derived.csv.gz"))
    votes, grades = (frame.filter(pl.col("task").str.ends_with("/correctness_topical")) for frame in rows)
    yield "rag_crowd25, topical correctness", cr.judgments(votes), cr.gold(grades), 1600
    folder = data / "readability_crowdbt"
    yield "readability_crowdbt", cr.read(folder / "pairwise.csv.gz"), cr.read_gold(folder / "gold.csv.gz"), 1400


def savings(seeds: int) -> Iterator[str]:
    """A line for each study and policy: ACC at quarters of the budget, and judgments until what chance reaches in the
    end.
    """
    names = ["mutual-information", "random", "information-gain"]
    for title, judgments, gold, budget in studies():
        curves = cr.replay(judgments, gold, names, budget=budget, every=budget // 20, seeds=seeds)
        mean = curves.group_by("policy", "votes", maintain_order=True).agg(pl.col("acc").mean())
        wanted = mean.filter((pl.col("policy") == "random") & (pl.col("votes") == budget))["acc"][0]
        for name in names:
            own = mean.filter(pl.col("policy") == name)
            at = [own.filter(pl.col("votes") == budget * quarter // 4)["acc"][0] for quarter in range(1, 5)]
            reached = own.filter(pl.col("acc") >= wanted)["votes"].min()
            yield f"| {title}, {budget:,} | {name} | {' | '.join(f'{value:.3f}' for value in at)} | {reached or '–'} |"


def main(minutes: float = 60.0, seeds: int = 20, replays: int = 2) -> None:
    """Print the tables; write the page."""
    about = " ".join((__doc__ or "").split("\n\n")[1].split())
    text = [
        "# Asking questions: speed and savings\n",
        f"Generated by `python benchmarks/collect.py`. {about}\n",
        "## Speed\n",
    ]
    text += ["| job | crowdrank | reference | × |", "|---|---|---|---|"]
    for row in speed():
        text.append(f"| {' | '.join(row)} |")
        print(text[-1], flush=True)
    text += ["", "## Simulated crowds"]
    text += live_lines(minutes, seeds)
    text += [
        "",
        f"## Recorded answers, {replays} seeds\n",
        "| study, budget | policy | ACC at ¼ | ½ | ¾ | 1 | judgments to match chance |",
        "|---|---|---|---|---|---|---|",
    ]
    for line in savings(replays):
        text.append(line)
        print(line, flush=True)
        PAGE.write_text("\n".join(text) + "\n")
    PAGE.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main(*(type_of(word) for type_of, word in zip((float, int, int), sys.argv[1:], strict=False)))
