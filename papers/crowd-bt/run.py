"""The tables of the Crowd-BT paper on its own data: `python papers/crowd-bt/run.py --table 3`."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

import polars as pl

import crowdrank as cr

HERE = Path(__file__).parent
PRIORS = (0.1, 0.5, 1.0, 10.0, 50.0)


def table_3(data: Path) -> pl.DataFrame:
    """ACC on the reading difficulty data, by method and strength of the prior."""
    judgments = cr.read(data / "readability_crowdbt" / "pairwise.csv.gz")
    gold = cr.read_gold(data / "readability_crowdbt" / "gold.csv.gz")
    rows = []
    for name in ("bradley-terry", "crowd-bt"):
        for prior in PRIORS:
            consensus = cr.fit(name, judgments, prior=prior)
            if not consensus.fit.converged:
                sys.exit(f"{name} with prior {prior:g} did not converge")
            acc = cr.evaluate(consensus, gold, ["acc"]).mean["acc"]
            rows.append({"table": 3, "method": name, "prior": prior, "acc": round(acc, 4)})
    return pl.DataFrame(rows)


TABLES = {3: table_3}


def side_by_side(ours: pl.DataFrame, paper: pl.DataFrame) -> str:
    """A Markdown table: ours, and the paper's in brackets."""
    both = ours.join(paper.rename({"acc": "paper"}), on=["table", "method", "prior"], how="left")
    lines = ["| λ | " + " | ".join(f"{prior:g}" for prior in PRIORS) + " |", "|---" * (len(PRIORS) + 1) + "|"]
    for (method,), rows in both.group_by("method", maintain_order=True):
        lines.append(f"| {method} | " + " | ".join(f"{row['acc']:.4f} ({row['paper']:.4f})" for row in rows.to_dicts()) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run the wanted tables, write result.csv, and show them in the README."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=int, choices=TABLES, action="append", help="which table; all of them by default")
    wanted = parser.parse_args().table or list(TABLES)
    data = os.environ.get("CROWDRANK_DATA")
    if not data:
        sys.exit("set CROWDRANK_DATA to the folder that holds readability_crowdbt/")
    paper = pl.read_csv(HERE / "expected.csv", schema_overrides={"prior": pl.Float64})
    results = {number: TABLES[number](Path(data)) for number in wanted}
    readme = (HERE / "README.md").read_text()
    for number, ours in results.items():
        table = side_by_side(ours, paper)
        print(f"Table {number}, ours (paper's)\n\n{table}\n")
        readme = re.sub(rf"(<!-- table {number} -->\n).*?(<!-- end -->)", rf"\g<1>{table}\n\g<2>", readme, flags=re.DOTALL)
    cr.write(pl.concat(results.values()), HERE / "result.csv")
    (HERE / "README.md").write_text(readme)


if __name__ == "__main__":
    main()
