"""From sources of columns to Gold and rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.formats.builder import Part, StudyBuilder
from crowdrank.formats.columns import holds_pairs, value_of
from crowdrank.formats.encode import judgments_of
from crowdrank.formats.scales import graded_by
from crowdrank.formats.source import Source, shorten
from crowdrank.study import (
    LEFT,
    TIE,
    UNNAMED_TASK,
    Floats,
    Frame,
    Gold,
    GoldKind,
    JudgmentError,
    Judgments,
    Vocabulary,
    ids,
)


def gold_of(
    sources: Sequence[Source],
    columns: Mapping[str, str],
    *,
    scale: Sequence[str] | None = None,
    frame: Frame = "polars",
) -> Gold:
    """Gold from sources, all of the same kind."""
    are_pairs = [
        holds_pairs(each.name, each.columns, each.known_roles if each.tool else columns, each.paths) for each in sources
    ]
    if all(are_pairs):
        return _pairs_of(judgments_of(sources, columns, frame=frame))
    if any(are_pairs):
        raise JudgmentError("pairs are mixed with grades, scores or ranks of items; gold is one of them in all files")
    vocabulary, value, kind = _values(sources, columns, ("grade", "score", "rank"), frame, scale=scale)
    return Gold(vocabulary, value, kind)


def _pairs_of(judgments: Judgments) -> Gold:
    """Gold from pairs: each pair once, without ties, which put no item above another."""
    pairs, vocabulary = judgments.pairs, replace(judgments.vocabulary, annotators=ids([]))
    decided = pairs.outcome != TIE
    won = (pairs.outcome == LEFT)[decided]
    left, right = pairs.left[decided].astype(np.int64), pairs.right[decided].astype(np.int64)
    n = vocabulary.n_entries
    key = np.unique(np.where(won, left * n + right, right * n + left))
    better, worse = key // n, key % n
    if not len(key):
        raise JudgmentError("all known pairs are ties: no item is known to be better than another")
    both_ways = np.flatnonzero(np.isin(key, worse * n + better))
    if len(both_ways):
        one, other = (str(vocabulary.items[vocabulary.entry_item[side[both_ways[0]]]]) for side in (better, worse))
        raise JudgmentError(
            f"gold says both that {shorten(one)!r} is better than {shorten(other)!r} and the opposite; keep one"
        )
    return Gold(vocabulary, np.full(n, np.nan), "pair", better.astype(np.int32), worse.astype(np.int32))


def scores_of(source: Source, columns: Mapping[str, str], *, frame: Frame = "polars") -> Consensus:
    """A ranking from a source; items without a score or rank are not ranked."""
    vocabulary, value, _ = _values([source], columns, ("score", "rank"), frame, missing=True)
    return Consensus(vocabulary=vocabulary, method=source.name, score=value, annotator_columns={})


def _values(
    sources: Sequence[Source],
    columns: Mapping[str, str],
    kinds: Sequence[GoldKind],
    frame: Frame,
    *,
    missing: bool = False,
    scale: Sequence[str] | None = None,
) -> tuple[Vocabulary, Floats, GoldKind]:
    """One value per entry, higher is better, and its kind."""
    study, found = StudyBuilder("task", "item"), set[GoldKind]()
    for source in sources:
        given = source.known_roles if source.tool else columns
        kind, roles = value_of(source.name, source.columns, given, kinds)
        found.add(kind)
        part = Part(None, graded_by(source, roles[kind], scale) if kind == "grade" else source, roles)
        study.code(part, "item")
        study.code(part, "task") if "task" in roles else study.fill(part, "task", UNNAMED_TASK)
        part.numbers = part.source.numbers(roles[kind], missing=missing) * (-1 if kind == "rank" else 1)
        study.parts.append(part)
    if len(found) > 1:
        raise JudgmentError(f"{' and '.join(sorted(found))} are mixed; use one of them in all files")
    vocabulary = study.vocabulary(frame)
    value = np.full(vocabulary.n_entries, np.nan)
    for part in study.parts:
        value[study.entry(part)] = part.numbers
    for part in study.parts:
        _refuse_contradictions(part, value[study.entry(part)])
    return vocabulary, value, found.pop()


def _refuse_contradictions(part: Part, kept: Floats) -> None:
    item = part.coded["item"]
    wrong = ~np.isclose(kept, part.numbers, rtol=0, atol=0, equal_nan=True)
    part.source.refuse(wrong, lambda row: f"{shorten(item.name(row))!r} has another value in another row; keep one")
