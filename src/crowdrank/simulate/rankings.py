"""Crowds that rank the items of each task, scattered around the true order after Mallows.

    P(list | order) ∝ exp(θ · the number of pairs put the other way around)

θ far below 0 is an expert, 0 guesses, above 0 turns the order around. Lists are drawn exactly, item by item (repeated
insertion). With `swaps` they are made as in Wu et al. (Listwise learning to rank from crowds, TKDD 2016, eq. 56)
instead: a distance v ≥ 1 is drawn with a chance in proportion to exp(θ v), as if there were as many lists at every
distance, and neighbours are swapped at random until the list is so far away. Such annotators are nearly perfect: at θ =
−0.5 the distance is 2.5 on average, of 105 pairs among 15 items.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.mallows import expected_distance, sample
from crowdrank.settings import check, is_number
from crowdrank.simulate.study import Study, check_shares, check_whole, judgments_of, make_vocabulary
from crowdrank.study import Floats, Gold, Rankings, Vocabulary

STEEPEST = 20.0  # θ beyond which nothing changes


def rankings(
    items: int = 10,
    annotators: int = 10,
    *,
    tasks: int = 50,
    theta: tuple[float, float] | Floats = (-1.5, -0.2),
    share: float = 1.0,
    length: int | None = None,
    top_k: int | None = None,
    swaps: bool = False,
    gold: Gold | None = None,
    seed: int = 0,
) -> Study:
    """A crowd that ranks items; the same seed gives the same lists.

    - `items` in each of the `tasks`, in a true order drawn at random; or those of `gold`, whose equal values are put in
      an order at random.
    - `theta`: two numbers between which every annotator's θ is drawn; or an array with one for each.
    - `share`: how many of the tasks an annotator ranks, drawn at random (one at least).
    - `length`: so many items of the task, drawn at random for every list, are ranked; all, unless told.
    - `top_k`: lists are cut after so many items; those left out stand below.
    - `swaps`: distances are drawn, not lists.

    `gold` of the result is the true order itself, as scores; `quality` the share of pairs that an annotator is expected
    to put right; `annotators` has `theta`.

    >>> study = rankings(items=5, annotators=3, tasks=2, seed=1)
    >>> study.judgments
    Judgments(6 rankings; 2 tasks, 5 items, 3 annotators)
    """
    parameters = dict(locals())
    _check(**parameters)
    rng = np.random.default_rng(seed)
    vocabulary = make_vocabulary(tasks, items, annotators) if gold is None else _crowd_of(gold, annotators)
    value = rng.normal(size=vocabulary.n_entries) if gold is None else gold.value
    order = np.lexsort(
        (rng.random(vocabulary.n_entries), -value, vocabulary.entry_task)
    )  # entries, best first within each task
    own = rng.uniform(*theta, annotators) if isinstance(theta, tuple) else np.asarray(theta, dtype=np.float64)
    n_tasks = len(vocabulary.tasks)
    takes_part = rng.random((annotators, n_tasks)).argsort(axis=1) < max(round(share * n_tasks), 1)
    lists: list[tuple[int, int, NDArray[np.intp]]] = []
    for task, (start, end) in enumerate(pairwise(vocabulary.task_starts.tolist())):
        for k in np.flatnonzero(takes_part[:, task]).tolist():
            true = order[start:end]
            if length is not None and length < len(true):
                true = true[np.sort(rng.permutation(len(true))[:length])]
            drawn = _swapped(len(true), own[k], rng) if swaps else sample(len(true), np.array([-own[k]]), rng)[0]
            lists.append((k, task, true[drawn[:top_k]]))
    place = np.empty(vocabulary.n_entries)
    place[order] = np.arange(vocabulary.n_entries) - vocabulary.task_starts[vocabulary.entry_task]
    judgments = judgments_of(vocabulary, rankings=_stacked(lists, top_k is not None))
    quality = np.array([_quality(float(each), vocabulary, length, swaps=swaps) for each in own])
    return Study(judgments, Gold(vocabulary, -place, "score"), quality, parameters, {"theta": own})


def _check(**given: Any) -> None:
    check_whole(given, items=2, annotators=1, tasks=1)
    check_shares(given, "share")
    theta = given["theta"]
    if isinstance(theta, tuple):
        numbers = len(theta) == 2 and all(is_number(each) and abs(each) <= STEEPEST for each in theta)
        check(
            numbers and theta[0] <= theta[1],
            "theta",
            theta,
            f"two numbers from {-STEEPEST:g} to {STEEPEST:g}, the lower first",
        )
    else:
        fits = np.shape(theta) == (given["annotators"],) and bool(np.all(np.abs(theta) <= STEEPEST))
        check(
            fits,
            "theta",
            theta,
            f"a tuple of two numbers, or a number from {-STEEPEST:g} to {STEEPEST:g} for each annotator",
        )
    for name in ("length", "top_k"):
        if given[name] is not None:
            check_whole(given, **{name: 2 if name == "length" else 1})
    gold = given["gold"]
    check(gold is None or not bool(np.isnan(gold.value).any()), "gold", gold, "known of all its entries")


def _crowd_of(gold: Gold, annotators: int) -> Vocabulary:
    """The tasks and items of gold, and a crowd for them."""
    return replace(gold.vocabulary, annotators=make_vocabulary(1, 1, annotators).annotators)


def _swapped(length: int, theta: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Places of the true order, with neighbours swapped at random until they are as far from it as was drawn."""
    pairs = length * (length - 1) // 2
    chance = np.exp(theta * np.arange(1, pairs + 1) - max(theta, theta * pairs))
    wanted = 1 + int(np.searchsorted(np.cumsum(chance), rng.random() * chance.sum())) if pairs else 0
    place = list(range(length))
    for _ in range(min(wanted, pairs)):
        ascending = [p for p in range(length - 1) if place[p] < place[p + 1]]  # to swap these is one pair more
        p = ascending[int(rng.integers(len(ascending)))]
        place[p], place[p + 1] = place[p + 1], place[p]
    return np.array(place)


def _quality(theta: float, vocabulary: Vocabulary, length: int | None, *, swaps: bool) -> float:
    """The share of pairs that are expected to be right, over all tasks."""
    sizes = [min(size, length or size) for size in np.diff(vocabulary.task_starts).tolist()]
    pairs = sum(size * (size - 1) // 2 for size in sizes)
    far = {size: _mean_drawn(size, theta) if swaps else expected_distance(size, -theta) for size in set(sizes)}
    return float(1 - sum(far[size] for size in sizes) / max(pairs, 1))


def _mean_drawn(length: int, theta: float) -> float:
    distance = np.arange(1, length * (length - 1) // 2 + 1)
    chance = np.exp(theta * distance - max(theta * distance[0], theta * distance[-1])) if len(distance) else np.ones(0)
    return float((distance * chance).sum() / chance.sum()) if len(distance) else 0.0


def _stacked(lists: list[tuple[int, int, NDArray[np.intp]]], below: bool) -> Rankings:
    lengths = [len(entries) for _, _, entries in lists]
    return Rankings(
        list_annotator=np.array([annotator for annotator, _, _ in lists], np.int32),
        list_task=np.array([task for _, task, _ in lists], np.int32),
        unlisted_below=np.full(len(lists), below),
        row_list=np.repeat(np.arange(len(lists), dtype=np.int32), lengths),
        entry=np.concatenate([entries for _, _, entries in lists]).astype(np.int32),
        position=np.concatenate([np.arange(1.0, size + 1) for size in lengths]),
    )
