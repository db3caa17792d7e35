"""The report of a ranking: what is settled and what is not, who judged, and how it was computed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.evaluation.evaluate import evaluate
from crowdrank.learning.catalogue import LEARNERS
from crowdrank.methods.catalogue import METHODS, SUPERVISED, settings_of
from crowdrank.methods.protocols import Method
from crowdrank.report import crowd, ranking
from crowdrank.report.annotators_section import annotators_section
from crowdrank.report.charts import numbers
from crowdrank.report.fragility_section import fragility_section
from crowdrank.report.lead import camps_section, counted, lead
from crowdrank.report.methods import in_words, mean_interval
from crowdrank.report.page import (
    Html,
    Section,
    code,
    facts,
    figure,
    folded,
    heading,
    listed,
    name,
    page,
    paragraph,
    side_by_side,
    table,
    tag,
    text,
    with_code,
)  # fmt: skip
from crowdrank.statistics.description import StudyDescription, describe, entry_judgments
from crowdrank.statistics.misfit import Misfit, misfit
from crowdrank.statistics.reliability import scale_separation_reliability, split_half
from crowdrank.statistics.tiers import tiers
from crowdrank.statistics.warnings import FEW_PER_ENTRY
from crowdrank.study import Floats, Gold, Judgments

ALL_ROWS = 3000  # of the ranking; of longer ones, the best of each task, and then a sample of the others
MOST_ROWS = 1000
SAMPLE = 1000
DISPUTED = 15
OPPONENTS = 300
LONGEST_SETTING = 200
SAID_TWICE = {"not connected": "comparisons do not connect", "one-sided": "one-sided votes"}  # warning → note
# Above these, nothing is fitted again for the report.
MOST_JUDGMENTS = 60_000
MOST_WITH_EFFECTS = 500  # judgments with covariates, categories or trusted annotators, whose fits take seconds
MOST_ENTRIES = 1000


@dataclass(frozen=True, slots=True)
class RankReport:
    """What a report is made of. Without judgments it shows what the consensus alone says; without a method nothing is
    fitted again.
    """

    consensus: Consensus
    judgments: Judgments | None = None
    method: Method | None = None
    gold: Gold | None = None
    title: str = "Ranking"
    command: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


def rank_page(report: RankReport) -> str:
    """The page as a text; write it to a .html file."""
    from crowdrank import __version__

    consensus, judgments = report.consensus, report.judgments
    described = None if judgments is None else describe(judgments)
    fit = None if judgments is None else misfit(consensus, judgments)
    tier = None if consensus.low is None else tiers(consensus)
    return page(
        report.title,
        f"{consensus.method} on {_size(consensus, judgments)}",
        lead(consensus, judgments, described, tier),
        [
            _ranking_section(consensus, judgments, fit, tier),
            _close_calls(consensus, judgments),
            fragility_section(report.method, judgments, consensus, _affordable(report)),
            annotators_section(consensus, described, fit),
            camps_section(consensus),
            _disputed(consensus, judgments, fit),
            _reliability(report, described),
            _gold_section(consensus, report.gold),
            _health(consensus, described, known=report.method is not None),
            _computed(report),
        ],
        f"crowdrank {__version__}",
    )


def _affordable(report: RankReport) -> bool:
    """Whether the study is small enough to be fitted again, many times."""
    if report.judgments is None:
        return True
    most = MOST_WITH_EFFECTS if report.judgments.has_effects else MOST_JUDGMENTS
    return len(report.judgments) <= most and len(report.consensus.score) <= MOST_ENTRIES


def _size(consensus: Consensus, judgments: Judgments | None) -> str:
    words = consensus.vocabulary
    given = "" if judgments is None else " and ".join(f"{judgments.counts[kind]:,} {kind}" for kind in judgments.kinds)
    who = f" by {counted(len(words.annotators), 'annotator')}" if given else ""
    items = f"{counted(len(words.items), 'item')} in {counted(len(words.tasks), 'task')}"
    return f"{given}{who}: {items}" if given else items


def _ranking_section(
    consensus: Consensus, judgments: Judgments | None, fit: Misfit | None, tier: NDArray[np.int32] | None
) -> Section:
    order = consensus.best_first[consensus.rank[consensus.best_first] > 0]
    if not len(order):
        return Section("Ranking", [])
    shown, sampled = _shown(consensus, order)
    words = consensus.vocabulary
    several = len(words.tasks) > 1
    columns: dict[str, Sequence[Any]] = {"rank": consensus.rank[shown].tolist()}
    if consensus.rank_low is not None and consensus.rank_high is not None:
        ends = zip(consensus.rank_low[shown].tolist(), consensus.rank_high[shown].tolist(), strict=True)
        columns["rank range"] = [f"{low}–{high}" if low < high else f"{low}" for low, high in ends]
    columns["item"] = [name(item) for item in words.items[words.entry_item[shown]]]
    tasks = words.tasks[words.entry_task[shown]]
    if several:
        columns["task"] = [name(task) for task in tasks]
    columns["score"] = numbers(consensus.score[shown])
    for label, values in (("low", consensus.low), ("high", consensus.high)):
        if values is not None:
            columns[label] = numbers(values[shown])
    if tier is not None:
        columns["tier"] = tier[shown].tolist()
    columns |= _grade_columns(consensus, shown)
    if judgments is not None:
        columns |= _judgment_columns(consensus, judgments, fit, shown)
    chart_of = f"The best items{_of_first_task(consensus)}"
    chart = figure(
        ranking.intervals(consensus),
        f"{chart_of} with their scores",
        f"{chart_of}. Dots are scores"
        + (", lines 95 % intervals; the colour changes with the tier." if tier is not None else "."),
    )
    caption = counted(len(order), "ranked item")
    if sampled:
        caption = f"{len(shown):,} of {caption}: the best of each task, and a random sample of the others"
    body = [
        chart,
        table("ranking", columns, caption=caption, searchable=True, tasks=tasks.tolist() if several else None),
    ]
    if sampled:
        body.append(_summary(consensus, order))
    return Section("Ranking", body)


def _of_first_task(consensus: Consensus) -> str:
    """Which task a chart shows."""
    tasks = consensus.vocabulary.tasks
    return f" of task {tasks[0]}" if len(tasks) > 1 else ""


def _shown(consensus: Consensus, order: NDArray[np.intp]) -> tuple[NDArray[np.intp], bool]:
    """The entries of the table: all, or the best of each task and a sample of the others."""
    if len(order) <= ALL_ROWS:
        return order, False
    by_rank = order[np.argsort(consensus.rank[order], kind="stable")]
    rest = by_rank[MOST_ROWS:]
    sample = np.random.default_rng(0).choice(len(rest), min(SAMPLE, len(rest)), replace=False)
    chosen = np.zeros(len(consensus.rank), bool)
    chosen[by_rank[:MOST_ROWS]] = True
    chosen[rest[sample]] = True
    return order[chosen[order]], True


def _summary(consensus: Consensus, order: NDArray[np.intp]) -> Html:
    low, middle, high = np.quantile(consensus.score[order], [0.25, 0.5, 0.75]).tolist()
    return facts(
        {
            "ranked items": len(order),
            "best score": float(consensus.score[order].max()),
            "upper quartile": high,
            "median": middle,
            "lower quartile": low,
            "worst score": float(consensus.score[order].min()),
        }
    )


def _grade_columns(consensus: Consensus, shown: NDArray[np.intp]) -> dict[str, Sequence[Any]]:
    """The most probable true grade of each entry, where the method says so."""
    if consensus.label_chances is None or consensus.grades is None:
        return {}
    chances, scale = consensus.label_chances[shown], np.unique(consensus.grades.grade)
    return {
        "grade": [f"{scale[at]:g}" for at in chances.argmax(axis=1)],
        "its probability": numbers(chances.max(axis=1)),
    }


def _judgment_columns(
    consensus: Consensus, judgments: Judgments, fit: Misfit | None, shown: NDArray[np.intp]
) -> dict[str, Sequence[Any]]:
    count = entry_judgments(judgments)[shown]
    few = max(FEW_PER_ENTRY[kind] for kind in judgments.kinds)
    columns: dict[str, Sequence[Any]] = {"judgments": count.tolist()}
    slopes = [] if fit is None else [part.slope for part in fit.residuals if part.kind != "grades"]
    if slopes:
        # A virtual tie with an average item: nobody wins always who won a few times.
        columns["win rate against the average"] = numbers(
            (_average_wins(consensus, slopes[0])[shown] * count + 0.5) / (count + 1)
        )
    if (count < few).any():
        columns["remark"] = [tag("preliminary", "bad") if n < few else Html("") for n in count]
    return columns


def _average_wins(consensus: Consensus, slopes: Floats) -> Floats:
    """The chance of each entry to win against a random other one of its task, by the fitted logistic curve."""
    wins = np.full(len(consensus.score), np.nan)
    starts = consensus.vocabulary.task_starts
    for slope, (first, end) in zip(slopes, pairwise(starts), strict=True):
        entries = first + np.flatnonzero(~np.isnan(consensus.score[first:end]))
        if len(entries) < 2:
            continue
        score = consensus.score[entries]
        against = np.quantile(score, (np.arange(OPPONENTS) + 0.5) / OPPONENTS) if len(score) > OPPONENTS else score
        chance = 1 / (1 + np.exp(-np.clip(slope * np.subtract.outer(score, against), -500, 500)))
        n = len(against)
        wins[entries] = chance.mean(axis=1) if n < len(score) else (chance.sum(axis=1) - 0.5) / (n - 1)
    return wins


def _close_calls(consensus: Consensus, judgments: Judgments | None) -> Section:
    body: list[Html] = []
    if len(ranking.top_entries(consensus)) < 2:
        return Section("Close calls", body)
    if consensus.gap_error is not None:
        what = f"Probability that each of the best items{_of_first_task(consensus)} is truly above the next"
        body.append(figure(ranking.neighbour_chances(consensus), what, f"{what}. Blue: at least 95 %."))
    if judgments is not None and (len(judgments.pairs) or len(judgments.rankings)):
        met = ranking.meetings(judgments, ranking.top_entries(consensus))[1]
        if not met.any():
            return Section("Close calls", [*body, paragraph("The best items were never compared with each other.")])
        where = _of_first_task(consensus)
        rates = f"How often the item of the row won against that of the column{where}"
        wins = figure(ranking.win_rates(consensus, judgments), rates, f"{rates}. Blank: never compared.")
        counts = figure(ranking.comparison_counts(consensus, judgments), f"How often two items{where} were compared")
        body.append(side_by_side(wins, counts))
    return Section("Close calls", body)


def _disputed(consensus: Consensus, judgments: Judgments | None, fit: Misfit | None) -> Section:
    if fit is None or judgments is None:
        return Section("Disputed items", [])
    count, words = entry_judgments(judgments), consensus.vocabulary
    enough = np.flatnonzero((count >= 3) & np.isfinite(fit.entry_outfit))
    worst = enough[np.argsort(-fit.entry_infit[enough], kind="stable")[:DISPUTED]]
    if not len(worst):
        return Section("Disputed items", [])
    columns: dict[str, Sequence[Any]] = {"item": [name(item) for item in words.items[words.entry_item[worst]]]}
    if len(words.tasks) > 1:
        columns["task"] = [name(task) for task in words.tasks[words.entry_task[worst]]]
    columns |= {
        "rank": consensus.rank[worst].tolist(),
        "judgments": count[worst].tolist(),
        "infit": numbers(fit.entry_infit[worst]),
        "outfit": numbers(fit.entry_outfit[worst]),
    }
    why = "Judgments of these items differ most from what the scores predict (infit: 1 is as expected, 1.3 a lot)."
    return Section(
        "Disputed items", [paragraph(why), table("disputed", columns, caption="Items with the highest infit")]
    )


def _reliability(report: RankReport, described: StudyDescription | None) -> Section:
    values: dict[str, object] = {}
    if report.consensus.low is not None:
        values["scale separation reliability"] = scale_separation_reliability(report.consensus)
    if report.judgments is not None and report.method is not None and _affordable(report):
        rounds = 10 if len(report.judgments) <= 1000 else 3
        halves = split_half(report.method, report.judgments, rounds=rounds, consensus=report.consensus)
        values[f"correlation of two halves of the {halves.of}"] = halves.median
        values["the same for the whole study (Spearman-Brown)"] = halves.whole
    for kind, each in ({} if described is None else described.agreement).items():
        values[f"Krippendorff's alpha ({kind})"] = each.alpha
        values[f"equal answers ({kind})"] = each.percent
    why = "1 is perfect. Alpha is the agreement of annotators beyond chance; the others concern the scores."
    return Section("Reliability", [paragraph(why), facts(values)] if values else [])


def _gold_section(consensus: Consensus, gold: Gold | None) -> Section:
    if gold is None:
        return Section("Against gold", [])
    found = evaluate(consensus, gold, unjudged="ignore")  # gold of a report is often that of a sample
    columns: dict[str, Sequence[Any]] = {"measure": list(found.mean), "mean": list(found.mean.values())}
    ends = [mean_interval(found.values[:, at]) for at in range(len(found.measures))]
    if len(found.tasks) > 1:
        columns |= {"low": [low for low, _ in ends], "high": [high for _, high in ends]}
    body = [
        table(
            "gold",
            columns,
            caption=f"Means over {counted(len(found.tasks), 'task')}, with 95 % intervals of a bootstrap of tasks"
            if len(found.tasks) > 1
            else "One task: no interval over tasks",
        )
    ]
    body.append(paragraph(in_words(found.mean), kind="dim"))
    if consensus.low is not None:
        what = "Calibration: stated probability that one item is above another, and how often gold agrees"
        body.append(
            figure(
                crowd.calibration(consensus, gold),
                what,
                f"{what}. On the dashed line both are equal; below it, the ranking is too certain.",
            )
        )
    body.append(listed(found.notes))
    return Section("Against gold", body)


def _health(consensus: Consensus, described: StudyDescription | None, *, known: bool) -> Section:
    """How the fit ended, where that is `known`; the warnings and notes."""
    fit = consensus.fit
    ended = f"{'converged' if fit.converged else 'NOT converged'}, {fit.steps:,} steps"
    if fit.converged and not fit.steps:
        ended = "a closed form, no steps" if known else ""
    values: dict[str, object] = {"fit": ended or None}
    if consensus.component is not None:
        values["tasks with unconnected items"] = f"{len(consensus.disconnected):,}"
    warned = () if described is None else described.warnings
    body = [facts(values)]
    if warned:
        body += [heading("Warnings about the data"), listed(warned)]
    notes = [note for note in consensus.notes if not _said(note, warned)]
    if notes:
        body += [heading("Notes"), listed(notes)]
    return Section("Data and fit", body)


def _said(note: str, warnings: Sequence[str]) -> bool:
    """Whether a warning about the data says the same as a note of the method."""
    return any(
        note.startswith(beginning) and any(warning.startswith(kind) for warning in warnings)
        for kind, beginning in SAID_TWICE.items()
    )


def _computed(report: RankReport) -> Section:
    from crowdrank import __version__

    consensus = report.consensus
    body = [*_about(report.method, consensus.method)]
    own = {} if report.method is None else settings_of(report.method)
    given = {key: value for key, value in own.items() if value is not None}
    settings = {"crowdrank": __version__, **given, **consensus.settings, **report.settings}
    shown = [f"{key} = {_short(value)}" for key, value in settings.items()]
    body += [heading("Version and settings"), code("\n".join(shown))]
    if report.command:
        body += [heading("To repeat it"), code(report.command)]
    return Section("How it was computed", body)


def _short(value: object) -> str:
    """A setting; weights of many annotators are cut."""
    words = f"{value:.6g}" if isinstance(value, float) else str(value)
    return words if len(words) <= LONGEST_SETTING else words[:LONGEST_SETTING] + "…"


def _about(method: Method | None, label: str) -> list[Html]:
    """The method in its own words: what it does and the reference; the rest for those who ask."""
    kind: Any = type(method) if method else METHODS.get(label) or SUPERVISED.get(label) or LEARNERS.get(label)
    if kind is None:
        return [paragraph(f"Method: {label}.")]
    doc = (sys.modules[kind.__module__].__doc__ or "").partition(">>>")[0].strip()
    parts = [paragraph(with_code(" ".join(part.split()))) for part in doc.split("\n\n") if part.strip()]
    summary = paragraph(Html(f"<b>{text(label)}</b>: "), kind.description.summary)
    return [summary, *parts[-1:], *([folded("The model in detail", parts[:-1])] if len(parts) > 1 else [])]
