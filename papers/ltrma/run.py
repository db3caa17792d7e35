"""The figures of the LTRMA paper as tables: `python papers/ltrma/run.py --table 9`.

Tables 9 to 12 are synthetic data, 13 to 15 OHSUMED with simulated annotators, 22 and 23 MQ2008 with weak rankers as
annotators, each numbered as the paper's figure; those of one run are made together. Tables 101 to 103 are crowds that
are harder than the paper's, with paired tests.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import ttest_rel

import crowdrank as cr
from crowdrank.learning.labels import judgments_over
from crowdrank.learning.ltrma.crowd_em import estimate
from crowdrank.study import Floats

sys.path.insert(0, str(Path(__file__).parents[1]))
from publish import Cell, data, publish

HERE = Path(__file__).parent
CORPORA = 10
ANNOTATORS = (5, 10, 15)
CONFIDENCE = 20.0  # of side information, the paper's η
KNOWN_TASKS = 4  # the truth is known of one task in so many
AVERAGE = "listmle(labels=borda)"
TRUTH = "listmle on the truth"
NAMES = (TRUTH, "ltrma-s1", "ltrma-s2", "ltrma-s3", "ltrma-mle", "ltrma-d", AVERAGE, "lregma")


@dataclass(frozen=True)
class Corpus:
    """Tasks to learn from, judged by a crowd, and others to test on."""

    features: cr.Features
    truth: cr.Gold  # orders
    crowd: cr.Judgments
    test: cr.Features
    gold: cr.Gold
    theta: Floats


def learned(name: str, corpus: Corpus, **settings: object) -> cr.Ranker:
    """One of the methods, with the side information that it is for: of the best annotator, or of a quarter of the
    tasks.
    """
    if name == TRUTH:
        return cr.learn("listmle", corpus.features, corpus.truth, **settings)
    if name == AVERAGE:
        return cr.learn("listmle", corpus.features, corpus.crowd, labels="borda", **settings)
    if name == "lregma":
        return cr.learn(name, corpus.features, corpus.crowd)
    best, theta = str(corpus.crowd.vocabulary.annotators[np.argmin(corpus.theta)]), float(corpus.theta.min())
    side = {
        "ltrma-s1": cr.Side(truth=some_of(corpus.truth)),
        "ltrma-s2": cr.Side(ranges=(cr.Range(best, theta - 0.5, theta + 0.5, CONFIDENCE),)),
        "ltrma-s3": cr.Side(orders=(cr.Better(best, None, CONFIDENCE),)),
    }
    return cr.learn(name, corpus.features, corpus.crowd, side=side.get(name), **settings)


def some_of(truth: cr.Gold) -> cr.Gold:
    """The truth about one task in four."""
    words = truth.vocabulary
    return cr.Gold(words, np.where(words.entry_task % KNOWN_TASKS == 0, truth.value, np.nan), "score")


def measured(ranker: cr.Ranker, corpus: Corpus, measures: list[str]) -> dict[str, float]:
    """On tasks that it never saw."""
    return dict(cr.evaluate(ranker.rank(corpus.test), corpus.gold, measures, skip_empty=True).mean)


def order_of_annotators(ranker: cr.Ranker, theta: Floats, measure: str) -> float:
    """How well the annotators' true order is found: the best of G has relevance G, the last 1."""
    column = next((name for name in ("theta", "noise") if name in ranker.annotator_columns), None)
    score = ranker.annotator_columns["quality"] if column is None else -ranker.annotator_columns[column]
    names = [str(number) for number in range(len(theta))]
    grade = (-theta).argsort().argsort() + 1
    found = cr.gold({"item": names, "score": score.tolist()})
    consensus = cr.Consensus(found.vocabulary, "annotators", found.value, {})
    return cr.evaluate(consensus, cr.gold({"item": names, "grade": grade.tolist()}), [measure]).mean[measure]


# Synthetic data: 15 points in the plane.


