"""When to stop asking, and how many more judgments that will take.

Three rules: a number of judgments (budget); no interval wider than a given width (width); the best k of every task
decided with a given probability (top-k). The forecast simulates the rest of the collection: true scores are drawn from
the state, random annotators answer questions about the entry that the rule lacks most, and the state is updated until
the rule holds. The median and the range over the draws are reported.
"""

from __future__ import annotations

import math
from typing import Any

import numba as nb
import numpy as np

from crowdrank.collect.policies import chance_of_top
from crowdrank.collect.state import State
from crowdrank.consensus import frame_of
from crowdrank.methods.pairs.online_crowd_bt import NORMAL_95
from crowdrank.methods.pairs.votes.online_kernels import logistic, narrowed, win
from crowdrank.settings import SettingError, check, check_whole_number
from crowdrank.study import Judgments

DRAWS = 10
MOST_LOOKS = 2_000_000  # visits of an entry in one draw: a forecast must not take longer than a fit
EVERY = 10  # judgments between two updates of the edge of the best k


def stopping(
    judgments: Judgments | State,
    *,
    budget: int | None = None,
    width: float | None = None,
    top_k: int | None = None,
    probability: float = 0.95,
    seed: int = 0,
) -> Any:
    """Which rules hold, and how many more judgments the others will take: a data frame, a row for each rule named.

    Its columns: rule, wanted, now, reached, more (judgments), and more_low and more_high, between which 8 of 10
    forecasts lie. They are empty where the rule needs more judgments than a forecast simulates (MOST_LOOKS / entries).

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=10, annotators=5, votes=500, seed=0)
    >>> cr.stopping(study.judgments, budget=600, width=3.0)["reached"].to_list()
    [False, True]
    """
    state = judgments if isinstance(judgments, State) else State.start(judgments.vocabulary).refit(judgments)
    check(budget is None or budget >= 0, "budget", budget, "a number of judgments")
    check(width is None or width > 0, "width", width, "above 0")
    if top_k is not None:
        check_whole_number("top_k", top_k)
    check(0 < probability < 1, "probability", probability, "between 0 and 1")
    check(len(state.alpha) > 0, "judgments", state, "judgments of at least one annotator, to forecast from")
    if budget is None and width is None and top_k is None:
        raise SettingError("name a rule: budget=5000, width=0.5 or top_k=10")
    rows = []
    if budget is not None:
        done = float(state.counts.sum())
        left = max(budget - done, 0.0)
        rows.append(("budget", float(budget), done, left == 0, left, left, left))
    if width is not None:
        now = widest(state)
        rows.append(("width", width, now, now <= width, *_forecast(state, width, 0, probability, seed)))
    if top_k is not None:
        now = top_decided(state, top_k)
        rows.append(
            (f"top {top_k}", probability, now, now >= probability, *_forecast(state, np.inf, top_k, probability, seed))
        )
    names = ("rule", "wanted", "now", "reached", "more", "more_low", "more_high")
    columns = {
        name: np.array(values, dtype=object if name == "rule" else None)
        for name, values in zip(names, zip(*rows, strict=True), strict=True)
    }
    return frame_of(columns, state.vocabulary.frame).to_native()


def widest(state: State) -> float:
    """The width of the widest 95 % interval of a score."""
    return float(2 * NORMAL_95 * np.sqrt(state.variance.max(initial=0.0)))


def top_decided(state: State, k: int) -> float:
    """The probability that all entries are on the side of the edge of their task's best k that their means are on."""
    inside = chance_of_top(state, k)
    return float(np.exp(np.log(np.maximum(inside, 1 - inside)).sum()))


