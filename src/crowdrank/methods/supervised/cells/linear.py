"""Supervised methods that score an entry by a weighted sum of its cells; here the weights are learned.

The weights maximise the expected measure under the distribution over orders of `numerics.permutations`: exactly, over
all orders of six items of each task, sampled anew in every pass; by AdaGrad in small batches of tasks. The weights of
the last half of the passes are averaged, and those of three independent runs. An annotator's weights are shared ones
plus their own; annotators with too few training tasks have only the shared ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus, Fit
from crowdrank.formats.saved_json import saved_fit, saved_names, saved_numbers
from crowdrank.methods.protocols import Description
from crowdrank.methods.result import agreement, annotator_columns, check_kinds, make_consensus
from crowdrank.methods.supervised.cells.cells import Cells
from crowdrank.methods.supervised.cells.influence import influence
from crowdrank.methods.supervised.cells.lost import lost_share, without_lost
from crowdrank.methods.supervised.cells.target_measure import Target, target
from crowdrank.methods.supervised.cells.training_set import TrainedMethod, TrainingSet, sampled, training_set
from crowdrank.numerics.blas import one_blas_thread
from crowdrank.numerics.permutations import MOST_ITEMS, expected_over_tasks
from crowdrank.numerics.progress import report
from crowdrank.numerics.sums import sum_by
from crowdrank.settings import check_choice, check_whole_number
from crowdrank.study import Floats, Gold, Ids, Judgments, Vocabulary, recode

WEIGHTS = ("mixed", "own", "shared")
RATE = 1.0  # of AdaGrad, with cells scaled to a mean square of 1
PENALTY = 3e-5  # on squared weights
BATCH = 8  # tasks between two steps
ENOUGH_TASKS = 10  # training tasks in which an annotator must take part to get weights of their own
RUNS = 3  # from the same start, each with samples of its own; their weights are averaged
STAGES = 3  # after each of as many equal parts of the passes, the weights are evaluated on the validation tasks
STILL_RISING = 0.005  # a larger gain from one quarter of the passes to the next: more passes would help

Sample = NDArray[np.int64]


class LinearMethod(ABC):
    """Base of the settings of linear methods: it checks them, trains, and restores what was trained."""

    __slots__ = ()

    description: ClassVar[Description]
    columns: ClassVar[tuple[str, ...]]  # names of the weights; the first may be `missing`, that of missed entries

    if TYPE_CHECKING:  # the settings that every linear method has

        @property
        def weights(self) -> str: ...
        @property
        def measure(self) -> str: ...
        @property
        def max_iter(self) -> int: ...
        @property
        def seed(self) -> int: ...

    def __post_init__(self) -> None:
        check_choice("weights", self.weights, WEIGHTS)
        target(self.measure)
        check_whole_number("max_iter", self.max_iter, least=STAGES)
        check_whole_number("seed", self.seed, least=0)

    @abstractmethod
    def cells(self, judgments: Judgments) -> Cells:
        """The features of each entry from each annotator."""

    def variants(self) -> Sequence[Self]:
        """The settings to choose among on the validation tasks, the default first."""
        return [self]

    @one_blas_thread
    def train(self, judgments: Judgments, gold: Gold, validation: Iterable[Any] | None = None) -> LinearAggregator:
        """Learn from the tasks with gold. Open settings, and when to stop, are chosen on the validation tasks.

        Without `validation`, one task in five is used for that.
        """
        check_kinds(self.description, judgments)
        known = training_set(judgments, gold, validation, self.seed)
        chosen, passes = self.variants()[0], self.max_iter
        progress = f"learning {self.description.name}"
        if known.validation:
            tried = _train_variants(self.variants(), judgments, known, progress)
            best = tried[first_unless_better([known.worth(target(self.measure), each.scores()) for each in tried])]
            if not known.refit:
                return best.aggregator()
            chosen, passes, progress = best.method, best.passes, f"{progress} from all tasks"
        *_, last = _stages(replace(chosen, max_iter=passes), judgments, known.whole, progress)  # type: ignore[type-var]
        return last.aggregator()

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> LinearAggregator:
        """The trained aggregator from its saved state."""
        annotators = saved_names(state["annotators"])
        weight = saved_numbers(state["weight"], len(annotators) + 1, len(cls.columns))
        return LinearAggregator(cls(**state["settings"]), annotators, weight, saved_fit(state["training"]))


@dataclass(frozen=True, slots=True, eq=False)
class LinearAggregator(TrainedMethod):
    """A trained linear method: weights of the annotators with enough training tasks, and of all others."""

    method: LinearMethod
    annotators: Ids
    weight: Floats  # one row per annotator, and a last one for all others
    training: Fit

    def scores(self, judgments: Judgments) -> Floats:
        """The weighted sum of every entry, NaN where nobody judged it."""
        cells, weight = self._cells_and_weights(judgments)
        return weighted_sums(cells, weight, judgments.vocabulary.n_entries)

    def _cells_and_weights(self, judgments: Judgments) -> tuple[Cells, Floats]:
        """The cells, and the weights of each."""
        cells = self.method.cells(judgments)
        return cells, self.weight[recode(judgments.vocabulary.annotators, self.annotators)][cells.annotator]

    def fit(self, judgments: Judgments) -> Consensus:
        """Rank the items of each task by their weighted sums."""
        vocabulary = judgments.vocabulary
        cells, weight = self._cells_and_weights(judgments)
        lost = lost_share(self.annotators, np.abs(self.weight[:-1]).sum(axis=1), judgments)
        score, about_lost = without_lost(weighted_sums(cells, weight, vocabulary.n_entries), lost, judgments)
        code = recode(vocabulary.annotators, self.annotators)
        notes = [*check_kinds(self.description, judgments), *about_lost, *self._notes(int((code < 0).sum()))]
        first = int(self.method.columns[0] == "missing")
        moved, use = influence(cells, weight, first, vocabulary)
        columns = {**annotator_columns(judgments, *agreement(judgments, score)), "use": use, "influence": moved}
        columns |= {name: self.weight[code, column] for column, name in enumerate(self.method.columns)}
        return make_consensus(self.description, judgments, score, annotators=columns, notes=notes)

    def _notes(self, unknown: int) -> list[str]:
        """Notes about the training, and about annotators without weights of their own."""
        notes = []
        if not self.training.converged:
            notes.append(f"{self.description.name} was still improving when training ended: raise max_iter")
        if unknown:
            use = "they get the shared weights" if self.weight[-1].any() else "their judgments do not count"
            notes.append(f"{unknown:,} annotator{'s' * (unknown > 1)} with too few training tasks: {use}")
        return notes

    def state(self) -> dict[str, Any]:
        """What to save: numbers and texts only."""
        return {
            "settings": asdict(self.method),  # type: ignore[call-overload]
            "annotators": [str(name) for name in self.annotators],
            "weight": self.weight.tolist(),
            "training": asdict(self.training),
        }


def weighted_sums(cells: Cells, weight: Floats, n_entries: int) -> Floats:
    """Each entry's sum over its cells, NaN where there are none."""
    score = sum_by(cells.entry, np.einsum("cv,cv->c", cells.value, weight), n_entries)
    return np.where(np.bincount(cells.entry, minlength=n_entries) > 0, score, np.nan)


