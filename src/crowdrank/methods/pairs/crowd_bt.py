"""Crowd-BT: Bradley-Terry with a quality for every annotator, the probability that they report the true preference.

    P(k puts i before j) = η_k σ(s_i − s_j) + (1 − η_k) σ(s_j − s_i)

A good annotator has η close to 1. At ½ it is a spammer, whose votes get no weight; close to 0 a malicious annotator,
whose votes are reversed. By default scores are normal. Their spread is learned, and so is how common each quality is in
the crowd: an annotator with few votes is treated as a typical one. Quality is integrated out. If all scores and
qualities are reversed, the votes are as likely as before: the fit takes the side where most annotators are good, or
that of the gold. Where many votes are the reverse of the others, annotators fall into camps, and `consensus.camps` has
the ranking of each.

Ties, where there are any, have a tie threshold τ_k for each annotator, shrunk to that of the crowd:

    P(k ties) = τ_k / (τ_k + 2 cosh(κ (2 η_k − 1) (s_i − s_j) / 2))

The lower the quality, the less ties depend on the gap; those of a spammer do not depend on it at all. The sharpness κ
of the crowd is learned: 1 is Davidson's model; close to 0, ties are given by lot; about 2, only close calls are ties.
With a `prior` or `quality_prior` it is 1. Votes that are
not ties follow the model above. With `order_bias`, each annotator also has a preference b_k for the left item whatever
it is (in log-odds, shrunk to 0), as LLM judges have: σ(± (s_i − s_j) + b_k) if i was shown on the left.

Scores and qualities are posterior means, from draws by Hamiltonian Monte Carlo; intervals (of scores relative to the
mean of the task, of ranks, qualities and biases) are the middle 95 % (`docs/coverage.md`). From 50,000 votes on, if
there are 50 or more per item, they are those of a normal distribution close to the posterior (`docs/scale.md`). With
`intervals=False` scores are the most likely ones, which takes a fraction of the time; in weak crowds they lie closer
together.

With a `prior` or `quality_prior` the model is the paper's: scores and qualities are the most likely ones together, by
Newton's method on (s, logit η), from a start where all annotators are good. Without a prior on quality it is then Beta
(1.05, 1.05), just enough to keep the quality of annotators with few votes away from 0 and 1.

Chen, Bennett, Collins-Thompson, Horvitz: Pairwise ranking aggregation in a crowdsourced setting, WSDM 2013.

>>> import crowdrank as cr
>>> study = cr.simulate.pairs(items=20, annotators=10, votes=2000, malicious=0.2, seed=1)
>>> consensus = cr.CrowdBT().fit(study.judgments)
>>> cr.evaluate(consensus, study.gold, ["acc"]).mean["acc"] > 0.9
True
>>> [word for word, quality in zip(consensus.annotators["verdict"], study.quality) if quality == 0]
['reversed', 'reversed']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from crowdrank.consensus import Consensus
from crowdrank.methods.pairs.leaderboard.fit import fit_votes
from crowdrank.methods.pairs.votes.explicit import ModelVariant
from crowdrank.methods.protocols import Description
from crowdrank.settings import check_beta, check_choice, check_fit, check_flag
from crowdrank.study import KINDS, Gold, Judgments


@dataclass(frozen=True, slots=True)
class CrowdBT:
    """Settings of Crowd-BT."""

    description: ClassVar[Description] = Description(
        name="crowd-bt",
        family="pairs",
        summary="Bradley-Terry with a quality per annotator: random votes get no weight, malicious ones are reversed.",
        takes=KINDS,
        other_names=("noisy-bt", "noisy-bradley-terry"),
        pair_columns=("weight", "covariates"),
        starts_from_gold=True,
        expands_to_pairs=True,
        gives_intervals=True,
        ranks_by_draws=True,
    )

    prior: float | None = None  # virtual wins and losses of every item (λ of the paper); by default scores are normal
    quality_prior: tuple[float, float] | None = None  # Beta(α, β) on quality; by default learned from the crowd
    quality_per: Literal["study", "task"] = "study"  # one quality per annotator, or one for each of their tasks
    order_bias: bool = False  # estimate each annotator's preference for the left item
    intervals: bool = True  # of scores, ranks and quality; on large studies they take longer than the fit itself
    max_iter: int = 200
    tol: float = 1e-8  # the fit ends when a step changes no score by more than this

    def __post_init__(self) -> None:
        check_fit(self.prior, self.max_iter, self.tol)
        check_flag("order_bias", self.order_bias)
        check_flag("intervals", self.intervals)
        check_beta("quality_prior", self.quality_prior)
        check_choice("quality_per", self.quality_per, ("study", "task"))

    def fit(self, judgments: Judgments, gold: Gold | None = None) -> Consensus:
        """Rank the items of each task; with gold, annotators start as good as their answers on pairs it decides."""
        free_parameters = ("quality", "bias") if self.order_bias else ("quality",)
        variant = ModelVariant(
            free_parameters=free_parameters, quality_prior=self.quality_prior, quality_per=self.quality_per
        )
        return fit_votes(self, judgments, variant, gold=gold)
