"""Which item needs another grade, and from whom: what one more grade is expected to tell about its relevance.

`gda` knows what each grade means to each annotator, and how sure the relevance of an item is. The worth of a grade is
the information it shares with the relevance r, a normal belief: H(grade) − E[H(grade | r)], in nats. Annotators whose
grades say little are worth little, and so are items that are sure already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.collect.policies import Policy
from crowdrank.collect.state import entries_of
from crowdrank.consensus import Consensus, frame_of
from crowdrank.methods.grades.gda import GDA
from crowdrank.numerics.special import NORMAL_95
from crowdrank.study import Codes, Floats, JudgmentError, Judgments, Vocabulary, ids, recode

NODES, SHARES = np.polynomial.hermite_e.hermegauss(15)
SHARES = SHARES / SHARES.sum()


def grade_questions(
    judgments: Judgments,
    vocabulary: Vocabulary,
    allowed: NDArray[np.bool_],
    price: Floats,
    at_hand: Codes | None,
    count: int,
    policy: Policy,
    *,
    repeat: bool = False,
) -> Any:
    """The grades to ask for next: a data frame task, annotator, item, gain."""
    if not len(judgments.grades):
        raise JudgmentError("the policy grades needs grades to start from; this study has none")
    consensus = GDA(shrinkage=policy.shrinkage).fit(judgments.only("grades"))  # type: ignore[attr-defined]
    mean, error = _relevance(consensus, vocabulary)
    crowd = np.arange(len(vocabulary.annotators)) if at_hand is None else at_hand
    curves = [_curves_of(consensus, vocabulary.annotators[k]) for k in crowd]
    may = allowed[crowd]
    entry, who = (
        entries_of(judgments.vocabulary, vocabulary),
        recode(judgments.vocabulary.annotators, vocabulary.annotators),
    )
    row = {int(k): number for number, k in enumerate(crowd)}
    for k, e in zip(who[judgments.grades.annotator], entry[judgments.grades.entry], strict=True):
        if int(k) in row:
            may[row[int(k)], e] = False
    gain = _all_gains(mean, error, curves) / price[crowd, None]
    found = []
    wanted = [None] * count if at_hand is None else [number for _ in range(count) for number in range(len(crowd))]
    for number in wanted:
        rows = slice(None) if number is None else slice(number, number + 1)
        open_to = np.where(may[rows], gain[rows], -np.inf)
        if not open_to.size or open_to.max() == -np.inf:
            continue
        k, e = np.unravel_index(int(np.argmax(open_to)), open_to.shape)
        k = int(k) if number is None else number
        found.append((int(crowd[k]), int(e), float(gain[k, e])))
        # A normal belief that loses so many nats is that much narrower.
        error[e] *= np.exp(-gain[k, e] * price[crowd[k]])
        gain[:, e] = _all_gains(mean[e : e + 1], error[e : e + 1], curves)[:, 0] / price[crowd]
        may[k if repeat else slice(None), e] = False
    return _frame(found, vocabulary)


def _relevance(consensus: Consensus, vocabulary: Vocabulary) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each entry's relevance; of those without a grade, the prior's."""
    mean, error = np.zeros(vocabulary.n_entries), np.ones(vocabulary.n_entries)
    assert consensus.low is not None
    assert consensus.high is not None
    judged = ~np.isnan(consensus.score)
    to = entries_of(consensus.vocabulary, vocabulary)[judged]
    mean[to] = consensus.score[judged]
    error[to] = (consensus.high - consensus.low)[judged] / (2 * NORMAL_95)
    return mean, error


def _curves_of(consensus: Consensus, annotator: Any) -> Mapping[str, Floats] | None:
    """Mean, spread and weight of each grade of an annotator; None of who has not graded yet."""
    columns = consensus.curve_columns
    assert columns is not None
    rows = np.array([str(name) == str(annotator) for name in columns["annotator"]], dtype=bool)
    return {name: columns[name][rows] for name in ("mean", "spread", "weight")} if rows.any() else None


def _all_gains(mean: Floats, error: Floats, curves: list[Mapping[str, Floats] | None]) -> Floats:
    """A row for each annotator, a column for each entry; who has not graded yet tells as much as the others do on average."""
    known = [grade_gain(mean, error, each) for each in curves if each is not None]
    usual = np.mean(known, axis=0) if known else error**2 / 2
    told = iter(known)
    return np.array([usual if each is None else next(told) for each in curves]).reshape(len(curves), len(mean))


def grade_gain(mean: Floats, error: Floats, curves: Mapping[str, Floats]) -> Floats:
    """What a grade with these curves is expected to tell about each of some normal relevances, in nats."""
    r = mean[:, None] + error[:, None] * NODES
    log = np.log(curves["weight"]) - (r[..., None] - curves["mean"]) ** 2 / (2 * curves["spread"] ** 2)
    chance = np.exp(log - log.max(axis=2, keepdims=True))
    chance /= chance.sum(axis=2, keepdims=True)
    overall = np.einsum("enk,n->ek", chance, SHARES)
    return np.maximum(_entropy(overall) - _entropy(chance) @ SHARES, 0.0)


def _entropy(chance: Floats) -> Floats:
    return np.asarray(-(chance * np.log(np.maximum(chance, 1e-300))).sum(axis=-1))


def _frame(found: list[tuple[int, int, float]], vocabulary: Vocabulary) -> Any:
    annotator, entry = [each[0] for each in found], [each[1] for each in found]
    columns = {
        "task": vocabulary.tasks[vocabulary.entry_task[entry]] if found else ids([]),
        "annotator": vocabulary.annotators[annotator] if found else ids([]),
        "item": vocabulary.items[vocabulary.entry_item[entry]] if found else ids([]),
        "gain": np.array([each[2] for each in found], dtype=np.float64),
    }
    return frame_of(columns, vocabulary.frame).to_native()
