"""Low-rank features of each annotator's preferences, with weights learned from gold (SVDsup).

The preferences of an annotator on a task are a matrix, where φ(i, j) is the strength of the preference of i to j, as in
`crf`. Its leading singular vectors give each item two features: √s u, how it beats others, and −√s v, how it is beaten,
where s is the singular value; a third marks items the annotator missed. The score of an item is a weighted sum of its
features, learned as in `crf`. Unlike crf it must factorise a matrix for every annotator and task it ranks. The
`annotators` have the same columns as with crf.

Volkovs, Larochelle, Zemel: Learning to rank by aggregating expert preferences, CIKM 2012.

>>> import crowdrank as cr
>>> who, items = ["ann", "ann", "bob", "bob"] * 2, list("xyyxuvvu")
>>> lists = {"task": ["q1"] * 4 + ["q2"] * 4, "annotator": who, "item": items, "rank": [1, 2] * 4}
>>> gold = cr.gold({"task": ["q1", "q1"], "item": ["x", "y"], "grade": [1, 0]})  # ann is right about q1
>>> trained = cr.SVD().train(cr.judgments(lists), gold)
>>> trained.fit(cr.judgments(lists)).ranking["item"].to_list()
['x', 'y', 'u', 'v']
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdrank.convert import as_rankings
from crowdrank.methods.protocols import Description
from crowdrank.methods.supervised.cells.cells import POTENTIALS, Cells, ranks_of, summed, with_missing
from crowdrank.methods.supervised.crf import CRF
from crowdrank.study import KINDS, LEFT, RIGHT, Codes, Floats, Judgments

SMALLEST = 1e-9  # singular value; smaller ones are rounding errors


@dataclass(frozen=True, slots=True)
class SVD(CRF):
    """Settings of SVDsup: those of the conditional random field."""

    description: ClassVar[Description] = Description(
        name="svd",
        family="supervised",
        summary="As crf, over low-rank features of each annotator's preferences.",
        takes=KINDS,
    )

    def cells(self, judgments: Judgments) -> Cells:
        """Whether an entry is missed, and the features of the factorisation."""
        potential = self.potential or POTENTIALS[0]
        parts = [*_of_lists(judgments, potential), *_of_pairs(judgments)]
        entry = np.concatenate([np.zeros(0, np.int32), *(entries for _, entries, _ in parts)])
        annotator = np.repeat(np.array([who for who, *_ in parts], np.int32), [len(entries) for _, entries, _ in parts])
        value = np.concatenate([np.zeros((0, 2)), *(_factors(matrix) for *_, matrix in parts)])
        return with_missing(summed(entry, annotator, value, judgments.vocabulary))


def _factors(matrix: Floats) -> Floats:
    """The features of each item from the leading singular vectors: how it beats, and minus how it is beaten.

    No preference is negative, so no element of the leading vectors is, up to a sign that both share.
    """
    if len(matrix) < 2:
        return np.zeros((len(matrix), 2))
    left, strength, right = np.linalg.svd(matrix)
    if strength[0] < SMALLEST:
        return np.zeros((len(matrix), 2))
    size = np.sqrt(strength[0]) * (-1.0 if left[:, 0].sum() < 0 else 1.0)
    return np.stack([size * left[:, 0], -size * right[0]], axis=1)


Part = tuple[int, Codes, Floats]  # an annotator, entries of a task, and the matrix of the preferences among them


def _of_lists(judgments: Judgments, potential: str) -> Iterator[Part]:
    lists = as_rankings(judgments)
    rank = ranks_of(lists)
    height = np.log(rank) if potential == "log" else rank
    for annotator, start, end in zip(lists.list_annotator, lists.list_starts[:-1], lists.list_starts[1:], strict=True):
        own = height[start:end]
        gap = np.maximum(own[None, :] - own[:, None], 0.0)
        matrix = (gap > 0).astype(np.float64) if potential == "binary" else gap / (own.max() or 1.0)
        yield annotator, lists.entry[start:end], matrix


def _of_pairs(judgments: Judgments) -> Iterator[Part]:
    pairs, vocabulary = judgments.pairs, judgments.vocabulary
    group = vocabulary.entry_task[pairs.left].astype(np.int64) * max(len(vocabulary.annotators), 1) + pairs.annotator
    order = np.argsort(group, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(order) else ():
        entries, place = np.unique(np.stack([pairs.left[rows], pairs.right[rows]]), return_inverse=True)
        left, right = place.reshape(2, -1)
        count = np.ones(len(rows)) if pairs.weight is None else pairs.weight[rows]
        matrix = np.zeros((len(entries), len(entries)))
        np.add.at(matrix, (left, right), count * (pairs.outcome[rows] == LEFT))
        np.add.at(matrix, (right, left), count * (pairs.outcome[rows] == RIGHT))
        yield pairs.annotator[rows[0]], entries, matrix
