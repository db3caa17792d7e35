"""Preferences as language models are trained on: the text that was `chosen`, and the one that was `rejected`.

The two are texts, which are not ranked. They become pairs of what produced them, if the file names it.
"""

from __future__ import annotations

from collections.abc import Mapping

from crowdrank.formats.exports.tables import exported, is_judgment, listed, mapped
from crowdrank.formats.source import Source
from crowdrank.formats.trec_letor import Wanted
from crowdrank.study import JudgmentError

TOOL = "a preference data set"
KEYS = {"chosen", "rejected"}
NAMES = ("{}_model", "{}-model", "model_{}", "{}.model", "{}_name", "{}_system")


def read(source: Source, given: Mapping[str, str], wanted: Wanted) -> list[Source]:
    """The preferences between models."""
    if wanted == "truth":
        return [source]
    known, roles = {*source.columns, *source.paths}, mapped(source, given)
    if not is_judgment(roles):
        both = [(name.format("chosen"), name.format("rejected")) for name in NAMES]
        found = next((pair for pair in both if known.issuperset(pair)), None)
        if found is None:
            raise JudgmentError(
                f"{source.name}: chosen and rejected are texts: to rank models, columns that name who wrote them are "
                f"needed, such as chosen_model and rejected_model; the columns are {listed(source.columns)}; if two of "
                "them are such names, say --column winner=NAME --column loser=NAME"
            )
        roles = {"winner": found[0], "loser": found[1], **roles}
    who = [name for name in ("annotator", "judge") if name in source.columns]
    if who and "annotator" not in roles:
        roles["annotator"] = who[0]
    return [exported(source, TOOL, roles)]
