"""Votes with covariates, categories and biases: coverage, pooling, judges, people and machines, speed.

    python benchmarks/leaderboards.py [coverage] [pooling] [judges] [people] [speed] [--studies 20] [--data FOLDER]

Without names of parts, all of them run. Parts that are not run keep their tables in docs/benchmarks-leaderboards.md.
`judges`, `people` and half of `pooling` need the folder with rag_crowd25 and wmt13_fr_en.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from leaderboard_studies import Design, simulated
from scipy.optimize import minimize_scalar

import crowdrank as cr
from crowdrank.methods.pairs.leaderboard.covariates import standardised
from crowdrank.methods.pairs.leaderboard.model import EffectModel, Effects
from crowdrank.methods.pairs.leaderboard.solver import Spreads, find_mode
from crowdrank.study import Judgments, Pairs

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks-leaderboards.md"
EARLIER = "From an earlier run."
LEVEL = 1.96


def coverage(studies: int) -> list[str]:
    """How often the intervals contain the truth."""
    plain, crowd = Design(2000, crowd=False), Design(6000)
    cells = [("bradley-terry", plain), ("crowd-bt", replace(crowd, votes=1500))]
    cells += [
        ("crowd-bt", replace(crowd, spread=spread, spam=spam, ties=ties))
        for ties in (0.0, 0.6)
        for spam in (0.0, 0.3)
        for spread in (1.0, 2.0, 3.0)
    ]
    names = "coefficients", "scores", "deviations", "in categories", "left", "longer", "family", "ties", "quality"
    lines = [
        f"{studies} studies each, of 15 items, 4 categories, 2 covariates, 30 annotators; 95 % intervals.\n",
        f"| method | votes | spread | spam | ties | {' | '.join(names)} | CPU s |",
        "|---" * (len(names) + 6) + "|",
    ]
    for method, design in cells:
        hits: dict[str, list[float]] = {}
        began = time.process_time()
        for seed in range(studies * len(lines), studies * (len(lines) + 1)):  # each cell has studies of its own
            for name, (low, value, high) in _intervals(method, *simulated(design, seed), design).items():
                hits.setdefault(name, []).append(float(np.mean((low <= value) & (value <= high))))
        seconds = (time.process_time() - began) / studies
        shares = " | ".join(f"{np.mean(hits[name]):.3f}" if name in hits else "" for name in names)
        about = f"{design.votes:,} | {design.spread:g} | {design.spam:.0%} | {'yes' if design.ties else 'no'}"
        lines.append(f"| {method} | {about} | {shares} | {seconds:.1f} |")
        print(lines[-1], flush=True)
    return lines


def _intervals(method: str, judgments: Judgments, truth: dict[str, Any], design: Design) -> dict[str, Any]:
    found: Any = cr.fit(method, judgments, **({"order_bias": True} if design.crowd else {}))
    effects, parts, who = found.covariate_columns, found.category_columns, found.annotator_columns
    both = truth["score"] + truth["deviation"]
    result = {
        "coefficients": (effects["low"], truth["coefficient"], effects["high"]),
        "scores": (found.low, truth["score"] - truth["score"].mean(), found.high),
        "deviations": (parts["deviation_low"], _centred(truth["deviation"]), parts["deviation_high"]),
        "in categories": (parts["low"], _centred(both), parts["high"]),
    }
    if design.crowd:
        slopes = truth["coefficient"] + truth["slope"]
        own = {"left": ("left_bias", truth["bias"]), "quality": ("quality", truth["quality"])}
        own |= {"longer": ("bias_x0", slopes[:, 0]), "family": ("bias_x1", slopes[:, 1])}
        own |= {"ties": ("tie_threshold", truth["ties"])} if design.ties else {}
        result |= {name: (who[f"{column}_low"], value, who[f"{column}_high"]) for name, (column, value) in own.items()}
    return result


def _centred(values: np.ndarray) -> np.ndarray:
    return np.asarray(values - values.mean(axis=1, keepdims=True)).ravel()


def pooling(data: Path | None, seeds: int = 5) -> list[str]:
    """The log-loss of held-out votes of sparse categories: pooled, fitted apart, and one fit for all."""
    lines = [
        "Log-loss of held-out votes (bradley-terry, no ties); ± is the standard error of the difference to `--by`.\n",
        "| votes | `--by` | a fit for each category | one fit for all |",
        "|---|---:|---:|---:|",
    ]
    for deviation in (0.0, 0.3, 0.6, 1.0):
        losses = []
        for seed in range(seeds):
            design = Design(4000, 12, 20, 0, 10, crowd=False, deviation=deviation)
            judgments, _ = simulated(design, seed)
            table = _table(judgments)
            # Sparse: later categories keep fewer and fewer of their votes.
            keep = np.random.default_rng(seed).random(len(table)) < 0.8 ** table["category"].to_numpy()
            losses.append(_losses(table.filter(keep), table.filter(~keep)))
        lines.append(_loss_line(f"simulated, 20 categories, deviations {deviation:g}", np.concatenate(losses)))
        print(lines[-1], flush=True)
    if data is not None:
        table = _rag(data, "pairwise").filter(pl.col("winner") != "tie")
        for share in (0.05, 0.2, 0.5):
            rng, losses = np.random.default_rng(0), []
            for _ in range(seeds):
                keep = rng.random(len(table)) < share
                losses.append(_losses(table.filter(keep), table.filter(~keep)))
            lines.append(_loss_line(f"rag_crowd25, 7 dimensions, {share:.0%} of the votes", np.concatenate(losses)))
            print(lines[-1], flush=True)
    return lines


def _table(judgments: Judgments) -> pl.DataFrame:
    pairs = judgments.pairs
    winner = np.where(pairs.outcome > 0, pairs.left, pairs.right)
    columns = {"left": pairs.left, "right": pairs.right, "winner": winner, "category": pairs.category}
    return pl.DataFrame({"task": "all", "annotator": "all", **columns})


def _rag(data: Path, name: str) -> pl.DataFrame:
    """Votes of rag_crowd25; the topic is the task, the dimension the category."""
    table = pl.read_csv(data / "rag_crowd25" / f"{name}.csv.gz")
    parts = pl.col("task").str.split("/")
    return table.with_columns(task=parts.list.first(), category=parts.list.last())


def _losses(train: pl.DataFrame, test: pl.DataFrame) -> np.ndarray:
    """The loss of each held-out vote under the three fits."""
    keys = ["task", "category", "left"]
    pooled: Any = cr.fit("bradley-terry", cr.judgments(train, by="category"))
    whole: Any = cr.fit("bradley-terry", cr.judgments(train.drop("category")), intervals=False)
    apart = [
        cr.fit("bradley-terry", cr.judgments(part.drop("category")), intervals=False).ranking.with_columns(
            category=pl.lit(part["category"][0])
        )
        for part in train.partition_by("category")
    ]
    one = whole.ranking.join(train.select("category").unique(), how="cross")
    gaps = []
    for scores in (pooled.categories, pl.concat(apart, how="diagonal"), one):
        known = scores.select("task", "category", left=pl.col("item"), score="score").cast({"left": test["left"].dtype})
        known = known.cast({"category": test["category"].dtype, "task": test["task"].dtype})
        of = [
            test.select("task", "category", left=side)
            .join(known, on=keys, how="left", maintain_order="left")["score"]
            .fill_null(0.0)
            for side in ("left", "right")
        ]
        gaps.append((of[0] - of[1]).to_numpy())
    sign = np.where(test["winner"] == test["left"], 1.0, -1.0)
    return np.asarray(np.logaddexp(0, -sign * np.array(gaps))).T


def _loss_line(name: str, losses: np.ndarray) -> str:
    mean = losses.mean(axis=0)
    error = (losses - losses[:, :1]).std(axis=0) / np.sqrt(len(losses))
    others = " | ".join(f"{mean[i]:.4f} ± {error[i]:.4f}" for i in (1, 2))
    return f"| {name} | {mean[0]:.4f} | {others} |"


def judges(data: Path) -> list[str]:
    """Do the biases of annotators in one half of the votes agree with those in the other half?"""
    lines = [
        "Disjoint halves (of tasks, of rankings), crowd-bt with `order_bias`; annotators with 20 votes in both.",
        "`agree`: the difference lies within 1.96 of its standard errors. The ten pairs of a ranking are not",
        "independent: in wmt13_fr_en the number of ties in a ranking varies 1.9 times as much as if they were,",
        "so that intervals from all pairs are too narrow. One pair of each ranking, drawn by lot, shows the intervals",
        "themselves.\n",
        "| votes | bias | annotators | agree | correlation of the halves |",
        "|---|---|---:|---:|---:|",
    ]
    lines += _agreement("rag_crowd25", _rag_halves(data))
    lines += _agreement("wmt13_fr_en", _wmt_halves(data))
    return lines + _agreement("wmt13_fr_en, one pair of each ranking", _wmt_halves(data, one_pair=True))


def _agreement(name: str, halves: Iterator[pl.DataFrame]) -> list[str]:
    """A line for each bias."""
    lines = []
    one, other = (cr.fit("crowd-bt", cr.judgments(half), order_bias=True).annotators for half in halves)
    both = one.filter(pl.col("judgments") >= 20).join(other.filter(pl.col("judgments") >= 20), on="annotator")
    for column, logarithm in (("left_bias", False), ("tie_threshold", True)):
        ends = [_ends(both, column, suffix, logarithm) for suffix in ("", "_right")]
        error = np.hypot(*((high - low) / (2 * LEVEL) for low, _, high in ends))
        agree = np.mean(np.abs(ends[0][1] - ends[1][1]) <= LEVEL * error)
        r = np.corrcoef(ends[0][1], ends[1][1])[0, 1]
        lines.append(f"| {name} | {column} | {len(both)} | {agree:.3f} | {r:.2f} |")
        print(lines[-1], flush=True)
    return lines


def _ends(table: pl.DataFrame, column: str, suffix: str, logarithm: bool) -> list[np.ndarray]:
    found = [table[f"{column}{end}{suffix}"].to_numpy() for end in ("_low", "", "_high")]
    return [np.log(each) for each in found] if logarithm else found


def _rag_halves(data: Path) -> Iterator[pl.DataFrame]:
    votes = pl.read_csv(data / "rag_crowd25" / "pairwise.csv.gz")
    tasks = votes["task"].unique().sort().shuffle(seed=0)
    for half in (tasks[::2], tasks[1::2]):
        yield votes.filter(pl.col("task").is_in(half.to_list()))


def _wmt_halves(data: Path, one_pair: bool = False) -> Iterator[pl.DataFrame]:
    """The pairs, or one, of each ranking, in the order in which its translations were shown; sentences are one task."""
    rows = pl.read_csv(data / "wmt13_fr_en" / "rankings.csv.gz")
    pairs = rows.join(rows, on=["hit", "annotator", "split"], suffix="_b").filter(pl.col("slot") < pl.col("slot_b"))
    better, worse = pl.col("rank") < pl.col("rank_b"), pl.col("rank") > pl.col("rank_b")
    winner = pl.when(better).then(pl.lit("left")).when(worse).then(pl.lit("right")).otherwise(pl.lit("tie"))
    votes = pairs.select("annotator", "hit", "split", left="item", right="item_b", winner=winner)
    if one_pair:
        drawn = votes.sample(fraction=1, shuffle=True, seed=0)
        votes = drawn.unique(["annotator", "hit", "split"], keep="first", maintain_order=True)
    number = votes.select("split", "hit").hash_rows(seed=0) % 2
    for half in (0, 1):
        yield votes.filter(number == half).drop("hit", "split")


def people(data: Path) -> list[str]:
    """Are held-out votes of people predicted better from people and machines than from either alone?"""
    crowd, machine = _rag(data, "pairwise"), _rag(data, "pairwise_llm")
    lines = [
        "rag_crowd25, a fit for each dimension, crowd-bt; held-out votes of people without ties, 3 divisions. Scores",
        "are on the scale of annotators who do not err, and people do: for the log-loss, each column's scores are",
        "multiplied by the one factor that predicts best.\n",
        "| votes of people | measure | people | machines | both, people trusted |",
        "|---|---|---:|---:|---:|",
    ]
    for share in (0.02, 0.05, 0.2, 0.5):
        found = []
        for seed in range(3):
            keep = np.random.default_rng(seed).random(len(crowd)) < share
            for dimension in crowd["category"].unique().sort():
                train, test, theirs = (
                    table.filter(pl.col("category") == dimension).drop("category")
                    for table in (crowd.filter(keep), crowd.filter(~keep), machine)
                )
                found.append(_of_people(train, test.filter(pl.col("winner") != "tie"), theirs))
        margin = np.concatenate(found)
        losses = np.stack([_scaled_loss(column) for column in margin.T], axis=1)
        mean, error = losses.mean(axis=0), (losses - losses[:, -1:]).std(axis=0) / np.sqrt(len(losses))
        right = (margin > 0).mean(axis=0) + (margin == 0).mean(axis=0) / 2
        lines.append(
            f"| {share:.0%} | log-loss | "
            + " | ".join(f"{a:.4f} ± {e:.4f}" for a, e in zip(mean[:2], error, strict=False))
            + f" | {mean[2]:.4f} |"
        )
        lines.append(f"| | right | {' | '.join(f'{each:.3f}' for each in right)} |")
        print("\n".join(lines[-2:]), flush=True)
    return lines


def _scaled_loss(margin: np.ndarray) -> np.ndarray:
    """The loss of each vote, with margins times the factor that makes the mean smallest."""
    found = minimize_scalar(lambda factor: np.logaddexp(0, -factor * margin).mean(), bounds=(0, 5), method="bounded")
    return np.asarray(np.logaddexp(0, -found.x * margin))


def _of_people(train: pl.DataFrame, test: pl.DataFrame, theirs: pl.DataFrame) -> np.ndarray:
    """By how much the side that won is ahead in each of the three fits."""
    both = cr.judgments(pl.concat([train, theirs]), trusted=train["annotator"].unique().to_list())
    fits = [cr.fit("crowd-bt", each) for each in (cr.judgments(train), cr.judgments(theirs), both)]
    sign = np.where(test["winner"] == test["left"], 1.0, -1.0)
    margins = []
    for fit in fits:
        known = fit.ranking.select("task", left="item", score="score")
        of = [
            test.select("task", left=side)
            .join(known, on=["task", "left"], how="left", maintain_order="left")["score"]
            .fill_null(0.0)
            .to_numpy()
            for side in ("left", "right")
        ]
        margins.append(sign * (of[0] - of[1]))
    return np.array(margins).T


def speed(votes: int) -> list[str]:
    """Seconds of a whole fit, and of one penalised regression beside scikit-learn."""
    judgments, truth = simulated(Design(votes, 200, 30, 10, 1000), 0)
    lines = [
        f"{votes:,} votes, 200 models, 30 categories, 10 covariates, 1,000 annotators, with all intervals.\n",
        "| | seconds | CPU seconds | |",
        "|---|---:|---:|---|",
    ]
    for method in ("bradley-terry", "crowd-bt"):
        cr.fit(method, simulated(Design(20_000, 200, 30, 10, 1000), 0)[0])  # compiles
        found, taken = _timed(lambda method=method: cr.fit(method, judgments))
        agree = np.corrcoef(found.score, truth["score"])[0, 1]
        lines.append(f"| {method} | {taken} | {found.fit.steps} steps, correlation with the truth {agree:.3f} |")
        print(lines[-1], flush=True)
    pairs = replace(judgments.pairs, annotator=np.zeros(votes, np.int32))
    x = standardised(pairs, judgments.covariates, 200).x
    find_once = _penalised(pairs, x)
    find_once()  # compiles
    ours, our_time = _timed(find_once)
    lines.append(f"| style control, spreads given | {our_time} | with the covariance for intervals |")
    design, design_time = _timed(lambda: _design(pairs, x))
    lines.append(f"| scikit-learn: the sparse design | {design_time} | |")
    for solver in ("lbfgs", "newton-cg"):
        theirs, their_time = _timed(lambda solver=solver: _scikit_learn(design, pairs, solver))
        apart = f"largest difference of scores and coefficients {np.abs(ours - theirs).max():.0e}"
        lines.append(f"| scikit-learn: logistic regression, {solver}, same penalty | {their_time} | {apart} |")
    print("\n".join(lines[-4:]), flush=True)
    return lines


def _timed(work: Callable[[], Any]) -> tuple[Any, str]:
    began, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, f"{time.perf_counter() - began:.2f} | {time.process_time() - cpu:.2f}"


def _penalised(pairs: Pairs, x: np.ndarray) -> Callable[[], np.ndarray]:
    def run() -> np.ndarray:
        model = EffectModel(pairs, Effects(x), 200, 1, normal=False)
        spreads = Spreads({"score": 1.0, "coefficient": 1.0}, {}, 0.0)
        return find_mode(model, model.start(np.zeros(200), np.ones(1)), spreads, 50, 1e-8).values.core

    return run


def _design(pairs: Pairs, x: np.ndarray) -> Any:
    """Votes × items and covariates."""
    from scipy.sparse import csr_matrix, hstack

    rows, sign = np.arange(len(pairs)), np.ones(len(pairs))
    items = csr_matrix((np.r_[sign, -sign], (np.r_[rows, rows], np.r_[pairs.left, pairs.right])), (len(pairs), 200))
    return hstack([items, csr_matrix(x)]).tocsr()


def _scikit_learn(design: Any, pairs: Pairs, solver: str) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    fit = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8, max_iter=1000, solver=solver)
    return np.asarray(fit.fit(design, pairs.outcome).coef_[0])


TITLES = {
    "coverage": "Do intervals contain the truth?",
    "pooling": "Do sparse categories borrow strength?",
    "judges": "Do two halves of the votes agree on biases?",
    "people": "People and machines in one fit",
    "speed": "Seconds",
}


def _sections() -> dict[str, str]:
    """The sections of the page as it is, by their titles."""
    if not PAGE.exists():
        return {}
    parts = (part.split("\n", 1) for part in PAGE.read_text().split("\n## ")[1:])
    return {title: f"{EARLIER} {text.replace(EARLIER, '').strip()}" for title, text in parts}


def main() -> None:
    """Run the parts that are named, and write the page."""
    words = sys.argv[1:]
    options = {words[at][2:]: words[at + 1] for at in range(len(words)) if words[at].startswith("--")}
    named = [word for word in words if word in TITLES] or list(TITLES)
    data = Path(options["data"]) if "data" in options else None
    run: dict[str, Callable[[], list[str]]] = {
        "coverage": lambda: coverage(int(options.get("studies", 20))),
        "pooling": lambda: pooling(data),
        "speed": lambda: speed(1_000_000),
    }
    if data is not None:
        run |= {"judges": lambda: judges(data), "people": lambda: people(data)}
    sections = _sections()
    for part in (part for part in named if part in run):
        sections[TITLES[part]] = "\n".join(run[part]())
        about = "Made by `python benchmarks/leaderboards.py --data FOLDER`, part by part."
        head = f"# Leaderboards: covariates, categories, judges\n\n{about}\n"
        PAGE.write_text("\n".join([head, *(f"## {t}\n\n{sections[t]}\n" for t in TITLES.values() if t in sections)]))


if __name__ == "__main__":
    main()
