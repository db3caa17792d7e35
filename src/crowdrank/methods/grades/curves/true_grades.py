"""The probability of each true grade of an entry: the grade that the crowd's best annotators would give.

Three models are asked, and believed as far as they predict grades that they have not seen:

- Relevance. The curves give the probability of each grade at each relevance. The reference is the mean curve of the
  annotators, weighted by how informative they are; its probabilities are averaged over the entry's posterior. Where
  entries differ in more than relevance (their grades vary more than the curves allow), the probabilities move towards
  the entry's own shares of grades: an entry's shares are Dirichlet around those of its relevance.
- Tables (`curves.classes`). Where items really have one true grade, and annotators err independently, a few grades
  leave little doubt about it. Where annotators share their errors, as language models do, this model is far too
  certain, and what it takes for true grades may be something else that the annotators have in common.
- Coins (`curves.classes`). The same with annotators who are right with one probability. It cannot follow annotators
  who confuse some grades, but its true grades always mean the grades they are named after.

Each grade is predicted from all others of its entry. Tables and coins are weighed by how much better tables predict
(`_weight_of_tables`): a little better is no proof of tables, since anything that items have in common predicts grades.
The two together are weighed against relevance by stacking, the weights that make the predictions of all grades most
likely. Where relevance has more than half of the weight, annotators do not err independently; then tables count
nothing, coins a third and relevance two thirds. The decision page 0050 has the measurements.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdrank.methods.grades.curves import label_kernels as kernels
from crowdrank.methods.grades.curves.classes import true_classes, true_coins
from crowdrank.methods.grades.curves.curves import Curves, GradesByProfile, sort_grades
from crowdrank.methods.grades.curves.information import informativeness
from crowdrank.methods.grades.curves.possible import possible_truths
from crowdrank.study import Codes, Floats

STACKING_STEPS = 100
LEAST_WEIGHT = 1e-9  # of an annotator without information: there must be a reference
LEAST_STRENGTH = 1e-9  # of the curves: entries that nobody graded have nothing else
TABLES_BETTER = 0.087  # nats, for one grade of each entry: tables and coins have the same weight
LARGEST_EXPONENT = 600.0  # of a probability


def true_grade_chances(rows: GradesByProfile, curves: Curves, entry_task: Codes) -> Floats:
    """Per entry, the probability of each grade of the scale, which all annotators share; NaN without grades."""
    chance = grades_by_relevance(rows, curves)
    possible = possible_truths(rows.entry, rows.level, rows.n_entries, curves.table.shape[1])
    if np.count_nonzero(possible) > 1:
        chance[:, ~possible] = 0.0
        chance /= chance.sum(axis=1, keepdims=True)
        chance[:, possible] = _with_classes(rows, curves, chance[:, possible], entry_task, possible)
    chance[np.diff(rows.entry_starts) == 0] = np.nan
    return chance


def _with_classes(
    rows: GradesByProfile, curves: Curves, relevance: Floats, entry_task: Codes, possible: NDArray[np.bool_]
) -> Floats:
    """The probabilities by relevance, combined with those of true grades; all of the grades that are possible."""
    kept, size = possible[rows.level], relevance.shape[1]
    used = rows if kept.all() else _with_levels(rows, possible)
    graded = np.diff(used.entry_starts) > 0
    per_entry = len(used.entry) / np.count_nonzero(graded)
    tables, coins = true_classes(used, size, entry_task), true_coins(used, size, entry_task)
    chance, by_relevance = tables.chance, relevance
    if np.log(coins.likelihood).mean() > np.log(habits(used, size)).mean():  # else they explain nothing
        better = float(np.log(tables.likelihood / coins.likelihood).mean())
        share = _weight_of_tables(better, per_entry)
        chance, relevance = share * chance + (1 - share) * coins.chance, (coins.chance + 2 * relevance) / 3
    weight = stacking_weight(tables.likelihood, left_out_likelihood(rows, curves)[kept])
    if weight >= 0.5:
        # Grades say less about a model of the truth than about a model of grades; the more of them an entry has, the
        # more.
        power = max(2.0, np.sqrt(per_entry))
        weight = weight**power / (weight**power + (1 - weight) ** power)
        relevance = weight * chance + (1 - weight) * relevance
    return np.where(graded[:, None], relevance, by_relevance)


def _with_levels(rows: GradesByProfile, possible: NDArray[np.bool_]) -> GradesByProfile:
    """The rows of these levels alone, with new numbers for the levels."""
    kept, number = possible[rows.level], (np.cumsum(possible) - 1).astype(np.int32)
    return sort_grades(rows.entry[kept], rows.profile[kept], number[rows.level[kept]], rows.scale, rows.n_entries)


def _weight_of_tables(better: float, per_entry: float) -> float:
    """The weight of tables beside coins, by how much better they predict a grade, in nats."""
    enough = TABLES_BETTER / np.sqrt(per_entry)
    return float(1 / (1 + np.exp(-np.clip((better - enough) / (0.4 * enough), -LARGEST_EXPONENT, LARGEST_EXPONENT))))


def habits(rows: GradesByProfile, size: int) -> Floats:
    """Per row: the probability of its grade by the annotator's other grades alone, whatever the entry."""
    overall = np.bincount(rows.level, minlength=size) + 1.0
    count = np.bincount(rows.profile.astype(np.int64) * size + rows.level, minlength=rows.n_profiles * size)
    own = count.reshape(-1, size)[rows.profile, rows.level] - 1
    total = np.diff(rows.profile_starts)[rows.profile] - 1
    return np.asarray((own + size * overall[rows.level] / overall.sum()) / (total + size))


