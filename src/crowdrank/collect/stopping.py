"""When to stop asking, and how many more judgments that will take.

Three rules: a number of judgments (budget); no interval wider than a given width (width); the best k of every task
decided with a given probability (top-k). The forecast simulates the rest of the collection: true scores are drawn from
the state, random annotators answer questions about the entry that the rule lacks most, and the state is updated until
the rule holds. The median and the range over the draws are reported.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdrank.collect.policies import chance_of_top
from crowdrank.collect.state import State
from crowdrank.collect.stopping_kernels import simulate
from crowdrank.consensus import frame_of
from crowdrank.numerics.seeds import generator
from crowdrank.numerics.special import NORMAL_95
from crowdrank.settings import SettingError, check, check_fraction, check_whole_number
from crowdrank.study import Judgments

DRAWS = 10
MOST_LOOKS = 2_000_000  # visits of an entry in one draw: a forecast must not take longer than a fit


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
    check_fraction("probability", probability)
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
    rng, needed = generator(seed), []
    starts = state.vocabulary.task_starts
    variance_wanted = (width / (2 * NORMAL_95)) ** 2
    limit = MOST_LOOKS // max(len(state.mean), 1)
    for _ in range(DRAWS):
        truth = rng.normal(state.mean, np.sqrt(state.variance))
        quality = rng.beta(state.alpha, state.beta)
        beliefs = (state.mean.copy(), state.variance.copy(), state.alpha.copy(), state.beta.copy())
        rule = variance_wanted, k, float(np.log(probability)), limit
        needed.append(simulate(truth, quality, beliefs, starts, rule, rng.integers(0, 1 << 63, 1, dtype=np.uint64)))
    counts = np.array(needed, dtype=np.float64)
    counts[counts >= limit] = np.inf
    quantiles = np.sort(counts)[[DRAWS // 2, 1, DRAWS - 2]]
    median, low, high = np.where(np.isinf(quantiles), np.nan, quantiles).tolist()
    return median, low, high
