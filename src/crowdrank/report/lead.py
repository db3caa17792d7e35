"""The top of a report: the verdict in one sentence, the study at a glance, the tiers; and camps, if there are any."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdrank.consensus import Consensus
from crowdrank.learning.catalogue import LEARNERS
from crowdrank.report import ranking
from crowdrank.report.page import Html, Section, box, facts, name, paragraph, side_by_side, table
from crowdrank.statistics.description import StudyDescription
from crowdrank.statistics.reliability import scale_separation_reliability
from crowdrank.statistics.warnings import same_items
from crowdrank.study import Judgments

MOST_TIERS = 8
CAMP_ROWS = 10
ENOUGH_UNITS = 20  # judged by several annotators; of fewer, agreement says little


def lead(
    consensus: Consensus,
    judgments: Judgments | None,
    described: StudyDescription | None,
    tier: NDArray[np.int32] | None,
) -> list[Html]:
    """What a reader in a hurry sees."""
    camps = "Annotators fall into camps that rank in opposite ways: see Camps below."
    warned = [box(paragraph(camps))] if consensus.camp_columns is not None else []
    return [_verdict(consensus, tier), *warned, _glance(consensus, judgments, described), _tier_list(consensus, tier)]


def _glance(consensus: Consensus, judgments: Judgments | None, described: StudyDescription | None) -> Html:
    """The study in a few numbers."""
    words, own = consensus.vocabulary, consensus.annotator_columns
    values: dict[str, object] = {"items": len(words.items)}
    if len(words.tasks) > 1:
        values["tasks"] = len(words.tasks)
    if judgments is not None:
        values |= {kind: judgments.counts[kind] for kind in judgments.kinds}
    if "verdict" in own and len(own["verdict"]):
        informative = int((own["verdict"] == "informative").sum())
        values["informative annotators"] = f"{informative:,} of {len(own['verdict']):,}"
    if consensus.low is not None:
        values["reliability of the scores"] = scale_separation_reliability(consensus)
    for kind, each in ({} if described is None else described.agreement).items():
        if each.units >= ENOUGH_UNITS:
            values[f"agreement (alpha, {kind})"] = each.alpha
    return facts(values)


def camps_section(consensus: Consensus) -> Section:
    """The rankings of the camps side by side: votes alone cannot say which is right."""
    camps = consensus.camp_columns
    if camps is None:
        return Section("Camps", [])
    words = consensus.vocabulary
    first = camps["task"] == words.tasks[0]
    tables = []
    for number in np.unique(camps["camp"]):
        mine = np.flatnonzero((camps["camp"] == number) & first)
        best = mine[np.argsort(camps["rank"][mine], kind="stable")[:CAMP_ROWS]]
        columns = {"rank": camps["rank"][best].tolist(), "item": [name(item) for item in camps["item"][best]]}
        tables.append(Html(f"<div>{table(f'camp-{number}', columns, caption=f'Camp {number}')}</div>"))
    why = "Annotators fall into camps that rank in opposite ways. Votes alone cannot say which one is right."
    where = f" The best of task {words.tasks[0]}:" if len(words.tasks) > 1 else ""
    return Section("Camps", [paragraph(why + where), side_by_side(*tables)])


def counted(count: int, thing: str) -> str:
    """A number of things in words."""
    return f"{count:,} {thing}{'s' * (count != 1)}"


def _verdict(consensus: Consensus, tier: NDArray[np.int32] | None) -> Html:
    """One sentence that a reader takes away."""
    n_tasks, first = len(consensus.vocabulary.tasks), consensus.rank == 1
    if not first.any():
        return box(paragraph("Nothing could be ranked; the notes at the end say why."))
    if tier is None:
        advice = ": rank --bootstrap 200 adds them" if consensus.method not in LEARNERS else ""
        how = paragraph(f"There are no intervals, so it is not known how certain this order is{advice}.")
        if n_tasks > 1:
            return box(paragraph(f"{n_tasks:,} tasks are ranked."), how)
        return box(paragraph(_names(consensus, np.flatnonzero(first)), " comes first."), how)
    if n_tasks > 1:
        alone = np.bincount(consensus.vocabulary.entry_task[tier == 1], minlength=n_tasks) == 1
        hint = [paragraph(f"Note: {each}.", kind="dim") for each in same_items(consensus.vocabulary)]
        return box(*_settled_tasks(int(alone.sum()), n_tasks), *hint)
    leaders = ranking.top_entries(consensus, top=int((tier == 1).sum()))
    best = leaders[:1]
    if len(leaders) == 1:
        rest = paragraph("No other item may be as good: at 95 % each of them is below it.", kind="dim")
        return box(paragraph(_names(consensus, best), " is first, and the judgments settle it."), rest)
    others = (
        f" comes first, but the judgments do not settle it: {counted(len(leaders) - 1, 'other item')} may be better."
    )
    return box(paragraph(_names(consensus, best), others))


def _settled_tasks(settled: int, n_tasks: int) -> list[Html]:
    if not settled:
        said = f"In none of the {n_tasks:,} tasks do the judgments settle which item is first."
        rest = "In each, several items may be the best: more judgments are needed."
    else:
        said = f"In {settled:,} of {n_tasks:,} tasks the judgments settle which item is first."
        rest = "In the others, several items may be the best."
    return [paragraph(said), *([paragraph(rest, kind="dim")] if settled < n_tasks else [])]


def _names(consensus: Consensus, entries: NDArray[np.intp], most: int = 10) -> Html:
    items = consensus.vocabulary.items[consensus.vocabulary.entry_item[entries[:most]]]
    more = f" and {len(entries) - most:,} more" if len(entries) > most else ""
    return Html(", ".join(name(item) for item in items) + more)


def _tier_list(consensus: Consensus, tier: NDArray[np.int32] | None) -> Html:
    if tier is None or len(consensus.vocabulary.tasks) > 1:
        return Html("")
    order = consensus.best_first
    last = int(tier.max())
    most = last if last == MOST_TIERS + 1 else min(last, MOST_TIERS)  # "1 more tier" needs as much room as the tier
    shown = range(1, most + 1)
    rows = [f"<li><b>Tier {k}</b><span>{_names(consensus, order[tier[order] == k])}</span></li>" for k in shown]
    more = last - most
    rest = f"<li><b></b><span>and {counted(more, 'more tier')}</span></li>" if more > 0 else ""
    why = paragraph("Items of a tier are not distinguishable from the first of it, its anchor, at 95 %.", kind="dim")
    return Html(f'<ul class="tiers">{"".join(rows)}{rest}</ul>{why}')