def points(seed: int, tasks: int, items: int = 15) -> tuple[cr.Features, cr.Gold]:
    """The order of y = x1 + 10 x2 + e; relevance 15 for the first to 1 for the last."""
    rng = np.random.default_rng(seed)
    x = rng.random((tasks * items, 2))
    y = (x[:, 0] + 10 * x[:, 1] + rng.normal(0, 0.005, len(x))).reshape(tasks, items)
    names = {"task": np.repeat(np.arange(tasks), items).tolist(), "item": np.tile(np.arange(items), tasks).tolist()}
    grade = (y.argsort(axis=1).argsort(axis=1) + 1).ravel()
    return cr.features({**names, "x1": x[:, 0], "x2": x[:, 1]}), cr.gold({**names, "grade": grade})


def synthetic(seed: int, annotators: int, *, hard: bool = False, highest: float = 0.1, **crowd: int) -> Corpus:
    """100 lists to learn from and 500 to test on. The first annotator has θ = −2.5, the others are drawn, as in the
    paper; or θ of all is from −0.5 to `highest`.
    """
    features, truth = points(seed, 100)
    test, gold = points(1000 + seed, 500)
    theta = thetas(seed, annotators, hard=hard, highest=highest)
    study = cr.simulate.rankings(annotators=annotators, theta=theta, gold=truth, swaps=not hard, seed=seed, **crowd)
    return Corpus(features, study.gold, study.judgments, test, gold, theta)


