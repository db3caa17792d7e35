"""Charts of graded models (gda, gda-pw): what grades mean to annotators, and relevance after each grade.

Figures 3 and 2 of Metrikov, Pavlu, Aslam: Aggregation of crowdsourced ordinal assessments and integration with learning
to rank, CIKM 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.report.charts import SHADES, altair, inline, self_contained
from crowdrank.settings import InputError, did_you_mean
from crowdrank.study import Floats, Judgments, Vocabulary

NODES = np.linspace(-3.5, 3.5, 71)  # values of relevance
STEP = NODES[1] - NODES[0]
DENSITY = np.exp(-NODES * NODES / 2) / np.exp(-NODES * NODES / 2).sum()
SHOWN = 4  # how many annotators or items are shown where none are named


def grade_curves(consensus: Consensus, annotators: Sequence[Any] | None = None) -> Any:
    """An Altair chart: the probability of each grade of an annotator at each relevance, and its density over relevance.

    The more the curves differ, the more informative a grade is; an annotator who grades at random has the same curve
    for all grades. Without names, annotators from the most to the least informative are shown.

    >>> import crowdrank as cr
    >>> study = cr.simulate.grades(items=30, annotators=5, labels=3, seed=0)
    >>> chart = grade_curves(cr.fit("gda", study.judgments), ["annotator1"])
    >>> [panel["title"] for panel in chart.to_dict()["hconcat"]]
    ['chance of each grade', 'density of all grades']
    """
    curves = _curves(consensus)
    names = _most_to_least(consensus) if annotators is None else list(annotators)
    whose = [_rows_of(curves, name) for name in names]
    rows = np.concatenate(whose)
    chance = np.concatenate([_chances(curves, which) for which in whose])
    columns = {
        "annotator": np.repeat(curves["annotator"][rows].astype(str), len(NODES)),
        "grade": np.repeat(curves["grade"][rows], len(NODES)),
        "relevance": np.tile(NODES, len(rows)),
    }
    alt = altair()
    sort = [str(name) for name in names]

    def panel(title: str, value: Floats) -> Any:
        lines = alt.Chart(inline({**columns, "value": value.ravel()})).mark_line()
        by_grade = alt.Color("grade:O", scale=alt.Scale(scheme=SHADES))
        chart = lines.encode(x="relevance:Q", y=alt.Y("value:Q", title=None), color=by_grade).properties(
            width=300, height=120
        )
        return chart.facet(row=alt.Row("annotator:N", sort=sort, title=None)).properties(title=title)

    density = chance * DENSITY / STEP
    return self_contained(alt.hconcat(panel("chance of each grade", chance), panel("density of all grades", density)))


def narrowing(consensus: Consensus, judgments: Judgments, items: Sequence[Any] | None = None, task: Any = None) -> Any:
    """An Altair chart: the posterior relevance of items after each of their grades, in the order of the judgments.

    The line is the mean of the posterior, the band its middle half, given the annotators' curves in the consensus.
    Without names, items from the best to the worst ranked are shown, of the first task unless one is named.

    >>> import crowdrank as cr
    >>> study = cr.simulate.grades(items=30, annotators=5, labels=3, seed=0)
    >>> narrowing(cr.fit("gda", study.judgments), study.judgments).to_dict()["facet"]["field"]
    'item'
    """
    curves, vocabulary = _curves(consensus), consensus.vocabulary
    code = 0 if task is None else _code(vocabulary.tasks, task, "task")
    if items is None:
        ranked = consensus.best_first[vocabulary.entry_task[consensus.best_first] == code]
        entries = ranked[np.linspace(0, len(ranked) - 1, SHOWN).astype(int)]
    else:
        wanted = [_code(vocabulary.items, item, "item") for item in items]
        entries = np.array([_entry(vocabulary, code, item) for item in wanted])
    steps = [_steps(consensus, curves, judgments, int(entry)) for entry in dict.fromkeys(entries.tolist())]
    columns = {name: np.concatenate([part[name] for part in steps]) for name in steps[0]}
    alt = altair()
    x = alt.X("grades:Q", axis=alt.Axis(tickMinStep=1), title="grades so far")
    base = alt.Chart().encode(x=x)
    band = base.mark_area(opacity=0.3).encode(y=alt.Y("low:Q", title="relevance"), y2="high:Q")
    line = base.mark_line(point=True).encode(
        y="mean:Q", tooltip=["annotator:N", "grade:Q", "mean:Q", "low:Q", "high:Q"]
    )
    names = [str(vocabulary.items[vocabulary.entry_item[entry]]) for entry in dict.fromkeys(entries.tolist())]
    chart = alt.layer(band, line, data=inline(columns)).properties(width=260, height=160)
    return self_contained(chart.facet(facet=alt.Facet("item:N", sort=names, title=None), columns=2))


def _curves(consensus: Consensus) -> dict[str, NDArray[Any]]:
    """The curves of all annotators, as columns."""
    if consensus.curve_columns is None:
        raise InputError(f"{consensus.method} does not estimate curves of grades; use gda or gda-pw")
    return dict(consensus.curve_columns)


def _most_to_least(consensus: Consensus) -> list[Any]:
    """Some annotators, evenly spaced from the most to the least informative."""
    columns = consensus.annotator_columns
    order = np.argsort(-columns["informativeness"], kind="stable")
    return list(dict.fromkeys(columns["annotator"][order[np.linspace(0, len(order) - 1, SHOWN).astype(int)]]))


def _rows_of(curves: dict[str, NDArray[Any]], annotator: Any, task: Any = None) -> NDArray[np.intp]:
    """The rows of an annotator's curves; where each task has its own, those of this task, or of the first."""
    which = np.flatnonzero(curves["annotator"] == annotator)
    if not len(which):
        raise InputError(f"no annotator {annotator!r} among those with curves; name others")
    if "task" not in curves:
        return which
    wanted = curves["task"][which[0]] if task is None else task
    return which[np.flatnonzero(curves["task"][which] == wanted)]


