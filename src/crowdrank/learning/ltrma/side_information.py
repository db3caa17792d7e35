"""Side information, what is known about annotators beforehand: their θ or a range of it, who is better than whom, the
true order of some tasks.

Each piece has a confidence η. Where it is infinite (the default) the piece is treated as exact: a θ is fixed, and a
range or an order always holds. A finite one counts as evidence together with the judgments, after the paper's equations
35 and 44:

    log σ(η (θ − low)) + log σ(η (high − θ))   for a range (of one point, for a θ)
    log σ(η (θ_worse − θ_better))              for an order

All of these are concave, as is the likelihood: any combination has one solution. The paper's equations 38 and 48
differentiate f where the objective has log f. The true order of some tasks is a list for each of them by an annotator
whose θ is −η. A file of side information is TOML:

    [theta]
    ann = -2.5
    bob = { low = -3, high = -1, confidence = 20 }

    [[better]]
    annotator = "ann"
    than = ["cy", "dee"]        # without it: than everybody else
    confidence = 20

    [truth]
    gold = "gold.csv"           # in the folder of this file, or an absolute path
"""

from __future__ import annotations

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
from crowdrank.settings import InputError, did_you_mean, is_number
from crowdrank.study import Floats, Gold, Ids

EXACT = float("inf")  # the confidence of a piece that is treated as exact
LARGEST = 1e15  # θ or confidence
USUAL_START, BETTER_START = -0.3, -1.0  # the first θ, and that of annotators known to be better than others
LEAST_MIDDLE = 0.1  # the middle of a range of θ beyond which it says whether lists are right or reversed


class SideError(InputError):
    """Side information that cannot be used as it is."""


@dataclass(frozen=True, slots=True)
class Range:
    """θ of an annotator lies between two numbers, which may be the same."""

    annotator: str
    low: float
    high: float
    confidence: float = EXACT


@dataclass(frozen=True, slots=True)
class Better:
    """An annotator is better (has a lower θ) than some others, or than all."""

    annotator: str
    than: tuple[str, ...] | None = None
    confidence: float = EXACT


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """Side information: ranges of θ, orders of annotators, and the true order of some tasks."""

    ranges: tuple[Range, ...] = ()
    orders: tuple[Better, ...] = ()
    truth: Gold | None = None
    truth_confidence: float = EXACT

    def __post_init__(self) -> None:
        for order in self.orders:
            _check_confidence(order.annotator, order.confidence)
        _check_confidence("truth", self.truth_confidence)
        for each in self.ranges:
            _check_confidence(each.annotator, each.confidence)
            if not (is_number(each.low) and is_number(each.high) and -LARGEST <= each.low <= each.high <= LARGEST):
                raise SideError(
                    f"the range of θ of {each.annotator!r} is {each.low} to {each.high}; "
                    f"give the lower number first, both from {-LARGEST:g} to {LARGEST:g}"
                )

    @property
    def known(self) -> tuple[Range, ...]:
        """Ranges of one point: known θ."""
        return tuple(each for each in self.ranges if each.low == each.high)


def _check_confidence(what: str, confidence: object) -> None:
    if not (is_number(confidence) and (0 < confidence <= LARGEST or confidence == EXACT)):  # type: ignore[operator]
        raise SideError(
            f"the confidence of {what!r} is {confidence!r}; give a number above 0, or none for exact information"
        )


