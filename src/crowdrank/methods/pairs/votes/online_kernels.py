"""The closed-form Bayesian update of Crowd-BT, one judgment at a time (Chen et al., WSDM 2013, §4.1), and its ties.

What is believed: the score of entry i is normal with `mean[i]` and `variance[i]`; the quality of annotator k is
Beta(`alpha[k]`, `beta[k]`). A judgment moves both means and variances along the derivatives of its log-likelihood at
the means (Stein's lemma, eq. 12 to 15):

    μ_i += σ_i² pull,  μ_j −= σ_j² pull,  σ² *= max(1 + σ² bend, κ)

and replaces the Beta by the one with the mean and variance of the true posterior (eq. 17, 18), which is a mixture of
two Betas: Beta(α + 1, β), should the vote be right, with share w, and Beta(α, β + 1). Written so, no digits are lost:
with A = αβ + wβ + (1 − w)α,

    α' = (α + w) r,   β' = (β + 1 − w) r,   r = A / (A + w (1 − w) (α + β + 2))

Where the paper's expansion of C1, the chance that i is truly better (eq. 19, in which s^μ is a misprint for e^μ), may
leave (0, 1), ours is the fraction with the same first two terms, which cannot: ½ + (p − ½) / (1 + (σ_i² + σ_j²) p (1 −
p)), p = σ(μ_i − μ_j).

Ties are Davidson's with the readiness τ, as far as the annotator tells anything: f = (1 − u) t(0) + u t(d), with u =
(2η − 1)², t(d) = τ / (τ + 2 cosh(d / 2)). At η = ½, 0 and 1 this is the model of `crowd-bt`, and its moments are those
of a Beta in closed form.
"""

from __future__ import annotations

import math

import numba as nb

KAPPA = 1e-4  # κ of the paper: no judgment takes away more of a variance
WIDEST = 100.0  # variance; votes against all expectation widen beliefs, and must not do so without end


@nb.njit(cache=True, nogil=True)
def win(gap, spread, alpha, beta, ties):
    """The judgment that the first entry is better. `gap` is the difference of the means, `spread` the sum of the
    variances.

    Its chance; pull and bend; the annotator's new α and β.
    """
    seen, unseen = logistic(gap), logistic(-gap)
    told = alpha * seen / (alpha * seen + beta * unseen)
    pull, curvature = told - seen, told * (1 - told) - seen * (1 - seen)
    right = truly(seen, spread) * alpha
    wrong = (1 - truly(seen, spread)) * beta
    chance = (right + wrong) / (alpha + beta)
    share = right / (right + wrong)
    a, b = matched(alpha, beta, share)
    if ties > 0:
        tie, slope, curve = tie_chance(gap, alpha, beta, ties)
        chance *= 1 - tie
        pull -= slope / (1 - tie)
        curvature -= curve / (1 - tie) + (slope / (1 - tie)) ** 2
    return chance, pull, curvature, a, b


@nb.njit(cache=True, nogil=True)
def tie(gap, alpha, beta, ties):
    """The same for a tie."""
    chance, slope, curve = tie_chance(gap, alpha, beta, ties)
    pull = slope / chance
    curvature = curve / chance - pull * pull
    a, b = tie_moments(alpha, beta, tie_at(gap, ties)[0] * (ties + 2) / ties)
    return chance, pull, curvature, a, b


@nb.njit(cache=True, nogil=True)
def tie_moments(alpha, beta, rarer):
    """The Beta with the moments of the posterior after a tie between entries that tie `rarer` times as often as equal
    ones.

    The likelihood is proportional to rarer + (1 − rarer) 4 η (1 − η): its moments under a Beta are sums of products.
    """
    s, more = alpha + beta, 4 * (1 - rarer)
    total = rarer + more * alpha * beta / (s * (s + 1))
    right = alpha / s * (rarer + more * (alpha + 1) * beta / ((s + 1) * (s + 2))) / total
    wrong = beta / s * (rarer + more * alpha * (beta + 1) / ((s + 1) * (s + 2))) / total
    both = alpha * beta / (s * (s + 1)) * (rarer + more * (alpha + 1) * (beta + 1) / ((s + 2) * (s + 3))) / total
    size = both / (right * wrong - both)
    return right * size, wrong * size


@nb.njit(cache=True, nogil=True)
def tie_chance(gap, alpha, beta, ties):
    """The chance of a tie and its first two derivatives by the gap."""
    s = alpha + beta
    blind = 4 * alpha * beta / (s * (s + 1))  # the mean of 1 − u
    far, slope, curve = tie_at(gap, ties)
    return blind * ties / (ties + 2) + (1 - blind) * far, (1 - blind) * slope, (1 - blind) * curve


@nb.njit(cache=True, nogil=True)
def tie_at(gap, ties):
    """Davidson's chance of a tie and its first two derivatives by the gap; what would overflow is divided by e^|gap / 2|."""
    e = math.exp(-abs(gap) / 2)
    whole = ties * e + 1 + e * e
    rise = math.copysign((1 - e * e) / (2 * whole), gap)
    curvature = (ties * e * (1 + e * e) / 4 + e * e) / (whole * whole)
    chance = ties * e / whole
    return chance, -chance * rise, chance * (rise * rise - curvature)


@nb.njit(cache=True, nogil=True)
def truly(seen, spread):
    """C1: the chance that the first entry is better, the gap being uncertain."""
    return 0.5 + (seen - 0.5) / (1 + spread * seen * (1 - seen))


@nb.njit(cache=True, nogil=True)
def matched(alpha, beta, share):
    """The Beta with mean and variance of `share` Beta(α + 1, β) + (1 − share) Beta(α, β + 1)."""
    both = alpha * beta + share * beta + (1 - share) * alpha
    keep = both / (both + share * (1 - share) * (alpha + beta + 2))
    return (alpha + share) * keep, (beta + 1 - share) * keep


@nb.njit(cache=True, nogil=True)
def play(annotator, left, right, outcome, mean, variance, alpha, beta, counts):
    """Take judgments one after the other; the beliefs, and the counts of decided votes and ties, change in place."""
    for r in range(len(left)):
        i, j, k = left[r], right[r], annotator[r]
        if outcome[r] == 0:
            counts[1] += 1
            _, pull, curvature, a, b = tie(mean[i] - mean[j], alpha[k], beta[k], readiness(counts))
        else:
            counts[0] += 1
            if outcome[r] < 0:
                i, j = j, i
            _, pull, curvature, a, b = win(
                mean[i] - mean[j], variance[i] + variance[j], alpha[k], beta[k], readiness(counts)
            )
        alpha[k], beta[k] = a, b
        mean[i] += variance[i] * pull
        mean[j] -= variance[j] * pull
        variance[i] = narrowed(variance[i], curvature)
        variance[j] = narrowed(variance[j], curvature)


@nb.njit(cache=True, nogil=True)
def narrowed(variance, curvature):
    """The variance after a judgment."""
    return min(variance * max(1 + variance * curvature, KAPPA), WIDEST)


@nb.njit(cache=True, nogil=True)
def readiness(counts):
    """τ at which equal entries would tie as often as entries did so far; 0 before the first tie."""
    return 2 * counts[1] / (counts[0] + 1)


@nb.njit(cache=True, nogil=True)
def logistic(x):
    """σ(x) without overflow."""
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    e = math.exp(x)
    return e / (1 + e)
