"""PrefLib: elections (.soc, .soi, .toc, .toi) as rankings with their numbers of voters, .cat as grades.

A file is one election, and its name the task. Voters are anonymous: all rankings are those of one annotator, and a row
of 263 voters is one ranking that counts 263 times. In .cat each voter is an annotator, and the first category is best.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from crowdrank.formats.source import Source, shorten
from crowdrank.formats.table import BYTE_ORDER_MARK, check_text
from crowdrank.formats.trec_letor import Wanted
from crowdrank.study import UNNAMED_TASK, JudgmentError

TOOL = "PrefLib"
GRAPH = ".wmd"
KINDS = ("soc", "soi", "toc", "toi")
CATEGORIES = "cat"
NAME = re.compile(r"(ALTERNATIVE|CATEGORY) NAME (\d+)", re.IGNORECASE)
GROUP = re.compile(r"\{([^{}]*)\}|([^,{}]+)")
MOST_GRADES = 20_000_000  # of voters in .cat files, each of whom is an annotator
MOST_VOTERS = 500_000_000


@dataclass(slots=True)
class Election:
    """A file: its header, and its rows."""

    kind: str = ""
    alternatives: dict[str, str] = field(default_factory=dict)  # number → name
    categories: int = 0
    facts: dict[str, str] = field(default_factory=dict)
    rows: list[tuple[int, int, list[list[str]]]] = field(default_factory=list)  # line, voters, groups of alternatives


def read(path: Path, data: bytes, given: Mapping[str, str], wanted: Wanted) -> Source:
    """The votes of an election."""
    check_text(path, data)
    if given:
        raise JudgmentError(f"{path}: a PrefLib file has no columns; remove --column and --by")
    election = _election(path, data.removeprefix(BYTE_ORDER_MARK).decode())
    _check_counts(path, election)
    if election.kind == CATEGORIES:
        return _grades(path, election, wanted)
    return _rankings(path, election, wanted)


def _election(path: Path, text: str) -> Election:
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    kind = _suffix(path)
    if lines and lines[0][1].startswith("#"):
        election = _with_header(path, lines)
        election.kind = election.facts.get("DATA TYPE", "").strip().lower() or kind
    else:
        election = _old(path, lines)
        election.kind = kind or KINDS[-1]
    if election.kind == GRAPH[1:]:
        raise JudgmentError(
            f"{path}: is a graph of majorities (.wmd), not of votes; use the file of the same election that ends with "
            ".soc, .soi, .toc or .toi"
        )
    if election.kind not in (*KINDS, CATEGORIES):
        raise JudgmentError(
            f"{path}: DATA TYPE is {shorten(election.kind)!r}; it must be one of {', '.join((*KINDS, CATEGORIES))}"
        )
    return election


def _suffix(path: Path) -> str:
    return next((part[1:].lower() for part in reversed(path.suffixes) if part[1:].lower() not in ("gz", "zst")), "")


def _with_header(path: Path, lines: list[tuple[int, str]]) -> Election:
    election = Election()
    for number, line in lines:
        if not line.startswith("#"):
            if GRAPH[1:] != election.facts.get("DATA TYPE", _suffix(path)):
                election.rows.append(_row(f"{path}:{number}", number, line, ":", election.alternatives))
            continue
        key, colon, value = line[1:].partition(":")
        key = " ".join(key.split()).upper()
        if not colon:
            raise JudgmentError(f"{path}:{number}: a line of the header must be '# KEY: value'")
        if named := NAME.fullmatch(key):
            _add_name(f"{path}:{number}", election, named[1], str(int(named[2])), value.strip())
        else:
            election.facts[key] = value.strip()
    return election


def _add_name(place: str, election: Election, what: str, number: str, name: str) -> None:
    if what == "CATEGORY":
        election.categories += 1
        return
    if number in election.alternatives:
        raise JudgmentError(f"{place}: alternative {number} is named twice")
    election.alternatives[number] = name or number


def _old(path: Path, lines: list[tuple[int, str]]) -> Election:
    """Files of before 2022: the number of alternatives, their names, a line of counts, then the votes."""
    election = Election()
    number, first = lines[0]
    if not re.fullmatch(r"\d+", first):
        raise JudgmentError(f"{path}:{number}: is not the number of alternatives, with which a PrefLib file begins")
    size = int(first)
    if len(lines) < size + 2:
        raise JudgmentError(f"{path}: ends before the votes; {size:,} alternatives were to be named")
    for number, line in lines[1 : size + 1]:
        key, comma, name = line.partition(",")
        if not comma or not key.strip().isdigit():
            raise JudgmentError(f"{path}:{number}: is not an alternative, like '1,name'")
        _add_name(f"{path}:{number}", election, "ALTERNATIVE", str(int(key)), name.strip())
    number, line = lines[size + 1]
    counts = line.split(",")
    if len(counts) != 3 or not all(count.strip().isdigit() for count in counts):
        raise JudgmentError(f"{path}:{number}: is not the line of counts, like '100,100,24'")
    election.facts = {"NUMBER VOTERS": counts[0].strip(), "NUMBER UNIQUE ORDERS": counts[2].strip()}
    election.rows = [
        _row(f"{path}:{number}", number, line, ",", election.alternatives) for number, line in lines[size + 2 :]
    ]
    return election


def _row(
    place: str, number: int, line: str, mark: str, alternatives: Mapping[str, str]
) -> tuple[int, int, list[list[str]]]:
    """The voters of a row, and the groups of alternatives, best first."""
    count, found, order = line.partition(mark)
    if not found or not re.fullmatch(r"\d{1,12}", count.strip()):
        raise JudgmentError(f"{place}: {shorten(line)!r} does not begin with a number of voters and {mark!r}")
    if int(count) == 0:
        raise JudgmentError(f"{place}: a vote of 0 voters")
    groups, rest = list[list[str]](), GROUP.sub("", order)
    if rest.replace(",", "").strip():
        raise JudgmentError(f"{place}: {shorten(order.strip())!r} is no order; a tie is written {{1,2}}")
    for tied, single in GROUP.findall(order):
        if single and not single.strip():
            continue
        members = [member.strip() for member in (single or tied).split(",") if member.strip()]
        groups.append([str(int(member)) if member.isdecimal() else member for member in members])
    named = [member for group in groups for member in group]
    for member in named:
        if member not in alternatives:
            raise JudgmentError(
                f"{place}: there is no alternative {shorten(member)!r}; there are {len(alternatives):,}"
            )
    if len(set(named)) < len(named):
        raise JudgmentError(f"{place}: an alternative stands twice in a vote")
    return number, int(count), groups


def _check_counts(path: Path, election: Election) -> None:
    """Refuse a file that says itself that it is not whole."""
    if not election.rows:
        raise JudgmentError(f"{path}: holds no votes")
    found = {
        "NUMBER ALTERNATIVES": len(election.alternatives),
        "NUMBER VOTERS": sum(count for _, count, _ in election.rows),
        "NUMBER UNIQUE ORDERS": len(election.rows),
    }
    for key, count in found.items():
        said = election.facts.get(key, "")
        if said.isdecimal() and int(said) != count and election.kind != CATEGORIES:
            raise JudgmentError(f"{path}: says {key} {int(said):,}, but has {count:,}; it is incomplete or was changed")
    if found["NUMBER VOTERS"] > MOST_VOTERS:
        raise JudgmentError(f"{path}: has {found['NUMBER VOTERS']:,} voters; at most {MOST_VOTERS:,} are read")


def _names(election: Election) -> dict[str, str]:
    """The name of each alternative; with its number where two have the same."""
    names = list(election.alternatives.values())
    return {
        number: name if names.count(name) == 1 else f"{name} ({number})"
        for number, name in election.alternatives.items()
    }


def _task(path: Path) -> str:
    return path.name.split(".")[0] or UNNAMED_TASK


def _rankings(path: Path, election: Election, wanted: Wanted) -> Source:
    names, task = _names(election), _task(path)
    rows = [
        (task, names[member], rank, number, count, line)
        for number, (line, count, groups) in enumerate(election.rows, 1)
        for rank, group in enumerate([group for group in groups if group], 1)
        for member in group
    ]
    frame = pl.DataFrame(
        rows, schema={"task": pl.String, "item": pl.String, "rank": pl.Int64, "list": pl.Int64, "weight": pl.Int64,
                      "line": pl.Int64}, orient="row",
    )  # fmt: skip
    columns = ["task", "item", "rank", "list", "weight"]
    if wanted == "truth":
        columns = ["task", "item", "rank"]
        if len(election.rows) > 1:
            raise JudgmentError(f"{path}: holds {len(election.rows):,} orders; gold must be a single one")
    meaning = {"task": "name of the file", "item": "alternatives", "rank": "orders", "weight": "numbers of voters"}
    line = frame["line"]
    return Source(str(path), columns, frame.get_column, lambda row: f"{path}:{line[row]}", tool=TOOL, meaning=meaning)


def _grades(path: Path, election: Election, wanted: Wanted) -> Source:
    said = election.facts.get("NUMBER CATEGORIES", "")
    size = max(election.categories, int(said) if re.fullmatch(r"\d{1,4}", said) else 0, 1)
    names, task = _names(election), _task(path)
    rows = list[tuple[str, str, str, int, int]]()
    for voter, line, groups in _voters(path, election):
        if len(groups) > size:
            raise JudgmentError(f"{path}:{line}: has {len(groups)} groups, but there are {size} categories")
        rows += [
            (task, voter, names[member], size - category, line)
            for category, group in enumerate(groups, 1)
            for member in group
        ]
    frame = pl.DataFrame(
        rows, schema={"task": pl.String, "annotator": pl.String, "item": pl.String, "grade": pl.Int64,
                      "line": pl.Int64}, orient="row",
    )  # fmt: skip
    columns = ["task", "annotator", "item", "grade"]
    meaning = {"task": "name of the file", "annotator": "voters", "item": "alternatives", "grade": "categories"}
    line_of = frame["line"]
    return Source(
        str(path), columns if wanted == "judgments" else ["task", "item", "grade"], frame.get_column,
        lambda row: f"{path}:{line_of[row]}", tool=TOOL, meaning=meaning,
        notes=(f"{path}: grades are {size - 1} for the first category down to 0 for the last",),
    )  # fmt: skip


def _voters(path: Path, election: Election) -> Iterator[tuple[str, int, list[list[str]]]]:
    """Every voter of a .cat file."""
    total = sum(count * sum(map(len, groups)) for _, count, groups in election.rows)
    if total > MOST_GRADES:
        raise JudgmentError(f"{path}: its voters gave {total:,} grades; at most {MOST_GRADES:,} are read")
    voter = 0
    for line, count, groups in election.rows:
        for _ in range(count):
            voter += 1
            yield f"voter {voter}", line, groups
