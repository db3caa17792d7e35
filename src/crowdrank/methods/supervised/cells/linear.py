"""Supervised methods that score an entry by a weighted sum of what each annotator says about it; here the weights are
learned.

The weights make the wanted measure large on average, under the distribution over orders of `numerics.permutations`:
exactly, over all orders of six sampled items of each task, sampled anew in every pass; by AdaGrad in small batches of
tasks. The weights of the last half of the passes are averaged, and those of three such walks. An annotator's weights
are what all share plus what is their own; whoever was not met often enough in training has only the shared ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus, Fit
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import agreement, annotator_columns, check_kinds, make_consensus
from crowdrank.methods.supervised.cells.cells import Cells
from crowdrank.methods.supervised.cells.influence import influence
from crowdrank.methods.supervised.cells.target_measure import Target, target
from crowdrank.methods.supervised.cells.training_set import TrainedMethod, TrainingSet, sampled, training_set
from crowdrank.numerics.permutations import MOST_ITEMS, expected_over_tasks
from crowdrank.numerics.progress import report
from crowdrank.numerics.sums import sum_by
from crowdrank.settings import check, check_choice, check_whole_number
from crowdrank.study import Floats, Gold, Ids, Judgments, Vocabulary, ids, recode

WEIGHTS = ("mixed", "own", "shared")
RATE = 1.0  # of AdaGrad, with cells scaled to a mean square of 1
SHRINK = 3e-5  # weight of the penalty on squared weights
BATCH = 8  # tasks between two steps
MET_OFTEN = 10  # tasks with gold in which an annotator must take part to get weights of their own
WALKS = 3  # from the same start, each with samples of its own; their weights are averaged
STAGES = 3  # after each of as many equal parts of the passes, the weights are tried on the validation tasks
STILL_RISING = 0.005  # more than this from one quarter of the passes to the next: more passes would help

Sample = NDArray[np.int64]


class LinearMethod(Protocol):
    """Settings of a method that weighs cells."""

    description: ClassVar[Description]
    columns: ClassVar[tuple[str, ...]]  # what its weights are called; the first may be that of entries missed

    @property
    def weights(self) -> str: ...
    @property
    def measure(self) -> str: ...
    @property
    def max_iter(self) -> int: ...
    @property
    def seed(self) -> int: ...

    def variants(self) -> Sequence[Self]:
        """Itself with everything that was left open filled in, in every way worth trying; the usual one first."""

    def cells(self, judgments: Judgments) -> Cells:
        """What each annotator says about each entry."""


def check_linear(method: LinearMethod) -> None:
    """Refuse settings that no linear method can have."""
    check_choice("weights", method.weights, WEIGHTS)
    target(method.measure)
    check(
        isinstance(method.max_iter, int) and method.max_iter >= STAGES,
        "max_iter",
        method.max_iter,
        f"at least {STAGES}",
    )
    check_whole_number("seed", method.seed, least=0)


@dataclass(frozen=True, slots=True, eq=False)
class LinearAggregator(TrainedMethod):
    """What a linear method learned: weights for the annotators it came to know, and for all others."""

    method: LinearMethod
    annotators: Ids
    weight: Floats  # one row per annotator, and a last one for annotators not met before
    training: Fit

    def scores(self, judgments: Judgments) -> Floats:
        """The weighted sum of every entry, NaN where nobody judged it."""
        cells, weight = self._weighed(judgments)
        return weighted(cells, weight, judgments.vocabulary.n_entries)

    def _weighed(self, judgments: Judgments) -> tuple[Cells, Floats]:
        """What is said, and the weights it gets."""
        cells = self.method.cells(judgments)
        return cells, self.weight[recode(judgments.vocabulary.annotators, self.annotators)][cells.annotator]

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their weighted sums."""
        vocabulary = judgments.vocabulary
        notes = [*check_kinds(self.description, judgments), *self._said()]
        cells, weight = self._weighed(judgments)
        score = weighted(cells, weight, vocabulary.n_entries)
        code = recode(vocabulary.annotators, self.annotators)
        new = int((code < 0).sum())
        if new:
            how = (
                "the weights that all share count for them" if self.weight[-1].any() else "what they say does not count"
            )
            notes.append(f"{new:,} annotator{'s' * (new > 1)} not met often enough in training: {how}")
        first = int(self.method.columns[0] == "missing")
        moved, use = influence(cells, weight, first, vocabulary)
        columns = {**annotator_columns(judgments, *agreement(judgments, score)), "use": use, "influence": moved}
        columns |= {name: self.weight[code, column] for column, name in enumerate(self.method.columns)}
        return make_consensus(self.description, judgments, score, annotators=columns, notes=notes)

    def _said(self) -> list[str]:
        return (
            []
            if self.training.converged
            else [f"{self.description.name} was still improving when training ended: raise max_iter"]
        )

    def state(self) -> dict[str, Any]:
        """What to save: numbers and texts only."""
        return {
            "settings": asdict(self.method),  # type: ignore[call-overload]
            "annotators": [str(name) for name in self.annotators],
            "weight": self.weight.tolist(),
            "training": asdict(self.training),
        }

    @classmethod
    def restore(cls, method: type[LinearMethod], state: Mapping[str, Any]) -> Self:
        """From what was saved."""
        weight = np.array(state["weight"], dtype=np.float64).reshape(len(state["annotators"]) + 1, -1)
        return cls(method(**state["settings"]), ids(state["annotators"]), weight, Fit(**state["training"]))