def thetas(seed: int, annotators: int, *, hard: bool, highest: float = 0.1) -> Floats:
    """True expertise."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-0.5, highest, annotators) if hard else np.r_[-2.5, rng.uniform(-2.5, -0.5, annotators - 1)]


def tables_of(
    corpora: Iterable[tuple[str, Corpus]], tables: Mapping[str, int], order: str, **settings: object
) -> Iterator[Cell]:
    """All methods on corpora, each with the row it belongs to: a table for each measure, and one for the `order` of the
    annotators.
    """
    for row, corpus in corpora:
        for name in NAMES:
            ranker = learned(name, corpus, **settings)
            found = measured(ranker, corpus, [measure for measure in tables if measure != "annotators"])
            if name not in (TRUTH, AVERAGE):
                found["annotators"] = order_of_annotators(ranker, corpus.theta, order)
            yield from (
                {"table": tables[key], "row": row, "column": name, "value": value} for key, value in found.items()
            )


def synthetic_tables() -> Iterator[Cell]:
    """Figures 9, 10 and 11."""
    corpora = (
        (f"G = {annotators}", synthetic(seed, annotators)) for annotators in ANNOTATORS for seed in range(CORPORA)
    )
    return tables_of(corpora, {"ndcg@3": 9, "ndcg@5": 10, "annotators": 11}, "ndcg@5")


def convergence() -> Iterator[Cell]:
    """Figure 12: the Kendall distance of the estimated orders from the true ones, after so many steps; crowds of 10 of
    the harder sort.
    """
    for steps, seed in product((1, 2, 3, 5, 8), range(CORPORA)):
        corpus = synthetic(seed, 10, hard=True)
        for name, side in {"ltrma-s1": cr.Side(truth=some_of(corpus.truth)), "ltrma-mle": cr.Side()}.items():
            judgments = judgments_over(corpus.features, corpus.crowd, name, ("rankings",))
            found = estimate(cr.LTRMAMLE(max_iter=steps), corpus.features, judgments, side, weights=True)
            value, label = (part.reshape(-1, 15) for part in (corpus.truth.value, found.label))
            wrong = (value[:, :, None] > value[:, None, :]) & (label[:, :, None] < label[:, None, :])
            yield {"row": f"{steps} steps", "column": name, "value": float(wrong.sum(axis=(1, 2)).mean())}


# OHSUMED: true orders that agree with the experts' grades, five folds.


@cache
def letor(name: str) -> tuple[cr.Features, pl.DataFrame]:
    """Features, and the gold with the part of the data that each query is in."""
    gold = pl.read_csv(data(name) / "gold.csv.gz", schema_overrides={"task": pl.String, "item": pl.String})
    return cr.read_features(data(name) / "features.csv.gz", leave_out=["grade", "fold_part"]), gold


def ohsumed(fold: int, annotators: int, *, hard: bool = False, seed: int = 0, **crowd: int) -> Corpus:
    """One perfect order of every query, at random; learned from four parts, tested on the fifth."""
    features, gold = letor("letor3_ohsumed")
    parts = gold["fold_part"].unique().sort().to_list()
    test, train = gold.filter(pl.col("fold_part") == parts[fold]), gold.filter(pl.col("fold_part") != parts[fold])
    theta = thetas(seed, annotators, hard=hard)
    truth = cr.gold(train.select("task", "item", "grade"))
    study = cr.simulate.rankings(annotators=annotators, theta=theta, gold=truth, swaps=not hard, seed=seed, **crowd)
    known, unseen = (features.only(part["task"].unique().to_list()) for part in (train, test))
    return Corpus(known, study.gold, study.judgments, unseen, cr.gold(test.select("task", "item", "grade")), theta)


def ohsumed_tables() -> Iterator[Cell]:
    """Figures 13, 14 and 15."""
    corpora = (
        (f"G = {annotators}", ohsumed(fold, annotators, seed=fold)) for annotators in ANNOTATORS for fold in range(5)
    )
    return tables_of(corpora, {"ndcg@3": 13, "ndcg@5": 14, "annotators": 15}, "ndcg@3", penalty=OHSUMED_PENALTY)


OHSUMED_PENALTY = 100.0

# Harder crowds: θ from [−0.5, 0.1], so that some guess and some turn the order around.

HARD = (TRUTH, "ltrma-mle", "ltrma-d", AVERAGE, "lregma")


def hard_synthetic() -> Iterator[Cell]:
    """NDCG@5 by crowd; the last rows are what ltrma-mle gains over ltrma-d and averaging, with p of a paired t test."""
    crowds = {"5 annotators": (5, {}), "10 annotators": (10, {}), "5 annotators, 5 items each": (5, {"length": 5})}
    for row, (annotators, more) in crowds.items():
        yield from compared(row, (synthetic(seed, annotators, hard=True, **more) for seed in range(CORPORA)))


def hard_ohsumed() -> Iterator[Cell]:
    """The same on OHSUMED: annotators who rank some documents of each query, or all, which are 152 on average."""
    for length in (5, 10, 20, None):
        row = "all documents" if length is None else f"{length} documents each"
        some = {} if length is None else {"length": length}
        corpora = (ohsumed(seed % 5, 5, hard=True, seed=seed, **some) for seed in range(CORPORA))
        yield from compared(row, corpora, penalty=OHSUMED_PENALTY)


def helped() -> Iterator[Cell]:
    """What side information is worth where the crowd says little: five annotators, five items in each list; p is that
    of a paired t test.
    """
    names = ("ltrma-s1", "ltrma-s2", "ltrma-s3", "ltrma-mle")
    for crowd, highest in {"some turn orders around": 0.1, "half turn orders around": 0.5}.items():
        found: dict[str, dict[str, list[float]]] = {}
        for seed in range(SIDE_CORPORA):
            corpus = synthetic(seed, 5, hard=True, highest=highest, length=5)
            for name in names:
                ranker = learned(name, corpus)
                wrong = float(np.abs(ranker.annotator_columns["theta"] - corpus.theta).mean())
                for measure, value in (
                    ("ndcg@5", measured(ranker, corpus, ["ndcg@5"])["ndcg@5"]),
                    ("error of θ", wrong),
                ):
                    found.setdefault(measure, {}).setdefault(name, []).append(value)
        for measure, by_name in found.items():
            row = f"{crowd}: {measure}"
            yield from ({"row": row, "column": name, "value": value} for name in names for value in by_name[name])
            yield from (p_value(row, by_name, one, other) for one, other in pairwise(names))


SIDE_CORPORA = 20


def compared(row: str, corpora: Iterable[Corpus], **settings: object) -> Iterator[Cell]:
    """Every method on every corpus, and paired tests."""
    values: dict[str, list[float]] = {}
    for corpus in corpora:
        for name in HARD:
            values.setdefault(name, []).append(
                measured(learned(name, corpus, **settings), corpus, ["ndcg@5"])["ndcg@5"]
            )
            yield {"row": row, "column": name, "value": values[name][-1]}
    yield from (p_value(row, values, "ltrma-mle", other) for other in ("ltrma-d", AVERAGE))


def p_value(row: str, values: Mapping[str, list[float]], one: str, other: str) -> Cell:
    """Of a paired t test over the corpora."""
    return {
        "row": row,
        "column": f"p, {one} against {other}",
        "value": float(ttest_rel(values[one], values[other]).pvalue),
    }


# MQ2008: eight rankers of few features each are the annotators; only the first ten places count.

BODY, WHOLE = 0, 4  # of the five fields that LETOR has each feature for
TFIDF, BM25, LMIR = (1, 6, 11), (21,), (26, 31, 36)
WEAK = [
    (TFIDF, (BODY,)),
    (TFIDF, (WHOLE,)),
    ((*TFIDF, *BM25), (BODY,)),
    ((*TFIDF, *LMIR), (BODY,)),
    ((*TFIDF, *BM25), (WHOLE,)),
    ((*TFIDF, *LMIR), (WHOLE,)),
    ((*TFIDF, *BM25, *LMIR), (BODY,)),
    ((*TFIDF, *BM25, *LMIR), (BODY, WHOLE)),
]
TOP = 10
LEAST_DOCUMENTS = 20


def mq2008(fold: int) -> Corpus:
    """Weak rankers learn from every other document of a query, and list the ten best of those left, from which all
    methods learn.
    """
    features, gold = letor("letor_mq2008")
    numbered = gold.with_columns(number=pl.int_range(pl.len()).over("task"), size=pl.len().over("task"))
    test = numbered.filter(pl.col("fold_part") == f"S{fold + 1}")
    train = numbered.filter((pl.col("fold_part") != f"S{fold + 1}") & (pl.col("size") >= LEAST_DOCUMENTS))
    odd, even = (train.filter(pl.col("number") % 2 == rest).select("task", "item", "grade") for rest in (1, 0))
    words = features.vocabulary
    table = (
        pl.DataFrame({"task": words.tasks[words.entry_task].tolist(), "item": words.items[words.entry_item].tolist()})
        .with_columns(pl.Series(name, features.value[:, number]) for number, name in enumerate(features.columns))
        .with_columns(pl.col("task", "item").cast(pl.String))
    )
    own, other = (table.join(part, on=["task", "item"], how="semi") for part in (even, odd))
    lists, worth = [], []
    for number, (groups, fields) in enumerate(WEAK, 1):
        columns = [f"f{group + field:02}" for group in groups for field in fields]
        weak = cr.learn("listmle", cr.features(other.select("task", "item", *columns)), cr.gold(odd))
        consensus = weak.rank(cr.features(own.select("task", "item", *columns)))
        worth.append(cr.evaluate(consensus, cr.gold(even), ["ndcg@10"]).mean["ndcg@10"])
        lists.append(
            consensus.ranking.filter(pl.col("rank") <= TOP).select(
                "task", "item", "rank", annotator=pl.lit(f"ranker {number}")
            )
        )
    crowd = cr.judgments(pl.concat(lists), top_k=True)
    known = cr.features(own)
    unseen = features.only(test["task"].unique().to_list())
    return Corpus(known, cr.gold(even), crowd, unseen, cr.gold(test.select("task", "item", "grade")), -np.array(worth))


def mq2008_tables() -> Iterator[Cell]:
    """Figures 22 and 23: all methods but ltrma-s2, for which there is no range."""
    cells: list[Cell] = []
    for corpus in map(mq2008, range(5)):
        for name in (name for name in NAMES if name != "ltrma-s2"):
            ranker = learned(name, corpus, penalty=MQ2008_PENALTY, top=TOP)
            found = measured(ranker, corpus, [f"ndcg@{k}" for k in (1, 3, 5, 10)])
            cells += ({"table": 22, "row": key, "column": name, "value": value} for key, value in found.items())
            if name not in (TRUTH, AVERAGE):
                for key in ("ndcg@1", "ndcg@3", "ndcg@5"):
                    value = order_of_annotators(ranker, corpus.theta, key)
                    cells.append({"table": 23, "row": key, "column": name, "value": value})
    yield from sorted(cells, key=lambda cell: int(str(cell["row"]).removeprefix("ndcg@")))


MQ2008_PENALTY = 100.0

TABLES = {
    **dict.fromkeys((9, 10, 11), synthetic_tables),
    12: convergence,
    **dict.fromkeys((13, 14, 15), ohsumed_tables),
    **dict.fromkeys((22, 23), mq2008_tables),
    101: hard_synthetic,
    102: hard_ohsumed,
    103: helped,
}

if __name__ == "__main__":
    publish(HERE, TABLES, __doc__)
