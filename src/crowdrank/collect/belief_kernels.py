"""Variances and Betas around fitted scores and qualities, for each entry and annotator given all others."""

from __future__ import annotations

from crowdrank.methods.pairs.votes.online_kernels import (
    logistic,
    matched,
    tie_at,
    tie_moments,
    tie_threshold,
    truly_better,
)
from crowdrank.numerics.compiled import kernel


@kernel
def around(annotator, left, right, outcome, quality, mean, variance, alpha, beta, counts):
    """Update variances and Betas, in place, from the priors' to those given the judgments and the fitted means."""
    for r in range(len(outcome)):
        counts[0 if outcome[r] != 0 else 1] += 1
    ties = tie_threshold(counts)
    precision = 1 / variance
    for r in range(len(outcome)):
        i, j = left[r], right[r]
        gained = information(mean[i] - mean[j], quality[annotator[r]], ties)
        precision[i] += gained
        precision[j] += gained
    for i in range(len(precision)):
        variance[i] = 1 / precision[i]
    for r in range(len(outcome)):
        i, j, k = left[r], right[r], annotator[r]
        gap = mean[i] - mean[j]
        if outcome[r] == 0:
            alpha[k], beta[k] = tie_moments(alpha[k], beta[k], tie_at(gap, ties)[0] * (ties + 2) / ties)
        else:
            better = truly_better(logistic(gap * outcome[r]), variance[i] + variance[j])
            right_share = better * alpha[k] / (better * alpha[k] + (1 - better) * beta[k])
            alpha[k], beta[k] = matched(alpha[k], beta[k], right_share)


@kernel
def information(gap, quality, ties):
    """The Fisher information about the gap in an answer of an annotator of this quality."""
    p, q = logistic(gap), logistic(-gap)
    left = quality * p + (1 - quality) * q
    rise = (2 * quality - 1) * p * q
    if not ties > 0:
        return rise * rise / (left * (1 - left))
    use = (2 * quality - 1) * (2 * quality - 1)
    far, slope, _ = tie_at(gap, ties)
    tie, tie_rise = (1 - use) * ties / (ties + 2) + use * far, use * slope
    won, lost = (1 - tie) * rise - tie_rise * left, -(1 - tie) * rise - tie_rise * (1 - left)
    return tie_rise * tie_rise / tie + won * won / ((1 - tie) * left) + lost * lost / ((1 - tie) * (1 - left))
