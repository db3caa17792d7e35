"""CrowdAgg: the ranking with the best expected score against the annotators' rankings, by a measure like NDCG.

The judgments of annotator k on a task give every pair of items a probability: s is above t with probability ½ + lead.
The lead follows from how many more contests s wins in k's judgments, and is 0 where k did not judge both. With k's
quality η, the probability to report a preference as it is, the lead becomes (2η − 1) lead: random annotators have no
influence, malicious ones count in reverse. The rank of an item in k's ballot is then a random variable, and the item's
score is the expected discount of this rank, averaged over ballots:

    score = mean_k E[D(rank)]    D(r) = 1 / log2(1 + r) for "ndcg", persistence^(r − 1) for "rbp", or any function of
    the rank

Sorting by it maximises the expected measure. Quality is in turn the share of k's preferences that agree with the
ranking, and the two are updated in turn until neither changes. Scores are relative to the score of an item that nobody
judged, in units of the highest possible score.

The quality of k is measured by the ranking of the other annotators (`against="others"`): k's own ballot is taken out of
the scores. In the paper it is not (`"all"`), so annotators with most judgments agree best with a ranking that is mostly
their own. On the TREC 2010 relevance feedback judgments this costs so much (MAP .718 instead of .757) that estimating
quality is worse than not estimating it (.729).

Equation 6 of the paper, as printed, gives the winner of a contest the smaller probability (`contest="literal"`). The
other readings are p = ½ + (N_s − N_t) / 2m, where N counts contests won: m is the number of items that k judged beside
them (`"judged"`, the default), or of all items of the task (`"task"`, the paper's n: leads vanish where k judged ten of
200 items, and it ranks worse on every study tried); and `"hard"`: the winner is above with certainty, as good as
"judged". `papers/crowdagg` has the figures.

No distributions of ranks are needed: discounts are sums of powers, whose expectation is the generating function of the
rank. This costs (items judged)² × 40 per annotator, where the paper's fast Fourier transforms cost n² log² n. A
discount of your own that does not decrease smoothly costs (items judged)² × (ranks that have a discount).

An annotator whose judgments cannot be compared with anybody's has the mode of the prior as quality. `quality="equal"`
is the paper's "-eq": η = 1 for all.

Niu, Lan, Guo, Yu, Long, Cheng: Listwise approach for rank aggregation in crowdsourcing, WSDM 2015.

>>> import crowdrank as cr
>>> study = cr.simulate.pairs(items=20, annotators=20, votes=3000, spammers=0.2, malicious=0.1, seed=1)
>>> consensus = cr.CrowdAgg().fit(study.judgments)
>>> cr.evaluate(consensus, study.gold, ["acc"]).mean["acc"] > 0.9
True
>>> [word for word, quality in zip(consensus.annotators["verdict"], study.quality) if quality == 0]
['reversed', 'reversed']
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from crowdrank.consensus import Consensus, Fit, rank_within
from crowdrank.convert import links
from crowdrank.methods.profiles import profiles_of
from crowdrank.methods.protocols import Description
from crowdrank.methods.rankings.lists.ballots import Reading, list_ballots, pair_ballots
from crowdrank.methods.rankings.lists.expected_discount import (
    Discount,
    expected_in_lists,
    expected_in_pairs,
    log_undecided_discount,
    undecided_discount,
)
from crowdrank.methods.rankings.lists.rank_distribution import DiscountTable
from crowdrank.methods.result import annotator_columns, check_kinds, make_consensus
from crowdrank.numerics.agreement import concordance_of_ranks, evidence_per_list_preference
from crowdrank.numerics.blas import one_blas_thread
from crowdrank.numerics.exponentials import falling, geometric, logarithmic
from crowdrank.numerics.progress import report
from crowdrank.numerics.sums import sum_by
from crowdrank.settings import check, check_beta, check_choice, check_fit, check_fraction
from crowdrank.study import KINDS, Codes, Floats, Judgments

Measure = Literal["ndcg", "rbp"] | Callable[[int], float]
FREE_STEPS = 8  # steps before oscillating qualities are damped
LARGE_SWING = 0.05  # a quality that still oscillates this far gets a note
ROUNDING = 1e-13  # relative error of sums whose terms cancel
SAME = 1e-10  # scores that differ by less than this share of the largest are equal


@dataclass(frozen=True, slots=True)
class CrowdAgg:
    """Settings of CrowdAgg."""

    description: ClassVar[Description] = Description(
        name="crowdagg",
        family="rankings",
        summary="Maximises the expected NDCG or RBP over the annotators' rankings; estimates their quality.",
        takes=KINDS,
        pair_columns=("weight",),
    )

    measure: Measure = "ndcg"  # ndcg, rbp, or (in Python) a function from a rank, 1 for the top, to its discount
    persistence: float = 0.95  # of rbp: the probability to look at the next item
    contest: Reading = "judged"  # how contests won become probabilities: judged, task, hard or literal
    quality: Literal["estimated", "equal"] = "estimated"  # equal: quality 1 for everybody
    quality_per: Literal["study", "task"] = "study"  # one quality per annotator, or one for each of their tasks
    quality_prior: tuple[float, float] = (4.0, 2.0)  # Beta(α, β) on quality; the paper has none: (1, 1)
    against: Literal["others", "all"] = "others"  # whose ranking an annotator's quality is measured by
    max_iter: int = 200
    tol: float = 0.01  # the fit ends when no quality moves further than this in a step

    def __post_init__(self) -> None:
        if not callable(self.measure):
            check_choice("measure", self.measure, ("ndcg", "rbp"))
        check_fraction("persistence", self.persistence)
        check_choice("contest", self.contest, ("judged", "task", "hard", "literal"))
        check_choice("quality", self.quality, ("estimated", "equal"))
        check_choice("quality_per", self.quality_per, ("study", "task"))
        check(self.quality_prior is not None, "quality_prior", None, "two numbers of at least 1")
        check_beta("quality_prior", self.quality_prior)
        check_choice("against", self.against, ("others", "all"))
        check_fit(None, self.max_iter, self.tol)

    @one_blas_thread
    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their expected discount on the annotators' ballots."""
        check_kinds(self.description, judgments)
        ballots = StudyBallots(judgments, self)
        if self.quality == "equal":
            score = ballots.score(ballots.gains(np.ones(len(ballots.profiles))))
            return make_consensus(self.description, judgments, score, compared=links(judgments))
        quality, fit, notes = self._alternate(ballots)
        gains = ballots.gains(quality)
        evidence = ballots.agreement(
            gains, evidence_per_list_preference(ballots.lists.row_starts, ballots.lists.row_level.astype(np.float64))
        )[1]
        columns = annotator_columns(judgments, quality, evidence, ballots.profiles.annotator, ballots.profiles.task)
        score = ballots.score(gains)
        return make_consensus(
            self.description, judgments, score, fit=fit, annotators=columns, compared=links(judgments), notes=notes
        )

    def discount(self, n: int) -> Discount:
        """The discount of n ranks, as a sum of powers where possible."""
        if callable(self.measure):
            values = np.array([self.measure(rank) for rank in range(1, n + 1)], dtype=np.float64)
            check(
                bool(np.isfinite(values).all()),
                "measure",
                self.measure,
                f"a finite number for every rank from 1 to {n:,}",
            )
            return falling(values) or DiscountTable(values[: np.flatnonzero(values).max(initial=0) + 1])
        return logarithmic(n) if self.measure == "ndcg" else geometric(self.persistence)

    def _alternate(self, ballots: StudyBallots) -> tuple[Floats, Fit, list[str]]:
        """Scores from quality and quality from scores, in turn, until no quality moves by more than `tol`."""
        quality = np.ones(len(ballots.profiles))
        damping, before = np.ones(len(quality)), np.zeros(len(quality))
        converged, steps = False, 0
        while not converged and steps < self.max_iter:
            steps += 1
            report("quality", steps, self.max_iter)
            gap = self._quality(*ballots.agreement(ballots.gains(quality))) - quality
            # The ranking may switch for ever between two nearly tied items, and quality with it: after the first steps,
            # whenever a quality turns back, its steps are halved.
            if steps > FREE_STEPS:
                damping[gap * before < 0] /= 2
            before = np.where(gap == 0, before, gap)
            converged = bool(np.abs(damping * gap).max(initial=0.0) <= self.tol)
            quality = quality + damping * gap
        return quality, Fit(steps, converged), _oscillating(gap) if converged else []

    def _quality(self, agree: Floats, decided: Floats) -> Floats:
        """The mode of the posterior; without prior, 1 for annotators without any preference that can be checked."""
        alpha, beta = self.quality_prior
        evidence = decided + alpha + beta - 2
        return np.divide(agree + alpha - 1, evidence, out=np.ones(len(decided)), where=evidence > 0)


