"""The part of a report about the annotators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.report import crowd
from crowdrank.report.charts import numbers
from crowdrank.report.page import Html, Section, figure, heading, name, paragraph, table, tag
from crowdrank.statistics.description import StudyDescription
from crowdrank.statistics.misfit import Misfit, Residuals

MOST_ROWS = 1000
STRANGEST = 5  # annotators whose strangest answers are shown
UNLIKELY = 0.5  # chance of an answer; others are not strange
WORST_FIRST = ("reversed", "one-sided", "random", "differs from the consensus", "weak", "unclear", "informative")
MEANINGS = {
    "infit": "Infit and outfit say how far answers differ from what the scores predict: 1 is as expected, 1.3 a lot.",
    "alpha": "Alpha is the agreement with the other annotators beyond chance; 1 is perfect, 0 is chance.",
    "equal to others": "Equal to others is the share of answers that are the same.",
    "left share": "Left share is how often the left item was chosen.",
    "seconds": "Seconds are the median time for a judgment.",
    "informativeness": "Informativeness is how much one grade says about the relevance of an item, in nats.",
    "tie threshold": "A high tie threshold means that an annotator often calls two items equal.",
}
KNOWN = ("annotator", "judgments", "quality", "verdict", "quality_low", "quality_high")


def annotators_section(consensus: Consensus, described: StudyDescription | None, fit: Misfit | None) -> Section:
    """Quality with interval and verdict, misfit, agreement, sides, and the strangest answers."""
    own = dict(consensus.annotator_columns)
    if not own or not len(own["annotator"]) or "verdict" not in own:
        return Section("Annotators", [])
    place = {word: at for at, word in enumerate(WORST_FIRST)}
    badness = np.array([place.get(word, len(place)) for word in own["verdict"]])
    order = np.lexsort((np.nan_to_num(own["quality"], nan=1.0), badness))[:MOST_ROWS]
    columns = _columns(consensus, described, fit, order)
    counts = {word: int((own["verdict"] == word).sum()) for word in reversed(WORST_FIRST)}
    summary = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
    what = "Quality of each annotator by the number of judgments"
    why = "Quality is the chance to be right about a pair: 1 always, ½ random, 0 always the opposite."
    body = [
        paragraph(f"Of {len(badness):,} annotators: {summary}. {why}"),
        figure(crowd.annotator_quality(consensus), what),
        table("annotators", columns, caption=f"{len(order):,} annotators, least trusted first", searchable=True),
        paragraph(" ".join(meaning for column, meaning in MEANINGS.items() if column in columns), kind="dim"),
    ]
    return Section("Annotators", [*body, *_strangest(consensus, fit, order)])


def _columns(
    consensus: Consensus, described: StudyDescription | None, fit: Misfit | None, order: Any
) -> dict[str, Sequence[Any]]:
    own = consensus.annotator_columns
    code = {each: number for number, each in enumerate(consensus.vocabulary.annotators)}
    who = np.array([code.get(each, -1) for each in own["annotator"][order]])
    bad = {"reversed", "one-sided", "random"}
    columns: dict[str, Sequence[Any]] = {
        "annotator": [name(each) for each in own["annotator"][order]],
        "verdict": [
            tag(word, "bad" if word in bad else "good" if word == "informative" else "")
            for word in own["verdict"][order]
        ],
        "judgments": own["judgments"][order].tolist(),
        "quality": numbers(own["quality"][order]),
    }
    for label in ("quality_low", "quality_high"):
        if label in own:
            columns[label.removeprefix("quality_")] = numbers(own[label][order])
    if fit is not None:
        columns["infit"], columns["outfit"] = numbers(fit.annotator_infit[who]), numbers(fit.annotator_outfit[who])
    if described is not None:
        shown = {"alpha": "alpha", "agreement": "equal to others", "left_share": "left share", "seconds": "seconds"}
        for label, title in shown.items():
            if label in described.annotator_columns:
                columns[title] = numbers(described.annotator_columns[label][who])
    for label, values in own.items():
        if label in KNOWN or label.endswith(("_low", "_high")):  # --annotators writes all intervals
            continue
        of_numbers = values.dtype.kind in "iuf"
        columns[label.replace("_", " ")] = (
            numbers(values[order].astype(float)) if of_numbers else [name(each) for each in values[order]]
        )
    return {label: values for label, values in columns.items() if any(value is not None for value in values)}


def _strangest(consensus: Consensus, fit: Misfit | None, order: Any) -> list[Html]:
    """Answers that the scores make unlikely, of the annotators who are trusted least."""
    if fit is None:
        return []
    code = {each: number for number, each in enumerate(consensus.vocabulary.annotators)}
    words = consensus.vocabulary
    rows: list[tuple[Html, Html, Html, float]] = []
    for each in consensus.annotator_columns["annotator"][order[:STRANGEST]]:
        for part, row in fit.strangest(code[each], 3):
            if part.chance[row] < UNLIKELY:
                task = name(words.tasks[words.entry_task[part.entry[row]]])
                rows.append((name(each), task, _answer(consensus, part, row), float(part.chance[row])))
    if not rows:
        return []
    titles = "annotator", "task", "said", "chance"
    columns: dict[str, Sequence[Any]] = {title: [row[at] for row in rows] for at, title in enumerate(titles)}
    if len(words.tasks) == 1:
        del columns["task"]
    return [
        heading("Strangest answers"),
        table("strangest", columns, caption="Answers that the scores make unlikely, of the annotators trusted least"),
    ]


def _answer(consensus: Consensus, part: Residuals, row: int) -> Html:
    words = consensus.vocabulary
    item = name(words.items[words.entry_item[part.entry[row]]])
    if part.kind == "grades":
        level, steps = part.value[row], np.arange(len(part.scale))
        expected = np.interp(part.expected[row], steps, part.scale)
        return Html(f"{item}: {part.scale[int(level)]:g}, where {expected:.1f} is expected")
    other = name(words.items[words.entry_item[part.other[row]]])
    return Html(f"{item} {'=' if part.value[row] == 0 else '›' if part.value[row] > 0 else '‹'}&nbsp;{other}")
