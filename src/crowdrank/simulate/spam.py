"""Add random or malicious annotators to a study: how many can a method tolerate?

Each added annotator copies one of the study: they judge the same items of the same tasks, in the same form. A *random*
one answers by chance: a coin toss for each pair (with the study's share of ties), a grade drawn from all grades given,
the items of a list in random order. A *malicious* one gives the opposite of the annotator they copy: the other item,
the grade mirrored on the scale, the list reversed; ties stay ties.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.groups import grouped, ranges
from crowdrank.numerics.seeds import generator
from crowdrank.settings import check_choice, check_not_negative
from crowdrank.study import LEFT, RIGHT, TIE, Codes, Grades, Ids, Judgments, Pairs, Rankings, ids

SpamKind = Literal["random", "malicious"]
RowNumbers = NDArray[np.int64]


def spam(judgments: Judgments, share: float, kind: SpamKind = "random", seed: int = 0) -> Judgments:
    """The study with more annotators: `share` is their number as a share of those it has. The same seed adds the same.

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=5, annotators=10, votes=200, seed=1).judgments
    >>> spam(study, 0.3, "malicious").vocabulary.annotators[10:].tolist()
    ['malicious1', 'malicious2', 'malicious3']
    """
    check_not_negative("share", share)
    check_choice("kind", kind, ("random", "malicious"))
    rng = generator(seed)
    vocabulary = judgments.vocabulary
    added = round(share * len(vocabulary.annotators))
    # In random turn: nobody is copied twice before everybody is copied once.
    copied = np.concatenate(
        [np.zeros(0, np.int64), *(rng.permutation(len(vocabulary.annotators)) for _ in range(int(share) + 1))]
    )[:added]
    return replace(
        judgments,
        vocabulary=replace(
            vocabulary, annotators=ids([*vocabulary.annotators, *_new_names(vocabulary.annotators, kind, added)])
        ),
        grades=_with_grades(judgments.grades, copied, len(vocabulary.annotators), kind, rng),
        pairs=_with_pairs(judgments.pairs, copied, len(vocabulary.annotators), kind, rng),
        rankings=_with_rankings(judgments.rankings, copied, len(vocabulary.annotators), kind, rng),
    )


def _new_names(taken: Ids, kind: SpamKind, count: int) -> list[str]:
    """New names, zero-padded so that they sort."""
    width, word = len(str(count)), {"random": "spammer", "malicious": "malicious"}[kind]
    while any(str(name).startswith(word) for name in taken):
        word = f"another-{word}"
    return [f"{word}{number:0{width}}" for number in range(1, count + 1)]


def _copied_rows(annotator: Codes, copied: RowNumbers, n_annotators: int) -> tuple[RowNumbers, Codes]:
    """The rows of the copied annotators, and the codes of the added ones."""
    order, starts = grouped(annotator, n_annotators)
    count = np.diff(starts)[copied]
    who = np.repeat(np.arange(n_annotators, n_annotators + len(copied), dtype=np.int32), count)
    return order[ranges(starts[copied], count)], who


def _with_grades(
    grades: Grades, copied: RowNumbers, n_annotators: int, kind: SpamKind, rng: np.random.Generator
) -> Grades:
    rows, who = _copied_rows(grades.annotator, copied, n_annotators)
    if not len(rows):
        return grades
    if kind == "random":
        added = rng.choice(grades.grade, len(rows))
    else:
        added = grades.grade.min() + grades.grade.max() - grades.grade[rows]
    return Grades(np.r_[grades.annotator, who], np.r_[grades.entry, grades.entry[rows]], np.r_[grades.grade, added])


def _with_pairs(pairs: Pairs, copied: RowNumbers, n_annotators: int, kind: SpamKind, rng: np.random.Generator) -> Pairs:
    rows, who = _copied_rows(pairs.annotator, copied, n_annotators)
    if not len(rows):
        return pairs
    if kind == "random":
        outcome = rng.choice(np.array([LEFT, RIGHT], dtype=np.int8), len(rows))
        outcome[rng.random(len(rows)) < (pairs.outcome == TIE).mean()] = TIE
    else:
        outcome = -pairs.outcome[rows]
    return Pairs(
        annotator=np.r_[pairs.annotator, who],
        left=np.r_[pairs.left, pairs.left[rows]],
        right=np.r_[pairs.right, pairs.right[rows]],
        outcome=np.r_[pairs.outcome, outcome],
        weight=_with_copies(pairs.weight, rows),
        strength=_with_copies(pairs.strength, rows),
        time=_with_copies(pairs.time, rows),
        seconds=_with_copies(pairs.seconds, rows),
    )


def _with_copies(column: NDArray[Any] | None, rows: RowNumbers) -> Any:
    return None if column is None else np.r_[column, column[rows]]


def _with_rankings(
    lists: Rankings, copied: RowNumbers, n_annotators: int, kind: SpamKind, rng: np.random.Generator
) -> Rankings:
    numbers, who = _copied_rows(lists.list_annotator, copied, n_annotators)
    if not len(numbers):
        return lists
    starts, lengths = lists.list_starts[numbers], np.diff(lists.list_starts)[numbers]
    row_list = np.repeat(np.arange(len(numbers)), lengths)
    rows = ranges(starts, lengths)
    entry, position = lists.entry[rows], lists.position[rows]
    if kind == "random":
        entry = entry[np.lexsort((rng.random(len(rows)), row_list))]
    else:
        ends = starts + lengths - 1
        position = lists.position[starts][row_list] + lists.position[ends][row_list] - position
    order = np.lexsort((entry, position, row_list))
    return Rankings(
        list_annotator=np.r_[lists.list_annotator, who],
        list_task=np.r_[lists.list_task, lists.list_task[numbers]],
        unlisted_below=np.r_[lists.unlisted_below, lists.unlisted_below[numbers]],
        row_list=_int32(lists.row_list, row_list[order] + len(lists.list_annotator)),
        entry=_int32(lists.entry, entry[order]),
        position=np.r_[lists.position, position[order]],
        list_count=_with_copies(lists.list_count, numbers),
        list_time=_with_copies(lists.list_time, numbers),
        list_seconds=_with_copies(lists.list_seconds, numbers),
    )


def _int32(*parts: NDArray[Any]) -> Codes:
    return np.concatenate(parts).astype(np.int32)
