"""The closed-form Bayesian update of Crowd-BT, one judgment at a time (Chen et al., WSDM 2013, §4.1), and its ties.

The state: the score of entry i is normal with `mean[i]` and `variance[i]`; the quality of annotator k is
Beta(`alpha[k]`, `beta[k]`). A judgment changes both means and variances by the first two derivatives of its
log-likelihood by the gap, slope and curvature, at the means (Stein's lemma, eq. 12 to 15):

    μ_i += σ_i² slope,  μ_j −= σ_j² slope,  σ² *= max(1 + σ² curvature, κ)

and replaces the Beta by the one with the mean and variance of the true posterior (eq. 17, 18), which is a mixture of
two Betas: Beta(α + 1, β), if the vote is right, with weight w, and Beta(α, β + 1). This form loses no digits: with A =
αβ + wβ + (1 − w)α,

    α' = (α + w) r,   β' = (β + 1 − w) r,   r = A / (A + w (1 − w) (α + β + 2))

The paper's expansion of C1, the chance that i is truly better (eq. 19, in which s^μ is a misprint for e^μ), may leave
(0, 1). Ours is the fraction with the same first two terms, which cannot: ½ + (p − ½) / (1 + (σ_i² + σ_j²) p (1 − p)), p
= σ(μ_i − μ_j).

Ties follow Davidson's model with the threshold τ, the more the better the annotator: f = (1 − u) t(0) + u t(d), with u
= (2η − 1)², t(d) = τ / (τ + 2 cosh(d / 2)). At η = ½, 0 and 1 this is the model of `crowd-bt`, and its moments are
those of a Beta in closed form.
"""

from __future__ import annotations

import math

from crowdrank.numerics.compiled import kernel

KAPPA = 1e-4  # κ of the paper: the smallest factor by which one judgment changes a variance
WIDEST = 100.0  # largest variance: very unlikely votes increase it, and must not do so without limit


@kernel
def win(gap, spread, alpha, beta, ties):
    """The judgment that the first entry is better: its chance, slope and curvature, and the annotator's new α and β.

    `gap` is the difference of the means, `spread` the sum of the variances.
    """
    better, worse = logistic(gap), logistic(-gap)
    posterior = alpha * better / (alpha * better + beta * worse)
    slope, curvature = posterior - better, posterior * (1 - posterior) - better * (1 - better)
    right = truly_better(better, spread) * alpha
    wrong = (1 - truly_better(better, spread)) * beta
    chance = (right + wrong) / (alpha + beta)
    share = right / (right + wrong)
    a, b = matched(alpha, beta, share)
    if ties > 0:
        tie, tie_slope, tie_curvature = tie_chance(gap, alpha, beta, ties)
        chance *= 1 - tie
        slope -= tie_slope / (1 - tie)
        curvature -= tie_curvature / (1 - tie) + (tie_slope / (1 - tie)) ** 2
    return chance, slope, curvature, a, b


@kernel
def tie(gap, alpha, beta, ties):
    """The same for a tie."""
    chance, chance_slope, chance_curvature = tie_chance(gap, alpha, beta, ties)
    slope = chance_slope / chance
    curvature = chance_curvature / chance - slope * slope
    a, b = tie_moments(alpha, beta, tie_at(gap, ties)[0] * (ties + 2) / ties)
    return chance, slope, curvature, a, b


@kernel
def tie_moments(alpha, beta, rarer):
    """The Beta with the moments of the posterior after a tie of entries that tie `rarer` times as often as equal ones.

    The likelihood is proportional to rarer + (1 − rarer) 4 η (1 − η): its moments under a Beta are sums of products.
    """
    s, more = alpha + beta, 4 * (1 - rarer)
    total = rarer + more * alpha * beta / (s * (s + 1))
    right = alpha / s * (rarer + more * (alpha + 1) * beta / ((s + 1) * (s + 2))) / total
    wrong = beta / s * (rarer + more * alpha * (beta + 1) / ((s + 1) * (s + 2))) / total
    both = alpha * beta / (s * (s + 1)) * (rarer + more * (alpha + 1) * (beta + 1) / ((s + 2) * (s + 3))) / total
    size = both / (right * wrong - both)
    return right * size, wrong * size


@kernel
def tie_chance(gap, alpha, beta, ties):
    """The chance of a tie and its first two derivatives by the gap."""
    s = alpha + beta
    random = 4 * alpha * beta / (s * (s + 1))  # the mean of 1 − u
    chance, slope, curvature = tie_at(gap, ties)
    return random * ties / (ties + 2) + (1 - random) * chance, (1 - random) * slope, (1 - random) * curvature


@kernel
def tie_at(gap, ties):
    """Davidson's chance of a tie and its first two derivatives by the gap; divided by e^|gap / 2| against overflow."""
    e = math.exp(-abs(gap) / 2)
    whole = ties * e + 1 + e * e
    rise = math.copysign((1 - e * e) / (2 * whole), gap)
    curvature = (ties * e * (1 + e * e) / 4 + e * e) / (whole * whole)
    chance = ties * e / whole
    return chance, -chance * rise, chance * (rise * rise - curvature)


@kernel
def truly_better(chance, spread):
    """C1: the chance that the first entry is better, given the chance at the mean gap and the variance of the gap."""
    return 0.5 + (chance - 0.5) / (1 + spread * chance * (1 - chance))


@kernel
def matched(alpha, beta, share):
    """The Beta with mean and variance of `share` Beta(α + 1, β) + (1 − share) Beta(α, β + 1)."""
    both = alpha * beta + share * beta + (1 - share) * alpha
    keep = both / (both + share * (1 - share) * (alpha + beta + 2))
    return (alpha + share) * keep, (beta + 1 - share) * keep


@kernel
def play(annotator, left, right, outcome, mean, variance, alpha, beta, counts):
    """Processes judgments one after the other; changes the distributions and the counts of decided votes and ties."""
    for r in range(len(left)):
        i, j, k = left[r], right[r], annotator[r]
        if outcome[r] == 0:
            counts[1] += 1
            _, slope, curvature, a, b = tie(mean[i] - mean[j], alpha[k], beta[k], tie_threshold(counts))
        else:
            counts[0] += 1
            if outcome[r] < 0:
                i, j = j, i
            _, slope, curvature, a, b = win(
                mean[i] - mean[j], variance[i] + variance[j], alpha[k], beta[k], tie_threshold(counts)
            )
        alpha[k], beta[k] = a, b
        mean[i] += variance[i] * slope
        mean[j] -= variance[j] * slope
        variance[i] = narrowed(variance[i], curvature)
        variance[j] = narrowed(variance[j], curvature)


@kernel
def narrowed(variance, curvature):
    """The variance after a judgment."""
    return min(variance * max(1 + variance * curvature, KAPPA), WIDEST)


@kernel
def tie_threshold(counts):
    """The threshold τ at which equal entries tie as often as entries did so far; 0 before the first tie."""
    return 2 * counts[1] / (counts[0] + 1)


@kernel
def logistic(x):
    """σ(x) without overflow."""
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    e = math.exp(x)
    return e / (1 + e)
