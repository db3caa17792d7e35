"""How many votes of each annotator does it take to tell the good from the bad? `python benchmarks/choosing.py` puts its
table into docs/choosing.md.

A simulated crowd of 30 % spammers and 20 % malicious annotators gives 2,000 votes on 50 items; the more each of them
votes, the fewer they are. The share of pairs in the right order, mean of 20 crowds.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import crowdrank as cr

PAGE = Path(__file__).parent.parent / "docs" / "choosing.md"
VOTES, EACH = 2000, (2, 5, 10, 20, 40)
METHODS = ("bradley-terry", "crowd-bt", "crowdagg")
CROWDS = 20


def right(method: str, each: int, seed: int) -> float:
    """What a method finds of the order of one crowd."""
    crowd = cr.simulate.pairs(items=50, annotators=VOTES // each, votes=VOTES, spammers=0.3, malicious=0.2, seed=seed)
    return cr.evaluate(cr.fit(method, crowd.judgments), crowd.gold, ["acc"]).mean["acc"]


def main() -> None:
    """Write the table."""
    lines = ["| votes of each annotator | " + " | ".join(map(str, EACH)) + " |", "|---" * (len(EACH) + 1) + "|"]
    for method in METHODS:
        found = [np.mean([right(method, each, seed) for seed in range(CROWDS)]) for each in EACH]
        lines.append(f"| `{method}` | " + " | ".join(f"{value:.2f}".removeprefix("0") for value in found) + " |")
        print(lines[-1], flush=True)
    text = "\n".join(lines)
    marked = r"(<!-- votes of each annotator -->\n).*?(<!-- end -->)"
    PAGE.write_text(re.sub(marked, rf"\g<1>{text}\n\g<2>", PAGE.read_text(), flags=re.DOTALL))


if __name__ == "__main__":
    main()
