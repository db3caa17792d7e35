"""The part of a report about fragility: how little would change the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.methods.protocols import Method
from crowdrank.report.page import Html, Section, name, paragraph, table, with_code
from crowdrank.statistics.fragility import Fragility, Of, fragility
from crowdrank.study import LEFT, TIE, Judgments

TOP_K = 5
SMALL = 1000  # judgments; in larger studies only the winner is tried to be changed
LISTED = 10


def fragility_section(
    method: Method | None, judgments: Judgments | None, consensus: Consensus, affordable: bool
) -> Section:
    """The fewest judgments and annotators whose removal changes the winner, or the first five."""
    title = "What would change the result"
    if method is None or judgments is None or not len(judgments):
        return Section(title, [])
    if not affordable:
        call = f"crowdrank.statistics.fragility(crowdrank.{type(method).__name__}(), judgments)"
        why = f"Not computed, because it would take minutes. In Python: `{call}`"
        return Section(title, [paragraph(with_code(why))])
    words = judgments.vocabulary
    most_entries = np.bincount(words.entry_task, minlength=1).max()
    tried: list[tuple[int, Of]] = [(1, "judgments"), (1, "annotators")]
    if most_entries > 2 * TOP_K and len(words.tasks) == 1 and len(judgments) <= SMALL:
        tried += [(TOP_K, "judgments"), (TOP_K, "annotators")]
    found = [fragility(method, judgments, of=of, k=k, consensus=consensus) for k, of in tried]
    body = [paragraph(_sentence(each, len(judgments.vocabulary.tasks) > 1)) for each in found]
    few = next((each for each in found if each.found and each.of == "judgments"), None)
    if few is not None:
        body.append(_listed(few, judgments))
    why = "Found by influence, and confirmed by fitting again without them. A smaller set may exist."
    return Section(title, [*body, paragraph(why, kind="dim")])


def _sentence(found: Fragility, several: bool) -> Html:
    where = Html(f" of task {name(found.task)}") if several else Html("")
    what = "the winner" if found.k == 1 else f"the first {found.k}"
    if not found.found:
        return Html(f"No set of {found.of} was found that changes {what}{where} by its removal.")
    count = len(found.removed)
    things = found.of if count > 1 else found.of[:-1]
    after = [item for item in found.after if item not in found.before]
    new = Html(f": then {', '.join(name(item) for item in after)} {'is' if len(after) == 1 else 'are'} among them")
    if found.k == 1:
        new = Html(f": then {name(found.after[0])} is first")
    return Html(f"Without <b>{count:,} {things}</b> ({_percent(found.share)}) {what}{where} would change{new}.")


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.001 else "below 0.1%"


def _listed(found: Fragility, judgments: Judgments) -> Html:
    rows = [_judgment(judgments, int(number)) for number in found.removed[:LISTED]]
    columns: dict[str, Sequence[Any]] = {"annotator": [row[0] for row in rows], "said": [row[1] for row in rows]}
    return table(
        "fragile",
        columns,
        caption=f"The judgments whose removal changes the winner, {len(rows)} of {len(found.removed)}",
    )


def _judgment(judgments: Judgments, number: int) -> tuple[Html, Html]:
    """Who said what in a judgment, numbered through grades, pairs and lists."""
    words, counts = judgments.vocabulary, judgments.counts
    if number < counts["grades"]:
        grades = judgments.grades
        item = words.items[words.entry_item[grades.entry[number]]]
        return name(words.annotators[grades.annotator[number]]), Html(f"{name(item)}: grade {grades.grade[number]:g}")
    number -= counts["grades"]
    if number < counts["pairs"]:
        return pair_in_words(judgments, number)
    lists, number = judgments.rankings, number - counts["pairs"]
    rows = slice(lists.list_starts[number], lists.list_starts[number] + 5)
    named = " › ".join(name(words.items[words.entry_item[entry]]) for entry in lists.entry[rows])
    return name(words.annotators[lists.list_annotator[number]]), Html(named)


def pair_in_words(judgments: Judgments, number: int) -> tuple[Html, Html]:
    """Who said what in a pair."""
    words, pairs = judgments.vocabulary, judgments.pairs
    left, right = (name(words.items[words.entry_item[side[number]]]) for side in (pairs.left, pairs.right))
    who = name(words.annotators[pairs.annotator[number]])
    if pairs.outcome[number] == TIE:
        return who, Html(f"{left} = {right}")
    return who, Html(f"{left} › {right}" if pairs.outcome[number] == LEFT else f"{right} › {left}")
