"""crowdrank beside crowd-kit on grades: `python benchmarks/graded.py`. Writes docs/benchmarks-graded.md.

Every run is a process of its own on the same simulated grades, five for each item, a fifth of the annotators spammers,
a twentieth malicious: the tool is imported and warmed up on a small study (compilation does not count), given the
grades in the form it handles best, and timed on the fit alone, with its own defaults; peak memory is what the fit adds
to the process. Items are ranked by the expected grade where a tool has chances of grades, else by its grade, and
measured by the mean nDCG@10 and Kendall's τ of tasks of 100 items against four grades of gold. A tool that took longer
than the limit is not tried on larger studies.

`--agreement` compares the chances of dawid-skene without prior with those of crowd-kit's DawidSkene after the same
number of steps.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
from harness import Case, side_by_side, timed

import crowdrank as cr

SIZES = {"10k": 20, "100k": 200, "1M": 2000}  # tasks of 100 items with five grades each
Study = cr.simulate.SimulatedStudy
Tool = Callable[[Study], Callable[[], np.ndarray]]


def simulated(tasks: int) -> Study:
    """A crowd of which each annotator gives a hundred grades."""
    annotators = max(5 * tasks, 10)
    return cr.simulate.grades(100, annotators, 5, tasks=tasks, spammers=0.2, malicious=0.05, gold_grades=4, seed=0)


def ours(name: str, **settings: object) -> Tool:
    """A method of ours, as a tool: takes a study, gives the fit to be timed."""
    return lambda study: lambda: cr.fit(name, study.judgments, **settings).score


def frame_of(study: Study) -> object:
    """The grades as crowd-kit takes them."""
    import pandas as pd

    grades = study.judgments.grades
    return pd.DataFrame({"worker": grades.annotator, "task": grades.entry, "label": grades.grade.astype(int)})


def crowd_kit(name: str, **settings: object) -> Tool:
    """crowd-kit's aggregators of labels."""

    def tool(study: Study) -> Callable[[], np.ndarray]:
        import crowdkit.aggregation

        frame, entries = frame_of(study), np.arange(study.judgments.vocabulary.n_entries)
        model = getattr(crowdkit.aggregation, name)(**settings)

        def fit() -> np.ndarray:
            labels = model.fit_predict(frame)
            chances = getattr(model, "probas_", None)
            if chances is None:
                return labels.reindex(entries).to_numpy(float)
            return (chances * chances.columns.to_numpy(float)).sum(axis=1).reindex(entries).to_numpy()

        return fit

    return tool


OURS = {
    "dawid-skene": {},
    "dawid-skene, ordinal": {"ordinal": True},
    "dawid-skene, no prior": {"prior": 0.0},
    "majority-vote": {},
    "mean": {},
    "rasch": {},
    "gda": {},
    "gda-pw": {},
}
TOOLS: dict[str, Tool] = {
    f"crowdrank {tool}": ours(tool.partition(",")[0], **settings)
    for tool, settings in OURS.items()
    if tool.partition(",")[0] in cr.METHODS
}
TOOLS |= {
    f"crowd-kit {name}": crowd_kit(name) for name in ("DawidSkene", "MajorityVote", "OneCoinDawidSkene", "MMSR", "GLAD")
}


def run_one(tool: str, size: str) -> None:
    """Time one tool on one study, in this process; prints what it measured."""
    TOOLS[tool](simulated(2))()
    study = simulated(SIZES[size])
    scores, result = timed(TOOLS[tool](study))
    words = study.judgments.vocabulary
    ranking = cr.Consensus(words, tool, scores, {})
    print(json.dumps(result | cr.evaluate(ranking, study.gold, ["ndcg@10", "tau"]).mean))


def agreement(size: str) -> None:
    """The largest difference between any two chances, and both times for the same number of steps."""
    from crowdkit.aggregation import DawidSkene

    study = simulated(SIZES[size])
    cr.fit("dawid-skene", simulated(2).judgments)
    frame, theirs = frame_of(study), DawidSkene()
    began = time.perf_counter()
    theirs.fit(frame)
    seconds, steps = time.perf_counter() - began, len(theirs.loss_history_)
    settings = {"prior": 0.0, "max_iter": steps, "tol": 1e-300}
    found, own = timed(lambda: cr.fit("dawid-skene", study.judgments, **settings))
    # Ours are ordered by the mean grade of each class, which may have drifted from the label it began as.
    chances, grades = theirs.probas_.sort_index().to_numpy(), study.judgments.grades
    given = chances[grades.entry]
    order = np.argsort(grades.grade @ given / given.sum(axis=0))
    apart = np.abs(found.grade_chances - chances[:, order]).max()
    print(
        f"{size}: {steps} steps, crowd-kit {seconds:.2f} s, crowdrank {own['seconds']:.2f} s, "
        f"probabilities differ by at most {apart:.1e}"
    )


def main() -> None:
    """Run everything, print and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("TOOL", "SIZE"), help="measure one tool in this process")
    parser.add_argument(
        "--agreement", choices=SIZES, metavar="SIZE", help="compare with crowd-kit's DawidSkene, chance by chance"
    )
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--limit", type=float, default=180.0, help="seconds for one run, its preparation included")
    given = parser.parse_args()
    if given.one:
        run_one(*given.one)
        return
    if given.agreement:
        agreement(given.agreement)
        return
    cases = [
        Case(f"{size} grades, {SIZES[size]:,} tasks, {5 * SIZES[size]:,} annotators", (size,)) for size in given.sizes
    ]
    columns = {"ndcg@10": ".3f", "tau": ".3f"}
    side_by_side(__file__, "Grades, beside other tools", __doc__ or "", TOOLS, cases, columns, given.limit)


if __name__ == "__main__":
    main()
