"""Plackett-Luce: a list is chosen item by item from the top, each with a probability in proportion to its worth.

    P(a ≻ b ≻ c) = e^a / (e^a + e^b + e^c) · e^b / (e^b + e^c)

for scores a, b, c. Lists are rankings of any length, or the grades an annotator gave within a task. In a list that puts
unlisted items below its own (a top-k list), every choice was made among those too. Tied items are chosen one after the
other, each with the average worth of those still to come (Efron's approximation for ties of survival times): without
ties this is the plain model, and two tied items alone are half a vote for each. A list of one item does not count.

By default scores are normal, and their spread is the one that makes the lists most likely (the evidence, by Laplace's
method): a fixed prior makes intervals far too narrow where items differ more than it expects. Where lists are few, the
posterior of scores and spread is not normal around its mode, and the intervals come from draws. With `prior`, it is a
gamma distribution of the worth e^s of every item, with its mode at 1: `prior` virtual choices of the item, at the odds
of an average one. Both keep the scores of items that always, or never, come first finite. Newton's method finds the
same optimum as Hunter's MM algorithm, in a few steps. All annotators count the same, unless `weights`
says otherwise; their quality is how often they agree with the resulting ranking.

Plackett: The analysis of permutations, 1975. Hunter: MM algorithms for generalized Bradley-Terry models, Annals of
Statistics 2004. Caron and Doucet: Efficient Bayesian inference for generalized Bradley-Terry models, 2012 (the gamma
prior). Efron: The efficiency of Cox's likelihood function for censored data, 1977.

>>> import crowdrank as cr
>>> lists = {"annotator": ["ann"] * 3 + ["bob"] * 2, "item": list("xyzyx"), "rank": [1, 2, 3, 1, 2]}
>>> cr.PlackettLuce().fit(cr.judgments(lists)).ranking["item"].to_list()
['y', 'x', 'z']
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.convert import as_lists, links, middle_places
from crowdrank.methods.protocols import Description
from crowdrank.methods.rankings.lists import kernels
from crowdrank.methods.rankings.lists.annotator_weights import annotator_weights, check_weights
from crowdrank.methods.rankings.lists.few_lists import choices_of
from crowdrank.methods.rankings.lists.score_draws import ScoreDraws
from crowdrank.methods.result import check_kinds, make_consensus
from crowdrank.numerics.blas import one_blas_thread
from crowdrank.numerics.compiled import for_work, is_little
from crowdrank.numerics.laplace import LARGEST_BLOCK, LARGEST_DENSE, Spread, block_spread, dense_spread, probed_spread
from crowdrank.numerics.newton import dot, minimise
from crowdrank.numerics.progress import report
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.threads import RowSum
from crowdrank.settings import check_fit, check_flag, check_not_negative
from crowdrank.study import Codes, Floats, Judgments, Rankings, Vocabulary

MOST_CELLS = 10_000_000  # of the Hessians of all tasks; in larger studies intervals are estimated by random probes
SPREADS = tuple(0.25 * 2 ** (step / 2) for step in range(11))  # of normal scores, to choose from: 0.25 to 8
STEPS = 20  # passes of a loop that one row of a list takes as long as
CELL_STEPS = 4  # the same of an item that a choice was made among, where choices are tables
MOST_DRAWN = (400, 10_000)  # entries and rows of lists; the intervals of larger studies are those of the curvature
START_SCALE = 1.2  # start scores are the log-odds times this


@dataclass(frozen=True, slots=True)
class PlackettLuce:
    """Settings of the Plackett-Luce model."""

    description: ClassVar[Description] = Description(
        name="plackett-luce",
        family="rankings",
        summary="Lists are chosen from the top, each item in proportion to its worth; partial and top-k lists, ties.",
        takes=("rankings", "grades"),
        other_names=("pl",),
        gives_intervals=True,
    )

    prior: float | None = None  # virtual choices of every item, at the odds of an average one; by default normal scores
    weights: tuple[tuple[str, float], ...] | None = None  # annotators whose weight is not 1, as in bm25:2,dense:0.5
    intervals: bool = True  # compute intervals of the scores
    max_iter: int = 200
    tol: float = 1e-8  # the step of a score at which the fit has converged

    def __post_init__(self) -> None:
        if self.prior is not None:
            check_not_negative("prior", self.prior)
        check_fit(None, self.max_iter, self.tol)
        check_flag("intervals", self.intervals)
        object.__setattr__(self, "weights", check_weights(self.weights))

    @one_blas_thread
    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by the logarithm of their worth."""
        notes = check_kinds(self.description, judgments)
        vocabulary, lists = judgments.vocabulary, as_lists(judgments, counted=True)
        weight = annotator_weights(self.weights, vocabulary)[lists.list_annotator] * lists.counts
        model = ListModel(lists, weight, vocabulary, self.prior or 0.0)
        start = _start(lists, vocabulary, model.unlisted)
        chosen = None
        if self.prior is None and len(lists):
            chosen = _most_likely_spread(model, start, self.max_iter)
            model.precision, start = chosen.precision, chosen.start
            notes += (f"the spread of the scores, {model.precision**-0.5:.2g}, was learned from the lists",)
        found = minimise(model, start, max_iter=self.max_iter, tol=self.tol)
        # Without prior, only differences are known.
        score = found.x - _means(found.x, vocabulary) if model.only_differences else found.x
        precision = model.precision
        mean, spread = _uncertainty(model, found.x, chosen) if self.intervals else (None, None)
        return make_consensus(
            self.description,
            judgments,
            np.where(model.compared, score, np.nan),
            fit=found.fit,
            compared=links(judgments.only(*self.description.takes)),
            spread=spread,
            mean=mean,
            notes=notes,
            settings={"spread": precision**-0.5} if precision else {},
        )


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSpread:
    """The spread of normal scores."""

    precision: float  # of the most likely spread
    start: Floats  # the scores with it
    deviation: float  # the standard deviation of its logarithm
    response: Floats  # how far scores move when it moves by that


