"""The reports beside that of a ranking: of a comparison of methods, of the data, of a replay, of a trained ranker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from crowdrank.evaluation.comparison import Comparison
from crowdrank.learning.linear.model import Linear
from crowdrank.report import crowd, methods
from crowdrank.report.lead import counted
from crowdrank.report.page import (
    Html,
    Section,
    box,
    code,
    facts,
    figure,
    listed,
    name,
    page,
    paragraph,
    side_by_side,
    table,
    tag,
    text,
)  # fmt: skip
from crowdrank.report.replay import replay_curves
from crowdrank.statistics.description import StudyDescription

if TYPE_CHECKING:
    from crowdrank.learning.ranker import Ranker

MOST_ROWS = 1000
DIFFERENCES = 20


def _footer() -> str:
    from crowdrank import __version__

    return f"crowdrank {__version__}"


def _repeat(command: str) -> Section:
    return Section("To repeat it", [code(command)] if command else [])


def compare_page(comparison: Comparison, *, title: str = "Comparison of methods", command: str = "") -> str:
    """Scores with intervals, significance groups, time, and where methods disagree."""
    labels, first = list(comparison.evaluations), comparison.measures[0]
    good = [label for label, fine in methods.not_worse(comparison, first).items() if fine]
    tasks = len(next(iter(comparison.evaluations.values())).tasks)
    lead = [paragraph(Html(f"<b>{text(labels[0])}</b>"), f" is best by {first}.")]
    if tasks > 1 and len(good) > 1:
        lead.append(paragraph(f"Not significantly worse: {', '.join(good[1:])}.", kind="dim"))
    elif tasks == 1:
        lead.append(
            paragraph("There is one task, so the differences cannot be tested: they may be chance.", kind="dim")
        )
    what = f"{first} of each method"
    words = paragraph(methods.in_words(comparison.measures), kind="dim")
    sections = [
        Section("Scores", [figure(methods.leaderboard_chart(comparison), what), _leaderboard(comparison), words]),
        *_agreement(comparison),
        Section("Notes", [listed(comparison.notes)] if comparison.notes else []),
        _repeat(command),
    ]
    return page(
        title, f"{len(labels)} methods on {tasks:,} task{'s' * (tasks != 1)}", [box(*lead)], sections, _footer()
    )


def _leaderboard(comparison: Comparison) -> Html:
    labels = list(comparison.evaluations)
    columns: dict[str, Sequence[Any]] = {"method": [Html(f"<b>{text(label)}</b>") for label in labels]}
    for at, measure in enumerate(comparison.measures):
        columns[measure] = [comparison.evaluations[label].mean[measure] for label in labels]
        ends = [methods.mean_interval(comparison.evaluations[label].values[:, at]) for label in labels]
        if any(low == low for low, _ in ends):
            columns[f"{measure}, 95 %"] = [f"{low:.3f}–{high:.3f}" for low, high in ends]
    good = methods.not_worse(comparison, comparison.measures[0])
    columns["group"] = [tag("best", "good") if good[label] else Html("") for label in labels]
    columns["seconds"] = [comparison.seconds[label] for label in labels]
    return table("leaderboard", columns, caption="Means over tasks; best: not significantly worse than the best")


def _agreement(comparison: Comparison) -> list[Section]:
    if comparison.vocabulary is None or len(comparison.evaluations) < 2:
        return []
    what = "How far the rankings of every two methods agree (Spearman within tasks)"
    return [
        Section("Where methods agree", [figure(methods.method_agreement(comparison), what), _differences(comparison)])
    ]


def _differences(comparison: Comparison) -> Html:
    """The entries on whose place methods differ most, as a share of the length of their task."""
    words = comparison.vocabulary
    assert words is not None
    size = np.diff(words.task_starts)[words.entry_task].astype(np.float64)
    ranks = np.array([np.where(rank > 0, rank, np.nan) for rank in comparison.ranks.values()])
    known = ~np.isnan(ranks).any(axis=0) & (size > 1)
    low, high = ranks[:, known].min(axis=0), ranks[:, known].max(axis=0)
    entries = np.flatnonzero(known)
    if not len(entries):
        return Html("")
    worst = np.argsort(-(high - low) / (size[entries] - 1), kind="stable")[:DIFFERENCES]
    columns: dict[str, Sequence[Any]] = {
        "item": [name(item) for item in words.items[words.entry_item[entries[worst]]]],
        "task": [name(task) for task in words.tasks[words.entry_task[entries[worst]]]],
        "best rank": low[worst].astype(int).tolist(),
        "worst rank": high[worst].astype(int).tolist(),
        "of": size[entries[worst]].astype(int).tolist(),
    }
    return table("differences", columns, caption="Items on whose place the methods differ most")


def describe_page(description: StudyDescription, *, title: str = "Description of the data", command: str = "") -> str:
    """What is in the data, before any method."""
    words = description.vocabulary
    given = " and ".join(f"{count:,} {kind}" for kind, count in description.counts.items() if count)
    use = paragraph("Use ", Html(f"<b>{text(description.method)}</b>"), f": {description.reason}.")
    trouble = paragraph(
        f"{len(description.warnings)} warnings, the most important first, are below."
        if len(description.warnings) > 1
        else "There is one warning below."
        if description.warnings
        else "No trouble was found in the data.",
        kind="dim",
    )
    sections = [
        Section("Warnings", [listed(description.warnings)] if description.warnings else []),
        Section("Counts", _counts(description)),
        Section("Agreement", _alpha(description)),
        Section("Annotators", [_annotators(description)]),
        Section("Notes", [listed(description.notes)] if description.notes else []),
        _repeat(command),
    ]
    size = (
        f"{given} by {counted(len(words.annotators), 'annotator')} on {counted(len(words.items), 'item')} in "
        f"{counted(len(words.tasks), 'task')}"
    )
    return page(title, size, [box(use, trouble)], sections, _footer())


def _counts(description: StudyDescription) -> list[Html]:
    spreads = {"task": description.per_task, "item": description.per_entry, "annotator": description.per_annotator}
    fields = ("least", "lower_quartile", "median", "mean", "upper_quartile", "most")
    columns: dict[str, Sequence[Any]] = {"judgments per": list(spreads)}
    columns |= {
        field.replace("_", " "): [_whole(getattr(each, field)) for each in spreads.values()] for field in fields
    }
    values = {
        "tasks with unconnected items": len(description.disconnected),
        "repeated judgments": description.repeated,
        "contradictions of an annotator": description.contradicted,
        "share of ties": description.ties,
        "left share": description.left_share,
        "overlap of two lists": description.overlap,
        "seconds for a judgment": description.seconds,
        "items that won every pair": description.never_lost if description.counts["pairs"] else None,
        "items that lost every pair": description.never_won if description.counts["pairs"] else None,
    }
    of_items, of_annotators = (
        figure(chart, f"How many {things} have how many judgments")
        for chart, things in zip(crowd.count_charts(description), ("items", "annotators"), strict=True)
    )
    charts = [side_by_side(of_items, of_annotators)] if len(description.entry_judgments) else []
    return [table("counts", columns, caption="Judgments, and how they spread"), *charts, facts(values)]


def _whole(value: float) -> float:
    """A number without digits behind the point where there is nothing but zeros."""
    return int(value) if float(value).is_integer() else value


def _alpha(description: StudyDescription) -> list[Html]:
    if not description.agreement:
        return []
    of = description.agreement.values()
    columns: dict[str, Sequence[Any]] = {
        "kind": list(description.agreement),
        "Krippendorff's alpha": [each.alpha for each in of],
        "metric": [each.metric for each in of],
        "equal answers": [each.percent for each in of],
        "by chance": [each.by_chance for each in of],
        "judged by several": [each.units for each in of],
    }
    what = "How far each annotator agrees with the others, corrected for chance"
    why = "Alpha is 1 for perfect agreement and 0 for what chance would give."
    chart = [figure(crowd.agreement_with_others(description), what)]
    some = bool((description.annotator_columns["compared"] > 0).any())
    return [paragraph(why), table("agreement", columns, caption="Agreement of annotators"), *chart[: int(some)]]


def _annotators(description: StudyDescription) -> Html:
    own = description.annotator_columns
    order = np.lexsort((np.arange(len(own["annotator"])), np.nan_to_num(own["alpha"], nan=np.inf)))[:MOST_ROWS]
    columns = {label.replace("_", " "): _cells(values[order], label) for label, values in own.items()}
    caption = f"{len(order):,} of {len(own['annotator']):,} annotators, those who agree least first"
    return table("annotators", columns, caption=caption, searchable=True)


def _cells(values: NDArray[Any], label: str) -> list[Any]:
    if label == "annotator":
        return [name(value) for value in values]
    return [None if value != value else value for value in values.tolist()]


def replay_page(curves: Any, *, title: str = "Replay of policies", command: str = "") -> str:
    """How soon policies find the ranking: their curves, and where they end."""
    frame = nw.from_native(curves, eager_only=True)
    last = frame.filter(nw.col("votes") == frame["votes"].max()).group_by("policy").agg(nw.col("acc").mean())
    final = dict(zip(last["policy"].to_list(), last["acc"].to_list(), strict=True))
    policies = sorted(final, key=lambda policy: -final[policy])
    half = {policy: _first_at(frame, policy, 0.9 * max(final.values())) for policy in policies}
    columns: dict[str, Sequence[Any]] = {
        "policy": policies,
        "ACC at the end": [final[policy] for policy in policies],
        "judgments to 90 % of the best": [half[policy] for policy in policies],
    }
    what = "Accuracy by the number of judgments, for each policy"
    chart = replay_curves(curves).properties(width="container")
    ends = "ends highest" if len(policies) > 1 else "ends"
    best = box(paragraph(Html(f"<b>{text(policies[0])}</b>"), f" {ends} at ACC {final[policies[0]]:.3f}."))
    sections = [
        Section("Curves", [figure(chart, what), table("policies", columns, caption="Policies")]),
        _repeat(command),
    ]
    what = f"{len(policies)} policies" if len(policies) > 1 else "1 policy"
    return page(title, f"{what}, {frame['votes'].max():,} judgments", [best], sections, _footer())


def _first_at(frame: Any, policy: str, level: float) -> int | None:
    """After how many judgments the mean of a policy first reaches a level."""
    mean = frame.filter(nw.col("policy") == policy).group_by("votes").agg(nw.col("acc").mean()).sort("votes")
    reached = mean.filter(nw.col("acc") >= level)
    return int(reached["votes"].to_list()[0]) if len(reached) else None


def train_page(ranker: Ranker, *, title: str = "Trained ranker", command: str = "") -> str:
    """What was learned: columns, annotators, settings and notes."""
    from dataclasses import asdict

    settings = asdict(ranker.method)  # type: ignore[call-overload]
    ended = "converged" if ranker.fit.converged else "NOT converged"
    lead = box(
        paragraph(
            Html(f"<b>{text(ranker.name)}</b>"),
            f" learned from {len(ranker.columns):,} columns of features. The fit has {ended}.",
        )
    )
    body = []
    if ranker.annotator_columns:
        own = ranker.annotator_columns
        some = {label.replace("_", " "): _cells(values[:MOST_ROWS], label) for label, values in own.items()}
        body = [table("annotators", some, caption="Annotators", searchable=True)]
    sections = [
        Section("Annotators", body),
        Section("Columns", [_weights(ranker)]),
        Section("Settings", [code("\n".join(f"{key} = {value}" for key, value in settings.items()))]),
        Section("Notes", [listed(ranker.notes)] if ranker.notes else []),
        _repeat(command),
    ]
    return page(title, ranker.name, [lead], sections, _footer())


def _weights(ranker: Ranker) -> Html:
    """What each column counts for, the most important first."""
    model: Any = ranker.model
    if isinstance(model, Linear):
        label, value = "weight", model.weight
        caption = "Weights: how much the score changes when the column grows by one standard deviation"
    else:
        gain = model.booster.feature_importance("gain")
        label, value = "share", gain / max(gain.sum(), 1e-300)
        caption = "Share of each column in what all splits of the trees gain"
    order = np.argsort(-np.abs(value), kind="stable")[:MOST_ROWS]
    columns = {"column": [name(ranker.columns[at]) for at in order], label: value[order].tolist()}
    return table("columns", columns, caption=caption, searchable=True)
