"""What is known of annotators beforehand, in one place: their θ or a range of it, who is better than whom, the truth
about some tasks.

Each piece has a confidence η. At ∞ (unless told) it is believed without reserve: a θ is fixed, a range is kept, an
order is kept. Below, it counts as evidence beside the judgments, after the paper's equations 35 and 44,

    log σ(η (θ − low)) + log σ(η (high − θ))   for a range (of one point, for a θ),   log σ(η (θ_worse − θ_better))
    for an order,

all of them concave, as is the likelihood: any combination has one solution. The paper's equations 38 and 48
differentiate f where the objective has log f. The truth about some tasks is a list for each of them by an annotator
whose θ is −η. A file of side information is TOML:

    [theta]
    ann = -2.5
    bob = { low = -3, high = -1, confidence = 20 }

    [[better]]
    annotator = "ann"
    than = ["cy", "dee"]        # left out: than everybody else
    confidence = 20

    [truth]
    gold = "gold.csv"           # beside this file, or a path
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.formats import read_gold
from crowdrank.learning.ltrma.expertise import Expertise
from crowdrank.numerics.mallows import CLEAREST
from crowdrank.settings import InputError, is_number
from crowdrank.study import Floats, Gold, Ids

SURE = float("inf")
A_LITTLE, MUCH = -0.3, -1.0  # θ to begin with
TELLING = 0.1  # the middle of a range of θ from which on it says whether lists are right or turned around


class SideError(InputError):
    """Side information that cannot be used as it is."""


@dataclass(frozen=True, slots=True)
class Range:
    """θ of an annotator lies between two numbers, which may be the same."""

    annotator: str
    low: float
    high: float
    confidence: float = SURE


@dataclass(frozen=True, slots=True)
class Better:
    """An annotator is better (has a lower θ) than some others, or than all."""

    annotator: str
    than: tuple[str, ...] | None = None
    confidence: float = SURE


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """All that is known beforehand."""

    ranges: tuple[Range, ...] = ()
    orders: tuple[Better, ...] = ()
    truth: Gold | None = None
    truth_confidence: float = SURE

    def __post_init__(self) -> None:
        for order in self.orders:
            _check_confidence(order.annotator, order.confidence)
        _check_confidence("truth", self.truth_confidence)
        for each in self.ranges:
            _check_confidence(each.annotator, each.confidence)
            if not (is_number(each.low) and is_number(each.high) and each.low <= each.high):
                raise SideError(
                    f"the range of θ of {each.annotator!r} is {each.low} to {each.high}; it must go upwards"
                )

    @property
    def known(self) -> tuple[Range, ...]:
        """Ranges of one point."""
        return tuple(each for each in self.ranges if each.low == each.high)


def _check_confidence(what: str, confidence: object) -> None:
    if not (is_number(confidence) and confidence > 0):  # type: ignore[operator]
        raise SideError(f"the confidence of {what!r} is {confidence!r}; it must be a number above 0, or left out")


class Solver:
    """θ of all annotators, given distances and what is known of some."""

    def __init__(self, side: Side, annotators: Ids, expertise: Expertise) -> None:
        self.expertise = expertise
        names = [str(name) for name in annotators]
        ranges = self.ranges = [(_code(each.annotator, names), each) for each in side.ranges]
        self.orders = [order for each in side.orders for order in _pairs_of(each, names)]
        about = {code for code, _ in ranges} | {code for better, worse, _ in self.orders for code in (better, worse)}
        self.who = np.array(sorted(about), np.int64)
        self.soft = [(code, each) for code, each in ranges if each.confidence < SURE]
        self.low, self.high = np.full(expertise.n, -CLEAREST), np.full(expertise.n, CLEAREST)
        for code, each in ranges:
            if each.confidence == SURE:
                self.low[code], self.high[code] = max(self.low[code], each.low), min(self.high[code], each.high)
                if self.low[code] > self.high[code]:
                    raise SideError(f"what is said of θ of {each.annotator!r} contradicts itself")
        self.scale = 1.0 + np.bincount(expertise.annotator, minlength=expertise.n).max(initial=0)

    def start(self) -> tuple[Floats, NDArray[np.bool_]]:
        """θ to begin with, and whom to begin with: as if everybody were a little right, but for those of whom more is known."""
        theta, first = np.full(self.expertise.n, A_LITTLE), np.zeros(self.expertise.n, dtype=bool)
        for better, _, _ in self.orders:
            theta[better], first[better] = MUCH, True
        for code, each in self.ranges:
            low, high = np.clip([each.low, each.high], MUCH, -MUCH)
            if abs(low + high) >= 2 * TELLING:
                theta[code], first[code] = (low if low + high < 0 else high), True
            theta[code] = np.clip(theta[code], each.low, each.high)
        return np.clip(theta, self.low, self.high), first

    def solve(self, far: Floats, start: Floats | None = None) -> Floats:
        """Of the greatest likelihood, within all that is known; it is looked for around `start` first."""
        theta = np.clip(self.expertise.solve(far, start), self.low, self.high)
        if self.soft or self.orders:
            theta[self.who] = self._together(theta[self.who], far)
        return theta

    def _together(self, start: Floats, far: Floats) -> Floats:
        """Those that side information ties to each other, or draws without holding them."""
        from scipy.optimize import LinearConstraint, minimize  # here, not above: few have side information

        sure = [(better, worse) for better, worse, confidence in self.orders if confidence == SURE]
        kept = LinearConstraint(self._gaps(sure), 0.0, np.inf) if sure else ()
        found = minimize(
            lambda x: self.objective(x, far),
            start,
            jac=True,
            method="SLSQP",
            bounds=list(zip(self.low[self.who], self.high[self.who], strict=True)),
            constraints=kept,
            options={"ftol": 1e-12, "maxiter": 500},
        )
        return np.asarray(found.x)

    def _gaps(self, orders: Sequence[tuple[int, int]]) -> Floats:
        """A row for each order: θ of the worse less θ of the better."""
        gaps = np.zeros((len(orders), len(self.who)))
        for row, (better, worse) in enumerate(orders):
            gaps[row, np.searchsorted(self.who, better)] -= 1.0
            gaps[row, np.searchsorted(self.who, worse)] += 1.0
        return gaps

    def objective(self, x: Floats, far: Floats) -> tuple[float, Floats]:
        """Minus the log-posterior of the θ of `who`, and its gradient; in units of one list."""
        value, slope = self.expertise.terms(self.who, x, far)
        for code, each in self.soft:
            i = int(np.searchsorted(self.who, code))
            above, up = _log_sigmoid(each.confidence, x[i] - each.low)
            below, down = _log_sigmoid(each.confidence, each.high - x[i])
            value, slope[i] = value + above + below, slope[i] + up - down
        for better, worse, confidence in self.orders:
            if confidence < SURE:
                i, j = np.searchsorted(self.who, [better, worse])
                kept, up = _log_sigmoid(confidence, x[j] - x[i])
                value, slope[i], slope[j] = value + kept, slope[i] - up, slope[j] + up
        return -value / self.scale, -slope / self.scale


def _log_sigmoid(confidence: float, gap: float) -> tuple[float, float]:
    """Logarithm of σ(confidence × gap), and its derivative by the gap."""
    x = confidence * gap
    return -float(np.logaddexp(0.0, -x)), confidence * float(np.exp(-np.logaddexp(0.0, x)))


def _pairs_of(each: Better, names: Sequence[str]) -> list[tuple[int, int, float]]:
    better = _code(each.annotator, names)
    others = range(len(names)) if each.than is None else [_code(name, names) for name in each.than]
    if each.than is not None and better in others:
        raise SideError(f"{each.annotator!r} is said to be better than themselves")
    return [(better, worse, each.confidence) for worse in others if worse != better]


def _code(name: str, names: Sequence[str]) -> int:
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        meant = f" (did you mean {near[0]!r}?)" if near else ""
        raise SideError(f"side information names {name!r}, who is no annotator of the judgments{meant}")
    return names.index(name)


def read_side(path: str | os.PathLike[str]) -> Side:
    """Side information from a TOML file."""
    path = Path(path)
    try:
        told = tomllib.loads(path.read_text("utf-8"))
        return _side_of(told, path.parent)
    except OSError as error:
        raise SideError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise SideError(f"{path}: is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise SideError(f"{path}: is not TOML: {error}") from None
    except SideError as error:
        raise SideError(f"{path}: {error}") from None


def _side_of(told: Mapping[str, Any], folder: Path) -> Side:
    _only(told, "side information", "theta", "better", "truth")
    truth = told.get("truth", {})
    _only(truth, "truth", "gold", "confidence")
    gold = folder / truth["gold"] if "gold" in truth else None
    return Side(
        ranges=tuple(_range(name, value) for name, value in told.get("theta", {}).items()),
        orders=tuple(_better(each) for each in told.get("better", [])),
        truth=read_gold(gold) if gold else None,
        truth_confidence=truth.get("confidence", SURE),
    )


def _range(name: str, value: object) -> Range:
    if is_number(value):
        return Range(name, float(value), float(value))  # type: ignore[arg-type]
    if not isinstance(value, Mapping):
        raise SideError(f"θ of {name!r} is {value!r}; it must be a number, or {{ low = …, high = …, confidence = … }}")
    _only(value, f"theta.{name}", "theta", "low", "high", "confidence")
    low, high = (value.get("theta", value.get(side, end)) for side, end in (("low", -CLEAREST), ("high", CLEAREST)))
    return Range(name, low, high, value.get("confidence", SURE))


def _better(each: Mapping[str, Any]) -> Better:
    _only(each, "better", "annotator", "than", "confidence")
    if "annotator" not in each:
        raise SideError("a [[better]] must say which annotator")
    than = each.get("than")
    return Better(str(each["annotator"]), None if than is None else tuple(map(str, than)), each.get("confidence", SURE))


def _only(table: object, what: str, *names: str) -> None:
    """Refuse names that mean nothing here: what is misspelt would be left aside without a word."""
    if not isinstance(table, Mapping):
        raise SideError(f"{what} must be a table")
    if unknown := [name for name in table if name not in names]:
        raise SideError(f"{what} has {unknown[0]!r}; it may have {', '.join(names)}")
