"""Dawid-Skene: every entry has a true class, every annotator a table of the grades they give to entries of each class.

    P(grades of an entry) = Σ_t P(t) Π_a C_a[g_a | t]

Classes and tables are estimated by EM, in one fit over all tasks: the probabilities of each entry's classes given the
tables, then the tables given those probabilities, starting from the shares of the grades each entry got. The tables
correct for every habit that depends on the class alone: generous, severe, random, reversed.

Most annotators give few grades. So each gets, beside their own judgments, `prior` virtual judgments per class,
distributed over the grades as the whole crowd's are: an annotator with one grade is taken to be like the crowd. With
`prior=0` this is the method of the paper.

There are as many classes as grades, or `classes`; fewer classes have fewer tables to learn. The model does not know
that grades have an order, and classes may drift from the grade they started as. So a class stands for the mean grade
that the crowd gives it, and the score of an entry is its expectation. With `ordinal`, entries of a higher class get no
lower grades: an annotator's probability of a grade or a lower one must not increase with the class (isotonic
regression). The grades of reversed annotators then count as random.

All annotators are taken to use one scale; more than 32 different grades are first merged into 32 levels. Quality is the
probability that, of two entries of different class with different grades, the one of the higher class got the higher
grade.

Dawid and Skene: Maximum likelihood estimation of observer error-rates using the EM algorithm, Applied Statistics 1979.

>>> import crowdrank as cr
>>> study = cr.simulate.grades(items=100, annotators=20, labels=10, malicious=0.2, gold_grades=3, seed=1)
>>> consensus = cr.DawidSkene().fit(study.judgments)
>>> plain = cr.Mean().fit(study.judgments)
>>> cr.evaluate(consensus, study.gold, ["acc"]).mean["acc"] > cr.evaluate(plain, study.gold, ["acc"]).mean["acc"]
True
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus, Fit
from crowdrank.methods.grades.curves.grade_table import GradeTable, grade_table
from crowdrank.methods.grades.curves.outliers import graded_verdicts
from crowdrank.methods.grades.curves.possible import possible_truths
from crowdrank.methods.leave_one_out import withdraw_praise
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import annotator_columns, check_kinds, make_consensus
from crowdrank.numerics.blas import one_blas_thread
from crowdrank.numerics.compiled import kernel
from crowdrank.numerics.engine import placed
from crowdrank.numerics.groups import Places, grouped
from crowdrank.numerics.progress import report
from crowdrank.numerics.sums import sum_by
from crowdrank.numerics.threads import RowSum
from crowdrank.settings import check_fit, check_flag, check_not_negative, check_whole_number
from crowdrank.study import Codes, Floats, Judgments

SMALLEST = 1e-10  # probability: an event that never happened is not impossible


@dataclass(frozen=True, slots=True)
class DawidSkene:
    """Settings of Dawid-Skene."""

    description: ClassVar[Description] = Description(
        name="dawid-skene",
        family="grades",
        summary="True classes, and for every annotator a table of the grades they give to each class (EM).",
        takes=("grades",),
        other_names=("ds", "em", "glad", "mace"),
    )

    classes: int | None = None  # true classes; by default as many as grades
    ordinal: bool = False  # higher classes get no lower grades
    prior: float = 5.0  # virtual judgments of each annotator on each class, graded as the crowd does
    max_iter: int = 500
    tol: float = 1e-3  # the fit ends when the class probabilities move less than this in a step, on average

    def __post_init__(self) -> None:
        check_not_negative("prior", self.prior)
        check_fit(None, self.max_iter, self.tol)
        if self.classes is not None:
            check_whole_number("classes", self.classes, 2, 100)
        check_flag("ordinal", self.ordinal)

    @one_blas_thread
    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by the grade that the crowd gives to items of their class."""
        notes = check_kinds(self.description, judgments)
        table = grade_table(judgments)
        grades = _grades_by_cell(table)
        chance, start_grade = _start(table, self.classes or len(table.levels)), np.arange(len(table.levels))
        if self.classes is None and not self.ordinal:  # a class for each grade that can be the true one
            start_grade = np.flatnonzero(possible_truths(table.entry, table.level, table.n_entries, len(table.levels)))
            chance = np.ascontiguousarray(chance[:, start_grade])
        chance, fit = _em(grades, chance, self)
        tables, crowd = grades.tables(chance, self.prior, self.ordinal)
        value = table.levels.value @ crowd
        quality = _quality(grades, np.exp(tables), chance, value)
        verdict = _verdicts(judgments, table, quality)
        columns = annotator_columns(judgments, quality, verdict=verdict)
        chance[np.diff(table.entry_starts) == 0] = np.nan
        order = np.argsort(value, kind="stable")
        # A class is labelled by the grade it started as.
        own_grades = self.classes is None and not table.levels.notes
        return make_consensus(
            self.description,
            judgments,
            chance @ value,
            fit=fit,
            annotators=columns,
            extra_fields={
                "grade_values": value[order],
                "grade_chances": chance[:, order],
                "estimate_labels": partial(_label_chances, chance, start_grade, len(table.levels))
                if own_grades
                else None,
            },
            notes=(*notes, *table.levels.notes),
        )


