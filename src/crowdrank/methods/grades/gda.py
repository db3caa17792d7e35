"""GDA: an annotator gives a grade with a higher probability, the closer an item's relevance is to the grade's mean.

    P(grade g of annotator a) ∝ α_g N(r; μ_g, w ε)        r ~ N(0, 1), the relevance of the entry; ε its difficulty

Every annotator has a mean μ and a weight α for each grade, and one variance w: these are the annotator's curves. So
strict and generous, precise and careless annotators, and scales of two, five or a hundred grades, all measure one
relevance. Most annotators give few grades, so their curves are shrunk towards the crowd's (`shrinkage`). Annotators who
grade at random get the same curve for all grades, and no influence. Annotators with reversed means are used in reverse,
unless the means must be ordered (`means="ordered"`): then they get no influence either.

The curves are fitted with relevance integrated out on a grid (the paper maximises over both). The score is the mean of
an entry's posterior; the interval contains 95 % of it. Where entries have many grades, the interval is widened by how
far the results of two halves of the annotators lie apart: opinions and common errors do not average out. At ε = 1, a
change of the means can be compensated by the weights, so the fit estimates slopes and intercepts of the log-odds
instead; μ, w and α are then those that make relevance a mixture of variance 1. With `difficulty`, ε of each entry is
integrated out too, with the crowd's variance. On the data sets tried this ranks no better (trec_rf10) or worse
(llmjudge24), and takes five times as long.

Quality is the share of an annotator's preferences that agree with the relevance estimated from all other annotators'
grades. `informativeness` is the mutual information of one grade and relevance, in nats; `pair_informativeness` that of
a grade and a difference of relevance. Random annotators have 0; a scale of d grades allows at most log d.

Labels (`--qrels`, cr.labels) come with the probability of each grade to be the true one: the grade that the crowd's
most informative annotators would give. Where a model with one true grade for each item predicts left-out grades better
than relevance does, it decides in proportion. All annotators must use one scale of at most 20 grades; otherwise the
ranking is divided in proportion to the grades given.

Metrikov, Pavlu, Aslam: Aggregation of crowdsourced ordinal assessments and integration with learning to rank, CIKM
2015.

>>> import crowdrank as cr
>>> grades = {"annotator": ["ann", "ann", "bob", "bob"], "item": ["x", "y", "x", "y"], "grade": [0, 1, 20, 90]}
>>> cr.GDA().fit(cr.judgments(grades)).ranking["item"].to_list()
['y', 'x']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from crowdrank.consensus import Consensus
from crowdrank.methods.grades.curves.curves import CurveFit
from crowdrank.methods.grades.curves.halves import variance_factor
from crowdrank.methods.grades.curves.relevance import graded_consensus, prepare, summarise_posterior
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import check_kinds
from crowdrank.numerics.blas import one_blas_thread
from crowdrank.numerics.engine import placed
from crowdrank.settings import check_choice, check_fit, check_flag, check_not_negative
from crowdrank.study import Judgments


@dataclass(frozen=True, slots=True)
class GDA:
    """Settings of GDA."""

    description: ClassVar[Description] = Description(
        name="gda",
        family="grades",
        summary="Learns what each grade means to each annotator, and puts all items on one scale of relevance.",
        takes=("grades",),
        gives_intervals=True,
    )

    shrinkage: float = 1.0  # how strongly annotators' curves are shrunk to the crowd's (a factor of the precision)
    quality_per: Literal["study", "task"] = "study"  # one set of curves per annotator, or one for each of their tasks
    means: Literal["free", "ordered"] = "free"  # free: a higher grade may have a lower mean; ordered: it may not
    difficulty: bool = False  # estimate how hard each entry is to judge
    max_iter: int = 200
    tol: float = 1e-3  # the fit ends when no relevance moves further than this in a step

    def __post_init__(self) -> None:
        check_not_negative("shrinkage", self.shrinkage)
        check_fit(None, self.max_iter, self.tol)
        check_choice("quality_per", self.quality_per, ("study", "task"))
        check_choice("means", self.means, ("free", "ordered"))
        check_flag("difficulty", self.difficulty)

    @one_blas_thread
    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their expected relevance."""
        notes = check_kinds(self.description, judgments)
        study = prepare(judgments, self.quality_per)
        fit = placed(CurveFit)(
            study.rows, study.scales, self.shrinkage, ordered=self.means == "ordered", difficulty=self.difficulty
        )
        found = fit.run(self.max_iter, self.tol)
        factor = variance_factor(fit, study.scales, self.shrinkage, study.profiles.annotator)
        relevance = summarise_posterior(found.posterior, found.nodes).widened(factor)
        return graded_consensus(self.description, judgments, study, relevance, found, found.fit, notes)