def _oscillating(gap: Floats) -> list[str]:
    count = int((np.abs(gap) > LARGE_SWING).sum())
    if not count:
        return []
    who = f"{count:,} annotator{'s' * (count > 1)}"
    return [
        f"the quality of {who} depends on the order of nearly tied items and is uncertain: more judgments would help"
    ]


class StudyBallots:
    """The ballots of a study, the profiles they belong to, and their discounts."""

    def __init__(self, judgments: Judgments, settings: CrowdAgg) -> None:
        vocabulary = self.vocabulary = judgments.vocabulary
        self.lists, self.pairs = list_ballots(judgments, settings.contest), pair_ballots(judgments, settings.contest)
        lists, pairs = self.lists, self.pairs
        self.entry = np.r_[lists.entry, pairs.entry]
        self.pair_task = vocabulary.entry_task[pairs.entry]
        self.leave_out = settings.against == "others"
        annotator = np.r_[lists.annotator[lists.row_list], pairs.annotator].astype(np.int64)
        # The rows of one annotator on one entry share a code.
        self.own = np.unique(annotator * vocabulary.n_entries + self.entry, return_inverse=True)[1]
        self.profiles = profiles_of(judgments, settings.quality_per)
        self.list_profile, self.row_profile = (
            self.profiles.of(lists.annotator, lists.task),
            self.profiles.of(pairs.annotator, self.pair_task),
        )
        self._set_discounts(settings)

    def _set_discounts(self, settings: CrowdAgg) -> None:
        """Discounts in units of the task's highest: that of an item which wins all contests of the largest ballot."""
        lists, pairs, n_tasks = self.lists, self.pairs, len(self.vocabulary.tasks)
        self.others = np.diff(self.vocabulary.task_starts) - 1.0
        self.discount = settings.discount(int(self.others.max(initial=0.0)) + 1)
        most = np.zeros(n_tasks)
        np.maximum.at(most, lists.task, lists.length - 1)
        np.maximum.at(most, self.pair_task, np.diff(pairs.starts))
        self.log_factor = -log_undecided_discount(self.discount, self.others - most)
        self.unjudged = undecided_discount(self.discount, self.others, self.log_factor)
        ballot_task = np.unique(pairs.annotator.astype(np.int64) * n_tasks + self.pair_task) % max(n_tasks, 1)
        self.n_ballots = np.bincount(lists.task, minlength=n_tasks) + np.bincount(ballot_task, minlength=n_tasks)
        self.unit = np.ones(n_tasks)
        if isinstance(self.discount, DiscountTable):
            # Probabilities of the first places may be tiny, and differ between tasks: the largest score becomes 1.
            best = np.zeros(n_tasks)
            np.maximum.at(best, self.vocabulary.entry_task, np.abs(self.score(self.gains(np.ones(len(self.profiles))))))
            self.unit[best > 0] = best[best > 0]

    def gains(self, quality: Floats) -> Floats:
        """Per row of the ballots, lists first: its expected discount less that of an item nobody judged."""
        trust = 2 * quality - 1
        lists, pairs, of_row = self.lists, self.pairs, self.vocabulary.entry_task[self.entry]
        found = [
            expected_in_lists(
                lists, self.discount, trust[self.list_profile], self.others[lists.task], self.log_factor[lists.task]
            ),
            expected_in_pairs(
                pairs,
                self.discount,
                trust[self.row_profile],
                self.others[self.pair_task],
                self.log_factor[self.pair_task],
            ),
        ]
        return (np.concatenate(found) - self.unjudged[of_row]) / (self.n_ballots * self.unit)[of_row]

    def score(self, gains: Floats) -> Floats:
        """The score of each entry from all ballots."""
        return self._without_noise(sum_by(self.entry, gains, self.vocabulary.n_entries), self.vocabulary.entry_task)

    def _without_noise(self, score: Floats, task: Codes) -> Floats:
        """The scores with 0 where gains cancel: what remains there is a rounding error."""
        return np.where(np.abs(score) <= ROUNDING * np.abs(self.unjudged / self.unit)[task], 0.0, score)

    def agreement(self, gains: Floats, worth: Floats | float = 1.0) -> tuple[Floats, Floats]:
        """Per profile: how many preferences agree with the ranking, and how many it decides, by `worth` for lists."""
        score = sum_by(self.entry, gains, self.vocabulary.n_entries)[self.entry]
        if self.leave_out:
            score -= np.bincount(self.own, gains)[self.own]
        score = self._without_noise(score, self.vocabulary.entry_task[self.entry])
        lists, pairs, n = self.lists, self.pairs, len(self.profiles)
        # Ranks, because scores that are equal up to rounding share one.
        rank = rank_within(score[: len(lists.entry)], lists.row_list)
        decided, agree = concordance_of_ranks(lists.row_starts, lists.row_level, rank)
        in_pair = score[len(lists.entry) :]
        lead = in_pair[pairs.winner] - in_pair[pairs.loser]
        differ = np.abs(lead) > SAME * np.abs(in_pair).max(initial=0.0)
        of_pair = self.row_profile[pairs.winner]
        total = sum_by(self.list_profile, agree, n) + sum_by(of_pair, differ & (lead > 0), n)
        return total, sum_by(self.list_profile, decided * worth, n) + sum_by(of_pair, differ, n)