def _chances(curves: dict[str, NDArray[Any]], which: NDArray[np.intp]) -> Floats:
    """The probability of each of these grades at each node; a row per grade."""
    mean, spread, weight = (curves[name][which][:, None] for name in ("mean", "spread", "weight"))
    log = np.log(weight) - (NODES - mean) ** 2 / (2 * spread**2)
    chance = np.exp(log - log.max(axis=0))
    return np.asarray(chance / chance.sum(axis=0))


def _code(names: NDArray[Any], name: Any, what: str) -> int:
    """The code of a name; `what` it names, for the error."""
    found = np.flatnonzero(names == name)
    if not len(found):
        raise InputError(f"no {what} {name!r} in this study{did_you_mean(str(name), map(str, names))}")
    return int(found[0])


def _entry(vocabulary: Vocabulary, task: int, item: int) -> int:
    """The entry of an item within a task."""
    found = np.flatnonzero((vocabulary.entry_task == task) & (vocabulary.entry_item == item))
    if not len(found):
        raise InputError(f"item {vocabulary.items[item]!r} is not in task {vocabulary.tasks[task]!r}; name its task")
    return int(found[0])


def _steps(
    consensus: Consensus, curves: dict[str, NDArray[Any]], judgments: Judgments, entry: int
) -> dict[str, NDArray[Any]]:
    """Mean and middle half of the posterior of an entry, before its first grade and after each."""
    vocabulary, grades = consensus.vocabulary, judgments.grades
    rows = np.flatnonzero(grades.entry == entry)
    posterior = [DENSITY]
    for row in rows:
        which = _rows_of(
            curves, vocabulary.annotators[grades.annotator[row]], vocabulary.tasks[vocabulary.entry_task[entry]]
        )
        nearest = int(np.argmin(np.abs(curves["grade"][which] - grades.grade[row])))
        following = posterior[-1] * _chances(curves, which)[nearest]
        posterior.append(following / following.sum())
    below = np.cumsum(posterior, axis=1) - np.array(posterior) / 2
    return {
        "item": np.full(len(rows) + 1, str(vocabulary.items[vocabulary.entry_item[entry]])),
        "grades": np.arange(len(rows) + 1),
        "annotator": np.array(["", *(str(vocabulary.annotators[code]) for code in grades.annotator[rows])]),
        "grade": np.r_[np.nan, grades.grade[rows]],
        "mean": np.array(posterior) @ NODES,
        "low": np.array([np.interp(0.25, share, NODES) for share in below]),
        "high": np.array([np.interp(0.75, share, NODES) for share in below]),
    }
