"""Rankings and annotators on the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crowdrank.cli import screen

if TYPE_CHECKING:
    import polars as pl

    from crowdrank.consensus import Consensus, Fit
    from crowdrank.study import Judgments

TOP = 10
TOP_OF_TASK = 3
TASKS_SHOWN = 3
LEAST_TRUSTED = 5
INTERVALS = ("_low", "_high", "_count")  # columns of annotators that are shown for their quality alone
VERDICTS_WORST_FIRST = (
    "reversed",
    "one-sided",
    "random",
    "weak",
    "differs from the consensus",
    "unclear",
    "informative",
)


def convergence(fit: Fit) -> str:
    """How a fit ended, as the end of a sentence; nothing for methods that take no steps."""
    if not fit.steps:
        return ""
    return f"; {'converged' if fit.converged else 'NOT converged'} in {screen.counted(fit.steps, 'steps')}"


def show_ranking(consensus: Consensus) -> None:
    """Show the best items of each task, or of the first tasks."""
    import polars as pl

    tasks = consensus.vocabulary.tasks
    ranked = consensus.ranking.filter(pl.col("rank").is_not_null())
    if ranked.is_empty():
        screen.say("nothing could be ranked; see the notes for the reason")
        return
    if len(tasks) > 1:
        first = ranked["task"].unique(maintain_order=True).head(TASKS_SHOWN)
        top = (
            ranked.filter(pl.col("task").is_in(first.implode())).group_by("task", maintain_order=True).head(TOP_OF_TASK)
        )
        some = f"the first {TASKS_SHOWN} of {len(tasks):,} tasks" if len(tasks) > TASKS_SHOWN else "each task"
        title = f"top {TOP_OF_TASK} of {some}"
    else:
        top = ranked.head(TOP).drop("task")
        title = f"top {TOP} of {screen.counted(len(ranked), 'items')}" if len(ranked) > TOP else "ranking"
    shown = [name for name in top.columns if top[name].null_count() < len(top)]
    screen.show_table(title, top.select(shown).to_dict(as_series=False))


def with_categories(consensus: Consensus, parts: Mapping[str, Consensus]) -> pl.DataFrame:
    """The overall ranking, then that of each category; the column category is empty in the overall one."""
    import polars as pl

    frames = [consensus.ranking.select(pl.lit(None, pl.String).alias("category"), pl.all())]
    frames += [part.ranking.select(pl.lit(name).alias("category"), pl.all()) for name, part in parts.items()]
    texts = pl.col("task", "item").cast(pl.String)  # ids of a category may all be numbers
    whole: pl.DataFrame = pl.concat([frame.with_columns(texts) for frame in frames], how="diagonal_relaxed")
    return whole


def pooled_parts(consensus: Consensus, judgments: Judgments) -> dict[str, Consensus]:
    """The ranking of each category, where all were estimated in one fit."""
    from dataclasses import replace

    import numpy as np

    columns, names, pairs = consensus.category_columns, judgments.categories, judgments.pairs
    if columns is None or names is None or pairs.category is None:
        return {}
    size, fitted = consensus.vocabulary.n_entries, ("score", "low", "high", "rank_low", "rank_high")
    parts: dict[str, Consensus] = {}
    for level, name in enumerate(names):
        where = slice(level * size, (level + 1) * size)
        fields: dict[str, Any] = {field: columns[field][where] for field in fitted}
        judged = pairs.annotator[pairs.category == level]
        count = np.bincount(judged, minlength=len(consensus.vocabulary.annotators))
        parts[name] = replace(
            consensus, **fields, annotator_columns={"judgments": count}, notes=(), rank_without=None, gap_error=None
        )
    return parts


def show_covariates(table: pl.DataFrame) -> None:
    """Show the effect of each covariate."""
    shown = table.select("covariate", "coefficient", "low", "high", "per_unit", "deviation")
    screen.show_table("effects of covariates, in log-odds for a standard deviation", shown.to_dict(as_series=False))
    screen.say()


def show_categories(by: str, parts: Mapping[str, Consensus], known: Sequence[str]) -> None:
    """Show the best items of each category, and the notes that the overall ranking does not have."""
    rows = [
        {"category": name, "judgments": int(part.annotator_columns["judgments"].sum()), **row}
        for name, part in parts.items()
        for row in part.ranking.head(TOP_OF_TASK).to_dicts()
    ]
    several = any(len(part.vocabulary.tasks) > 1 for part in parts.values())
    shown = [name for name in rows[0] if (name != "task" or several) and any(row.get(name) is not None for row in rows)]
    screen.say()
    screen.show_table(f"top {TOP_OF_TASK} of each {by}", {name: [row.get(name) for row in rows] for name in shown})
    for name, part in parts.items():
        screen.show_notes([f"{name}: {note}" for note in part.notes if note not in known])


def show_annotators(table: pl.DataFrame) -> None:
    """Show the annotators trusted least, and how many there are of each verdict."""
    import polars as pl

    worst_first = pl.col("verdict").replace_strict(VERDICTS_WORST_FIRST, range(len(VERDICTS_WORST_FIRST)))
    least = table.sort(worst_first, pl.col("quality"), nulls_last=True).head(LEAST_TRUSTED)
    title = (
        f"the {LEAST_TRUSTED} annotators trusted least"
        if len(table) > LEAST_TRUSTED
        else "annotators, least trusted first"
    )
    # The file of --annotators has all columns.
    hidden = [name for name in table.columns if name.endswith(INTERVALS) and not name.startswith("quality")]
    screen.show_table(title, least.drop(hidden).to_dict(as_series=False))
    if len(table) > LEAST_TRUSTED:
        counts = dict(table["verdict"].value_counts().iter_rows())
        verdicts = ", ".join(f"{counts[word]:,} {word}" for word in reversed(VERDICTS_WORST_FIRST) if word in counts)
        screen.say(f"of all {len(table):,}: {verdicts}")
