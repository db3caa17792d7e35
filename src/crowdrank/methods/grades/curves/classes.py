"""Two models of true grades: every entry has one, and annotators give it with more or less error.

`true_classes`: annotator a gives an entry of true grade t grade g with probability C_a[t, g]. The tables are unknown,
and most annotators give few grades, so the tables are learned from the crowd:

- Annotators are of one of a few types: those who grade at random (`COMPETENCE` 0), poor, ordinary and good ones. A type
  has the table M[t, g] ∝ crowd[t, g]^competence × share[g]^(1 − competence). The crowd has a distribution of types.
- The table of an annotator varies around that of their type: C_a[t, ·] ~ Dirichlet(strength × M[t, ·]).
- The crowd's table starts from `VIRTUAL` grades of each true grade, of which `RIGHT` are right. So a true grade keeps
  the meaning of the grade it is named after. It is then shrunk to what all true grades have in common, the probability
  of each distance from the truth (`POOLED`): a rare true grade says little about how it is graded, and items that are
  hard to judge would be taken for it.

`true_coins`: an annotator is right with one probability, and all wrong grades are equally likely (one coin).

In both, the shares of the true grades differ between tasks: those of a task are Dirichlet(strength × those of the
study). Strengths are chosen by the likelihood of the counts. The tables and probabilities are integrated out: the
chances of an entry are those given all other entries' (collapsed variational Bayes, order zero). An entry does not
confirm itself, so the probabilities are calibrated where annotators give few grades; those of Dawid-Skene's EM are far
too certain there.

Dawid and Skene: Maximum likelihood estimation of observer error-rates using the EM algorithm, Applied Statistics 1979.
Kim and Ghahramani: Bayesian classifier combination, AISTATS 2012. Asuncion, Welling, Smyth and Teh: On smoothing and
inference for topic models, UAI 2009 (order zero).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from crowdrank.methods.grades.curves import label_kernels as kernels
from crowdrank.methods.grades.curves.curves import GradesByProfile
from crowdrank.numerics.progress import report
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.threads import RowSum
from crowdrank.study import Codes, Floats

COMPETENCE = np.array([0.0, 0.5, 1.0, 2.0])
TYPES = 30 * np.array([0.15, 0.2, 0.45, 0.2])  # virtual annotators of each type
VIRTUAL, RIGHT = 50.0, 0.7
POOLED = 2.0  # weight of what all true grades have in common, in grades of a true grade of average size
STRENGTHS = 2.0 ** np.arange(-1, 9)
LEAST = 0.01  # share of an even distribution in the tables of the types: no grade is impossible
STRENGTH_EVERY = 5  # steps; it changes slowly, and takes most of the time
MAX_ITER = 150
TOL = 1e-3  # ends when the chances move less than this in a step, on average


@dataclass(frozen=True, slots=True, eq=False)
class TrueClasses:
    """What a model finds."""

    chance: Floats  # per entry, of each true grade
    likelihood: Floats  # per row: the probability of its grade given all other rows


def true_classes(rows: GradesByProfile, size: int, entry_task: Codes) -> TrueClasses:
    """The chances of the true grades of each entry; those of entries without grades mean nothing."""
    return _fit(_Tables(rows, size, entry_task))


def true_coins(rows: GradesByProfile, size: int, entry_task: Codes) -> TrueClasses:
    """The same where annotators have one coin each."""
    return _fit(_Coins(rows, size, entry_task))


def _fit(model: _Crowd) -> TrueClasses:
    chance = _shares_given(model.rows, model.size)
    judged = max(int(np.count_nonzero(model.judged)), 1)
    for step in range(MAX_ITER):
        report("true grades", step, MAX_ITER)
        model.learn(chance, choose_strength=step % STRENGTH_EVERY == 0)
        chance, moved = model.moved(chance)
        if moved <= TOL * kernels.STEP * judged:
            break
    return TrueClasses(chance, model.likelihood)


class _Crowd(ABC):
    """What is known about the annotators, learned again in each step."""

    def __init__(self, rows: GradesByProfile, size: int, entry_task: Codes) -> None:
        self.rows, self.size = rows, size
        self.sorted = kernels.SortedGrades(rows.entry_starts, rows.profile, rows.level, entry_task)
        self.judged = np.diff(rows.entry_starts) > 0
        self.strength = 8.0
        self.sum = RowSum(len(rows.entry), 1, work=size)
        self.likelihood = np.ones(len(rows.entry))

    @abstractmethod
    def learn(self, chance: Floats, *, choose_strength: bool) -> None:
        """What these chances say about the annotators."""

    @abstractmethod
    def write_factors(self, first: int, before: Floats, factor: Floats) -> None:
        """Per row from the first on: the probability of its grade for each true grade, given all other entries."""

    def moved(self, before: Floats) -> tuple[Floats, float]:
        """The chances moved towards those given all other entries, and how far they moved; notes the likelihoods."""
        chance, starts, task = before.copy(), self.rows.entry_starts, self.sorted.entry_task
        shares = _task_shares(before[self.judged], task[self.judged], int(task.max(initial=0)) + 1)

        def move(part: slice, total: Floats) -> None:
            entries = np.searchsorted(starts[:-1], (part.start, part.stop))
            first, last = starts[entries]
            factor = np.empty((last - first, self.size))
            self.write_factors(first, before, factor)
            total[0] = kernels.move_chances(
                (entries[0], entries[1]), self.sorted, shares, factor, before, chance, self.likelihood
            )

        return chance, float(self.sum(move)[0][0])


class _Tables(_Crowd):
    """Types of annotators, and a table for each annotator."""

    def __init__(self, rows: GradesByProfile, size: int, entry_task: Codes) -> None:
        super().__init__(rows, size, entry_task)
        overall = np.bincount(rows.level, minlength=size) + 1.0
        self.overall = overall / overall.sum()
        self.competence, self.types = np.ones(rows.n_profiles), TYPES / TYPES.sum()

    def learn(self, chance: Floats, *, choose_strength: bool) -> None:
        """The tables and types that fit these chances."""
        rows = self.rows
        count = np.zeros((rows.n_profiles, self.size, self.size))
        kernels.count_grades(rows.entry, rows.profile, rows.level, chance, count)
        tables = _type_tables(_crowd_table(count, self.competence), self.overall)
        reach = 1 if choose_strength else 0
        self.strength, log_chance = _most_likely_strength(count, tables, np.log(self.types), self.strength, reach)
        weight = np.exp(log_chance - log_chance.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        types = weight.sum(axis=0) + TYPES
        self.types, self.competence = types / types.sum(), weight @ COMPETENCE
        # The prior of each profile's table: the mean of its types'.
        typical = self.strength * np.einsum("ak,ktg->atg", weight, tables)
        self.crowd = kernels.ClassCrowd(count, count.sum(axis=2), typical, self.strength)

    def write_factors(self, first: int, before: Floats, factor: Floats) -> None:
        kernels.table_factors(first, self.sorted, self.crowd, self.rows.entry, before, factor)


class _Coins(_Crowd):
    """A probability to be right for each annotator."""

    def learn(self, chance: Floats, *, choose_strength: bool) -> None:
        """The probabilities that fit these chances."""
        rows = self.rows
        given = np.diff(rows.profile_starts).astype(np.float64)
        right = sum_by(rows.profile, chance[rows.entry, rows.level], rows.n_profiles)
        usual = (right.sum() + VIRTUAL * RIGHT) / (given.sum() + VIRTUAL)
        if choose_strength:
            count = np.stack([right, np.maximum(given - right, 0.0)], axis=1)[:, None]
            table = np.array([[[usual, 1 - usual]]])
            self.strength, _ = _most_likely_strength(count, table, np.zeros(1), self.strength, 1)
        self.crowd = kernels.CoinCrowd(right, given, self.strength * usual, self.strength)

    def write_factors(self, first: int, before: Floats, factor: Floats) -> None:
        kernels.coin_factors(first, self.sorted, self.crowd, self.rows.entry, before, factor)


def _shares_given(rows: GradesByProfile, size: int) -> Floats:
    """The chances to start from: the shares of the grades that each entry got."""
    cell = rows.entry.astype(np.int64) * size + rows.level
    share = np.bincount(cell, minlength=rows.n_entries * size).reshape(-1, size) + 1e-9
    return np.asarray(share / share.sum(axis=1, keepdims=True))


def _crowd_table(count: Floats, competence: Floats) -> Floats:
    """How the crowd grades each true grade; competent annotators count more."""
    size = count.shape[1]
    wrong = (1 - RIGHT) / (size - 1)
    given = np.tensordot(competence, count, 1)
    table = given + VIRTUAL * (wrong + (RIGHT - wrong) * np.eye(size))
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    possible = np.broadcast_to(table.sum(axis=1, keepdims=True), table.shape)
    share = np.bincount(distance.ravel(), table.ravel()) / np.bincount(distance.ravel(), possible.ravel())
    common = share[distance] / share[distance].sum(axis=1, keepdims=True)
    table = table + POOLED * given.sum() / size * common
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def _type_tables(crowd: Floats, overall: Floats) -> Floats:
    """The table of each type of annotator."""
    log = COMPETENCE[:, None, None] * np.log(crowd) + (1 - COMPETENCE)[:, None, None] * np.log(overall)
    table = np.exp(log - log.max(axis=2, keepdims=True))
    table /= table.sum(axis=2, keepdims=True)
    return np.asarray((1 - LEAST) * table + LEAST / table.shape[2])


def _most_likely_strength(
    count: Floats, tables: Floats, log_types: Floats, strength: float, reach: int
) -> tuple[float, Floats]:
    """The best of the strengths within reach of this one, and per annotator the log-likelihood of each type with it."""
    at = int(np.argmin(np.abs(STRENGTHS - strength)))
    tried = []
    for value in STRENGTHS[max(at - reach, 0) : at + reach + 1]:
        log_chance = np.tile(log_types, (len(count), 1))
        kernels.add_log_likelihoods(count, tables * value, log_chance)
        most = log_chance.max(axis=1)
        evidence = float((most + np.log(np.exp(log_chance - most[:, None]).sum(axis=1))).sum())
        tried.append((evidence, float(value), log_chance))
    _, found, log_chance = max(tried, key=lambda each: each[0])
    return found, log_chance


def _task_shares(chance: Floats, task: Codes, n_tasks: int) -> kernels.TrueShares:
    """The expected number of entries of each true grade in each task, and the virtual ones of its prior."""
    total = chance.sum(axis=0) + 1.0
    count = np.stack([sum_by(task, of_grade, n_tasks) for of_grade in chance.T], axis=1)
    if n_tasks == 1:
        return kernels.TrueShares(count, np.ones(chance.shape[1]))
    centre = (total / total.sum())[None, None, :]
    evidence = []
    for strength in STRENGTHS:
        log_chance = np.zeros((n_tasks, 1))
        kernels.add_log_likelihoods(count[:, None], centre * strength, log_chance)
        evidence.append(log_chance.sum())
    return kernels.TrueShares(count, STRENGTHS[int(np.argmax(evidence))] * centre[0, 0])
