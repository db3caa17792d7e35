"""Compile all kernels ahead, so that the first call of a new machine or container does not wait for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from functools import partial
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import numpy as np

import crowdrank as cr
from crowdrank.collect.policies import POLICIES
from crowdrank.learning.catalogue import LEARNERS
from crowdrank.methods.catalogue import METHODS, SUPERVISED, usual_method
from crowdrank.methods.pairs.votes import few_votes
from crowdrank.numerics import compiled
from crowdrank.numerics.progress import report
from crowdrank.settings import InputError
from crowdrank.simulate.study import SimulatedStudy

Step = tuple[str, Callable[[], Any]]


# Settings that lead to other kernels than the defaults do.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "dawid-skene": [{"ordinal": True}],
    "rasch": [{"difficulty": False}],
    "gda": [{"difficulty": True}, {"means": "ordered"}, {"quality_per": "task"}],
    "gda-pw": [{"difficulty": True}, {"means": "ordered"}, {"quality_per": "task"}],
    "crowd-bt": [{"order_bias": True}, {"quality_per": "task"}],
    "crowd-thurstone": [{"quality_per": "task"}],
    "mallows": [{"extended": True}, {"exact": 2}],
    "crowdagg": [{"measure": "rbp"}, {"contest": "task"}, {"contest": "hard"}, {"contest": "literal"}],
    "listmle": [{"top": 2}],
    "ltrma-mle": [{"top": 2}],
    "lambdamart": [{"soft": True}],
}

# What the rankers need that use side information.
SIDE = {
    "ltrma-s1": cr.Side(ranges=(cr.Range("annotator1", -1.0, -1.0),)),
    "ltrma-s2": cr.Side(ranges=(cr.Range("annotator1", -2.0, -0.5),)),
    "ltrma-s3": cr.Side(orders=(cr.Better("annotator1"),)),
}


def warm_up() -> int:
    """Use every method, ranker and policy once, on small studies; returns how many kernels are ready then."""
    import_everything()
    steps = list(_steps())
    with kernels_only():
        for number, (name, call) in enumerate(steps, 1):
            report(f"compiling {name}", number, len(steps))
            with suppress(InputError):  # a method that does not take these judgments, or whose library is missing
                call()
    return sum(bool(kernel.overloads) for kernel in compiled.KERNELS)


@contextmanager
def kernels_only() -> Iterator[None]:
    """Small studies use kernels too, as large ones will."""
    of_kernels = ((compiled, name) for name in ("LITTLE_WORK", "LITTLE_BESIDE"))
    limits = (*of_kernels, *((few_votes, name) for name in ("FEW", "FEW_WITH_TIES", "FEW_WITH_BIAS")))
    before = [getattr(module, name) for module, name in limits]
    for module, name in limits:
        setattr(module, name, -1)
    try:
        yield
    finally:
        for (module, name), value in zip(limits, before, strict=True):
            setattr(module, name, value)


def import_everything() -> None:
    """All modules, but for those of extras that are not installed."""
    for module in walk_packages(cr.__path__, "crowdrank."):
        if not module.name.endswith("__main__"):
            with suppress(ModuleNotFoundError):
                import_module(module.name)


def _studies() -> list[SimulatedStudy]:
    """Small studies of every kind: with and without ties, scales of two lengths, whole and short lists."""
    return [
        cr.simulate.pairs(items=6, annotators=4, votes=60, seed=1),
        cr.simulate.pairs(items=6, annotators=4, votes=120, tasks=2, ties=0.3, seed=2),
        cr.simulate.grades(items=8, annotators=4, labels=3, tasks=12, gold_grades=5, seed=3),
        cr.simulate.grades(items=8, annotators=4, labels=3, scales=(3, 5), seed=4),
        cr.simulate.rankings(items=6, annotators=4, tasks=12, seed=5),
        cr.simulate.rankings(items=6, annotators=4, tasks=12, top_k=3, seed=6),
    ]


def _steps() -> Iterator[Step]:
    """What to call, with a name for each."""
    for study in _studies():
        for name in METHODS:
            for settings in ({}, *VARIANTS.get(name, ())):
                yield name, partial(cr.fit, name, study.judgments, **settings)
        for name in SUPERVISED:
            yield name, partial(_train, name, study)
        for name in LEARNERS:
            for settings in ({}, *VARIANTS.get(name, ())):
                yield name, partial(_learn, name, study, settings)
        for name in POLICIES:
            yield f"next by {name}", partial(cr.next_questions, study.judgments, count=2, policy=name)
            yield f"replay by {name}", partial(cr.replay, study.judgments, study.gold, name, budget=50)
        yield "state", partial(_collect, study)
        yield "evaluate", partial(_evaluate, study)


def _train(name: str, study: SimulatedStudy) -> None:
    cr.train(name, study.judgments, study.gold, **_short(SUPERVISED[name])).fit(study.judgments)


def _short(method: type) -> dict[str, Any]:
    """Settings that end a fit early: what it computes is not used."""
    least = {"max_iter": 3, "rounds": 2, "models": 2, "samples": 2, "sweeps": 2}
    return {each.name: least[each.name] for each in fields(method) if each.name in least}


def _learn(name: str, study: SimulatedStudy, settings: dict[str, Any]) -> None:
    vocabulary = study.judgments.vocabulary
    where = {"task": vocabulary.tasks[vocabulary.entry_task], "item": vocabulary.items[vocabulary.entry_item]}
    numbers = np.random.default_rng(0).normal(size=(2, vocabulary.n_entries))
    features = cr.features({**{key: list(ids) for key, ids in where.items()}, "x": numbers[0], "y": numbers[1]})
    settings = {**_short(LEARNERS[name]), **settings}
    cr.learn(name, features, study.judgments, side=SIDE.get(name), **settings).rank(features)


def _collect(study: SimulatedStudy) -> None:
    state = cr.State.start(study.judgments.vocabulary).update(study.judgments)
    task, item = (list(names) for names in (study.judgments.vocabulary.tasks, study.judgments.vocabulary.items))
    state.answer("ann", item[0], item[1], item[0], task=task[0]).consensus()
    cr.stopping(study.judgments, budget=10**6, width=0.1, top_k=2)


def _evaluate(study: SimulatedStudy) -> None:
    consensus = cr.bootstrap(usual_method(study.judgments), study.judgments, rounds=4)
    cr.evaluate(consensus, study.gold)
    cr.neighbours(consensus)
