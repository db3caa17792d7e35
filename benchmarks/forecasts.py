"""Do forecasts hold? `python benchmarks/forecasts.py [STUDIES]` asks, and writes docs/benchmarks-forecasts.md.

Annotators of quality Beta(5, 1), some of whom guess, vote on pairs by lot. After some votes `stopping` says how many
more it will take until no interval is wider than 70 % of what the widest is now, and until the best three are decided.
Then the same crowd votes on, and after every tenth more votes the rule is asked again, until it holds. `inside` is the
share of studies whose number of votes is within the stated range of 80 %; `below` and `above` are those that needed
fewer or more. Where the rule does not hold after the last vote, the study needed more than those. `forecast` and
`needed` are medians of more votes. `best right` is how often the best three are truly the best three, when
`stopping` first says so with 95 % certainty; `covered` the share of true scores inside their intervals, when it first
says that the widest is narrow enough.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

import crowdrank as cr

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks-forecasts.md"
CROWDS = ((150, 0.0), (150, 0.3), (300, 0.0), (300, 0.3), (600, 0.3))  # votes at the forecast, share who guess
ITEMS, ANNOTATORS, SPREAD, BEST, LAST = 20, 20, 1.5, 3, 4_000
NARROWER, GROWTH = 0.7, 1.1


@dataclass(frozen=True)
class Case:
    """One forecast and what came of it; `needed` is infinite if the rule did not hold after the last vote."""

    low: float
    median: float
    high: float
    needed: float
    right: float  # whether the best are right, or the share of scores covered, once the rule holds


def first_votes(judgments: cr.Judgments, count: int) -> cr.Judgments:
    """The study as it was after so many votes."""
    pairs = judgments.pairs
    columns = {name: getattr(pairs, name)[:count] for name in ("annotator", "left", "right", "outcome")}
    return replace(judgments, pairs=replace(pairs, **columns))


def cases(votes: int, spam: float, seed: int) -> dict[str, Case]:
    """The forecasts in one study, by rule; none where a rule holds already or nothing was forecast."""
    study = cr.simulate.pairs(
        ITEMS, ANNOTATORS, LAST, spread=SPREAD, spammers=spam, quality=(5.0, 1.0), seed=1000 + seed
    )
    judgments, truth = study.judgments, study.gold.value - study.gold.value.mean()
    state = cr.State.start(judgments.vocabulary).refit(first_votes(judgments, votes))
    low, high = state.interval
    rules = {"width": NARROWER * float(np.max(high - low)), "top_k": BEST}
    now = cr.stopping(state, policy="random", **rules)
    open_rules = {rule: row for rule, row in zip(rules, now.iter_rows(named=True), strict=True) if forecast(row)}
    found: dict[str, Case] = {}
    count = votes
    while len(found) < len(open_rules) and count < LAST:
        count = min(round(count * GROWTH), LAST)
        state = cr.State.start(judgments.vocabulary).refit(first_votes(judgments, count))
        for rule in open_rules.keys() - found.keys():
            if held(state, rule, rules[rule]):
                found[rule] = case(open_rules[rule], count - votes, right(state, rule, truth))
    return found | {rule: case(open_rules[rule], np.inf, np.nan) for rule in open_rules.keys() - found.keys()}


def forecast(row: dict[str, Any]) -> bool:
    """Whether a rule is open and something is said about it."""
    return not row["reached"] and row["more_low"] is not None


def held(state: cr.State, rule: str, wanted: float) -> bool:
    """Whether a rule holds."""
    if rule == "width":
        low, high = state.interval
        return bool(np.max(high - low) <= wanted)
    return bool(cr.stopping(state, top_k=BEST, policy="random")["reached"][0])


def right(state: cr.State, rule: str, truth: np.ndarray) -> float:
    """What is true of it."""
    if rule == "width":
        low, high = state.interval
        return float(np.mean((low <= truth) & (truth <= high)))
    return float(set(np.argsort(-state.mean)[:BEST].tolist()) == set(np.argsort(-truth)[:BEST].tolist()))


def case(row: dict[str, Any], needed: float, correct: float) -> Case:
    """Of a row of `stopping`; what is further away than a forecast reaches is infinite."""
    more = (np.inf if row[name] is None else row[name] for name in ("more_low", "more", "more_high"))
    return Case(*more, needed, correct)


def lines(studies: int) -> Iterator[str]:
    """A row of the table for each crowd and rule."""
    with ProcessPoolExecutor() as pool:
        for votes, spam in CROWDS:
            found = list(pool.map(cases, repeat(votes), repeat(spam), range(studies)))
            for rule, quality in (("width", "covered"), ("top_k", "best right")):
                own = [each[rule] for each in found if rule in each]
                yield f"| {votes} | {spam:.0%} | {rule} | {len(own)} | {' | '.join(summary(own))} | {quality} |"


def summary(found: list[Case]) -> Iterator[str]:
    """Shares and medians."""
    low, median, high, needed, correct = np.array([(c.low, c.median, c.high, c.needed, c.right) for c in found]).T
    above, below = needed > high, needed < low
    yield from (f"{share:.2f}" for share in (np.mean(~above & ~below), below.mean(), above.mean()))
    yield from (f"{np.median(values):.0f}" for values in (median, needed))
    yield f"{np.nanmean(correct):.2f}"


def main(studies: int = 40) -> None:
    """Print the table; write the page."""
    about = " ".join((__doc__ or "").split("\n\n", 1)[1].split())
    text = [f"# Do forecasts hold?\n\nGenerated by `python benchmarks/forecasts.py {studies}`. {about}\n"]
    text += ["| votes | guess | rule | forecasts | inside | below | above | forecast | needed | right | of what |"]
    text += ["|" + "---|" * 11]
    for line in lines(studies):
        text.append(line)
        print(line, flush=True)
        PAGE.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
