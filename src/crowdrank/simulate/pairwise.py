"""Crowds that compare items two at a time.

Annotator k of quality η is shown two items whose true scores differ by d = s_left − s_right. They report their
preference with probability η, else the opposite. This is the model of Crowd-BT, with a bias b towards the left and
Davidson's ties, as in `methods.pairs.votes.kernels`:

    P(left, if decided) = η σ(d + b) + (1 − η) σ(−d + b)    P(tie) = τ / (τ + 2 cosh((2η − 1) d / 2))

Quality 1 reports every preference as it is, ½ is random (a spammer), and 0 reports the opposite (malicious). With
`spread=None` an answer is right with probability η whatever the gap, as in Table 1 of Chen et al. (WSDM 2013).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.groups import grouped, ranges
from crowdrank.numerics.seeds import generator
from crowdrank.settings import check
from crowdrank.simulate.study import (
    SimulatedStudy,
    check_shares,
    check_whole,
    draw_distinct,
    judgments_of,
    make_vocabulary,
)
from crowdrank.study import LEFT, RIGHT, TIE, Codes, Floats, Gold, Pairs


def pairs(
    items: int = 100,
    annotators: int = 50,
    votes: int = 5000,
    *,
    tasks: int = 1,
    quality: tuple[float, float] = (10.0, 1.0),
    spammers: float = 0.0,
    malicious: float = 0.0,
    spread: float | None = 2.0,
    ties: float = 0.0,
    order_bias: float = 0.0,
    fatigue: float = 0.0,
    neighbours: int | None = None,
    votes_per_pair: int = 1,
    seed: int = 0,
) -> SimulatedStudy:
    """Simulate a crowd that compares pairs of items; the same seed gives the same votes.

    - `items`: number of items in each of the `tasks`; `votes`: number of votes over all tasks, distributed evenly.
    - `quality`: α and β of the Beta distribution of the annotators' quality. Then the share `spammers` of the
      annotators gets ½, the share `malicious` 0.
    - `spread`: standard deviation of the true scores. None: they are 1 … items, and the size of a gap has no effect.
    - `ties`: probability that two equal items are called a tie, the same for all annotators; it decreases with the gap.
      With `spread=None` every pair has this probability.
    - `order_bias`: added to the log-odds that the item on the left wins.
    - `fatigue`: the share of η − ½ that an annotator loses with each vote: after t votes, quality is
      ½ + (η − ½)(1 − fatigue)^t; `SimulatedStudy.quality` is that before any fatigue.
    - `neighbours`: compare only items at most so many places apart in the true order.
    - `votes_per_pair`: so many different annotators vote, one after the other, on each pair drawn.

    >>> study = pairs(items=20, annotators=10, votes=2000, malicious=0.2, seed=1)
    >>> study.judgments
    Judgments(2,000 pairs; 1 tasks, 20 items, 10 annotators)
    >>> int((study.quality == 0).sum())
    2
    """
    parameters = dict(locals())
    _check(**parameters)
    rng = generator(seed)
    score = _draw_scores(rng, tasks, items, spread)
    true_quality = _draw_quality(rng, annotators, quality, spammers, malicious)
    left, right = _draw_pairs(rng, score, votes // votes_per_pair, neighbours)
    left, right = np.repeat(left, votes_per_pair), np.repeat(right, votes_per_pair)
    annotator = draw_distinct(rng, votes // votes_per_pair, votes_per_pair, annotators).ravel()
    eta = true_quality[annotator]
    if fatigue:
        eta = 0.5 + (eta - 0.5) * (1 - fatigue) ** _earlier_votes(annotator)
    truth = score.ravel()
    outcome = _draw_outcomes(
        rng, eta, truth[left] - truth[right], gap_matters=spread is not None, ties=ties, bias=order_bias
    )
    vocabulary = make_vocabulary(tasks, items, annotators)
    judgments = judgments_of(vocabulary, pairs=Pairs(annotator, left, right, outcome))
    return SimulatedStudy(judgments, Gold(vocabulary, truth, "score"), true_quality, parameters)


def _check(**given: Any) -> None:
    check_whole(given, items=2, annotators=1, votes=0, tasks=1, votes_per_pair=1)
    if given["neighbours"] is not None:
        check_whole(given, neighbours=1)
    check_shares(given, "spammers", "malicious", "ties", "fatigue")
    check(
        given["spammers"] + given["malicious"] <= 1, "malicious", given["malicious"], "at most 1 together with spammers"
    )
    check(len(given["quality"]) == 2 and min(given["quality"]) > 0, "quality", given["quality"], "two numbers above 0")
    check(given["spread"] is None or 0 <= given["spread"] < np.inf, "spread", given["spread"], "at least 0, or None")
    check(abs(given["order_bias"]) <= 100, "order_bias", given["order_bias"], "between -100 and 100")
    each, crowd = given["votes_per_pair"], given["annotators"]
    check(each <= crowd, "votes_per_pair", each, f"at most the number of annotators, {crowd}")
    check(given["votes"] % each == 0, "votes", given["votes"], f"a multiple of votes_per_pair, {each}")


def _draw_scores(rng: np.random.Generator, tasks: int, items: int, spread: float | None) -> Floats:
    """The true scores, a row per task."""
    if spread is None:
        return rng.permuted(np.tile(np.arange(1.0, items + 1), (tasks, 1)), axis=1)
    return rng.normal(0.0, spread, (tasks, items))


def _draw_quality(
    rng: np.random.Generator, annotators: int, beta: tuple[float, float], spammers: float, malicious: float
) -> Floats:
    quality = rng.beta(*beta, annotators)
    shuffled = rng.permutation(annotators)
    n_spammers, n_malicious = round(spammers * annotators), round(malicious * annotators)
    quality[shuffled[:n_spammers]] = 0.5
    quality[shuffled[n_spammers : n_spammers + n_malicious]] = 0.0
    return quality


def _draw_pairs(rng: np.random.Generator, score: Floats, n_pairs: int, neighbours: int | None) -> tuple[Codes, Codes]:
    """The entries shown left and right: all pairs of items close enough in the true order are equally likely."""
    tasks, items = score.shape
    furthest = min(items - 1 if neighbours is None else neighbours, items - 1)
    # Pairs are numbered by distance (1, 2, … places apart), then by place: a random number gives both.
    until = np.cumsum(items - np.arange(1, furthest + 1))
    number = rng.integers(0, until[-1], n_pairs)
    apart = np.searchsorted(until, number, side="right") + 1
    place = until[apart - 1] - 1 - number
    task = np.arange(n_pairs) % tasks  # in turn, so that fatigue does not fall on the last task alone
    by_place = (np.argsort(score, axis=1) + np.arange(tasks)[:, None] * items).astype(np.int32)
    one, other = by_place[task, place], by_place[task, place + apart]
    swap = rng.random(n_pairs) < 0.5
    return np.where(swap, other, one), np.where(swap, one, other)


def _earlier_votes(annotator: Codes) -> NDArray[np.int64]:
    """Per vote, how many votes its annotator gave before it."""
    order, starts = grouped(annotator, int(annotator.max(initial=-1)) + 1)
    count = np.diff(starts)
    earlier = np.empty(len(annotator), dtype=np.int64)
    earlier[order] = ranges(np.zeros_like(count), count)
    return earlier


def _draw_outcomes(
    rng: np.random.Generator, eta: Floats, gap: Floats, *, gap_matters: bool, ties: float, bias: float
) -> NDArray[np.int8]:
    if gap_matters:
        left = eta * _logistic(gap + bias) + (1 - eta) * _logistic(bias - gap)
        alike = 1 / np.cosh((2 * eta - 1) * gap / 2)
    else:
        left = np.where(gap > 0, eta, 1 - eta)
        left = left / (left + (1 - left) * np.exp(-bias))  # odds times exp(bias): probabilities 0 and 1 stay
        alike = np.ones(len(gap))
    outcome = np.where(rng.random(len(gap)) < left, LEFT, RIGHT).astype(np.int8)
    if ties:
        outcome[rng.random(len(gap)) < ties * alike / (1 - ties + ties * alike)] = TIE
    return outcome


def _logistic(x: Floats) -> Floats:
    return 0.5 + 0.5 * np.tanh(x / 2)
