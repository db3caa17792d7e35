"""The method that `rank` chooses beside all others, on every data set with gold and on simulated crowds.

Run: python benchmarks/chosen.py [DATA SETS]. Writes docs/chosen.md.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import crowdrank as cr
from crowdrank.methods.choice import choose_method
from crowdrank.report.methods import not_worse

ROOT = Path(__file__).parents[1]
DATA = {
    "country_population": "pairwise", "mirex2005_music": "pairwise", "preflib_truth": "rankings",
    "readability_crowdbt": "pairwise", "letor_mq2008_agg": "rankings", "llmjudge24": "grades", "trec_rf10": "grades",
}  # fmt: skip
TEXT = """# The chosen method

Written by `benchmarks/chosen.py`: what `rank` chooses without `--method`, beside the best of all methods. The best is
found with gold, which the choice does not see. Significance is that of `compare`.
"""
CROWDS = {
    "honest crowd": {},
    "30 % spammers": {"spammers": 0.3},
    "20 % malicious": {"malicious": 0.2},
    "two votes each": {"annotators": 1000},
    "ties": {"ties": 0.4},
    "one annotator": {"annotators": 1},
}


def studies(names: list[str]) -> dict[str, tuple[cr.Judgments, cr.Gold]]:
    """The studies by name; real ones where CROWDRANK_DATA says where they are."""
    found = {}
    folder = os.environ.get("CROWDRANK_DATA")
    for name, table in DATA.items():
        if folder and (not names or name in names):
            source = Path(folder) / name
            found[name] = cr.read(source / f"{table}.csv.gz"), cr.read_gold(source / "gold.csv.gz")
    for name, settings in CROWDS.items():
        if not names or "simulated" in names:
            sizes = {"items": 20, "annotators": 40, "votes": 2000, "tasks": 8, "seed": 1}
            study = cr.simulate.pairs(**{**sizes, **settings})
            found[f"simulated: {name}"] = study.judgments, study.gold
    return found


def row(name: str, judgments: cr.Judgments, gold: cr.Gold) -> str:
    """The chosen method, the best one, and whether the difference is significant."""
    found = cr.compare(judgments, gold)
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
    rows = []
    for name, (judgments, gold) in studies(sys.argv[1:]).items():
        rows.append(row(name, judgments, gold))
        print(rows[-1], flush=True)
    (ROOT / "docs/chosen.md").write_text("\n".join([TEXT, *head, *rows, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
