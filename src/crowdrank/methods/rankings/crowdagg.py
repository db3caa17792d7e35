"""CrowdAgg: the ranking that the annotators' rankings would score best against, by a measure for which the top counts
more.

What annotator k said about a task makes every contest of two items a coin: s stands above t with probability ½ + lead,
where the lead comes from how much oftener s wins in what k said, and is 0 where k did not judge both. With k's quality
η, the chance to report a preference as it is, the lead shrinks to (2η − 1) lead: spammers say nothing, malicious
annotators are turned around. The rank of an item on k's ballot is then a random number, and the item's score is the
expected discount of it, averaged over ballots:

    score = mean_k E[D(rank)]    D(r) = 1 / log2(1 + r) for "ndcg", persistence^(r − 1) for "rbp", or any function of
    the rank

Sorting by it maximises the expected measure. Quality is in turn the share of k's preferences that the ranking shares,
and the two alternate until neither changes. Scores are given relative to the score of an item nobody judged, in units
of the highest possible.

The ranking that judges k is that of the others (`against="others"`): k's own ballot is taken out of the scores. In the
paper it is not (`"all"`), and whoever judged most agrees best with what is mostly their own ranking; on the TREC 2010
relevance feedback judgments that costs so much (MAP .718 instead of .757) that estimating quality is worse than not
estimating it (.729).

Equation 6 of the paper, read as it stands, gives the winner of a contest the smaller chance (`contest="literal"`). The
other readings are p = ½ + (N_s − N_t) / 2m, where N counts contests won: m the items that k judged beside them
(`"judged"`, the default), or all items of the task (`"task"`, the paper's n: leads vanish where k judged ten of 200
items, and it ranks worse on every study tried); and `"hard"`: the winner wins, as good as "judged". `papers/crowdagg`
has the figures.

Ranks need no distributions: discounts are sums of powers, whose expectation is the generating function of the rank.
That costs (items judged)² × 40 per annotator, where the paper's fast Fourier transforms cost n² log² n. A discount of
your own that does not fall smoothly costs (items judged)² × (ranks that have a discount).

An annotator with nothing to be compared with has the quality of the prior's mode. `quality="equal"` is the paper's
"-eq": η = 1 for all.

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
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus, Fit, rank_within
from crowdrank.convert import links
from crowdrank.methods.protocols import Description
from crowdrank.methods.rankings.lists.ballots import Reading, lists_of, pair_ballots_of
from crowdrank.methods.rankings.lists.expected_discount import (
    Discount,
    in_lists,
    in_pairs,
    log_of_undecided,
    of_undecided,
)
from crowdrank.methods.rankings.lists.rank_distribution import Table
from crowdrank.methods.result import annotator_columns, check_kinds, make_consensus
from crowdrank.numerics.agreement import concordance_of_ranks, evidence_per_list_preference
from crowdrank.numerics.exponentials import falling, geometric, logarithmic
from crowdrank.numerics.progress import report
from crowdrank.numerics.sums import sum_by
from crowdrank.settings import check, check_beta, check_choice, check_fit
from crowdrank.study import KINDS, Codes, Floats, Judgments

Measure = Literal["ndcg", "rbp"] | Callable[[int], float]
FREE_STEPS = 8  # of the alternation, before it is held back
SWING = 0.05  # a quality that would still move so far between all but tied items is worth a note
ROUNDING = 1e-13  # what is left of sums that cancel, relative to their terms
SAME = 1e-10  # scores that differ by less than this share of the largest are equal


@dataclass(frozen=True, slots=True)
class CrowdAgg:
    """Settings of CrowdAgg."""

    description: ClassVar[Description] = Description(
        name="crowdagg",
        family="rankings",
        summary="Maximises the expected NDCG or RBP over what each annotator says about ranks; learns whom to trust.",
        takes=KINDS,
        pair_columns=("weight",),
    )

    measure: Measure = "ndcg"  # ndcg, rbp, or (in Python) a function from a rank, 1 for the top, to its discount
    persistence: float = 0.95  # of rbp: the chance to look at the next item
    contest: Reading = "judged"  # what a contest won is worth: judged, task, hard or literal
    quality: Literal["estimated", "equal"] = "estimated"  # equal: everybody is taken at their word
    quality_per: Literal["study", "task"] = "study"  # one quality per annotator, or one for each of their tasks
    quality_prior: tuple[float, float] = (4.0, 2.0)  # Beta(α, β) on quality; (1, 1) is the paper's, who has none
    against: Literal["others", "all"] = "others"  # whose ranking an annotator is measured by
    max_iter: int = 200
    tol: float = 0.01  # a step that moves no quality further than this ends the fit

    def __post_init__(self) -> None:
        if not callable(self.measure):
            check_choice("measure", self.measure, ("ndcg", "rbp"))
        check(0 < self.persistence < 1, "persistence", self.persistence, "between 0 and 1")
        check_choice("contest", self.contest, ("judged", "task", "hard", "literal"))
        check_choice("quality", self.quality, ("estimated", "equal"))
        check_choice("quality_per", self.quality_per, ("study", "task"))
        check(self.quality_prior is not None, "quality_prior", None, "two numbers of at least 1")
        check_beta("quality_prior", self.quality_prior)
        check_choice("against", self.against, ("others", "all"))
        check_fit(None, self.max_iter, self.tol)

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their expected discount on the annotators' ballots."""
        check_kinds(self.description, judgments)
        crowd = _Crowd(judgments, self)
        if self.quality == "equal":
            score = crowd.score(crowd.gains(np.ones(len(crowd.profiles))))
            return make_consensus(self.description, judgments, score, compared=links(judgments))
        quality, fit, notes = self._alternate(crowd)
        gains = crowd.gains(quality)
        evidence = crowd.shared(
            gains, evidence_per_list_preference(crowd.lists.row_starts, crowd.lists.row_level.astype(np.float64))
        )[1]
        columns = annotator_columns(judgments, quality, evidence, crowd.profiles.annotator, crowd.profiles.task)
        score = crowd.score(gains)
        return make_consensus(
            self.description, judgments, score, fit=fit, annotators=columns, compared=links(judgments), notes=notes
        )

    def discount(self, n: int) -> Discount:
        """The discount of n ranks, as a sum of powers where it is one."""
        if callable(self.measure):
            values = np.array([self.measure(rank) for rank in range(1, n + 1)], dtype=np.float64)
            check(
                bool(np.isfinite(values).all()),
                "measure",
                self.measure,
                f"a finite number for every rank from 1 to {n:,}",
            )
            return falling(values) or Table(values[: np.flatnonzero(values).max(initial=0) + 1])
        return logarithmic(n) if self.measure == "ndcg" else geometric(self.persistence)

    def _alternate(self, crowd: _Crowd) -> tuple[Floats, Fit, list[str]]:
        """Scores from quality and quality from scores, until no quality moves by more than `tol`."""
        quality = np.ones(len(crowd.profiles))
        share, before = np.ones(len(quality)), np.zeros(len(quality))
        converged, steps = False, 0
        while not converged and steps < self.max_iter:
            steps += 1
            report("quality", steps, self.max_iter)
            gap = self._quality(*crowd.shared(crowd.gains(quality))) - quality
            # Where two items are all but tied, the ranking may swing between them for ever, and quality with it: after the
            # first steps, whoever turns back goes only half the way from then on.
            if steps > FREE_STEPS:
                share[gap * before < 0] /= 2
            before = np.where(gap == 0, before, gap)
            converged = bool(np.abs(share * gap).max(initial=0.0) <= self.tol)
            quality = quality + share * gap
        return quality, Fit(steps, converged), _swinging(gap) if converged else []

    def _quality(self, shared: Floats, told: Floats) -> Floats:
        """The mode of the posterior; whoever said nothing that can be checked is taken at their word if there is no prior."""
        alpha, beta = self.quality_prior
        evidence = told + alpha + beta - 2
        return np.divide(shared + alpha - 1, evidence, out=np.ones(len(told)), where=evidence > 0)