def _forecast(state: State, width: float, k: int, probability: float, seed: int) -> tuple[float, float, float]:
    """Median, tenth and ninetieth percentile of the judgments still needed; NaN beyond what is simulated."""
    rng, needed = np.random.default_rng(seed), []
    starts = state.vocabulary.task_starts
    variance_wanted = (width / (2 * NORMAL_95)) ** 2
    limit = MOST_LOOKS // max(len(state.mean), 1)
    for _ in range(DRAWS):
        truth = rng.normal(state.mean, np.sqrt(state.variance))
        quality = rng.beta(state.alpha, state.beta)
        beliefs = (state.mean.copy(), state.variance.copy(), state.alpha.copy(), state.beta.copy())
        rule = variance_wanted, k, float(np.log(probability)), limit
        needed.append(_simulate(truth, quality, beliefs, starts, rule, rng.integers(0, 1 << 63, 1, dtype=np.uint64)))
    counts = np.array(needed, dtype=np.float64)
    counts[counts >= limit] = np.inf
    quantiles = np.sort(counts)[[DRAWS // 2, 1, DRAWS - 2]]
    median, low, high = np.where(np.isinf(quantiles), np.nan, quantiles).tolist()
    return median, low, high


@nb.njit(cache=True, nogil=True)
def _simulate(truth, quality, beliefs, starts, rule, random):
    """How many simulated judgments it takes until a rule holds; each is about the entry that the rule lacks most."""
    mean, variance, alpha, beta = beliefs
    variance_wanted, k, log_probability, limit = rule
    edge, order = np.zeros(len(starts)), np.arange(len(mean))
    for count in range(limit):
        if k > 0 and count % EVERY == 0:
            find_edges(mean, starts, k, order, edge)
        worst, lacking, decided, task = -1, 0.0, 0.0, -1
        for t in range(len(starts) - 1):
            if starts[t + 1] - starts[t] <= max(k, 1):  # nothing to compare, or all are among the best k
                continue
            for i in range(starts[t], starts[t + 1]):
                lack = variance[i] - variance_wanted
                if k > 0:
                    wrong = 0.5 * math.erfc(abs(mean[i] - edge[t]) / math.sqrt(2 * variance[i]))
                    decided += math.log1p(-wrong)
                    lack = wrong * variance[i]
                if lack > lacking:
                    worst, lacking, task = i, lack, t
        if worst < 0 or (k > 0 and decided >= log_probability):
            return count
        other = partner_of(worst, mean, variance, starts[task], starts[task + 1])
        who = int(draw(random) * len(alpha))
        gap = truth[worst] - truth[other]
        if draw(random) < quality[who] * logistic(gap) + (1 - quality[who]) * logistic(-gap):
            take(worst, other, who, mean, variance, alpha, beta)
        else:
            take(other, worst, who, mean, variance, alpha, beta)
    return limit


@nb.njit(cache=True, nogil=True)
def find_edges(mean, starts, k, order, edge):
    """The middle between the means at places k and k + 1 of each task.

    `order` is nearly sorted, best first, from the last call: an insertion sort is fast.
    """
    for t in range(len(starts) - 1):
        for at in range(starts[t] + 1, starts[t + 1]):
            entry, to = order[at], at
            while to > starts[t] and mean[order[to - 1]] < mean[entry]:
                order[to] = order[to - 1]
                to -= 1
            order[to] = entry
        if starts[t + 1] - starts[t] > k:
            edge[t] = (mean[order[starts[t] + k - 1]] + mean[order[starts[t] + k]]) / 2


@nb.njit(cache=True, nogil=True)
def draw(random):
    """A random number between 0 and 1 (splitmix64); `random` holds the state of the generator."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((z ^ (z >> np.uint64(31))) >> np.uint64(11)) / 9007199254740992.0


@nb.njit(cache=True, nogil=True)
def partner_of(i, mean, variance, start, end):
    """The entry whose comparison with i is most informative."""
    best, most = -1, -1.0
    for j in range(start, end):
        p = logistic(mean[i] - mean[j])
        information = (variance[i] + variance[j]) * p * (1 - p)
        if j != i and information > most:
            best, most = j, information
    return best


@nb.njit(cache=True, nogil=True)
def take(i, j, k, mean, variance, alpha, beta):
    """Update the state, in place, by the judgment of k that i is better than j."""
    _, pull, curvature, alpha[k], beta[k] = win(mean[i] - mean[j], variance[i] + variance[j], alpha[k], beta[k], 0.0)
    mean[i] += variance[i] * pull
    mean[j] -= variance[j] * pull
    variance[i], variance[j] = narrowed(variance[i], curvature), narrowed(variance[j], curvature)
