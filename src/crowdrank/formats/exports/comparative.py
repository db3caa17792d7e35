"""Comparative judgement (No More Marking and others): a judge, the piece of work chosen, and the one not chosen."""

from __future__ import annotations

from collections.abc import Mapping

from crowdrank.formats.exports.tables import exported, is_judgment, mapped
from crowdrank.formats.source import Source
from crowdrank.formats.trec_letor import Wanted

TOOL = "comparative judgement"
# Names of the columns of winner and loser, without blanks, dashes and capitals.
SIDES = (
    ("chosen", "notchosen"),
    ("candidatechosen", "candidatenotchosen"),
    ("won", "lost"),
    ("winner", "loser"),
    ("selected", "notselected"),
)
OTHERS = {
    "annotator": ("judge", "judgeid", "judgename", "judgeemail", "annotator"),
    "task": ("task", "taskid", "taskname"),
    "time": ("createdat", "judgedat", "date", "time", "timestamp"),
    "seconds": ("timetaken", "duration", "seconds"),
}


def recognises(columns: set[str]) -> bool:
    """Whether a table has judges, and names what they chose and what not."""
    plain = {_plain(name) for name in columns}
    ours = {"winner", "loser"} <= columns  # such tables are read as they are
    return not ours and any(plain.issuperset(pair) for pair in SIDES)


def read(source: Source, given: Mapping[str, str], wanted: Wanted) -> list[Source]:
    """The decisions of the judges."""
    if wanted == "truth":
        return [source]
    plain = {_plain(name): name for name in reversed(source.columns)}
    named = mapped(source, given)
    roles = {role: plain[name] for role, names in OTHERS.items() for name in reversed(names) if name in plain}
    if not is_judgment(named):
        winner, loser = next(pair for pair in SIDES if plain.keys() >= set(pair))
        roles |= {"winner": plain[winner], "loser": plain[loser]}
    return [exported(source, TOOL, {**roles, **named})]


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