def _label_chances(chance: Floats, grade: Places, n_levels: int) -> Floats:
    """Per entry, the probability of each level as the true one; that of the classes is `chance`."""
    found = np.zeros((len(chance), n_levels))
    found[:, grade] = chance
    found[np.isnan(chance).any(axis=1)] = np.nan
    return found


def _start(table: GradeTable, classes: int) -> Floats:
    """The initial class probabilities of each entry: the shares of its grades.

    With more or fewer classes than grades, a grade is divided between the two classes nearest to its quantile among all
    grades.
    """
    count = np.bincount(table.level, minlength=len(table.levels))
    place = np.arange(len(table.levels), dtype=np.float64)
    if classes != len(table.levels):
        place = np.clip((np.cumsum(count) - count / 2) / max(len(table), 1) * classes - 0.5, 0, classes - 1)
    below = np.floor(place).astype(np.int64)
    part, size = (place - below)[table.level], table.n_entries * classes
    cell = table.entry.astype(np.int64) * classes + below[table.level]
    spread = sum_by(cell, 1 - part, size) + sum_by(np.minimum(cell + 1, size - 1), part, size)
    spread = spread.reshape(table.n_entries, classes)
    return np.asarray(spread / np.maximum(spread.sum(axis=1, keepdims=True), SMALLEST))


def _verdicts(judgments: Judgments, table: GradeTable, quality: Floats) -> NDArray[np.object_]:
    """Nobody is praised for virtual judgments, or for agreeing with classes that their own grades made."""
    several = np.diff(table.entry_starts)[table.entry] > 1
    word = graded_verdicts(quality, sum_by(table.annotator, several, table.n_annotators))
    withdraw_praise(word, judgments.only("grades"))
    return word


def _em(grades: GradesByCell, chance: Floats, settings: DawidSkene) -> tuple[Floats, Fit]:
    share = chance.sum(axis=0)
    value = 0.0
    for step in range(1, settings.max_iter + 1):
        report("classes", step, settings.max_iter)
        tables, _ = grades.tables(chance, settings.prior, settings.ordinal)
        value, moved, share = grades.classes(tables, share, chance)
        if moved <= settings.tol:
            return chance, Fit(step, True, value)
    return chance, Fit(settings.max_iter, False, value)