class Solver:
    """The M-step of θ with side information."""

    def __init__(self, side: Side, annotators: Ids, expertise: Expertise) -> None:
        self.expertise = expertise
        names = [str(name) for name in annotators]
        ranges = self.ranges = [(_code(each.annotator, names), each) for each in side.ranges]
        self.orders = [order for each in side.orders for order in _pairs_of(each, names)]
        concerned = {code for code, _ in ranges} | {
            code for better, worse, _ in self.orders for code in (better, worse)
        }
        self.who = np.array(sorted(concerned), np.int64)
        self.soft = [(code, each) for code, each in ranges if each.confidence < EXACT]
        self.low, self.high = np.full(expertise.n, -CLEAREST), np.full(expertise.n, CLEAREST)
        for code, each in ranges:
            if each.confidence == EXACT:
                self.low[code], self.high[code] = max(self.low[code], each.low), min(self.high[code], each.high)
                if self.low[code] > self.high[code]:
                    raise SideError(f"two ranges of θ of {each.annotator!r} do not overlap; give one that holds")
        self.scale = 1.0 + np.bincount(expertise.annotator, minlength=expertise.n).max(initial=0)

    def start(self) -> tuple[Floats, NDArray[np.bool_]]:
        """The first θ, and whether side information says that an annotator is right, or reversed."""
        theta, informed = np.full(self.expertise.n, USUAL_START), np.zeros(self.expertise.n, dtype=bool)
        for better, _, _ in self.orders:
            theta[better], informed[better] = BETTER_START, True
        for code, each in self.ranges:
            low, high = np.clip([each.low, each.high], BETTER_START, -BETTER_START)
            if abs(low + high) >= 2 * LEAST_MIDDLE:
                theta[code], informed[code] = (low if low + high < 0 else high), True
            theta[code] = np.clip(theta[code], each.low, each.high)
        return np.clip(theta, self.low, self.high), informed

    def solve(self, distance: Floats, start: Floats | None = None) -> Floats:
        """The most likely θ given each annotator's distance and the side information; the search begins at `start`."""
        theta = np.clip(self.expertise.solve(distance, start), self.low, self.high)
        if self.soft or self.orders:
            theta[self.who] = self._solve_jointly(theta[self.who], distance)
        return theta

    def _solve_jointly(self, start: Floats, distance: Floats) -> Floats:
        """θ of the annotators that side information is about."""
        from scipy.optimize import LinearConstraint, minimize  # here, not above: few have side information

        exact = [(better, worse) for better, worse, confidence in self.orders if confidence == EXACT]
        constraints = LinearConstraint(self._gaps(exact), 0.0, np.inf) if exact else ()
        found = minimize(
            lambda x: self.objective(x, distance),
            start,
            jac=True,
            method="SLSQP",
            bounds=list(zip(self.low[self.who], self.high[self.who], strict=True)),
            constraints=constraints,
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

    def objective(self, x: Floats, distance: Floats) -> tuple[float, Floats]:
        """Minus the log-posterior of the θ of `who`, and its gradient; in units of one list."""
        value, slope = self.expertise.terms(self.who, x, distance)
        for code, each in self.soft:
            i = int(np.searchsorted(self.who, code))
            above, up = _log_sigmoid(each.confidence, x[i] - each.low)
            below, down = _log_sigmoid(each.confidence, each.high - x[i])
            value, slope[i] = value + above + below, slope[i] + up - down
        for better, worse, confidence in self.orders:
            if confidence < EXACT:
                i, j = np.searchsorted(self.who, [better, worse])
                log_chance, up = _log_sigmoid(confidence, x[j] - x[i])
                value, slope[i], slope[j] = value + log_chance, slope[i] - up, slope[j] + up
        return -value / self.scale, -slope / self.scale


def _log_sigmoid(confidence: float, gap: float) -> tuple[float, float]:
    """Logarithm of σ(confidence × gap), and its derivative by the gap."""
    x = confidence * gap
    return -float(np.logaddexp(0.0, -x)), confidence * float(np.exp(-np.logaddexp(0.0, x)))


def _pairs_of(each: Better, names: Sequence[str]) -> list[tuple[int, int, float]]:
    """The codes of better and worse annotators, and the confidence."""
    better = _code(each.annotator, names)
    others = range(len(names)) if each.than is None else [_code(name, names) for name in each.than]
    if each.than is not None and better in others:
        raise SideError(f"side information says that {each.annotator!r} is better than {each.annotator!r}; remove this")
    return [(better, worse, each.confidence) for worse in others if worse != better]


def _code(name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise SideError(
            f"side information names {name!r}, who is no annotator of the judgments{did_you_mean(name, names)}"
        )
    return names.index(name)


def read_side(path: str | os.PathLike[str]) -> Side:
    """Side information from a TOML file."""
    path = Path(path)
    try:
        return _side_of(tomllib.loads(path.read_text("utf-8")), path.parent)
    except OSError as error:
        raise SideError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise SideError(f"{path}: is not UTF-8") from None
    except SideError as error:
        raise SideError(f"{path}: {error}") from None
    except InputError:  # of the gold
        raise
    except (ValueError, RecursionError) as error:  # of a number of 5,000 digits, and of 5,000 brackets
        raise SideError(f"{path}: is not TOML: {error}") from None


def _side_of(table: Mapping[str, Any], folder: Path) -> Side:
    """Side information from the tables of a file in this folder."""
    _only(table, "side information", "theta", "better", "truth")
    truth = table.get("truth", {})
    _only(truth, "truth", "gold", "confidence")
    theta, better, gold = table.get("theta", {}), table.get("better", []), truth.get("gold")
    if not isinstance(theta, Mapping) or not isinstance(better, list) or not isinstance(gold, str | None):
        raise SideError("theta must be a table, better a list of tables [[better]], and gold the name of a file")
    return Side(
        ranges=tuple(_range(name, value) for name, value in theta.items()),
        orders=tuple(map(_better, better)),
        truth=read_gold(folder / gold) if gold else None,
        truth_confidence=truth.get("confidence", EXACT),
    )


def _range(name: str, value: object) -> Range:
    """The range of an annotator: a number, or a table."""
    if is_number(value):
        return Range(name, value, value)  # type: ignore[arg-type]
    if not isinstance(value, Mapping):
        raise SideError(f"θ of {name!r} is {value!r}; it must be a number, or {{ low = …, high = …, confidence = … }}")
    _only(value, f"theta.{name}", "theta", "low", "high", "confidence")
    low, high = (value.get("theta", value.get(side, end)) for side, end in (("low", -CLEAREST), ("high", CLEAREST)))
    return Range(name, low, high, value.get("confidence", EXACT))


def _better(each: Mapping[str, Any]) -> Better:
    """One table [[better]]."""
    _only(each, "better", "annotator", "than", "confidence")
    if "annotator" not in each:
        raise SideError('a [[better]] must name an annotator: annotator = "…"')
    than = each.get("than")
    if not isinstance(than, list | None):
        raise SideError(f"than of {each['annotator']!r} is {than!r}; it must be a list of names")
    return Better(
        str(each["annotator"]), None if than is None else tuple(map(str, than)), each.get("confidence", EXACT)
    )


def _only(table: object, what: str, *names: str) -> None:
    """Refuse other names: a misspelt one would otherwise be ignored."""
    if not isinstance(table, Mapping):
        raise SideError(f"{what} must be a table")
    if unknown := [name for name in table if name not in names]:
        raise SideError(f"{what} has {unknown[0]!r}; it may have {', '.join(names)}")