def _most_likely_spread(model: ListModel, start: Floats, max_iter: int) -> ScoreSpread:
    """Choose the spread with the highest evidence."""
    evidence: list[float] = []
    scores: list[Floats] = []
    for spread in SPREADS:
        report("spread of the scores", len(scores), len(SPREADS))
        model.precision = spread**-2
        start = minimise(model, start, max_iter=max_iter, tol=1e-3).x
        value, _ = model.evaluate(start)
        evidence.append(-value - len(start) * math.log(spread) - _log_determinant(model) / 2)
        scores.append(start)
    best = int(np.argmax(evidence))
    chance = np.exp(np.array(evidence) - evidence[best])
    chance /= chance.sum()
    log_spread = np.log(SPREADS)
    off = log_spread - chance @ log_spread
    deviation = math.sqrt(float(chance @ off**2))
    response = (chance * off) @ np.array(scores) / deviation if deviation > 0 else np.zeros_like(start)
    return ScoreSpread(SPREADS[best] ** -2, scores[best], deviation, response)


def _log_determinant(model: ListModel) -> float:
    """That of the Hessian; of larger studies, that of its diagonal."""
    if model.vocabulary.n_entries > LARGEST_DENSE:
        return float(np.log(model.diagonal()).sum())
    return float(np.linalg.slogdet(_dense_hessian(model))[1])


def _dense_hessian(model: ListModel) -> Floats:
    """The whole Hessian at the last evaluated point."""
    (one, other), n = model.cells(), model.vocabulary.n_entries
    hessian = np.zeros((n, n))
    hessian[one, other] = -model.joint_curvatures()
    np.fill_diagonal(hessian, model.diagonal())
    return hessian


def _start(lists: Rankings, vocabulary: Vocabulary, unlisted: NDArray[np.int64]) -> Floats:
    """Scores to start from: the log-odds of standing above another item of a list.

    Scaled up a little, because opponents of different worth make these log-odds smaller than the scores.
    """
    above, times = middle_places(lists) - 1, lists.counts[lists.row_list]
    below = (np.diff(lists.list_starts) + np.maximum(unlisted, 0))[lists.row_list] - 1 - above
    lost, won = (sum_by(lists.entry, count * times, vocabulary.n_entries) for count in (above, below))
    return np.asarray(START_SCALE * np.log((won + 1) / (lost + 1)))


