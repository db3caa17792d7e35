"""The method that `rank` chooses beside all others, on every data set with gold and on simulated crowds.

Run: python benchmarks/chosen.py [DATA SETS, or: simulated]. Writes docs/chosen.md; rows of others stay.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import crowdrank as cr
from crowdrank.methods.choice import choose_method
from crowdrank.report.methods import not_worse
from crowdrank.study import Grades

ROOT = Path(__file__).parents[1]
DATA = {
    "country_population": "pairwise", "mirex2005_music": "pairwise", "preflib_truth": "rankings",
    "readability_crowdbt": "pairwise", "letor_mq2008_agg": "rankings", "llmjudge24": "grades", "trec_rf10": "grades",
}  # fmt: skip
TEXT = """# The chosen method

Written by `benchmarks/chosen.py`: what `rank` chooses without `--method`, beside the best of all methods. The best is
found with gold, which the choice does not see. Significance is that of `compare`, with {limit:g} seconds for each
method. Studies of one task are measured by all their pairs. Items without gold are left out of the lists. Grades below
0 are left out too (trec_rf10: broken links).
"""
LIMIT = 60.0
PAIRS = {
    "honest crowd": {},
    "30 % spammers": {"spammers": 0.3},
    "20 % malicious": {"malicious": 0.2},
    "two votes each": {"annotators": 1000},
    "two votes each, 30 % spammers": {"annotators": 1000, "spammers": 0.3},
    "ties": {"ties": 0.4},
    "one annotator": {"annotators": 1},
}
GRADES = {
    "usual crowd": {},
    "noisy crowd": {"noise": 1.5},
    "30 % spammers": {"spammers": 0.3},
    "20 % malicious": {"malicious": 0.2},
}
RANKINGS = {
    "whole lists": {},
    "the best five": {"top_k": 5},
    "half of the tasks": {"share": 0.5},
    "half of the items": {"length": 6},
    "a sixth is reversed": {"theta": np.r_[np.linspace(-1.5, -0.2, 10), 1.5, 0.5]},
}


def studies(names: list[str]) -> dict[str, tuple[cr.Judgments, cr.Gold]]:
    """The studies by name; real ones where CROWDRANK_DATA says where they are."""
    found = {}
    folder = os.environ.get("CROWDRANK_DATA")
    for name, table in DATA.items():
        if folder and (not names or name in names):
            source = Path(folder) / name
            found[name] = _without_codes(cr.read(source / f"{table}.csv.gz"), cr.read_gold(source / "gold.csv.gz"))
    if names and "simulated" not in names:
        return found
    for kind, crowds, make, sizes in (
        ("pairs", PAIRS, cr.simulate.pairs, {"items": 20, "annotators": 40, "votes": 2000, "tasks": 8}),
        ("grades", GRADES, cr.simulate.grades, {"items": 25, "annotators": 20, "labels": 5, "tasks": 12}),
        ("lists", RANKINGS, cr.simulate.rankings, {"items": 12, "annotators": 12, "tasks": 20}),
    ):
        for name, settings in crowds.items():
            study = make(**{**sizes, **settings}, seed=1)
            found[f"simulated {kind}: {name}"] = study.judgments, study.gold
    return found


def _without_codes(study: cr.Judgments, gold: cr.Gold) -> tuple[cr.Judgments, cr.Gold]:
    """Grades from 0 on alone: those below are codes, such as a broken link."""
    if gold.kind != "grade" or not len(study.grades):
        return study, gold
    used, given = study.grades.grade >= 0, study.grades
    kept = Grades(given.annotator[used], given.entry[used], given.grade[used])
    return replace(study, grades=kept), replace(gold, value=np.where(gold.value < 0, np.nan, gold.value))


def row(name: str, judgments: cr.Judgments, gold: cr.Gold) -> str:
    """The chosen method, the best one, and whether the difference is significant."""
    one_task = len(judgments.vocabulary.tasks) == 1
    # Without a mean over tasks, the first ten of many items are chance.
    found = cr.compare(judgments, gold, measures=["acc"] if one_task else None, limit=LIMIT, unjudged="ignore")
    chosen, measure = choose_method(judgments)[0], found.measures[0]
    best = next(iter(found.evaluations))
    tasks = len(found.evaluations[best].tasks)
    verdict = "best" if chosen == best else "not worse" if not_worse(found, measure)[chosen] else "worse"
    if tasks == 1 and chosen != best:
        verdict = "one task: no test"
    mine, theirs = (found.evaluations[each].mean[measure] for each in (chosen, best))
    return f"| {name} | {measure} | {tasks} | {chosen} | {mine:.4f} | {best} | {theirs:.4f} | {verdict} |"


def main() -> None:
    """Compare, print as it goes, and write the page."""
    titles = ("study", "measure", "tasks", "chosen", "its mean", "best", "its mean", "the chosen one is")
    head = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    page = ROOT / "docs/chosen.md"
    lines = page.read_text(encoding="utf-8").splitlines() if page.exists() else []
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in lines if line.startswith("| ")}
    rows.pop(titles[0], None)
    for name, (judgments, gold) in studies(sys.argv[1:]).items():
        rows[name] = row(name, judgments, gold)
        print(rows[name], flush=True)
    page.write_text(
        "\n".join([TEXT.format(limit=LIMIT), *head, *(rows[name] for name in sorted(rows)), ""]), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
