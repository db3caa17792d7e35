"""GDA-PW: the curves of `gda`, with relevance estimated from pairs of grades within a task.

    P(g | g', d, d', a, a') ∝ α_g N(r_d − r_d'; μ_g − μ'_g', √(w w' ε_d ε_d'))        r ~ N(0, 1)

The grade g of annotator a on item d is compared with every other judgment of the task (g' of a' on d'), so only
differences of relevance within a task count. The sum is divided by the number of partners of a judgment. The curves μ,
w, α of the annotators are those of `gda`, fitted with relevance integrated out: maximising over curves and relevance
together, as the paper does, fits them to noise (trec_rf10: MAP .786 to .794 in prototypes, instead of .797). Given the
curves the problem is convex, and five or six Newton steps find the relevance. With `difficulty`, ε of every entry is
estimated too.

Pairs are streamed, never stored. A judgment is paired with all others of its task or, where there are more than
`partners`, with that many at random. 64 partners rank as well as 200, within the noise of the sample (trec_rf10 and
llmjudge24, ± .002); all pairs of a task with K judgments take K/64 times as long.

Relevance from pairs has too small a spread, because the model takes the partner's deviation from the mean of their
grade to be 0. One factor for the study and the mean of each task bring it back to the scale of relevance. The variance
behind the interval is that of `gda`'s posterior plus the squared distance from its mean. Laplace's intervals would
count every judgment twice, as itself and as a partner, and cover 71 to 91 % instead of 95.

Metrikov, Pavlu, Aslam: Aggregation of crowdsourced ordinal assessments and integration with learning to rank, CIKM
2015.

>>> import crowdrank as cr
>>> grades = {"annotator": ["ann", "ann", "bob", "bob"], "item": ["x", "y", "x", "y"], "grade": [0, 1, 20, 90]}
>>> cr.GDAPW().fit(cr.judgments(grades)).ranking["item"].to_list()
['y', 'x']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from crowdrank.consensus import Consensus, Fit
from crowdrank.methods.grades.curves.curves import CurveFit
from crowdrank.methods.grades.curves.halves import variance_factor
from crowdrank.methods.grades.curves.pair_likelihood import PairLikelihood
from crowdrank.methods.grades.curves.relevance import Relevance, graded_consensus, prepare, summarise_posterior
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import check_kinds
from crowdrank.numerics.blas import one_blas_thread
from crowdrank.numerics.engine import placed
from crowdrank.numerics.newton import dot, minimise
from crowdrank.numerics.special import NORMAL_95_ROUNDED
from crowdrank.numerics.sums import sum_by
from crowdrank.settings import check_choice, check_fit, check_flag, check_not_negative, check_whole_number
from crowdrank.study import Codes, Floats, Judgments


@dataclass(frozen=True, slots=True)
class GDAPW:
    """Settings of GDA-PW."""

    description: ClassVar[Description] = Description(
        name="gda-pw",
        family="grades",
        summary="The curves of gda; relevance is estimated from pairs of grades within a task.",
        takes=("grades",),
        gives_intervals=True,
    )

    shrinkage: float = 1.0  # how strongly annotators' curves are shrunk to the crowd's (a factor of the precision)
    quality_per: Literal["study", "task"] = "study"  # one set of curves per annotator, or one for each of their tasks
    means: Literal["free", "ordered"] = "free"  # free: a higher grade may have a lower mean; ordered: it may not
    difficulty: bool = False  # estimate how hard each entry is to judge
    partners: int = 64  # judgments of the same task that each is paired with; smaller tasks use all pairs
    max_iter: int = 200
    tol: float = 1e-3  # the fit ends when no relevance moves further than this in a step
    seed: int = 0  # of the sample of pairs

    def __post_init__(self) -> None:
        check_not_negative("shrinkage", self.shrinkage)
        check_fit(None, self.max_iter, self.tol)
        check_choice("quality_per", self.quality_per, ("study", "task"))
        check_choice("means", self.means, ("free", "ordered"))
        check_flag("difficulty", self.difficulty)
        check_whole_number("partners", self.partners)
        check_whole_number("seed", self.seed, least=0)

    @one_blas_thread
    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their relevance."""
        notes = check_kinds(self.description, judgments)
        study, vocabulary = prepare(judgments, self.quality_per), judgments.vocabulary
        ordered = self.means == "ordered"
        curve_fit = placed(CurveFit)(study.rows, study.scales, self.shrinkage, ordered=ordered, difficulty=False)
        curves = curve_fit.run(self.max_iter, self.tol)
        factor = variance_factor(curve_fit, study.scales, self.shrinkage, study.profiles.annotator)
        model = PairLikelihood(
            study.rows,
            vocabulary.entry_task,
            curves.gaussians,
            partners=self.partners,
            difficulty=self.difficulty,
            seed=self.seed,
            merge_alike=True,
        )
        posterior = summarise_posterior(curves.posterior, curves.nodes).widened(factor)
        start = np.zeros(model.layout.size)
        start[model.alike] = posterior.score
        found = minimise(model, start, max_iter=self.max_iter, tol=self.tol, what="relevance")
        score = _on_scale(found.x[: model.n][model.alike], posterior.score, vocabulary.entry_task)
        error = np.hypot(posterior.error, score - posterior.score)
        difficulty = np.exp(found.x[model.n :][model.alike]) if self.difficulty else None
        relevance = Relevance(
            score, error, score - NORMAL_95_ROUNDED * error, score + NORMAL_95_ROUNDED * error, difficulty
        )
        fit = Fit(found.steps, found.converged and curves.fit.converged, -found.value)
        return graded_consensus(self.description, judgments, study, relevance, curves, fit, notes)


def _on_scale(differences: Floats, relevance: Floats, task: Codes) -> Floats:
    """Differences within tasks on the scale of relevance: scaled by one factor, shifted to the mean of each task."""
    count = np.maximum(np.bincount(task), 1)
    mean, own_mean = (sum_by(task, values, len(count)) / count for values in (relevance, differences))
    target, deviation = relevance - mean[task], differences - own_mean[task]
    squares = dot(deviation, deviation)
    factor = dot(target, deviation) / squares if squares > 0 else 1.0  # least squares
    return np.asarray(mean[task] + deviation * factor)
