"""Informativeness of annotators: the mutual information of a grade and relevance, in nats."""

from __future__ import annotations

import math

import numpy as np

from crowdrank.methods.grades.curves.curves import Gaussians
from crowdrank.numerics.compiled import for_work, kernel
from crowdrank.study import Floats

NODES = np.linspace(-4.0, 4.0, 33)
DENSITY = np.exp(-NODES * NODES / 2) / np.exp(-NODES * NODES / 2).sum()


def informativeness(curves: Gaussians) -> tuple[Floats, Floats]:
    """Per profile: the information of a grade about relevance, and of a grade of a pair about their difference.

    Metrikov et al., eq. 5 and 11. Relevance is N(0, 1) before the grade, so a difference is N(0, 2).
    """
    alone, paired = np.zeros(len(curves.mean)), np.zeros(len(curves.mean))
    with np.errstate(divide="ignore"):
        log_weight = np.log(curves.weight)
    inform = for_work(_information, 3 * len(NODES) * log_weight.size * log_weight.shape[1])
    inform(curves.mean, curves.variance, log_weight, curves.n_levels, NODES, DENSITY, alone, paired)
    return alone, paired


@kernel
def _information(mean, variance, log_weight, n_levels, nodes, density, alone, paired):
    most, n = mean.shape[1], len(nodes)
    single, double = np.empty((most, n)), np.empty((most * most, n))
    given, other = np.empty((most, most)), np.empty((most, most))
    for a in range(len(mean)):
        size = n_levels[a]
        for q in range(n):
            for g in range(size):
                distance = nodes[q] - mean[a, g]
                single[g, q] = log_weight[a, g] - distance * distance / (2 * variance[a])
            gap = nodes[q] * math.sqrt(2.0)
            _log_chances_given_other(gap, size, mean[a], variance[a], log_weight[a], given)
            _log_chances_given_other(-gap, size, mean[a], variance[a], log_weight[a], other)
            for g in range(size):
                for h in range(size):  # the geometric mean of both directions, which _mutual_information normalises
                    double[g * size + h, q] = (given[g, h] + other[h, g]) / 2
        alone[a] = _mutual_information(single, size, density)
        paired[a] = _mutual_information(double, size * size, density) / 2


@kernel
def _log_chances_given_other(gap, size, mean, variance, log_weight, log_chance):
    """The log-probability of grade g for an entry that is better by `gap` than an entry that got grade h."""
    for h in range(size):
        top = -np.inf
        for g in range(size):
            distance = gap - mean[g] + mean[h]
            log_chance[g, h] = log_weight[g] - distance * distance / (2 * variance)
            top = max(top, log_chance[g, h])
        total = 0.0
        for g in range(size):
            total += math.exp(log_chance[g, h] - top)
        for g in range(size):
            log_chance[g, h] -= top + math.log(total)


@kernel
def _mutual_information(log_chance, size, density):
    """The mutual information of outcome and node; the outcomes' probabilities are given up to a factor at each node."""
    n = len(density)
    overall = np.zeros(size)
    for q in range(n):
        top = -np.inf
        for g in range(size):
            top = max(top, log_chance[g, q])
        total = 0.0
        for g in range(size):
            total += math.exp(log_chance[g, q] - top)
        for g in range(size):
            log_chance[g, q] -= top + math.log(total)
            overall[g] += density[q] * math.exp(log_chance[g, q])
    found = 0.0
    for g in range(size):
        if overall[g] > 0:
            for q in range(n):
                found += density[q] * math.exp(log_chance[g, q]) * (log_chance[g, q] - math.log(overall[g]))
    return max(found, 0.0)
