"""The probability of each true grade of an entry: the grade that the crowd's best annotators would give.

Two models are asked, and believed as far as they predict grades that they have not seen:

- Relevance. The curves give the probability of each grade at each relevance. The reference is the mean curve of the
  annotators, weighted by how informative they are; its probabilities are averaged over the entry's posterior. Where
  entries differ in more than relevance (their grades vary more than the curves allow), the probabilities move towards
  the entry's own shares of grades: an entry's shares are Dirichlet around those of its relevance.
- True classes (`curves.classes`). Where items really have one true grade, and annotators err independently, a few
  grades leave little doubt about it. Where annotators share their errors, as language models do, this model is far too
  certain.

Each grade is predicted from all others of its entry. The weights of the two models are those that make the predictions
of all grades most likely (stacking), with their odds squared. Classes that predict grades worse than relevance does are
not there, and count nothing.
"""

from __future__ import annotations

import numpy as np

from crowdrank.methods.grades.curves import label_kernels as kernels
from crowdrank.methods.grades.curves.classes import true_classes
from crowdrank.methods.grades.curves.curves import Curves, GradesByProfile
from crowdrank.methods.grades.curves.information import informativeness
from crowdrank.study import Codes, Floats

STACKING_STEPS = 100
LEAST_WEIGHT = 1e-9  # of an annotator without information: there must be a reference
LEAST_STRENGTH = 1e-9  # of the curves: entries that nobody graded have nothing else
LARGEST_EXPONENT = 600.0  # of an inverse probability


def true_grade_chances(rows: GradesByProfile, curves: Curves, entry_task: Codes) -> Floats:
    """Per entry, the probability of each grade of the scale, which all annotators share; NaN without grades."""
    size = curves.table.shape[1]
    chance = grades_by_relevance(rows, curves)
    if size > 1:
        classes = true_classes(rows, size, entry_task)
        weight = stacking_weight(classes.likelihood, left_out_likelihood(rows, curves))
        if weight >= 0.5:
            # Squared odds: grades say less about a model of the truth than about a model of grades.
            weight = weight**2 / (weight**2 + (1 - weight) ** 2)
            chance = weight * classes.chance + (1 - weight) * chance
    chance[np.diff(rows.entry_starts) == 0] = np.nan
    return chance


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
