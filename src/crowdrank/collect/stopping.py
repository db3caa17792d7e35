"""When to stop asking, and how many more judgments that will take.

Three rules: a number of judgments (budget); no interval wider than a given width (width); the best k of every task
decided with a given probability (top-k). Widths and probabilities are those of crowd-bt. Where votes cannot say which
of two opposite rankings is right, they are those of both together, and more votes do not help. The forecast simulates
the rest of the collection (`crowdrank.collect.forecast`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from crowdrank.collect.forecast import forecast, same_top
from crowdrank.collect.policies import policy_of
from crowdrank.collect.protocols import Policy
from crowdrank.collect.state import State
from crowdrank.consensus import frame_of
from crowdrank.settings import SettingError, check, check_fraction, check_whole_number
from crowdrank.study import Judgments

EARLY = "too early to say"
FAR = "further away than a forecast reaches"
CAMPS = "two opposite rankings are possible: more votes do not decide, gold does"
UNINFORMED = ("random", "least-compared")  # policies that ask about pairs far apart as often as about close ones
CERTAIN = 0.999

Row = tuple[str, float, float, bool, float, float, float, str]


def stopping(
    judgments: Judgments | State,
    *,
    budget: int | None = None,
    width: float | None = None,
    top_k: int | None = None,
    probability: float = 0.95,
    policy: str | Policy = "mutual-information",
    seed: int = 0,
) -> Any:
    """Which rules hold, and how many more judgments the others will take: a data frame, a row for each rule named.

    Its columns: rule, wanted, now, reached, more (judgments), and more_low and more_high, between which 8 of 10
    forecasts lie, if the `policy` asks on; and a note. They are empty where nothing can be said: before every entry has
    two judgments on average (then no rule but the budget is reached either), where a rule is too far away, and where
    annotators fall into two camps.

    >>> import crowdrank as cr
    >>> study = cr.simulate.pairs(items=10, annotators=5, votes=500, seed=0)
    >>> cr.stopping(study.judgments, budget=600, width=4.0)["reached"].to_list()
    [False, True]
    """
    check(budget is None or budget >= 0, "budget", budget, "a number of judgments")
    check(width is None or width > 0, "width", width, "above 0")
    if top_k is not None:
        check_whole_number("top_k", top_k)
    check_fraction("probability", probability)
    annotators = judgments.vocabulary.annotators
    check(len(annotators) > 0, "judgments", judgments, "judgments of at least one annotator, to forecast from")
    if budget is None and width is None and top_k is None:
        raise SettingError("name a rule: budget=5000, width=0.5 or top_k=10")
    informed = policy_of(policy).name not in UNINFORMED
    state = judgments if isinstance(judgments, State) else State.start(judgments.vocabulary).refit(judgments)
    rows: list[Row] = []
    if budget is not None:
        done = float(state.counts.sum())
        left = max(budget - done, 0.0)
        rows.append(("budget", float(budget), done, left == 0, left, left, left, ""))
    if width is not None:
        now = widest(state)
        what = "width", float(width), now
        rows.append(_row(state, what, now <= width, lambda path: path.widest() / width - 1, informed, seed))
    if top_k is not None:
        now = top_decided(state, top_k)
        what = f"top {top_k}", probability, now
        holds = now >= probability
        rows.append(_row(state, what, holds, lambda path: probability - path.top_decided(top_k), informed, seed))
    names = ("rule", "wanted", "now", "reached", "more", "more_low", "more_high", "note")
    columns = {
        name: np.array(values, dtype=object if name in ("rule", "note") else None)
        for name, values in zip(names, zip(*rows, strict=True), strict=True)
    }
    return frame_of(columns, state.vocabulary.frame).to_native()


def _row(state: State, what: tuple[str, float, float], holds: bool, lack: Any, informed: bool, seed: int) -> Row:
    """A rule with its forecast, or with a note why there is none."""
    unknown = np.nan, np.nan, np.nan
    undecided = (np.diff(state.vocabulary.task_starts) > 1).any()
    if undecided and state.counts.sum() < state.vocabulary.n_entries:
        return (*what, False, *unknown, EARLY)
    if holds or not undecided:
        return (*what, True, 0.0, 0.0, 0.0, "")
    if state.upright < CERTAIN:
        return (*what, False, *unknown, CAMPS)
    found = forecast(state, lack, informed=informed, seed=seed)
    return (*what, False, *found, FAR if np.isnan(found).any() else "")


def widest(state: State) -> float:
    """The width of the widest 95 % interval of a score."""
    low, high = state.interval
    return float((high - low).max(initial=0.0))


def top_decided(state: State, k: int) -> float:
    """The probability that the best k of every task are those by their means.

    The opposite ranking, where it is possible, has other best ones.
    """
    chance, starts, draws = state.upright, state.vocabulary.task_starts, state.draws
    for start, end in pairwise(starts.tolist()):
        if end - start > k:
            chance *= same_top(draws[:, start:end].astype(np.float64), state.mean[start:end], k)
    return float(chance)
