"""Which item needs another grade, and from whom: the expected information of one more grade about its relevance.

`gda` estimates what each grade means to each annotator, and the uncertainty of each item's relevance r, a normal
distribution. The worth of a grade is its mutual information with r: H(grade) − E[H(grade | r)], in nats. It is small
for annotators whose grades carry little information, and for items whose relevance is already well known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdrank.collect.limits import Limits
from crowdrank.collect.policies import GradePolicy
from crowdrank.consensus import Consensus, frame_of
from crowdrank.methods.grades.gda import GDA
from crowdrank.numerics.special import NORMAL_95
from crowdrank.study import Codes, Floats, JudgmentError, Judgments, Vocabulary, entries_in, ids, recode

NODES, SHARES = np.polynomial.hermite_e.hermegauss(15)
SHARES = SHARES / SHARES.sum()

GradeCurves = Mapping[str, Floats]  # mean, spread and weight of each grade of an annotator


class GradeQuestion(NamedTuple):
    """An annotator and an entry, by code, and the expected information per unit of cost."""

    annotator: int
    entry: int
    gain: float


def grade_questions(
    judgments: Judgments,
    vocabulary: Vocabulary,
    limits: Limits,
    available: Codes | None,
    count: int,
    policy: GradePolicy,
    *,
    outstanding: Iterable[tuple[int, int]] = (),
    repeat: bool = False,
) -> Any:
    """The grades to ask for next: a data frame task, annotator, item, gain.

    `outstanding`: annotators and entries, by code, that were asked before and are not answered yet.
    """
    if not len(judgments.grades):
        raise JudgmentError("the policy grades needs grades to start from; this study has none")
    consensus = GDA(shrinkage=policy.shrinkage).fit(judgments.only("grades"))
    annotators = np.arange(len(vocabulary.annotators)) if available is None else available
    curves = [_curves_of(consensus, vocabulary.annotators[k]) for k in annotators]
    allowed = _not_graded(judgments, vocabulary, limits.allowed)[annotators]
    mean, error = _relevance(consensus, vocabulary)
    cost = limits.cost[annotators]
    gain = _all_gains(mean, error, curves) / cost[:, None]
    found = []
    everybody = slice(None)
    for who, item in outstanding:
        by = np.flatnonzero(annotators == who)
        error[item] *= np.exp(-(gain[by, item] * cost[by] if len(by) else gain[:, item]).mean())
        gain[:, item] = _all_gains(mean[[item]], error[[item]], curves)[:, 0] / cost
        allowed[by if repeat else everybody, item] = False
    asked = [everybody] * count if available is None else [slice(k, k + 1) for k in range(len(annotators))] * count
    for rows in asked:
        open_gains = np.where(allowed[rows], gain[rows], -np.inf)
        if not open_gains.size or open_gains.max() == -np.inf:
            continue
        row, entry = np.unravel_index(int(np.argmax(open_gains)), open_gains.shape)
        k = int(row) + (rows.start or 0)
        found.append(GradeQuestion(int(annotators[k]), int(entry), float(gain[k, entry])))
        # A normal distribution that loses this many nats of entropy is narrower by this factor.
        error[entry] *= np.exp(-gain[k, entry] * cost[k])
        gain[:, entry] = _all_gains(mean[[entry]], error[[entry]], curves)[:, 0] / cost
        allowed[k if repeat else everybody, entry] = False
    return _frame(found, vocabulary)


def _not_graded(judgments: Judgments, vocabulary: Vocabulary, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """What each annotator may be asked to grade: what is allowed, and not graded by them yet."""
    grades, not_graded = judgments.grades, allowed.copy()
    who = recode(judgments.vocabulary.annotators, vocabulary.annotators)[grades.annotator]
    not_graded[who, entries_in(judgments.vocabulary, vocabulary)[grades.entry]] = False
    return not_graded


def _relevance(consensus: Consensus, vocabulary: Vocabulary) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each entry's relevance; without a grade, those of the prior."""
    mean, error = np.zeros(vocabulary.n_entries), np.ones(vocabulary.n_entries)
    assert consensus.low is not None
    assert consensus.high is not None
    judged = ~np.isnan(consensus.score)
    to = entries_in(consensus.vocabulary, vocabulary)[judged]
    mean[to] = consensus.score[judged]
    error[to] = (consensus.high - consensus.low)[judged] / (2 * NORMAL_95)
    return mean, error


def _curves_of(consensus: Consensus, annotator: Any) -> GradeCurves | None:
    """The curves of an annotator; None for one without grades."""
    columns = consensus.curve_columns
    assert columns is not None
    rows = np.array([str(name) == str(annotator) for name in columns["annotator"]], dtype=bool)
    return {name: columns[name][rows] for name in ("mean", "spread", "weight")} if rows.any() else None


def _all_gains(mean: Floats, error: Floats, curves: Sequence[GradeCurves | None]) -> Floats:
    """A row for each annotator, a column for each entry; annotators without grades get the mean of the others."""
    known = [grade_gain(mean, error, each) for each in curves if each is not None]
    usual = np.mean(known, axis=0) if known else error**2 / 2
    gains = iter(known)
    return np.array([usual if each is None else next(gains) for each in curves]).reshape(len(curves), len(mean))


def grade_gain(mean: Floats, error: Floats, curves: GradeCurves) -> Floats:
    """The mutual information, in nats, of a grade with these curves and each of some normal relevances."""
    r = mean[:, None] + error[:, None] * NODES
    log = np.log(curves["weight"]) - (r[..., None] - curves["mean"]) ** 2 / (2 * curves["spread"] ** 2)
    chance = np.exp(log - log.max(axis=2, keepdims=True))
    chance /= chance.sum(axis=2, keepdims=True)
    overall = np.einsum("enk,n->ek", chance, SHARES)
    return np.maximum(_entropy(overall) - _entropy(chance) @ SHARES, 0.0)


def _entropy(chance: Floats) -> Floats:
    return np.asarray(-(chance * np.log(np.maximum(chance, 1e-300))).sum(axis=-1))


def _frame(found: Sequence[GradeQuestion], vocabulary: Vocabulary) -> Any:
    """The questions with their names."""
    annotator, entry = [each.annotator for each in found], [each.entry for each in found]
    columns = {
        "task": vocabulary.tasks[vocabulary.entry_task[entry]] if found else ids([]),
        "annotator": vocabulary.annotators[annotator] if found else ids([]),
        "item": vocabulary.items[vocabulary.entry_item[entry]] if found else ids([]),
        "gain": np.array([each.gain for each in found], dtype=np.float64),
    }
    return frame_of(columns, vocabulary.frame).to_native()