class ListModel:
    """Minus the log-posterior of lists, its gradient and products with its Hessian, for `numerics.newton.minimise`.

    The prior has `prior` virtual choices of every item, or a normal distribution of this `precision`.
    """

    def __init__(self, lists: Rankings, weight: Floats, vocabulary: Vocabulary, prior: float) -> None:
        self.precision = 0.0
        self.vocabulary, self.prior, self.task_starts = vocabulary, prior, vocabulary.task_starts
        self.starts, self.entry, self.task, self.weight = lists.list_starts, lists.entry, lists.list_task, weight
        tied = (lists.row_list[1:] == lists.row_list[:-1]) & (lists.position[1:] == lists.position[:-1])
        self.tied = np.r_[False, tied][: len(lists)]  # whether a row is tied with the row before
        # How many items a list puts below its own without listing them.
        self.unlisted = np.where(
            lists.unlisted_below, np.diff(self.task_starts)[lists.list_task] - np.diff(self.starts), 0
        )
        # Rows at infinity are below the others in no order: no choice was made among them.
        self.unlisted[lists.row_list[np.isinf(lists.position)]] = -1
        self.inverse_worth = np.zeros(len(lists))  # 1 / the total worth of the items that each choice was made among
        self.sum = RowSum(len(lists), 2 * vocabulary.n_entries + 2 * len(vocabulary.tasks))
        few = is_little(CELL_STEPS * len(lists) * vocabulary.n_entries)
        every = slice(0, len(lists))
        self.choices = choices_of(self._lists(every), self.task_starts, vocabulary.n_entries) if few else None

    def use_entries(self, entry: Codes) -> None:
        """Other entries in lists of the same lengths; choices that were prepared are not those of these lists."""
        self.entry, self.choices = entry, None

    @property
    def compared(self) -> NDArray[np.bool_]:
        """Which entries some list compares with others."""
        counted = np.diff(self.starts) + self.unlisted > 1
        listed = sum_by(self.entry, np.repeat(counted, np.diff(self.starts)), self.vocabulary.n_entries) > 0
        below = np.bincount(self.task[self.unlisted > 0], minlength=len(self.vocabulary.tasks)) > 0
        return listed | below[self.vocabulary.entry_task]

    def evaluate(self, x: Floats) -> tuple[float, Floats]:
        """Value and gradient at x; remembers the worth of the entries there, and the diagonal of the Hessian."""
        task, n_tasks = self.vocabulary.entry_task, len(self.vocabulary.tasks)
        self.worth = np.exp(np.clip(x, -300, 300))
        self.total = sum_by(task, self.worth, n_tasks)
        value, slope, curvature = self.choices.terms(x, self.worth) if self.choices else self._kernel_terms(x)
        slope += self.prior * (self.worth - 1) + self.precision * x
        self.curvature = curvature + self.prior * self.worth + self.precision
        value += self.prior * float((self.worth - x).sum()) + self.precision * dot(x, x) / 2
        return value, self._differences(slope)

    def _kernel_terms(self, x: Floats) -> tuple[float, Floats, Floats]:
        """`Choices.terms` of many lists."""
        n, task = self.vocabulary.n_entries, self.vocabulary.entry_task
        list_terms = for_work(kernels.list_terms, STEPS * len(self.entry))
        sums, values = self.sum(
            lambda rows, into: list_terms(
                self._lists(rows), x, self.worth, self.total, self.task_starts, self.inverse_worth, into
            )
        )
        slope, curvature, below, below_twice = np.split(sums, [n, 2 * n, 2 * n + len(self.total)])
        once = self.worth * below[task]
        return sum(values), slope + once, curvature + once - self.worth**2 * below_twice[task]

    def hessian_product(self, v: Floats) -> Floats:
        """The Hessian at the last evaluated point times v."""
        moved = self.worth * v
        product = self.choices.hessian_product(self.worth, moved) if self.choices else self._kernel_product(moved)
        return self._differences(product + self.prior * moved + self.precision * v)

    def _kernel_product(self, moved: Floats) -> Floats:
        """`Choices.hessian_product` of many lists."""
        n, task = self.vocabulary.n_entries, self.vocabulary.entry_task
        total = sum_by(task, moved, len(self.vocabulary.tasks))
        list_product = for_work(kernels.list_hessian_product, STEPS * len(self.entry))
        sums, _ = self.sum(
            lambda rows, into: list_product(
                self._lists(rows), self.worth, moved, self.inverse_worth, self.total, total, self.task_starts, into
            )
        )
        product, _, below, below_moved = np.split(sums, [n, 2 * n, 2 * n + len(total)])
        return np.asarray(product + moved * below[task] - self.worth * below_moved[task])

    def _differences(self, v: Floats) -> Floats:
        """Without prior, remove the mean of each task.

        The likelihood does not depend on it, and Newton's method would take many steps to follow rounding errors.
        """
        return v - _means(v, self.vocabulary) if self.only_differences else v

    @property
    def only_differences(self) -> bool:
        """Whether there is no prior, which would fix the mean."""
        return not self.prior and not self.precision

    def diagonal(self) -> Floats:
        """The diagonal of the Hessian at the last evaluated point."""
        return np.maximum(self.curvature, 0.0)

    def _lists(self, rows: slice) -> kernels.ListData:
        """The lists that begin in a slice of the rows."""
        first, end = np.searchsorted(self.starts[:-1], [rows.start, rows.stop])
        if rows.stop == len(self.entry):
            end = len(self.task)
        which = slice(first, end)
        return kernels.ListData(
            self.starts[first : end + 1],
            self.task[which],
            self.unlisted[which],
            self.weight[which],
            self.entry,
            self.tied,
        )

    def joint_curvatures(self) -> Floats:
        """Minus the second derivatives by two scores of a task: the tables of all tasks, one after the other."""
        sizes = np.diff(self.task_starts)
        first, task = np.cumsum(sizes**2) - sizes**2, self.vocabulary.entry_task
        place = np.arange(self.vocabulary.n_entries) - self.task_starts[task]
        row = first[task] + place * sizes[task]
        table, everywhere = np.zeros(int((sizes**2).sum())), np.zeros(len(sizes))
        whole = slice(0, len(self.entry))
        add_curvatures = for_work(kernels.list_joint_curvatures, len(self.entry) * int(sizes.max(initial=0)))
        add_curvatures(self._lists(whole), self.worth, self.total, self.task_starts, row, place, table, everywhere)
        one, other = self.cells()
        return self.worth[one] * self.worth[other] * (table + everywhere[task[one]])

    def cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The two entries of each cell of the tables."""
        sizes = np.diff(self.task_starts)[self.vocabulary.entry_task]
        one = np.repeat(np.arange(self.vocabulary.n_entries), sizes)
        within = np.arange(len(one)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return one, self.task_starts[self.vocabulary.entry_task[one]] + within


def _uncertainty(model: ListModel, x: Floats, chosen: ScoreSpread | None) -> tuple[Floats | None, Spread]:
    """The posterior mean of the scores, where it was drawn, and their uncertainty."""
    model.evaluate(x)
    if chosen is None:
        return None, _spread_at_optimum(model)
    if len(x) <= MOST_DRAWN[0] and len(model.entry) <= MOST_DRAWN[1]:
        return _drawn(model, x, chosen)
    return None, _spread_at_optimum(model).widened(chosen.response, model.diagonal(), model.vocabulary.entry_task)


def _drawn(model: ListModel, x: Floats, chosen: ScoreSpread) -> tuple[Floats, Spread]:
    """Mean and covariance of draws, relative to the mean of each task; entries of the same score share theirs."""
    n, weight, task = len(x), model.diagonal(), model.vocabulary.entry_task
    unit = max(chosen.deviation, math.sqrt(0.5 / n))  # what the scores alone would tell about their spread
    response = chosen.response * (unit / chosen.deviation if chosen.deviation > 0 else 0.0)
    hessian, spread = _dense_hessian(model), model.precision**-0.5
    model.precision = 1e-300  # no prior, but no other way to remove the mean of a task either
    draws = ScoreDraws(model.evaluate, x, spread, hessian, response, unit).draw()
    for each in draws:
        each -= (sum_by(task, weight * each, n) / np.maximum(sum_by(task, weight, n), 1e-300))[task]
    _, same = np.unique(np.c_[task, np.round(x, 8)], axis=0, return_inverse=True)
    average = np.equal.outer(same, same).astype(np.float64) / np.bincount(same)[same]
    covariance = np.round(np.cov(draws, rowvar=False).reshape(n, n), 8)
    mean, variance = average @ draws.mean(axis=0), average @ np.diag(covariance)
    return np.round(mean, 8), Spread(np.round(variance, 8), lambda one, other: covariance[one, other])


def _spread_at_optimum(model: ListModel) -> Spread:
    """The uncertainty of the scores: from the Hessian itself where it, or that of every task, is small."""
    sizes, n = np.diff(model.task_starts), model.vocabulary.n_entries
    small = n <= LARGEST_DENSE or sizes.max() <= LARGEST_BLOCK
    if not small or int((sizes**2).sum()) > MOST_CELLS:
        return probed_spread(model.hessian_product, model.diagonal(), model.vocabulary.entry_task)
    if n <= LARGEST_DENSE:
        return dense_spread(_dense_hessian(model), model.vocabulary.entry_task)
    (one, other), curvature = model.cells(), model.joint_curvatures()
    once = one < other
    return block_spread(
        model.diagonal(), one[once].astype(np.int32), other[once].astype(np.int32), curvature[once], model.task_starts
    )


def _means(score: Floats, vocabulary: Vocabulary) -> Floats:
    """Per entry, the mean score of its task."""
    size = np.maximum(np.diff(vocabulary.task_starts), 1)
    return np.asarray((sum_by(vocabulary.entry_task, score, len(size)) / size)[vocabulary.entry_task])
