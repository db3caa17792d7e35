"""Kernels of the probabilities of true grades: counts and likelihoods of classes, dispersion, left-out grades."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.numerics.compiled import kernel
from crowdrank.study import Codes, Floats

STEP = 0.5  # how far the chances move in a step; whole steps of all entries at once may oscillate
TINY = 1e-9  # probability: nobody is certainly right


class SortedGrades(NamedTuple):
    """The grades by entry, and the task of each entry."""

    entry_starts: NDArray[np.int64]
    profile: Codes
    level: Codes
    entry_task: Codes


class ClassCrowd(NamedTuple):
    """The tables that the current chances give the annotators."""

    counts: Floats  # by profile, true grade and grade
    given: Floats  # by profile and true grade
    typical: Floats  # the virtual counts of each profile, by its types
    strength: float  # their sum for each true grade


class CoinCrowd(NamedTuple):
    """How often the current chances say that each annotator was right."""

    right: Floats
    given: Floats
    virtual: float  # right grades that everybody starts with
    strength: float  # of so many


class TrueShares(NamedTuple):
    """What the current chances say about the shares of the true grades."""

    in_task: Floats  # by task: entries of each true grade
    virtual: Floats  # virtual entries of each true grade in every task


@kernel
def count_grades(entry, annotator, level, chance, count):
    """Per annotator, how often each true grade got each grade."""
    for row in range(len(entry)):
        for t in range(chance.shape[1]):
            count[annotator[row], t, level[row]] += chance[entry[row], t]


@kernel
def add_log_likelihoods(count, prior, into):
    """Add the log-likelihood of the counts of each group, rows ~ Dirichlet(prior), for each of several priors."""
    rows, size = count.shape[1], count.shape[2]
    for group in range(len(count)):
        for t in range(rows):
            total = 0.0
            for g in range(size):
                total += count[group, t, g]
            if total < 1e-12:
                continue
            for k in range(len(prior)):
                virtual = 0.0
                value = 0.0
                for g in range(size):
                    virtual += prior[k, t, g]
                    if count[group, t, g] > 1e-12:
                        value += math.lgamma(prior[k, t, g] + count[group, t, g]) - math.lgamma(prior[k, t, g])
                into[group, k] += value + math.lgamma(virtual) - math.lgamma(virtual + total)


@kernel
def table_factors(first, rows, crowd, entry, before, factor):
    """Per row from the first on: the probability of its grade for each true grade, given all other entries."""
    for at in range(len(factor)):
        row = first + at
        a, g = rows.profile[row], rows.level[row]
        for t in range(factor.shape[1]):
            own = before[entry[row], t]
            others = max(crowd.counts[a, t, g] - own, 0.0) + crowd.typical[a, t, g]
            factor[at, t] = others / (max(crowd.given[a, t] - own, 0.0) + crowd.strength)


@kernel
def coin_factors(first, rows, crowd, entry, before, factor):
    """The same where an annotator is right with one probability, and all wrong grades are equally likely."""
    size = factor.shape[1]
    for at in range(len(factor)):
        row = first + at
        a, g = rows.profile[row], rows.level[row]
        others = max(crowd.right[a] - before[entry[row], g], 0.0) + crowd.virtual
        right = others / (crowd.given[a] - 1.0 + crowd.strength)
        for t in range(size):
            factor[at, t] = right if t == g else max(1.0 - right, TINY) / (size - 1)


@kernel
def move_chances(entries, rows, shares, factor, before, chance, likelihood):
    """Move the chances of some entries towards those given all other entries; returns how far they moved.

    `factor` has the rows of these entries. Writes the probability of each grade given all other rows to `likelihood`.
    """
    size, starts = before.shape[1], rows.entry_starts
    new, moved = np.empty(size), 0.0
    begin = starts[entries[0]]
    for entry in range(entries[0], entries[1]):
        first, last = starts[entry], starts[entry + 1]
        if first == last:
            continue
        in_task = shares.in_task[rows.entry_task[entry]]
        for t in range(size):
            new[t] = max(in_task[t] - before[entry, t], 0.0) + shares.virtual[t]
        for row in range(first, last):
            new *= factor[row - begin]
            new /= new.max()  # hundreds of rows would underflow
        new /= new.sum()
        for row in range(first, last):
            likelihood[row] = 1.0 / (new / factor[row - begin]).sum()
        for t in range(size):
            step = STEP * (new[t] - before[entry, t])
            chance[entry, t] = before[entry, t] + step
            moved += abs(step) / 2
    return moved


@kernel
def squares_and_variance(starts, profile, level, posterior, curves, squares, variance):
    """Per entry: the squared differences of the counts of grades from the expected ones, and their variance."""
    size, n = curves.shape[1], curves.shape[2]
    rest = np.empty(size)
    for entry in range(len(starts) - 1):
        rest[:] = 0.0
        for row in range(starts[entry], starts[entry + 1]):
            rest[level[row]] += 1.0
            for g in range(size):
                chance = 0.0
                for q in range(n):
                    chance += posterior[entry, q] * curves[profile[row], g, q]
                rest[g] -= chance
                variance[entry] += chance * (1 - chance)
        for g in range(size):
            squares[entry] += rest[g] * rest[g]


@kernel
def predict_left_out(entry, profile, level, posterior, inverse_curves, likelihood):
    """Without a grade, the posterior is divided by its curve, so the predictive probability is a harmonic mean."""
    n = posterior.shape[1]
    for row in range(len(entry)):
        inverse = 0.0
        for q in range(n):
            inverse += posterior[entry[row], q] * inverse_curves[profile[row], level[row], q]
        likelihood[row] = 1.0 / inverse
