"""The rating scale model: the chance of a value v at a location x is proportional to exp(slope · v · x + base of v).

Andrich: A rating formulation for ordered response categories, Psychometrika 1978. Judgments of the same location are
counted first, so that the cost grows with the locations, not with the judgments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.sums import sum_by
from crowdrank.study import Codes, Floats

STEPS = 100
PENALTY = 1e-3  # keeps the slope finite where the scores explain every judgment
NEAR = 0.01  # steps of the logarithms of slopes


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """How often each value was given at each location."""

    location: Floats
    count: Floats  # location × value
    value: Floats
    free: Floats  # value × free base: which values each base raises

    @property
    def total(self) -> Floats:
        return np.asarray(self.count.sum(axis=1))


def one_slope(counts: Counts) -> tuple[float, Floats, Floats]:
    """The slope, the bases and the chance of each value at each location, by maximum likelihood."""
    value, free, total = counts.value, counts.free, counts.total
    if not len(total):
        return 1.0, np.zeros(free.shape[1]), np.zeros((0, len(value)))
    location, scale = _standardised(counts)
    parameters = np.zeros(1 + free.shape[1])
    penalty = np.full(len(parameters), PENALTY)
    given = location @ (counts.count @ value), counts.count.sum(axis=0) @ free
    for _ in range(STEPS):
        chance = _chances(location, parameters, value, free)
        gradient = np.r_[given[0] - location @ (total * (chance @ value)), given[1] - total @ chance @ free]
        information = _information(location, total, chance, value, free) + np.diag(penalty)
        step = np.linalg.solve(information, gradient - penalty * parameters)
        parameters += np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < 1e-9:
            break
    return float(parameters[0] / scale), parameters[1:], _chances(location, parameters, value, free)


def slope_per_task(
    slope: float, bases: Floats, counts: Counts, task: Codes, n_entries: NDArray[np.integer[Any]]
) -> tuple[Floats, Floats]:
    """The slope of each task, and the chance of each value at each location, from the slope of all.

    Logarithms of slopes are normal around a line over the logarithm of the task's number of entries. The line and the
    variance around it are learned (EM): a few judgments hardly change the slope of a task.
    """
    value, free, total, size = counts.value, counts.free, counts.total, len(n_entries)
    log_slope, variance = np.full(size, np.log(slope)), 1.0
    judged = np.bincount(task, minlength=size) > 0
    line = np.column_stack([np.ones(size), np.log(np.maximum(n_entries, 1))])
    given, given_free = counts.count @ value, counts.count.sum(axis=0) @ free
    for _ in range(STEPS):
        location = np.exp(log_slope)[task] * counts.location
        chance = _chances(location, np.r_[1.0, bases], value, free)
        expected, raised = chance @ value, chance @ free
        centre = line @ np.linalg.lstsq(line[judged], log_slope[judged])[0]
        pull = sum_by(task, location * (given - total * expected), size) - (log_slope - centre) / variance
        hold = sum_by(task, location**2 * total * (chance @ value**2 - expected**2), size) + 1 / variance
        step = np.clip(pull / hold, -1.0, 1.0)
        log_slope += step
        bases = bases + (given_free - total @ raised) / np.maximum(total @ (raised * (1 - raised)), PENALTY)
        variance = float(((log_slope - centre) ** 2 + 1 / hold)[judged].mean())
        if np.abs(step).max() < NEAR:
            break
    slopes = np.exp(log_slope)
    return slopes, _chances(slopes[task] * counts.location, np.r_[1.0, bases], value, free)


def _standardised(counts: Counts) -> tuple[Floats, float]:
    """Locations with a standard deviation of 1; gaps of pairs are not moved."""
    total = counts.total
    mean = float(total @ counts.location / total.sum())
    scale = float(np.sqrt(total @ (counts.location - mean) ** 2 / total.sum())) or 1.0
    return (counts.location - (0.0 if counts.free.shape[1] <= 1 else mean)) / scale, scale


def _chances(location: Floats, parameters: Floats, value: Floats, free: Floats) -> Floats:
    log = parameters[0] * np.outer(location, value) + free @ parameters[1:]
    chance = np.exp(log - log.max(axis=1, keepdims=True))
    return np.asarray(chance / chance.sum(axis=1, keepdims=True))


def _information(location: Floats, total: Floats, chance: Floats, value: Floats, free: Floats) -> NDArray[Any]:
    """The Fisher information of slope and bases."""
    expected, raised = chance @ value, chance @ free
    with_value = (chance * value) @ free - expected[:, None] * raised
    weighted = location * total
    slope = np.r_[(weighted * location) @ (chance @ value**2 - expected**2), weighted @ with_value]
    bases = free.T @ ((total @ chance)[:, None] * free) - raised.T @ (total[:, None] * raised)
    return np.vstack([slope, np.column_stack([slope[1:], bases])])
