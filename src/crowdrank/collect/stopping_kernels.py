"""The kernels of the forecast: a simulated collection until a rule holds."""

from __future__ import annotations

import math

import numpy as np

from crowdrank.methods.pairs.votes.online_kernels import logistic, narrowed, win
from crowdrank.numerics.compiled import kernel

EVERY = 10  # judgments between two updates of the edge of the best k


@kernel
def simulate(truth, quality, beliefs, starts, rule, random):
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


@kernel
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


@kernel
def draw(random):
    """A random number between 0 and 1 (splitmix64); `random` holds the state of the generator."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((z ^ (z >> np.uint64(31))) >> np.uint64(11)) / 9007199254740992.0


@kernel
def partner_of(i, mean, variance, start, end):
    """The entry whose comparison with i is most informative."""
    best, most = -1, -1.0
    for j in range(start, end):
        p = logistic(mean[i] - mean[j])
        information = (variance[i] + variance[j]) * p * (1 - p)
        if j != i and information > most:
            best, most = j, information
    return best


@kernel
def take(i, j, k, mean, variance, alpha, beta):
    """Update the state, in place, by the judgment of k that i is better than j."""
    _, pull, curvature, alpha[k], beta[k] = win(mean[i] - mean[j], variance[i] + variance[j], alpha[k], beta[k], 0.0)
    mean[i] += variance[i] * pull
    mean[j] -= variance[j] * pull
    variance[i], variance[j] = narrowed(variance[i], curvature), narrowed(variance[j], curvature)
