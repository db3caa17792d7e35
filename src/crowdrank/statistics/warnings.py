"""What to know about a study before any method is fitted, the most important first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.result import one_sided_annotators
from crowdrank.numerics.graph import components
from crowdrank.statistics.agreement import Agreement
from crowdrank.study import Judgments, Kind, Vocabulary

NAMES_SHOWN = 5
LOW_ALPHA = 0.2  # below this, annotators agree little more than by chance
FEW_PER_ENTRY = {"grades": 3, "pairs": 5, "rankings": 3}
FEW_PER_ANNOTATOR = 5
ENOUGH_TO_SUSPECT = 10  # judgments that others gave too
RECURRING = 5  # tasks in which an item occurs, on average
SUSPECTED_BY_CHANCE = 0.05  # share of honest studies in which anybody is suspected


def warnings_of(
    judgments: Judgments,
    found: Mapping[Kind, Agreement],
    columns: Mapping[str, NDArray[Any]],
    disconnected: Mapping[Any, int],
    entry_judgments: NDArray[np.int64],
) -> tuple[str, ...]:
    """Sentences about trouble in the data, with what to do."""
    return (
        *_disconnected(disconnected, len(judgments.vocabulary.tasks), judgments.kinds == ("grades",)),
        *_low_agreement(found, len(judgments.vocabulary.annotators)),
        *_one_sided(judgments),
        *_suspects(columns, found),
        *_contradictions(columns),
        *_few_per_entry(judgments, entry_judgments),
        *_few_per_annotator(judgments),
        *_dominant(columns),
        *_repeats(columns),
        *same_items(judgments.vocabulary),
    )


def suspects(columns: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """Annotators whose agreement with the others is no better than chance, and clearly below that of the crowd."""
    alpha, error = columns["alpha"], np.maximum(columns["alpha_error"], 1e-3)
    enough = columns["compared"] >= ENOUGH_TO_SUSPECT
    if not enough.any():
        return enough
    from scipy.special import ndtri  # here, not above: `rank` does without SciPy

    usual = float(np.nanmedian(alpha[enough]))
    far = ndtri(SUSPECTED_BY_CHANCE / enough.sum())
    return np.asarray(enough & (alpha < 1.64 * error) & ((alpha - usual) / error < far))


def _disconnected(tasks: Mapping[Any, int], n_tasks: int, graded: bool) -> list[str]:
    if not tasks:
        return []
    named = _some([f"{task} ({parts} parts)" for task, parts in list(tasks.items())[:NAMES_SHOWN]], len(tasks))
    where = "" if n_tasks == 1 else f" in {len(tasks):,} of {n_tasks:,} tasks: {named}"
    parts = f"{next(iter(tasks.values()))} parts" if n_tasks == 1 else "some items"
    if graded:
        which = parts if n_tasks == 1 else f"{parts} and the others"
        advice = (
            "their order counts only if all annotators use the scale alike; let somebody grade items of several parts"
        )
        return [f"not connected: {which} have no annotator in common{where}; {advice}"]
    others = "each other" if n_tasks == 1 else "the others"
    advice = "compare items of different parts, or rank each part by itself"
    return [f"not connected: {parts} were never compared with {others}{where}; {advice}"]


def _low_agreement(found: Mapping[Kind, Agreement], n_annotators: int) -> list[str]:
    texts = []
    for kind, each in found.items():
        if not each.units:
            texts.append(_nobody_to_compare(kind, n_annotators))
        elif np.isnan(each.alpha):
            texts.append(f"all {kind} are the same answer: they tell no items apart, and agreement means nothing")
        elif each.alpha < LOW_ALPHA:
            texts.append(
                f"low agreement: alpha of {kind} is {each.alpha:z.2f} (0 is chance, 1 perfect); the question is hard, "
                "unclear, or many annotators answer at random"
            )
    return texts


def _nobody_to_compare(kind: Kind, n_annotators: int) -> str:
    if n_annotators < 2:
        return "one annotator gave all judgments: nothing shows how reliable they are; ask a second one about the same"
    what = "item" if kind == "grades" else "pair of items"
    return f"no two annotators judged the same {what}: their agreement is unknown; let several judge the same"


def _one_sided(judgments: Judgments) -> list[str]:
    names = judgments.vocabulary.annotators[one_sided_annotators(judgments)].tolist()
    if not len(names):
        return []
    return [f"one-sided: {_some(names, len(names))} always gave the same answer; leave them out or look at them"]


def _suspects(columns: Mapping[str, NDArray[Any]], found: Mapping[Kind, Agreement]) -> list[str]:
    if not any(each.alpha > LOW_ALPHA for each in found.values()):
        return []  # where nobody agrees with anybody, nobody stands out
    rows = np.flatnonzero(suspects(columns))
    rows = rows[np.argsort(columns["alpha"][rows], kind="stable")]
    if not len(rows):
        return []
    named = [f"{columns['annotator'][row]} (alpha {columns['alpha'][row]:z.2f})" for row in rows[:NAMES_SHOWN]]
    return [f"spam suspects: {_some(named, len(rows))} agree with the others no more than by chance"]


def _contradictions(columns: Mapping[str, NDArray[Any]]) -> list[str]:
    count = columns["contradicted"]
    total = int(count.sum())
    if total < max(3, 0.01 * columns["judgments"].sum()):
        return []
    worst = np.argsort(-count, kind="stable")[:NAMES_SHOWN]
    named = [f"{columns['annotator'][row]} ({count[row]:,})" for row in worst if count[row]]
    times = f"{total:,} times an annotator answered the same question in different ways"
    return [f"contradictions: {times} (most often: {', '.join(named)})"]


def _few_per_entry(judgments: Judgments, entry_judgments: NDArray[np.int64]) -> list[str]:
    enough = max((FEW_PER_ENTRY[kind] for kind in judgments.kinds), default=0)
    few = int((entry_judgments < enough).sum())
    if few <= 0.1 * len(entry_judgments):
        return []
    share = few / len(entry_judgments)
    counted = "" if len(judgments.vocabulary.tasks) == 1 else ", counted in each task,"
    which = "1 item has" if few == 1 else f"{few:,} items ({share:.0%}){counted} have"
    return [f"too few judgments: {which} fewer than {enough}; their place is a guess; collect more"]


def _few_per_annotator(judgments: Judgments) -> list[str]:
    count = judgments.per_annotator()
    few = int((count < FEW_PER_ANNOTATOR).sum())
    if few <= len(count) / 2 or len(count) < 3:
        return []
    how_many = f"{few:,} of {len(count):,} gave fewer than {FEW_PER_ANNOTATOR}"
    return [f"few judgments of each annotator: {how_many}; that is too few to know whom to trust"]


def _dominant(columns: Mapping[str, NDArray[Any]]) -> list[str]:
    count = columns["judgments"]
    if len(count) < 3 or count.max() <= count.sum() / 2:
        return []
    return [f"{columns['annotator'][count.argmax()]} gave {count.max() / count.sum():.0%} of all judgments"]


def _repeats(columns: Mapping[str, NDArray[Any]]) -> list[str]:
    total = int(columns["repeated"].sum())
    if total < 0.01 * columns["judgments"].sum() or not total:
        return []
    return [f"repeats: {total:,} judgments are about a question that the same annotator had answered before"]


def same_items(words: Vocabulary) -> list[str]:
    """Models on many prompts, say: who wants one ranking of them must not have tasks."""
    if len(words.tasks) < 2 or words.n_entries < RECURRING * len(words.items):
        return []
    together = words.entry_task[1:] == words.entry_task[:-1]
    if components(len(words.items), words.entry_item[:-1][together], words.entry_item[1:][together]).any():
        return []  # such as documents of one topic, judged in several respects
    size = f"{len(words.items):,} items, {len(words.tasks):,} tasks"
    advice = "for one ranking over all tasks, remove or rename the column of the tasks"
    return [f"the same items occur in many tasks ({size}), and each task is ranked by itself; {advice}"]


def _some(names: Sequence[Any], count: int) -> str:
    more = count - NAMES_SHOWN
    return ", ".join(map(str, names[:NAMES_SHOWN])) + (f" and {more:,} more" if more > 0 else "")