@dataclass(frozen=True)
class GradesByCell:
    """The grades sorted twice: by entry, and by cell. A cell is an annotator and one of the grades they gave.

    Each half of an EM step reads one order and writes for the other, so threads need not share sums, and memory grows
    with the number of cells.
    """

    cell: Codes  # of each row, by entry
    entry_starts: Places
    entry: Codes  # of each row, by cell
    cell_starts: Places
    cell_level: Codes  # the grade of each cell
    annotator_starts: Places  # cells of annotator a are annotator_starts[a]:annotator_starts[a + 1]
    n_levels: int

    def tables(self, chance: Floats, prior: float, ordinal: bool) -> tuple[Floats, Floats]:
        """The logarithm of C_a[g | t] of each cell and class, and the table of the whole crowd."""
        counts, crowd = self.counts(chance)
        crowd += SMALLEST
        crowd /= crowd.sum(axis=0)
        log_tables = _log_ordinal_tables if ordinal else _log_tables
        log_tables(self.annotator_starts, self.cell_level, crowd, prior, counts)
        return counts, crowd

    def counts(self, chance: Floats) -> tuple[Floats, Floats]:
        """The expected number of entries of each cell and class, and of each level and class."""
        n_classes = chance.shape[1]
        counts = np.empty((len(self.cell_level), n_classes))

        def count(rows: slice, total: Floats) -> None:
            first, last = np.searchsorted(self.cell_starts[:-1], (rows.start, rows.stop))
            _count(
                first, last, self.cell_starts, self.entry, self.cell_level, chance, counts, total.reshape(-1, n_classes)
            )

        total, _ = RowSum(len(self.entry), self.n_levels * n_classes)(count)
        return counts, total.reshape(-1, n_classes)

    def classes(self, tables: Floats, share: Floats, chance: Floats) -> tuple[float, float, Floats]:
        """Update the class probabilities in place.

        Returns the log-likelihood, how far the probabilities moved on average, and the sum of each class.
        """
        log_share = np.log(np.maximum(share / max(share.sum(), SMALLEST), SMALLEST))
        value, moved, total = self.update(tables, log_share, chance)
        return value, moved / max(total.sum(), 1.0), total

    def update(self, tables: Floats, log_share: Floats, chance: Floats) -> tuple[float, float, Floats]:
        """The same with the sum of how far probabilities moved."""

        def update(rows: slice, total: Floats) -> tuple[float, float]:
            first, last = np.searchsorted(self.entry_starts[:-1], (rows.start, rows.stop))
            value, moved = _update_classes(first, last, self.entry_starts, self.cell, tables, log_share, chance, total)
            return value, moved

        total, parts = RowSum(len(self.cell), len(log_share))(update)
        return sum(value for value, _ in parts), sum(moved for _, moved in parts), total


def _grades_by_cell(table: GradeTable) -> GradesByCell:
    size = len(table.levels)
    key = table.annotator.astype(np.int64) * size + table.level
    occupied = np.flatnonzero(np.bincount(key, minlength=table.n_annotators * size))
    number = np.zeros(table.n_annotators * size, dtype=np.int32)
    number[occupied] = np.arange(len(occupied), dtype=np.int32)
    cell = number[key]
    by_cell, cell_starts = grouped(cell, len(occupied))
    level = (occupied % size).astype(np.int32)
    annotator_starts = np.searchsorted(occupied, np.arange(table.n_annotators + 1) * size)
    return placed(GradesByCell)(
        cell, table.entry_starts, table.entry[by_cell], cell_starts, level, annotator_starts, size
    )


def _quality(grades: GradesByCell, tables: Floats, chance: Floats, value: Floats) -> Floats:
    """The probability to order two entries of different class correctly, given different grades."""
    order = np.argsort(value, kind="stable")
    joint = (tables * chance.sum(axis=0))[:, order]
    right, wrong = np.zeros((2, len(grades.annotator_starts) - 1))
    _order_probabilities(grades.annotator_starts, np.ascontiguousarray(joint), right, wrong)
    with np.errstate(invalid="ignore"):
        return np.asarray(right / (right + wrong))


@kernel
def _update_classes(first, last, starts, cell, tables, log_share, chance, total):
    n_classes = len(log_share)
    weight = np.empty(n_classes)
    value, product, moved = 0.0, 1.0, 0.0
    for entry in range(first, last):
        if starts[entry] == starts[entry + 1]:
            continue
        most = -np.inf
        for t in range(n_classes):
            log = log_share[t]
            for row in range(starts[entry], starts[entry + 1]):
                log += tables[cell[row], t]
            weight[t] = log
            most = log if log > most else most
        norm = 0.0
        for t in range(n_classes):
            weight[t] = np.exp(weight[t] - most)
            norm += weight[t]
        value += most
        product *= norm
        if product > 1e200:  # one logarithm for many entries
            value += np.log(product)
            product = 1.0
        for t in range(n_classes):
            new = weight[t] / norm
            moved += abs(new - chance[entry, t]) / 2
            chance[entry, t] = new
            total[t] += new
    return value + np.log(product), moved


