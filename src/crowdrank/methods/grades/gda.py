"""GDA: each annotator gives a grade the more likely, the nearer an item's relevance is to what that grade means to
them.

    P(grade g of annotator a) ∝ α_g N(r; μ_g, w ε)        r ~ N(0, 1), the relevance of the entry; ε its difficulty

Every annotator has own means μ and weights α of the grades and an own spread w, so that strict and generous, sharp and
careless annotators, and scales of two, five or a hundred grades, all speak of one relevance. Most annotators give few
grades: their curves are drawn to the crowd's (`prior`). Who grades at random gets the same curve for all grades, and no
say; reversed means are used, unless the means must be ordered (`means="ordered"`): then such annotators get no say
either.

Relevance is integrated out on a grid while the curves are fitted (the paper maximises over both); the score is the mean
of an entry's posterior, its interval holds 95 % of it. Where ε = 1 the curves do not change if the means move and the
weights make up for it, so the fit looks for slopes and intercepts of the log-odds instead; μ, w and α are those that
explain relevance as a mixture of variance 1. With `difficulty`, ε of each entry is integrated out too, the spread being
the crowd's. On the data sets tried this ranks no better (trec_rf10) or worse (llmjudge24), and takes five times as
long.

Quality is the share of an annotator's preferences that the relevance has, as all others' grades have it.
Informativeness is what one grade tells of relevance, in nats; `pair_informativeness`, what a grade tells of a
difference. 0 is random. A grade with d different levels tells at most log d.

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
from crowdrank.methods.grades.curves.relevance import make_consensus_of_relevance, of_posterior, prepare
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import check_kinds
from crowdrank.settings import check_choice, check_fit
from crowdrank.study import Judgments


@dataclass(frozen=True, slots=True)
class GDA:
    """Settings of GDA."""

    description: ClassVar[Description] = Description(
        name="gda",
        family="grades",
        summary="One relevance behind all scales; every annotator has their own curve for each grade, shrunk to the crowd's.",
        takes=("grades",),
        gives_intervals=True,
    )

    prior: float = 1.0  # how strongly annotators are drawn to the crowd
    quality_per: Literal["study", "task"] = "study"  # one set of curves per annotator, or one for each of their tasks
    means: Literal["free", "ordered"] = "free"  # may a higher grade mean less relevance?
    difficulty: bool = False  # estimate how hard each entry is to judge
    max_iter: int = 200
    tol: float = 1e-3  # a step that moves no relevance further than this ends the fit

    def __post_init__(self) -> None:
        check_fit(self.prior, self.max_iter, self.tol)
        check_choice("quality_per", self.quality_per, ("study", "task"))
        check_choice("means", self.means, ("free", "ordered"))

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their expected relevance."""
        notes = check_kinds(self.description, judgments)
        study = prepare(judgments, self.quality_per)
        search = CurveFit(
            study.rows, study.scales, self.prior, ordered=self.means == "ordered", difficulty=self.difficulty
        )
        found = search.run(self.max_iter, self.tol)
        relevance = of_posterior(found.posterior, found.nodes)
        return make_consensus_of_relevance(self.description, judgments, study, relevance, found, found.fit, notes)
