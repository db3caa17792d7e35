"""The expected information of a question: the information gain of Chen et al. (WSDM 2013), eq. 10, with ties.

    Σ over the answers  P(answer) · [ KL(score of i) + KL(score of j) + γ KL(quality of k) ]

Each KL is between the distributions after and before the answer (`methods/pairs/votes/online_kernels.py`). For a given
Beta of the annotator, the gain in quality depends on the pair only through C1, the probability that the first is truly
better (and, for a tie, through how much rarer ties are than between equal entries). So where one annotator is asked
about many pairs it is tabulated, and the rest is arithmetic.
"""

from __future__ import annotations

import math

from crowdrank.methods.pairs.votes.online_kernels import KAPPA, logistic, matched, tie_at, tie_chance, tie_moments
from crowdrank.numerics.compiled import kernel

CELLS = 512  # of a table of quality gains
STEPS = 50  # passes of a loop that one gain takes as long as
NARROW = 2.0  # variance up to which `small_excess` is exact to nine digits
# Without checks for divisions by zero the compiler vectorises over four pairs. Fast arithmetic (`fastmath`) would save
# a quarter of the time, and give other bits on other processors and in Python.
arithmetic = kernel(error_model="numpy")


@kernel
def gains(annotator, left, right, mean, variance, alpha, beta, ties, gamma, out):
    """The expected gain of every question in a list."""
    for r in range(len(left)):
        i, j, k = left[r], right[r], annotator[r]
        gap, v, w = mean[i] - mean[j], variance[i], variance[j]
        out[r] = score_gain(gap, v, w, alpha[k], beta[k], ties)[0]
        if gamma > 0:
            out[r] += gamma * quality_gain(gap, v + w, alpha[k], beta[k], ties)


@kernel
def score_gain(gap, v, w, alpha, beta, ties):
    """The gain in two scores of variances `v` and `w`, C1 − ½, and the probability of a tie."""
    p, q = logistic(gap), logistic(-gap)
    lead, first, pull, curvature, pull_other, curvature_other = answers(p, q, v + w, alpha, beta)
    if not ties > 0:
        return first * moved(v, w, pull, curvature) + (1 - first) * moved(v, w, pull_other, curvature_other), lead, 0.0
    tie, slope, curve = tie_chance(gap, alpha, beta, ties)
    shift = slope / (1 - tie)
    more = curve / (1 - tie) + shift * shift
    won, lost = moved(v, w, pull - shift, curvature - more), moved(v, w, pull_other + shift, curvature_other - more)
    pull_tied = slope / tie
    tied = moved(v, w, pull_tied, curve / tie - pull_tied * pull_tied)
    return (1 - tie) * (first * won + (1 - first) * lost) + tie * tied, lead, tie


@kernel
def quality_gain(gap, spread, alpha, beta, ties):
    """The gain in the annotator's quality."""
    p = logistic(gap)
    decided = decided_quality_gain(2 * abs((p - 0.5) / (1 + spread * p * (1 - p))), alpha, beta)
    if not ties > 0:
        return decided
    tie = tie_chance(gap, alpha, beta, ties)[0]
    return (1 - tie) * decided + tie * tied_quality_gain(rarity(gap, ties), alpha, beta)


@kernel
def rarity(gap, ties):
    """The probability of a tie at this gap, relative to that between equal entries."""
    return tie_at(gap, ties)[0] * (ties + 2) / ties


@kernel
def decided_quality_gain(known, alpha, beta):
    """The gain in quality of a vote, where `known` = 2 |C1 − ½|: 0 if the order is unknown, 1 if it is certain."""
    total = 0.0
    for better in ((1 + known) / 2, (1 - known) / 2):
        right, wrong = better * alpha, (1 - better) * beta
        a, b = matched(alpha, beta, right / (right + wrong))
        total += (right + wrong) / (alpha + beta) * beta_divergence(a, b, alpha, beta)
    return total


@kernel
def tied_quality_gain(rarer, alpha, beta):
    """The gain in quality of a tie."""
    a, b = tie_moments(alpha, beta, rarer)
    return beta_divergence(a, b, alpha, beta)