@kernel
def _count(first, last, starts, entry, level, chance, counts, total):
    for cell in range(first, last):
        for t in range(chance.shape[1]):
            count = 0.0
            for row in range(starts[cell], starts[cell + 1]):
                count += chance[entry[row], t]
            counts[cell, t] = count
            total[level[cell], t] += count


@kernel
def _log_tables(starts, level, crowd, prior, counts):
    """From counts to the logarithms of probabilities, in place."""
    n_classes = crowd.shape[1]
    norm = np.empty(n_classes)
    for annotator in range(len(starts) - 1):
        _floor_and_sum(starts[annotator], starts[annotator + 1], prior, counts, norm)
        for cell in range(starts[annotator], starts[annotator + 1]):
            for t in range(n_classes):
                counts[cell, t] = np.log((counts[cell, t] + prior * crowd[level[cell], t]) / norm[t])


@kernel
def _log_ordinal_tables(starts, level, crowd, prior, counts):
    """The same, where the probability of a grade or a lower one does not increase with the class."""
    n_levels, n_classes = crowd.shape
    below, norm = np.empty((n_levels, n_classes)), np.empty(n_classes)
    for annotator in range(len(starts) - 1):
        _floor_and_sum(starts[annotator], starts[annotator + 1], prior, counts, norm)
        for t in range(n_classes):
            for g in range(n_levels):
                below[g, t] = prior * crowd[g, t] / norm[t]
            for cell in range(starts[annotator], starts[annotator + 1]):
                below[level[cell], t] += counts[cell, t] / norm[t]
            for g in range(1, n_levels):
                below[g, t] += below[g - 1, t]
        for g in range(n_levels - 1):
            _make_descending(below[g], norm)
        for cell in range(starts[annotator], starts[annotator + 1]):
            for t in range(n_classes):
                lower = below[level[cell] - 1, t] if level[cell] > 0 else 0.0
                counts[cell, t] = np.log(max(below[level[cell], t] - lower, SMALLEST))


@kernel
def _floor_and_sum(first, last, prior, counts, norm):
    """Raise counts to at least SMALLEST, and sum an annotator's counts in each class, virtual ones included."""
    for t in range(len(norm)):
        norm[t] = prior
        for cell in range(first, last):
            counts[cell, t] = max(counts[cell, t], SMALLEST)
            norm[t] += counts[cell, t]


@kernel
def _make_descending(values, weight):
    """Isotonic regression in place: the nearest values that do not increase, by weighted squares.

    By the pool-adjacent-violators algorithm.
    """
    start, pooled, total = np.empty(len(values), np.int64), np.empty(len(values)), np.empty(len(values))
    n = 0
    for at in range(len(values)):
        start[n], pooled[n], total[n] = at, values[at], weight[at]
        n += 1
        while n > 1 and pooled[n - 2] < pooled[n - 1]:
            both = total[n - 2] + total[n - 1]
            pooled[n - 2] = (pooled[n - 2] * total[n - 2] + pooled[n - 1] * total[n - 1]) / both
            total[n - 2] = both
            n -= 1
    for block in range(n):
        end = start[block + 1] if block + 1 < n else len(values)
        for at in range(start[block], end):
            values[at] = pooled[block]


@kernel
def _order_probabilities(starts, joint, right, wrong):
    """Per annotator, the probability of two grades in the order of the classes, and in the opposite order.

    The cells of an annotator ascend by grade.
    """
    n_classes = joint.shape[1]
    lower = np.empty(n_classes)
    for annotator in range(len(starts) - 1):
        for t in range(n_classes):
            lower[t] = 0.0
        for cell in range(starts[annotator], starts[annotator + 1]):
            worse, better = 0.0, 0.0
            for t in range(n_classes):
                better += lower[t]
            for t in range(n_classes):
                better -= lower[t]
                right[annotator] += joint[cell, t] * worse
                wrong[annotator] += joint[cell, t] * better
                worse += lower[t]
            for t in range(n_classes):
                lower[t] += joint[cell, t]
