"""A model of true grades: every entry has one, and every annotator a table of the grades they give to each.

Every entry has a true grade t, and annotator a gives it grade g with probability C_a[t, g]. The tables are unknown, and
most annotators give few grades, so the tables are learned from the crowd:

- Annotators are of one of a few types: those who grade at random (`COMPETENCE` 0), poor, ordinary and good ones. A type
  has the table M[t, g] ∝ crowd[t, g]^competence × share[g]^(1 − competence). The crowd has a distribution of types.
- The table of an annotator varies around that of their type: C_a[t, ·] ~ Dirichlet(strength × M[t, ·]).
- The crowd's table starts from `VIRTUAL` grades of each true grade, of which `RIGHT` are right. So a true grade keeps
  the meaning of the grade it is named after, even where it is rare.
- The shares of the true grades differ between tasks: those of a task are Dirichlet(strength × those of the study).

Both strengths are chosen by the likelihood of the counts. The tables are integrated out: the chances of an entry are
those given all other entries' (collapsed variational Bayes, order zero). An entry does not confirm itself, so the
probabilities are calibrated where annotators give few grades; those of Dawid-Skene's EM are far too certain there.

Dawid and Skene: Maximum likelihood estimation of observer error-rates using the EM algorithm, Applied Statistics 1979.
Kim and Ghahramani: Bayesian classifier combination, AISTATS 2012. Asuncion, Welling, Smyth and Teh: On smoothing and
inference for topic models, UAI 2009 (order zero).
"""

from __future__ import annotations

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
STRENGTHS = 2.0 ** np.arange(-1, 9)
LEAST = 0.01  # share of an even distribution in the tables of the types: no grade is impossible
STRENGTH_EVERY = 5  # steps; it changes slowly, and takes most of the time
MAX_ITER = 150
TOL = 1e-3  # ends when the chances move less than this in a step, on average


@dataclass(frozen=True, slots=True, eq=False)
class TrueClasses:
    """What the model finds."""

    chance: Floats  # per entry, of each true grade
    likelihood: Floats  # per row: the probability of its grade given all other rows


def true_classes(rows: GradesByProfile, size: int, entry_task: Codes) -> TrueClasses:
    """The chances of the true grades of each entry; those of entries without grades mean nothing."""
    model = _ClassModel(rows, size, entry_task)
    chance = _shares_given(rows, size)
    judged = max(int(np.count_nonzero(np.diff(rows.entry_starts))), 1)
    for step in range(MAX_ITER):
        report("true grades", step, MAX_ITER)
        model.learn_crowd(chance, choose_strength=step % STRENGTH_EVERY == 0)
        chance, moved = model.moved(chance)
        if moved <= TOL * kernels.STEP * judged:
            break
    return TrueClasses(chance, model.likelihood)


class _ClassModel:
    """The crowd: its types, tables and shares, learned again in each step."""

    def __init__(self, rows: GradesByProfile, size: int, entry_task: Codes) -> None:
        self.rows, self.size, self.entry_task = rows, size, entry_task
        self.judged = np.diff(rows.entry_starts) > 0
        overall = np.bincount(rows.level, minlength=size) + 1.0
        self.overall = overall / overall.sum()
        self.competence, self.types, self.strength = np.ones(rows.n_profiles), TYPES / TYPES.sum(), 8.0
        self.sum = RowSum(len(rows.entry), 1, work=size)
        self.likelihood = np.ones(len(rows.entry))

    def learn_crowd(self, chance: Floats, *, choose_strength: bool) -> None:
        """The tables, types and shares that fit these chances."""
        rows, task = self.rows, self.entry_task
        self.count = np.zeros((rows.n_profiles, self.size, self.size))
        kernels.count_grades(rows.entry, rows.profile, rows.level, chance, self.count)
        tables = _type_tables(_crowd_table(self.count, self.competence), self.overall)
        reach = 1 if choose_strength else 0
        self.strength, log_chance = _most_likely_strength(self.count, tables, np.log(self.types), self.strength, reach)
        weight = np.exp(log_chance - log_chance.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        types = weight.sum(axis=0) + TYPES
        self.types, self.competence = types / types.sum(), weight @ COMPETENCE
        # The prior of each profile's table: the mean of its types'.
        self.typical = self.strength * np.einsum("ak,ktg->atg", weight, tables)
        self.in_task, self.virtual = _task_shares(chance[self.judged], task[self.judged], int(task.max(initial=0)) + 1)

    def moved(self, before: Floats) -> tuple[Floats, float]:
        """The chances moved towards those given all other entries, and how far they moved; notes the likelihoods."""
        chance = before.copy()
        rows = kernels.SortedGrades(self.rows.entry_starts, self.rows.profile, self.rows.level, self.entry_task)
        crowd = kernels.ClassCrowd(
            self.count, self.count.sum(axis=2), self.typical, self.strength, self.in_task, self.virtual
        )

        def move(part: slice, total: Floats) -> None:
            first, last = np.searchsorted(rows.entry_starts[:-1], (part.start, part.stop))
            total[0] = kernels.move_chances((first, last), rows, crowd, before, chance, self.likelihood)

        return chance, float(self.sum(move)[0][0])


def _shares_given(rows: GradesByProfile, size: int) -> Floats:
    """The chances to start from: the shares of the grades that each entry got."""
    cell = rows.entry.astype(np.int64) * size + rows.level
    share = np.bincount(cell, minlength=rows.n_entries * size).reshape(-1, size) + 1e-9
    return np.asarray(share / share.sum(axis=1, keepdims=True))


def _crowd_table(count: Floats, competence: Floats) -> Floats:
    """How the crowd grades each true grade; competent annotators count more."""
    size = count.shape[1]
    wrong = (1 - RIGHT) / (size - 1)
    table = np.tensordot(competence, count, 1) + VIRTUAL * (wrong + (RIGHT - wrong) * np.eye(size))
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


def _task_shares(chance: Floats, task: Codes, n_tasks: int) -> tuple[Floats, Floats]:
    """The expected number of entries of each true grade in each task, and the virtual ones of its prior."""
    total = chance.sum(axis=0) + 1.0
    count = np.stack([sum_by(task, of_grade, n_tasks) for of_grade in chance.T], axis=1)
    if n_tasks == 1:
        return count, np.ones(chance.shape[1])
    centre = (total / total.sum())[None, None, :]
    evidence = []
    for strength in STRENGTHS:
        log_chance = np.zeros((n_tasks, 1))
        kernels.add_log_likelihoods(count[:, None], centre * strength, log_chance)
        evidence.append(log_chance.sum())
    return count, STRENGTHS[int(np.argmax(evidence))] * centre[0, 0]