def weighted(cells: Cells, weight: Floats, n_entries: int) -> Floats:
    """Each entry's sum over its cells, NaN where there are none."""
    score = sum_by(cells.entry, np.einsum("cv,cv->c", cells.value, weight), n_entries)
    return np.where(np.bincount(cells.entry, minlength=n_entries) > 0, score, np.nan)


def train_linear(
    method: LinearMethod, judgments: Judgments, gold: Gold, validation: Iterable[Any] | None
) -> LinearAggregator:
    """Learn from gold; what the method leaves open, and when to stop, is what does best on the validation tasks."""
    check_kinds(method.description, judgments)
    known = training_set(judgments, gold, validation, method.seed)
    wanted = target(method.measure)
    chosen, passes = method.variants()[0], method.max_iter
    doing = f"learning {method.description.name}"
    if known.validation:
        tried = _tried(method.variants(), judgments, known, doing)
        best = tried[usual_or_better([known.worth(wanted, learned.scores()) for learned in tried])]
        if not known.refit:
            return best.aggregator()
        chosen, passes, doing = best.method, best.passes, f"{doing} from all tasks"
    *_, last = _learned(replace(chosen, max_iter=passes), judgments, known.whole, doing)  # type: ignore[type-var]
    return last.aggregator()


def _tried(ways: Sequence[LinearMethod], judgments: Judgments, known: TrainingSet, doing: str) -> list[_Learned]:
    """What each way learns, after each stage of the passes; the first way after all passes first."""
    tried = list[_Learned]()
    for number, way in enumerate(ways, 1):
        which = f", way {number} of {len(ways)}" if len(ways) > 1 else ""
        tried += reversed(list(_learned(way, judgments, known, doing + which)))
    return tried


def usual_or_better(worths: Sequence[Floats]) -> int:
    """Which of several to take, by their worth in each validation task: the best; or the first, if that is as good but
    for chance.

    As good but for chance: by no more than the standard error of the difference. Few tasks would otherwise choose at
    random.
    """
    best = int(np.argmax([worth.mean() for worth in worths]))
    gap = worths[best] - worths[0]
    return best if gap.mean() > gap.std() / np.sqrt(len(gap)) else 0