def _train_variants(
    variants: Sequence[LinearMethod], judgments: Judgments, known: TrainingSet, progress: str
) -> list[LearnedWeights]:
    """The weights of each variant after each stage of the passes; those of the first variant after all passes first."""
    tried = list[LearnedWeights]()
    for number, variant in enumerate(variants, 1):
        which = f", variant {number} of {len(variants)}" if len(variants) > 1 else ""
        tried += reversed(list(_stages(variant, judgments, known, progress + which)))
    return tried


def first_unless_better(values: Sequence[Floats]) -> int:
    """The number of the best of several, by their measure in each validation task; 0 unless that is clearly better.

    Clearly: the mean difference is larger than its standard error. Otherwise few tasks would choose at random.
    """
    best = int(np.argmax([value.mean() for value in values]))
    gap = values[best] - values[0]
    return best if gap.mean() > gap.std() / np.sqrt(len(gap)) else 0


@dataclass(frozen=True, slots=True, eq=False)
class LearnedWeights:
    """Weights after some passes."""

    method: LinearMethod
    vocabulary: Vocabulary
    cells: Cells
    own: NDArray[np.int64]  # annotator → row of the weights, −1 for those without one
    weight: Floats  # own weights without the shared ones, which are the last row
    passes: int
    worth: list[float]  # the mean measure of each pass, as a share of the best

    def _effective(self) -> Floats:
        return np.asarray(self.weight + np.r_[np.ones(len(self.weight) - 1), 0.0][:, None] * self.weight[-1])

    def scores(self) -> Floats:
        """The score of every entry of the training study."""
        return weighted_sums(self.cells, self._effective()[self.own][self.cells.annotator], self.vocabulary.n_entries)

    def aggregator(self) -> LinearAggregator:
        """The trained aggregator."""
        known = np.flatnonzero(self.own >= 0)
        quarter = max(len(self.worth) // 4, 1)
        rise = np.mean(self.worth[-quarter:]) - np.mean(self.worth[-2 * quarter : -quarter] or self.worth)
        training = Fit(self.passes, bool(rise <= STILL_RISING), float(np.mean(self.worth[-quarter:])))
        return LinearAggregator(self.method, self.vocabulary.annotators[known], self._effective(), training)


def _stages(method: LinearMethod, judgments: Judgments, known: TrainingSet, progress: str) -> Iterator[LearnedWeights]:
    """The weights after each stage of the passes; `progress` is the text of the progress bar."""
    vocabulary = judgments.vocabulary
    cells = method.cells(judgments)
    own = weight_rows(method.weights, cells, known, vocabulary)
    rng = np.random.default_rng(method.seed)
    in_training = np.isin(cells.entry, np.concatenate(known.tasks))
    scale = float(np.sqrt(np.mean(cells.value[in_training] ** 2))) if in_training.any() else 1.0
    shape = int(own.max(initial=-1)) + 1, cells.value.shape[1]
    runs = [_AdaGrad(*shape, shared=method.weights != "own") for _ in range(RUNS)]
    batches = _Batches(cells, own, scale, known, target(method.measure), vocabulary.n_entries)
    sums, worths = [np.zeros_like(runs[0].weight)], []
    for number in range(1, method.max_iter + 1):
        report(progress, number, method.max_iter)
        worths.append(float(np.mean([batches.one_pass(run, rng) for run in runs])))
        sums.append(sums[-1] + np.mean([run.weight for run in runs], axis=0))
        if number * STAGES % method.max_iter < STAGES:  # the end of a stage
            half = number // 2
            mean = (sums[number] - sums[half]) / (number - half)
            yield LearnedWeights(method, vocabulary, cells, own, mean / scale, number, list(worths))


def weight_rows(
    weights: str, cells: Cells, known: TrainingSet, vocabulary: Vocabulary, most: int | None = None
) -> NDArray[np.int64]:
    """Annotator → row of their own weights, −1 for those without.

    Annotators in enough training tasks have one, with `own` all in any; at most `most`, those in most tasks.
    """
    in_training = np.isin(cells.entry, np.concatenate(known.tasks))
    taking_part = np.unique(
        np.stack([cells.annotator[in_training], vocabulary.entry_task[cells.entry[in_training]]]), axis=1
    )[0]
    n_tasks = np.bincount(taking_part, minlength=len(vocabulary.annotators))
    has = n_tasks >= {"own": 1, "mixed": min(ENOUGH_TASKS, len(known.tasks)), "shared": np.inf}[weights]
    if most is not None:
        has[np.argsort(-n_tasks, kind="stable")[most:]] = False
    return np.where(has, np.cumsum(has) - 1, -1)


class _AdaGrad:
    """Gradient ascent with a step size for each weight."""

    def __init__(self, n_own: int, n_values: int, *, shared: bool) -> None:
        self.weight = np.zeros((n_own + 1, n_values))
        self.squares = np.full_like(self.weight, 1e-12)
        self.rate = np.full((n_own + 1, 1), RATE)
        # Shared weights move all scores at once; this rate moves them as far as independent steps of own weights do.
        self.rate[-1] = RATE / np.sqrt(max(n_own, 1)) if shared else 0.0

    def step(self, slope: Floats) -> None:
        """One step along the gradient of the objective."""
        slope -= PENALTY * self.weight
        self.squares += slope**2
        self.weight += self.rate * slope / np.sqrt(self.squares)


class _Batches:
    """The training tasks in batches, with items sampled anew in every pass."""

    def __init__(
        self, cells: Cells, own: NDArray[np.int64], scale: float, known: TrainingSet, wanted: Target, n_entries: int
    ) -> None:
        self.known, self.wanted = known, wanted
        self.gain = wanted.gain(known.grade, known.top)
        self.discount = wanted.discount(MOST_ITEMS)
        self.cells = (cells.starts(n_entries), own[cells.annotator], cells.value / scale)

    def one_pass(self, optimiser: _AdaGrad, rng: np.random.Generator) -> float:
        """A step for every batch of tasks; returns the mean measure, as a share of the best."""
        order = rng.permutation(len(self.known.tasks))
        sample, size = sampled(self.known.grade, [self.known.tasks[number] for number in order], rng)
        gain = np.where(np.arange(MOST_ITEMS) < size[:, None], self.gain[sample], 0.0)
        best = self.wanted.best(gain)
        useful = np.flatnonzero(best > 0)  # others have no gain by this measure
        total = 0.0
        for first in range(0, len(useful), BATCH):
            rows = useful[first : first + BATCH]
            total += self._step(optimiser, sample[rows], size[rows], gain[rows], best[rows])
        return total / max(len(useful), 1)

    def _step(self, optimiser: _AdaGrad, sample: Sample, size: Sample, gain: Floats, best: Floats) -> float:
        slope = np.zeros_like(optimiser.weight)
        how, discount = self.wanted.how, self.discount
        total = expected_over_tasks(sample, size, *self.cells, optimiser.weight, gain, best, how, discount, slope)
        optimiser.step(slope / len(sample))
        return float(total)