@arithmetic
def answers(p, q, spread, alpha, beta):
    """C1 − ½, the probability that the first is put first, and slope and curvature of either answer.

    p is σ(gap), q is 1 − p.
    """
    lead = (p - 0.5) / (1 + spread * p * q)
    after, after_other = alpha * p / (alpha * p + beta * q), alpha * q / (alpha * q + beta * p)
    curvature, curvature_other = after * (1 - after) - p * q, after_other * (1 - after_other) - p * q
    return lead, 0.5 + lead * (alpha - beta) / (alpha + beta), after - p, curvature, after_other - q, curvature_other


@kernel
def moved(v, w, pull, curvature):
    """KL of the distributions of two scores after a judgment from those before."""
    x, y = max(v * curvature, KAPPA - 1), max(w * curvature, KAPPA - 1)
    return 0.5 * (x - math.log1p(x) + y - math.log1p(y) + (v + w) * pull * pull)


@arithmetic
def row_gains(i, start, end, odds, variance, alpha, beta, gain, lead):
    """The gain in scores of entry i with each entry of a range, and C1 − ½.

    For studies without ties whose variances are all at most NARROW. `odds` are e^mean.
    """
    for j in range(start, end):
        v, w, p = variance[i], variance[j], odds[i] / (odds[i] + odds[j])
        ahead, first, pull, curvature, pull_other, curvature_other = answers(p, 1 - p, v + w, alpha, beta)
        won = small_excess(v * curvature) + small_excess(w * curvature) + (v + w) * pull * pull
        lost = small_excess(v * curvature_other) + small_excess(w * curvature_other) + (v + w) * pull_other * pull_other
        gain[j] = 0.5 * (first * won + (1 - first) * lost)
        lead[j] = ahead


@arithmetic
def small_excess(x):
    """X − log(1 + x) for |x| ≤ ½, by the series of the logarithm in x / (2 + x)."""
    r = 1 / (2 + x)
    z = x * r
    s = z * z
    rest = 1 / 9 + s * (1 / 11 + s * (1 / 13 + s * (1 / 15 + s / 17)))
    return x * x * r - 2 * z * s * (1 / 3 + s * (1 / 5 + s * (1 / 7 + s * rest)))


@kernel
def looked_up(table, x):
    """The value at x in [0, 1] of a function tabulated at CELLS + 1 points: the parabola through the nearest three."""
    at = x * CELLS
    middle = min(max(int(at + 0.5), 1), CELLS - 1)
    below, here, above = table[middle - 1], table[middle], table[middle + 1]
    u = at - middle
    return here + u * ((above - below) / 2 + u * ((above + below) / 2 - here))


@kernel
def fill_table(alpha, beta, ties, table):
    """Tabulate the gain in quality of a vote by 2 |C1 − ½| and, where there are ties, that of a tie by its rarity."""
    for cell in range(CELLS + 1):
        table[0, cell] = decided_quality_gain(cell / CELLS, alpha, beta)
        if ties > 0:
            table[1, cell] = tied_quality_gain(cell / CELLS, alpha, beta)


@kernel
def beta_divergence(a, b, alpha, beta):
    """KL(Beta(a, b) ‖ Beta(alpha, beta))."""
    before = log_gamma(alpha) + log_gamma(beta) - log_gamma(alpha + beta)
    after = log_gamma(a) + log_gamma(b) - log_gamma(a + b)
    change = (a - alpha) * digamma(a) + (b - beta) * digamma(b) + (alpha + beta - a - b) * digamma(a + b)
    return max(before - after + change, 0.0)


@kernel
def log_gamma(x):
    """The logarithm of the gamma function by Stirling's series, without log √2π; compiled `math.lgamma` differs."""
    product = 1.0
    while x < 8:
        product *= x
        x += 1
    w = 1 / (x * x)
    late = w * (1 / 1680 - w * (1 / 1188 - w * (691 / 360360 - w / 156)))
    series = (1 / 12 - w * (1 / 360 - w * (1 / 1260 - late))) / x
    return (x - 0.5) * math.log(x) - x + series - math.log(product)


@kernel
def digamma(x):
    """As `numerics.special.digamma`, for one number."""
    below = 0.0
    while x < 8:
        below += 1 / x
        x += 1
    w = 1 / (x * x)
    series = w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w * (1 / 240 - w * (5 / 660 - w * 691 / 32760)))))
    return math.log(x) - 1 / (2 * x) - series - below