def grades_by_relevance(rows: GradesByProfile, curves: Curves) -> Floats:
    """The probabilities of the reference's grades, moved towards each entry's own shares where entries differ."""
    count = np.diff(rows.profile_starts)
    weight = count * np.maximum(informativeness(curves.gaussians)[0], LEAST_WEIGHT)
    reference = np.tensordot(weight / max(weight.sum(), LEAST_WEIGHT), np.exp(curves.table), 1)
    chance = curves.posterior @ reference.T
    given = np.zeros_like(chance)
    np.add.at(given, (rows.entry, rows.level), 1.0)
    strength = entry_strength(dispersion(rows, curves), rows)
    if not np.isfinite(strength):
        return np.asarray(chance)
    return np.asarray((given + strength * chance) / (given.sum(axis=1, keepdims=True) + strength))


def dispersion(rows: GradesByProfile, curves: Curves) -> float:
    """How much the counts of grades vary around what relevance and curves expect: 1 where nothing else varies.

    Only entries with several grades say something about it. Each has lost one grade to the estimate of its relevance.
    """
    squares, variance = np.zeros((2, rows.n_entries))
    kernels.squares_and_variance(
        rows.entry_starts, rows.profile, rows.level, curves.posterior, np.exp(curves.table), squares, variance
    )
    count = np.diff(rows.entry_starts)
    several = count > 1
    expected = float((variance[several] * (1 - 1 / count[several])).sum())
    return float(squares[several].sum()) / expected if expected > 0 else 1.0


def entry_strength(found: float, rows: GradesByProfile) -> float:
    """The strength of the Dirichlet distribution of an entry's shares that gives this dispersion; ∞ where it is 1.

    Counts of n grades have (n + strength) / (1 + strength) times the variance of independent ones.
    """
    count = np.diff(rows.entry_starts)
    several = count[count > 1]
    if found <= 1 or not len(several):
        return np.inf
    return max((float(several.mean()) - found) / (found - 1), LEAST_STRENGTH)


def left_out_likelihood(rows: GradesByProfile, curves: Curves) -> Floats:
    """Per row: the probability of its grade given the other grades of its entry.

    The curves have seen the grade: every free parameter of a profile costs one unit of log-likelihood (Akaike).
    """
    likelihood = np.empty(len(rows.entry))
    inverse = np.exp(np.minimum(-curves.table, LARGEST_EXPONENT))
    kernels.predict_left_out(rows.entry, rows.profile, rows.level, curves.posterior, inverse, likelihood)
    count = np.maximum(np.diff(rows.profile_starts), 1)
    return np.asarray(likelihood * np.exp(-(curves.free_parameters / count)[rows.profile]))


def stacking_weight(one: Floats, other: Floats) -> float:
    """The weight of the first model that makes the mixture of both most likely (EM)."""
    weight = 0.5
    for _ in range(STACKING_STEPS):
        first = weight * one
        weight = float(np.mean(first / np.maximum(first + (1 - weight) * other, np.finfo(float).tiny)))
    return weight
