"""How reliable a scale is: scale separation reliability and split-half correlation.

Pollitt: The method of adaptive comparative judgement, Assessment in Education 19, 2012. Bisson et al.: Measuring
conceptual understanding using comparative judgement, IJRUME 2, 2016 (split halves of the annotators).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.evaluation.bootstrap import without_intervals
from crowdrank.methods.catalogue import fit_method
from crowdrank.methods.protocols import Method
from crowdrank.numerics.progress import report
from crowdrank.numerics.sums import sum_by
from crowdrank.settings import check_whole_number
from crowdrank.statistics.removal import kept, quicker
from crowdrank.statistics.tiers import score_error
from crowdrank.study import Floats, Judgments, Vocabulary

FEW_ANNOTATORS = 4  # with fewer, halves of the judgments are taken


@dataclass(frozen=True, slots=True, eq=False)
class SplitHalf:
    """The correlation of the scores of two random halves, in each round; of annotators, or of judgments."""

    of: str
    correlations: Floats

    @property
    def median(self) -> float:
        """The median over the rounds; NaN where no round could be computed."""
        known = self.correlations[~np.isnan(self.correlations)]
        return float(np.median(known)) if len(known) else float("nan")

    @property
    def whole(self) -> float:
        """What the whole study would reach, by the formula of Spearman and Brown; NaN where halves disagree."""
        return 2 * self.median / (1 + self.median) if self.median > 0 else float("nan")


def scale_separation_reliability(consensus: Consensus) -> float:
    """The share of the variance of the scores that is not error: (variance − mean squared error) / variance.

    Variance is that within tasks. 0 where the errors are larger than the differences between scores.
    """
    error = score_error(consensus)
    used = ~np.isnan(consensus.score) & np.isfinite(error)
    task = consensus.vocabulary.entry_task[used]
    size = np.bincount(task, minlength=len(consensus.vocabulary.tasks))
    several = size[task] > 1
    score, task, error = consensus.score[used][several], task[several], error[used][several]
    if not len(score):
        return float("nan")
    variance = float((_centred(score, task, len(size)) ** 2).sum() / (len(score) - (size > 1).sum()))
    return max(0.0, 1 - float(np.mean(error**2)) / variance) if variance > 0 else 0.0


def split_half(
    method: Method, judgments: Judgments, *, rounds: int = 10, seed: int = 0, consensus: Consensus | None = None
) -> SplitHalf:
    """Fit two random halves of the annotators (or of the judgments, if these are few) and correlate the scores.

    `consensus` is the result of the method for the whole study, if it is known.
    """
    check_whole_number("rounds", rounds)
    # Settings are chosen once, from the whole study.
    consensus = fit_method(without_intervals(method), judgments) if consensus is None else consensus
    chosen = quicker(method, judgments, consensus)
    n = len(judgments.vocabulary.annotators)
    over = "annotators" if n >= FEW_ANNOTATORS else "judgments"
    found = np.full(rounds, np.nan)
    for number in range(rounds):
        report("split halves", number, rounds)
        one, other = _halves(judgments, over, np.random.default_rng([seed, number]))
        if len(one) and len(other):
            scores = [fit_method(chosen, half).score for half in (one, other)]
            found[number] = _correlation(scores[0], scores[1], judgments.vocabulary)
    report("split halves", rounds, rounds)
    return SplitHalf(over, found)


def _halves(judgments: Judgments, over: str, rng: np.random.Generator) -> tuple[Judgments, Judgments]:
    tables = judgments.grades.annotator, judgments.pairs.annotator, judgments.rankings.list_annotator
    if over == "annotators":
        n = len(judgments.vocabulary.annotators)
        first = np.zeros(n, bool)
        first[rng.permutation(n)[: n // 2]] = True
        masks = [first[annotator] for annotator in tables]
    else:
        masks = [rng.permutation(len(annotator)) < len(annotator) / 2 for annotator in tables]
    return kept(judgments, *masks), kept(judgments, *(~mask for mask in masks))


def _correlation(one: Floats, other: Floats, vocabulary: Vocabulary) -> float:
    """Pearson's correlation of two sets of scores within tasks."""
    both = ~np.isnan(one) & ~np.isnan(other)
    task = vocabulary.entry_task[both]
    x, y = (_centred(score[both], task, len(vocabulary.tasks)) for score in (one, other))
    spread = float(np.sqrt((x**2).sum() * (y**2).sum()))
    return float((x * y).sum()) / spread if spread > 0 else float("nan")


def _centred(score: Floats, task: NDArray[np.int32], n_tasks: int) -> Floats:
    """The scores less the mean of their task."""
    mean = sum_by(task, score, n_tasks) / np.maximum(np.bincount(task, minlength=n_tasks), 1)
    return np.asarray(score - mean[task])