@dataclass(frozen=True, slots=True, eq=False)
class _Learned:
    """Weights after some passes."""

    method: LinearMethod
    vocabulary: Vocabulary
    cells: Cells
    own: NDArray[np.int64]  # annotator → row of the weights, −1 for those without one
    weight: Floats  # own rows without what all share, which is the last
    passes: int
    worth: list[float]  # of each pass

    def _effective(self) -> Floats:
        return np.asarray(self.weight + np.r_[np.ones(len(self.weight) - 1), 0.0][:, None] * self.weight[-1])

    def scores(self) -> Floats:
        """Of every entry of the study learned from."""
        return weighted(self.cells, self._effective()[self.own][self.cells.annotator], self.vocabulary.n_entries)

    def aggregator(self) -> LinearAggregator:
        """Ready for other tasks."""
        known = np.flatnonzero(self.own >= 0)
        quarter = max(len(self.worth) // 4, 1)
        rise = np.mean(self.worth[-quarter:]) - np.mean(self.worth[-2 * quarter : -quarter] or self.worth)
        training = Fit(self.passes, bool(rise <= STILL_RISING), float(np.mean(self.worth[-quarter:])))
        return LinearAggregator(self.method, self.vocabulary.annotators[known], self._effective(), training)


def _learned(method: LinearMethod, judgments: Judgments, known: TrainingSet, doing: str) -> Iterator[_Learned]:
    """The weights after each stage of the passes; `doing` is what a progress bar says."""
    vocabulary = judgments.vocabulary
    cells = method.cells(judgments)
    own = rows_of_annotators(method.weights, cells, known, vocabulary)
    rng = np.random.default_rng(method.seed)
    learned_from = np.isin(cells.entry, np.concatenate(known.tasks))
    scale = float(np.sqrt(np.mean(cells.value[learned_from] ** 2))) if learned_from.any() else 1.0
    shape = int(own.max(initial=-1)) + 1, cells.value.shape[1]
    walks = [_AdaGrad(*shape, shared=method.weights != "own") for _ in range(WALKS)]
    batches = _Batches(cells, own, scale, known, target(method.measure), vocabulary.n_entries)
    sums, worths = [np.zeros_like(walks[0].weight)], []
    for number in range(1, method.max_iter + 1):
        report(doing, number, method.max_iter)
        worths.append(float(np.mean([batches.one_pass(walk, rng) for walk in walks])))
        sums.append(sums[-1] + np.mean([walk.weight for walk in walks], axis=0))
        if number * STAGES % method.max_iter < STAGES:  # the end of a stage
            half = number // 2
            mean = (sums[number] - sums[half]) / (number - half)
            yield _Learned(method, vocabulary, cells, own, mean / scale, number, list(worths))


def rows_of_annotators(
    weights: str, cells: Cells, known: TrainingSet, vocabulary: Vocabulary, most: int | None = None
) -> NDArray[np.int64]:
    """Annotator → row of their own weights: for those met in enough tasks, or (`own`) at all; at most so many, by the tasks they met."""
    learned = np.isin(cells.entry, np.concatenate(known.tasks))
    met = np.unique(np.stack([cells.annotator[learned], vocabulary.entry_task[cells.entry[learned]]]), axis=1)[0]
    times = np.bincount(met, minlength=len(vocabulary.annotators))
    has = times >= {"own": 1, "mixed": min(MET_OFTEN, len(known.tasks)), "shared": np.inf}[weights]
    if most is not None:
        has[np.argsort(-times, kind="stable")[most:]] = False
    return np.where(has, np.cumsum(has) - 1, -1)


class _AdaGrad:
    """Weights that climb, each at its own pace."""

    def __init__(self, n_own: int, n_values: int, *, shared: bool) -> None:
        self.weight = np.zeros((n_own + 1, n_values))
        self.squares = np.full_like(self.weight, 1e-12)
        self.rate = np.full((n_own + 1, 1), RATE)
        # What all share moves every score at once: as far as one annotator's weights do, if their steps are independent.
        self.rate[-1] = RATE / np.sqrt(max(n_own, 1)) if shared else 0.0

    def climb(self, slope: Floats) -> None:
        """One step along the slope of the objective."""
        slope -= SHRINK * self.weight
        self.squares += slope**2
        self.weight += self.rate * slope / np.sqrt(self.squares)


class _Batches:
    """The tasks of a lesson, sampled anew in every pass."""

    def __init__(
        self, cells: Cells, own: NDArray[np.int64], scale: float, known: TrainingSet, wanted: Target, n_entries: int
    ) -> None:
        self.known, self.wanted = known, wanted
        self.gain = wanted.gain(known.grade, known.top)
        self.discount = wanted.discount(MOST_ITEMS)
        self.cells = (cells.starts(n_entries), own[cells.annotator], cells.value / scale)

    def one_pass(self, steps: _AdaGrad, rng: np.random.Generator) -> float:
        """A step for every batch of tasks; the mean worth on the way, as a share of the best."""
        order = rng.permutation(len(self.known.tasks))
        sample, size = sampled(self.known.grade, [self.known.tasks[number] for number in order], rng)
        gain = np.where(np.arange(MOST_ITEMS) < size[:, None], self.gain[sample], 0.0)
        best = self.wanted.best(gain)
        useful = np.flatnonzero(best > 0)  # gains below the threshold of the measure teach nothing
        total = 0.0
        for first in range(0, len(useful), BATCH):
            rows = useful[first : first + BATCH]
            total += self._step(steps, sample[rows], size[rows], gain[rows], best[rows])
        return total / max(len(useful), 1)

    def _step(self, steps: _AdaGrad, sample: Sample, size: Sample, gain: Floats, best: Floats) -> float:
        slope = np.zeros_like(steps.weight)
        how, discount = self.wanted.how, self.discount
        total = expected_over_tasks(sample, size, *self.cells, steps.weight, gain, best, how, discount, slope)
        steps.climb(slope / len(sample))
        return float(total)
