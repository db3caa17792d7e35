"""A comparison as aligned text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

MARK = "†"


def leaderboard(
    means: Mapping[str, Mapping[str, float]],
    seconds: Mapping[str, float],
    marked: Collection[tuple[str, str]],
    notes: Sequence[str] = (),
) -> str:
    """One line per method and a column per measure; `marked` (method, measure) are significantly below the best.

    >>> means = {"crowd-bt": {"acc": 0.9, "tau": 0.8}, "mean": {"acc": 0.7, "tau": 0.75}}
    >>> print(leaderboard(means, {"crowd-bt": 0.21, "mean": 0.001}, {("mean", "acc")}))
    method       acc      tau     seconds
    crowd-bt    0.9000   0.8000      0.21
    mean        0.7000†  0.7500      0.00
    † significantly below the best of its column (randomisation test over tasks, Holm-corrected p < .05)
    """
    names = list(next(iter(means.values())))
    rows = [["method", *(f"{name} " for name in names), "seconds"]]
    for label, values in means.items():
        cells = [f"{values[name]:.4f}{MARK if (label, name) in marked else ' '}" for name in names]
        rows.append([label, *cells, f"{seconds[label]:.2f}"])
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    legend = (
        f"{MARK} significantly below the best of its column (randomisation test over tasks, Holm-corrected p < .05)"
    )
    return "\n".join([*lines, *([legend] if marked else []), *(f"note: {note}" for note in notes)])
