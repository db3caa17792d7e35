"""Online Crowd-BT: distributions of scores and qualities that every judgment updates in closed form.

Crowd-BT's model, P(k puts i before j) = η_k σ(s_i − s_j) + (1 − η_k) σ(s_j − s_i), one judgment at a time: each score
has a normal distribution, each quality η_k a Beta distribution. After every judgment both are replaced by the ones with
the mean and variance of the posterior (moment matching). A vote of an annotator who is probably good changes scores a
lot, one of a spammer not at all, one of a malicious annotator in the other direction; and votes on items whose order is
known show how good the annotator is. Ties follow Davidson's model, with one tie threshold from all votes so far
(`methods/pairs/votes/online_kernels.py` has the formulas).

This costs a fraction of a microsecond per judgment and needs no other judgments; `crowdrank next` chooses questions by
it. Judgments are processed in the given order, so another order gives slightly other scores; where all judgments are
available, `crowd-bt` fits them at once. Grades and rankings are used after the pairs, as the pairs between their items,
in a fixed order.

The score is the mean of its distribution, `low` and `high` contain 95 % of it. `prior` is as strong as so many virtual
wins and losses of every item: a normal distribution of variance 2 / prior. The paper's priors are prior=2 and
quality_prior=(10, 1); on its data a lower initial quality ranks better over random orders (ACC .687 against .682).

Chen, Bennett, Collins-Thompson, Horvitz: Pairwise ranking aggregation in a crowdsourced setting, WSDM 2013, §4.1.

>>> import crowdrank as cr
>>> votes = {"annotator": ["ann", "ann", "bob"], "left": list("aba"), "right": list("bcc"), "winner": list("aba")}
>>> cr.OnlineCrowdBT().fit(cr.judgments(votes)).ranking["item"].to_list()
['a', 'b', 'c']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdrank.consensus import Consensus
from crowdrank.convert import as_pairs
from crowdrank.methods.pairs.votes.online_kernels import play
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import (
    annotator_columns,
    check_kinds,
    dependent_pairs_note,
    evidence_per_preference,
    make_consensus,
)
from crowdrank.numerics.special import NORMAL_95
from crowdrank.settings import check, check_beta, check_positive
from crowdrank.study import KINDS, Judgments


@dataclass(frozen=True, slots=True)
class OnlineCrowdBT:
    """Settings of online Crowd-BT."""

    description: ClassVar[Description] = Description(
        name="online-crowd-bt",
        family="pairs",
        summary="Crowd-BT updated vote by vote in closed form.",
        takes=KINDS,
        depends_on_order=True,
        expands_to_pairs=True,
        gives_intervals=True,
    )

    prior: float = 2.0  # virtual wins and losses of every item
    quality_prior: tuple[float, float] = (2.0, 1.0)  # Beta(α, β) on quality

    def __post_init__(self) -> None:
        check_positive("prior", self.prior)
        check(
            self.quality_prior is not None, "quality_prior", self.quality_prior, "a tuple of two numbers of at least 1"
        )
        check_beta("quality_prior", self.quality_prior)

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their expected score after the last judgment."""
        check_kinds(self.description, judgments)
        vocabulary, pairs = judgments.vocabulary, as_pairs(judgments)
        mean, variance = np.zeros(vocabulary.n_entries), np.full(vocabulary.n_entries, 2 / self.prior)
        alpha, beta = (np.full(len(vocabulary.annotators), float(start)) for start in self.quality_prior)
        play(pairs.annotator, pairs.left, pairs.right, pairs.outcome, mean, variance, alpha, beta, np.zeros(2))
        reach = NORMAL_95 * np.sqrt(variance)
        # A Beta distribution holds as many certain answers as its parameters have grown by.
        evidence = np.maximum(alpha + beta - sum(self.quality_prior), 0.0) * evidence_per_preference(judgments)
        columns = annotator_columns(judgments, alpha / (alpha + beta), evidence)
        notes, ends = dependent_pairs_note(judgments), {"low": mean - reach, "high": mean + reach}
        return make_consensus(
            self.description, judgments, mean, annotators=columns, **ends, compared=pairs, notes=notes
        )
