"""Comparison of methods: all fitted to the same judgments, measured against the same gold, with significance tests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus, frame_of, html_of
from crowdrank.convert import as_rankings, count_pairs
from crowdrank.evaluation.evaluate import Evaluation, Unjudged, evaluate_matched
from crowdrank.evaluation.folds import Folds, cross_fitted, folds_of
from crowdrank.evaluation.leaderboard import leaderboard
from crowdrank.evaluation.matching import match
from crowdrank.evaluation.measures import choose
from crowdrank.evaluation.notes import merged_notes
from crowdrank.evaluation.significance import holm, paired_t, randomisation
from crowdrank.evaluation.warm_up import tiny_study
from crowdrank.methods.catalogue import ALL, METHODS, SUPERVISED, method, settings_of, supervised
from crowdrank.methods.protocols import Method, Supervised
from crowdrank.numerics.compiled import compilation_time
from crowdrank.numerics.progress import TimeLimitError, limited, report
from crowdrank.settings import SettingError, check, check_choice, is_number
from crowdrank.study import Frame, Gold, JudgmentError, Judgments, Vocabulary, check_gold, check_judgments

LEVEL = 0.05  # a difference is significant below this
MANY_PAIRS = 1_000_000  # above this, methods that write out pairs take a minute and more
LIMIT = 20.0  # seconds for each method: all of them on 58k grades take less than two minutes


@dataclass(frozen=True, eq=False)
class Comparison:
    """The measures of each method, best first by the first measure, and significance tests against the best."""

    measures: tuple[str, ...]
    evaluations: Mapping[str, Evaluation]  # method → its evaluation, best first
    seconds: Mapping[str, float]  # of its fit, without compiling
    test_columns: Mapping[str, NDArray[Any]]
    frame: Frame = "polars"  # the kind of data frame the tables are
    notes: tuple[str, ...] = field(default=())
    vocabulary: Vocabulary | None = None  # of the ranks
    ranks: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)  # method → the rank of each entry

    @property
    def table(self) -> Any:
        """A data frame with the columns method, one per measure (its mean over tasks), seconds."""
        columns: dict[str, NDArray[Any]] = {"method": np.array(list(self.evaluations), dtype=object)}
        for name in self.measures:
            columns[name] = np.array([evaluation.mean[name] for evaluation in self.evaluations.values()])
        columns["seconds"] = np.array([self.seconds[label] for label in self.evaluations])
        return frame_of(columns, self.frame).to_native()

    @property
    def tests(self) -> Any:
        """Each method against the best one of each measure.

        Columns: measure, method, against, difference (in the mean, below 0), p_t (paired t test), p_randomisation
        (Fisher's), p_holm (p_randomisation corrected for the number of methods), significant (p_holm below .05).
        """
        return frame_of(self.test_columns, self.frame).to_native()

    @property
    def per_task(self) -> Any:
        """A data frame with the columns method, task, then one per measure."""
        all_of = list(self.evaluations.values())
        columns: dict[str, NDArray[Any]] = {
            "method": np.repeat(np.array(list(self.evaluations), dtype=object), [len(each.tasks) for each in all_of]),
            "task": np.concatenate([each.tasks for each in all_of]),
        }
        values = np.concatenate([each.values for each in all_of])
        return frame_of({**columns, **dict(zip(self.measures, values.T, strict=True))}, self.frame).to_native()

    def _repr_html_(self) -> str:
        """For notebooks: the leaderboard, and the notes."""
        return html_of("Comparison", nw.from_native(self.table), self.notes)

    def __repr__(self) -> str:
        tests = self.test_columns
        marked = {
            (str(label), str(name))
            for label, name, mark in zip(tests["method"], tests["measure"], tests["significant"], strict=True)
            if mark
        }
        means = {label: evaluation.mean for label, evaluation in self.evaluations.items()}
        return leaderboard(means, self.seconds, marked, self.notes)


def compare(
    judgments: Judgments,
    gold: Gold,
    methods: Iterable[str | Method | Supervised] | None = None,
    measures: str | Iterable[str] | None = None,
    *,
    folds: int | Mapping[Any, Any] | None = None,
    seed: int = 0,
    unjudged: Unjudged = "nonrelevant",
    skip_empty: bool = False,
    limit: float | None = LIMIT,
) -> Comparison:
    """Fit several methods to the same judgments and measure them against gold, which no method sees.

    `methods` are names or methods with their settings; by default all methods that take these judgments, except those
    that would write out millions of pairs of its lists. A method that cannot be fitted, or takes more than `limit`
    seconds (None: as long as it takes), gives a note. Supervised methods
    need `folds`, task → fold or a number of random folds: each task is ranked by a method trained on the gold of other
    folds. `seed` is used for methods given by name that have one, for random folds, and for the randomisation test;
    methods given by name compute no intervals, unless these change the ranking. For other parameters see `evaluate`.
    """
    check_judgments(judgments)
    check_gold(gold)
    check_choice("unjudged", unjudged, ("nonrelevant", "ignore"))
    check(limit is None or (is_number(limit) and limit > 0), "limit", limit, "a number of seconds above 0, or None")
    chosen = choose(measures, gold)
    matching = match(judgments.vocabulary, gold)
    fold = None if folds is None else folds_of(folds, judgments, gold, seed)
    left_out = _left_out(judgments) if methods is None else []
    chosen_methods = _methods(methods, judgments, fold, seed, left_out)
    fitted, seconds, failed = _fit_all(_labelled(chosen_methods), judgments, gold, fold, limit)
    if not fitted:
        raise JudgmentError("no method could be fitted: " + "; ".join(failed))
    evaluations = {
        label: evaluate_matched(matching, consensus.rank, chosen, unjudged=unjudged, skip_empty=skip_empty)
        for label, consensus in fitted.items()
    }
    evaluations = dict(sorted(evaluations.items(), key=lambda pair: _worst_last(pair[1].mean[chosen[0].name])))
    names = tuple(measure.name for measure in chosen)
    notes = {label: (*consensus.notes, *evaluations[label].notes) for label, consensus in fitted.items()}
    return Comparison(
        names,
        evaluations,
        seconds,
        _tests(names, evaluations, seed),
        judgments.vocabulary.frame,
        (*failed, *_slow(left_out), *_few_tasks(len(matching.tasks)), *merged_notes(notes)),
        judgments.vocabulary,
        {label: fitted[label].rank for label in evaluations},
    )


def _methods(
    wanted: Iterable[str | Method | Supervised] | None,
    judgments: Judgments,
    fold: Folds | None,
    seed: int,
    left_out: Sequence[str],
) -> list[Any]:
    if wanted is None:
        table = METHODS if fold is None else ALL
        wanted = [
            name
            for name, kind in table.items()
            if set(kind.description.takes) & set(judgments.kinds) and name not in left_out
        ]
    chosen = [
        _named(each, fold, seed) if isinstance(each, str) else each
        for each in ([wanted] if isinstance(wanted, str) else wanted)
    ]
    if not chosen:
        raise JudgmentError("no method to compare: the study has no judgments, or no method is named")
    return chosen


def _left_out(judgments: Judgments) -> list[str]:
    """Methods that would expand lists to too many pairs."""
    many = count_pairs(as_rankings(judgments), judgments.vocabulary) > MANY_PAIRS
    return [name for name, kind in METHODS.items() if many and kind.description.expands_to_pairs]


def _slow(left_out: Sequence[str]) -> list[str]:
    if not left_out:
        return []
    why = "these methods would write out millions of pairs of grades and lists"
    return [f"not compared: {', '.join(left_out)}; {why}; name them to compare them"]


def _named(name: str, fold: Folds | None, seed: int) -> Method | Supervised:
    """The method of that name, without intervals where they take time and do not change the ranking."""
    make: Any = supervised if name in SUPERVISED and fold is not None else method
    usual = make(name)
    wanted = {"seed": seed, "intervals": usual.description.ranks_by_draws}
    return make(name, **{setting: wanted[setting] for setting in wanted.keys() & settings_of(usual)})  # type: ignore[no-any-return]


def _labelled(chosen: Sequence[Method | Supervised]) -> dict[str, Method | Supervised]:
    """A label for each method: its name, and if several have the same name, the settings that are not the default."""
    names = [each.description.name for each in chosen]
    labelled: dict[str, Method | Supervised] = {}
    for each in chosen:
        name = each.description.name
        label = name if names.count(name) == 1 else name + _changed_settings(each)
        if label in labelled:
            raise SettingError(f"{label} is given twice with the same settings; remove one")
        labelled[label] = each
    return labelled


def _changed_settings(chosen: Method | Supervised) -> str:
    settings, default = settings_of(chosen), settings_of(type(chosen)())
    changed = ", ".join(f"{name}={value}" for name, value in settings.items() if value != default[name])
    return f"({changed})" if changed else ""


def _fit_all(
    methods: Mapping[str, Method | Supervised],
    judgments: Judgments,
    gold: Gold,
    fold: Folds | None,
    limit: float | None,
) -> tuple[dict[str, Consensus], dict[str, float], list[str]]:
    """The consensus of each method and its seconds; and notes about those that could not be fitted."""
    fitted, seconds, slow = {}, {}, []
    failed: dict[str, list[str]] = {}  # error → methods
    for done, (label, each) in enumerate(methods.items()):
        report("comparing", done, len(methods))
        report(label, 0, 1)
        _load(each, judgments)
        try:
            with compilation_time() as compiling, limited(limit, compiling) as spent:
                fitted[label] = _fitted(each, judgments, gold, fold)
                seconds[label] = spent()
        except (JudgmentError, SettingError) as error:
            failed.setdefault(str(error).removeprefix(f"{each.description.name} "), []).append(label)
        except TimeLimitError:
            slow.append(label)
    report("comparing", len(methods), len(methods))
    notes = [f"{', '.join(labels)}: {error}" for error, labels in failed.items()]
    if slow:
        notes.append(
            f"not compared: {', '.join(slow)}; not ready after {limit:g} seconds; raise the limit to wait longer"
        )
    return fitted, seconds, notes


def _load(chosen: Any, judgments: Judgments) -> None:
    """Fit a tiny study of the same kinds: the seconds of the real one do not contain the loading of code."""
    if SUPERVISED.get(chosen.description.name) is type(chosen):  # trained and fitted several times: it hardly matters
        return
    with contextlib.suppress(JudgmentError, SettingError):
        chosen.fit(tiny_study(judgments))


def _fitted(chosen: Any, judgments: Judgments, gold: Gold, fold: Folds | None) -> Consensus:
    """The consensus of a method; a supervised one is trained on the gold of other folds."""
    if SUPERVISED.get(chosen.description.name) is not type(chosen):  # a method, or a trained one
        return chosen.fit(judgments)  # type: ignore[no-any-return]
    if fold is None:
        raise SettingError(
            f"{chosen.description.name} learns from gold: give folds, a number or task → fold (compare --folds)"
        )
    return cross_fitted(chosen, judgments, gold, fold)


def _tests(names: Sequence[str], evaluations: Mapping[str, Evaluation], seed: int) -> dict[str, NDArray[Any]]:
    """Each method against the best of each measure, as columns."""
    rows: list[tuple[Any, ...]] = []
    for column, name in enumerate(names):
        best = min(evaluations, key=lambda label: _worst_last(evaluations[label].mean[name]))
        others = [label for label in evaluations if label != best]
        if not others or len(evaluations[best].tasks) < 2:
            continue
        gaps = np.stack(
            [evaluations[label].values[:, column] - evaluations[best].values[:, column] for label in others], axis=1
        )
        p_t = [paired_t(gap) for gap in gaps.T]
        p = randomisation(gaps, seed=seed)
        for number, (label, corrected) in enumerate(zip(others, holm(p), strict=True)):
            difference = evaluations[label].mean[name] - evaluations[best].mean[name]
            rows.append((name, label, best, difference, p_t[number], p[number], corrected, bool(corrected < LEVEL)))
    kinds = {
        "measure": object, "method": object, "against": object,
        "difference": float, "p_t": float, "p_randomisation": float, "p_holm": float, "significant": bool,
    }  # fmt: skip
    return {name: np.array([row[at] for row in rows], dtype=kind) for at, (name, kind) in enumerate(kinds.items())}


def _worst_last(mean: float) -> float:
    """A key to sort by: the highest first, undefined ones last."""
    return float("inf") if np.isnan(mean) else -mean


def _few_tasks(tasks: int) -> list[str]:
    return ["the study has one task: significance tests need at least two"] if tasks == 1 else []
