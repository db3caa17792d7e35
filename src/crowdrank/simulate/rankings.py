"""Crowds that rank the items of each task, with Mallows' distribution around the true order.

    P(list | order) ∝ exp(θ · the number of pairs in the opposite order)

θ far below 0 is an expert, 0 is random, above 0 is reversed. Lists are drawn exactly, item by item (repeated
insertion). With `swaps` they are drawn as in Wu et al. (Listwise learning to rank from crowds, TKDD 2016, eq. 56)
instead: a distance v ≥ 1 is drawn with a probability in proportion to exp(θ v), as if there were as many lists at every
distance, and neighbours are swapped at random until the list is this far away. Such annotators are nearly perfect: at θ
= −0.5 the distance is 2.5 on average, of 105 pairs among 15 items.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.mallows import expected_distance, sample
from crowdrank.numerics.seeds import generator
from crowdrank.settings import check, is_number
from crowdrank.simulate.study import SimulatedStudy, check_shares, check_whole, judgments_of, make_vocabulary
from crowdrank.study import Floats, Gold, Rankings, Vocabulary

LARGEST_THETA = 20.0  # larger values change nothing


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
) -> SimulatedStudy:
    """Simulate a crowd that ranks items; the same seed gives the same lists.

    - `items`: number of items in each of the `tasks`, in a random true order; or the items are those of `gold`, whose
      ties are broken at random.
    - `theta`: the range from which every annotator's θ is drawn; or an array with one for each.
    - `share`: the share of the tasks that an annotator ranks, drawn at random (at least one).
    - `length`: how many items of the task are ranked, drawn at random for every list; by default all.
    - `top_k`: lists end after so many items; the others are below.
    - `swaps`: draw distances instead of lists.

    `gold` of the result is the true order as scores; `quality` is the expected share of pairs in the right order;
    `annotators` has `theta`.

    >>> study = rankings(items=5, annotators=3, tasks=2, seed=1)
    >>> study.judgments
    Judgments(6 rankings; 2 tasks, 5 items, 3 annotators)
    """
    parameters = dict(locals())
    _check(**parameters)
    rng = generator(seed)
    vocabulary = make_vocabulary(tasks, items, annotators) if gold is None else _with_annotators(gold, annotators)
    value = rng.normal(size=vocabulary.n_entries) if gold is None else gold.value
    # The entries, best first within each task.
    order = np.lexsort((rng.random(vocabulary.n_entries), -value, vocabulary.entry_task))
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
    return SimulatedStudy(judgments, Gold(vocabulary, -place, "score"), quality, parameters, {"theta": own})


def _check(**given: Any) -> None:
    check_whole(given, items=2, annotators=1, tasks=1)
    check_shares(given, "share")
    theta = given["theta"]
    if isinstance(theta, tuple):
        numbers = len(theta) == 2 and all(is_number(each) and abs(each) <= LARGEST_THETA for each in theta)
        check(
            numbers and theta[0] <= theta[1],
            "theta",
            theta,
            f"two numbers from {-LARGEST_THETA:g} to {LARGEST_THETA:g}, the lower first",
        )
    else:
        fits = np.shape(theta) == (given["annotators"],) and bool(np.all(np.abs(theta) <= LARGEST_THETA))
        check(
            fits,
            "theta",
            theta,
            f"a tuple of two numbers, or a number from {-LARGEST_THETA:g} to {LARGEST_THETA:g} for each annotator",
        )
    for name in ("length", "top_k"):
        if given[name] is not None:
            check_whole(given, **{name: 2 if name == "length" else 1})
    gold = given["gold"]
    check(gold is None or not bool(np.isnan(gold.value).any()), "gold", gold, "gold with a value for every entry")


def _with_annotators(gold: Gold, annotators: int) -> Vocabulary:
    """The tasks and items of gold, with so many annotators."""
    return replace(gold.vocabulary, annotators=make_vocabulary(1, 1, annotators).annotators)


def _swapped(length: int, theta: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Places of the true order, with neighbours swapped at random until a drawn distance is reached."""
    pairs = length * (length - 1) // 2
    chance = np.exp(theta * np.arange(1, pairs + 1) - max(theta, theta * pairs))
    wanted = 1 + int(np.searchsorted(np.cumsum(chance), rng.random() * chance.sum())) if pairs else 0
    place = list(range(length))
    for _ in range(min(wanted, pairs)):
        ascending = [
            p for p in range(length - 1) if place[p] < place[p + 1]
        ]  # swapping one of these adds one to the distance
        p = ascending[int(rng.integers(len(ascending)))]
        place[p], place[p + 1] = place[p + 1], place[p]
    return np.array(place)


def _quality(theta: float, vocabulary: Vocabulary, length: int | None, *, swaps: bool) -> float:
    """The expected share of pairs in the right order, over all tasks."""
    sizes = [min(size, length or size) for size in np.diff(vocabulary.task_starts).tolist()]
    pairs = sum(size * (size - 1) // 2 for size in sizes)
    distance = {size: _mean_distance(size, theta) if swaps else expected_distance(size, -theta) for size in set(sizes)}
    return float(1 - sum(distance[size] for size in sizes) / max(pairs, 1))


def _mean_distance(length: int, theta: float) -> float:
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