def _swinging(gap: Floats) -> list[str]:
    count = int((np.abs(gap) > SWING).sum())
    if not count:
        return []
    return [
        f"quality of {count:,} annotator{'s' * (count > 1)} hangs on items that are all but tied: set between its values"
    ]


class _Crowd:
    """The ballots of a study, who gave them, and how each is weighed."""

    def __init__(self, judgments: Judgments, settings: CrowdAgg) -> None:
        vocabulary = self.vocabulary = judgments.vocabulary
        self.lists, self.pairs = lists_of(judgments, settings.contest), pair_ballots_of(judgments, settings.contest)
        lists, pairs = self.lists, self.pairs
        self.entry = np.r_[lists.entry, pairs.entry]
        self.pair_task = vocabulary.entry_task[pairs.entry]
        self.leave_out = settings.against == "others"
        annotator = np.r_[lists.annotator[lists.row_list], pairs.annotator].astype(np.int64)
        # The rows of one annotator on one entry share a code.
        self.own = np.unique(annotator * vocabulary.n_entries + self.entry, return_inverse=True)[1]
        self.profiles = _profiles(judgments, settings.quality_per)
        self.list_profile, self.row_profile = (
            self.profiles(lists.annotator, lists.task),
            self.profiles(pairs.annotator, self.pair_task),
        )
        self._weigh(settings)

    def _weigh(self, settings: CrowdAgg) -> None:
        """Discounts in units of the task's highest: that of an item which beats all that anybody judged beside it."""
        lists, pairs, n_tasks = self.lists, self.pairs, len(self.vocabulary.tasks)
        self.others = np.diff(self.vocabulary.task_starts) - 1.0
        self.discount = settings.discount(int(self.others.max(initial=0.0)) + 1)
        most = np.zeros(n_tasks)
        np.maximum.at(most, lists.task, lists.length - 1)
        np.maximum.at(most, self.pair_task, np.diff(pairs.starts))
        self.log_factor = -log_of_undecided(self.discount, self.others - most)
        self.nothing_said = of_undecided(self.discount, self.others, self.log_factor)
        pair_ballots = np.unique(pairs.annotator.astype(np.int64) * n_tasks + self.pair_task) % max(n_tasks, 1)
        self.ballots = np.bincount(lists.task, minlength=n_tasks) + np.bincount(pair_ballots, minlength=n_tasks)
        self.unit = np.ones(n_tasks)
        if isinstance(self.discount, Table):
            # Chances of the first places may be tiny, and smaller in some tasks than in others: the largest score at everybody's word is 1.
            best = np.zeros(n_tasks)
            np.maximum.at(best, self.vocabulary.entry_task, np.abs(self.score(self.gains(np.ones(len(self.profiles))))))
            self.unit[best > 0] = best[best > 0]

    def gains(self, quality: Floats) -> Floats:
        """Per row of a ballot, those of the lists first: its expected discount less that of an item nobody judged."""
        trust = 2 * quality - 1
        lists, pairs, of_row = self.lists, self.pairs, self.vocabulary.entry_task[self.entry]
        found = [
            in_lists(
                lists, self.discount, trust[self.list_profile], self.others[lists.task], self.log_factor[lists.task]
            ),
            in_pairs(
                pairs,
                self.discount,
                trust[self.row_profile],
                self.others[self.pair_task],
                self.log_factor[self.pair_task],
            ),
        ]
        return (np.concatenate(found) - self.nothing_said[of_row]) / (self.ballots * self.unit)[of_row]

    def score(self, gains: Floats) -> Floats:
        """Of each entry, by all ballots."""
        return self._without_noise(sum_by(self.entry, gains, self.vocabulary.n_entries), self.vocabulary.entry_task)

    def _without_noise(self, score: Floats, task: Codes) -> Floats:
        """Nothing where gains cancel: what is left of them is the rounding of what they were taken from."""
        return np.where(np.abs(score) <= ROUNDING * np.abs(self.nothing_said / self.unit)[task], 0.0, score)

    def shared(self, gains: Floats, worth: Floats | float = 1.0) -> tuple[Floats, Floats]:
        """Per rater: how many of their preferences the ranking shares, and on how many it has a word, those of lists by their `worth`."""
        score = sum_by(self.entry, gains, self.vocabulary.n_entries)[self.entry]
        if self.leave_out:
            score -= np.bincount(self.own, gains)[self.own]
        score = self._without_noise(score, self.vocabulary.entry_task[self.entry])
        lists, pairs, n = self.lists, self.pairs, len(self.profiles)
        # Ranks know which scores are equal but for rounding.
        rank = rank_within(score[: len(lists.entry)], lists.row_list)
        told, agree = concordance_of_ranks(lists.row_starts, lists.row_level, rank)
        in_pair = score[len(lists.entry) :]
        lead = in_pair[pairs.winner] - in_pair[pairs.loser]
        clear = np.abs(lead) > SAME * np.abs(in_pair).max(initial=0.0)
        of_pair = self.row_profile[pairs.winner]
        shared = sum_by(self.list_profile, agree, n) + sum_by(of_pair, clear & (lead > 0), n)
        return shared, sum_by(self.list_profile, told * worth, n) + sum_by(of_pair, clear, n)


@dataclass(frozen=True, slots=True, eq=False)
class _Profiles:
    """Whose quality is told apart: every annotator's, or every annotator's in every task they judged."""

    annotator: Codes | None  # of each rater, where they are told apart by task
    task: Codes | None
    count: int

    def __len__(self) -> int:
        return self.count

    def __call__(self, annotator: Codes, task: Codes) -> NDArray[Any]:
        """The rater behind each of these."""
        if self.annotator is None or self.task is None:
            return annotator
        return np.searchsorted(_packed(self.annotator, self.task), _packed(annotator, task))


def _profiles(judgments: Judgments, per: str) -> _Profiles:
    if per == "study":
        return _Profiles(None, None, len(judgments.vocabulary.annotators))
    keys = np.unique(_packed(*judgments.annotator_and_task()))
    return _Profiles((keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32), len(keys))


def _packed(annotator: Codes, task: Codes) -> NDArray[np.int64]:
    return np.asarray((annotator.astype(np.int64) << 32) | task)
