"""Live results, for the owner."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Query

from crowdrank.server.activity import Activity, Habit
from crowdrank.server.content import task_name
from crowdrank.server.context import Owner, Served, Study
from crowdrank.server.results import Results, computed_at
from crowdrank.server.times import as_date
from crowdrank.store import access, studies

router = APIRouter()
PATIENCE = 3.0  # seconds that a request waits for fresh results
Wait = Annotated[float, Query(ge=0, le=30, description="Seconds to wait for fresh results")]
STRETCHES = 60  # of time, in the chart


def _fresh(study: Served, wait: float) -> tuple[Results, bool]:
    """The results, and whether there are newer judgments."""
    with study.database.read() as connection:
        sequence = studies.read_study(connection, study.id).sequence
    results = study.results.wait(sequence, wait)
    return results, results.sequence < sequence


@router.get("/consensus")
def consensus(study: Study, _: Owner, wait: Wait = PATIENCE) -> dict[str, Any]:
    """The ranking with intervals; `stale` says that there are newer judgments than it was computed from."""
    results, stale = _fresh(study, wait)
    with study.database.read() as connection:
        items = {(row.task, row.name): row for row in studies.read_items(connection, study.id)}
    names = ("rank", "score", "low", "high", "rank_low", "rank_high", "judgments", "tier")
    return {
        "ranking": [
            {
                "task": task_name(row["task"]),
                "item": row["item"],
                "title": items[row["task"], row["item"]].title,
                "withdrawn": items[row["task"], row["item"]].state == "withdrawn",
                **{name: row.get(name) for name in names},
            }
            for row in results.ranking
            if (row["task"], row["item"]) in items
        ],
        "notes": results.notes,
        "method": results.method,
        "judgments": results.judgments,
        "computed_at": computed_at(results),
        "stale": stale,
    }


@router.get("/annotators")
def annotators(study: Study, _: Owner, wait: Wait = 0.0) -> dict[str, Any]:
    """All annotators: how many judgments, how good, how fast."""
    results, stale = _fresh(study, wait)
    with study.database.read() as connection:
        rows = access.read_annotators(connection, study.id)
        habits = study.activity.read(connection, study.id).habits
    found = []
    for row in rows:
        quality = results.annotators.get(row.name, {}) if row.state == "active" else {}
        habit = habits.get(row.id, Habit())
        found.append(
            {
                "id": row.name,
                "name": row.name,
                "judgments": row.judgments,
                "quality": quality.get("quality"),
                "quality_low": quality.get("quality_low"),
                "quality_high": quality.get("quality_high"),
                "verdict": quality.get("verdict"),
                "gold_right": habit.right,
                "gold_asked": habit.checks,
                "seconds": habit.usual_seconds,
                "left_share": habit.left_share,
                "state": row.state,
                "joined_at": as_date(row.created),
                "last_at": as_date(habit.last) if habit.last else None,
                "details": row.details,
            }
        )
    return {"annotators": found, "stale": stale}


@router.get("/stopping")
def stopping(study: Study, _: Owner, wait: Wait = 0.0) -> dict[str, Any]:
    """The stopping rules of the study: which hold, and how many more judgments the others will take."""
    results, stale = _fresh(study, wait)
    with study.database.read() as connection:
        speed = _per_hour(study.activity.read(connection, study.id))
    collection = study.file.collection
    notes = [] if results.stopping else ["there are no judgments yet"]
    if collection.caps.budget is None and not collection.stopping:
        notes = ["the study names no stopping rule: [collection] budget or stopping"]
    return {"rules": results.stopping, "per_hour": speed, "notes": notes, "stale": stale}


@router.get("/status")
def status(study: Study, _: Owner) -> dict[str, Any]:
    """Counts, speed, connectivity, cost, and what is being asked now."""
    study.results.look()
    now = time.time()
    with study.database.read() as connection:
        row = studies.read_study(connection, study.id)
        activity = study.activity.read(connection, study.id)
        asked = studies.asked_now(connection, study.id, now)
        titles = studies.items_of(connection, study.id, ((each.task, name) for each in asked for name in each.items))
        people = len(access.read_annotators(connection, study.id))
        active = studies.active_items(connection, study.id)
    collection, counts = study.file.collection, activity.counts
    return {
        "state": row.state,
        "sequence": row.sequence,
        "judgments": counts["counted"],
        "skipped": counts["skipped"],
        "withdrawn": counts["withdrawn"],
        "items": active,
        "annotators": people,
        "budget": collection.caps.budget,
        "per_hour": _per_hour(activity),
        "over_time": [{"at": as_date(at), "count": count} for at, count in activity.over_time(now, STRETCHES)],
        "connectivity": _connectivity(study.results.latest, active),
        "cost": _cost(study, counts["counted"]),
        "asked_now": [
            {
                "annotator": each.name,
                "name": each.name,
                "kind": study.file.kind,
                "task": task_name(each.task),
                "items": [titles[each.task, name].title for name in each.items if (each.task, name) in titles],
                "since": as_date(each.created),
            }
            for each in asked
        ],
        "demo": {"on": study.demo.is_on} if study.demo is not None else None,
    }


def _per_hour(activity: Activity) -> float:
    """Judgments per hour, over the last hour or since the first one."""
    if not activity.times:
        return 0.0
    now = time.time()
    span = min(max(now - activity.times[0], 60.0), 3600.0)
    return round(activity.since(now - span) * 3600 / span, 1)


def _connectivity(results: Results, items: int) -> dict[str, Any]:
    """Whether all items are connected by comparisons, so that one ranking is possible."""
    if results.components <= 1:
        sentence = "all items are connected by judgments"
    elif results.unjudged:
        sentence = f"{results.unjudged:,} of {items:,} items have no judgments yet"
    else:
        sentence = (
            f"the items are in {results.components:,} groups that no judgment connects: ask about pairs between them"
        )
    return {
        "components": results.components,
        "largest": results.largest,
        "unjudged": results.unjudged,
        "sentence": sentence,
    }


def _cost(study: Served, count: int) -> dict[str, Any] | None:
    collection = study.file.collection
    if collection.cost is None:
        return None
    return {"amount": collection.cost * count, "currency": collection.currency, "per_judgment": collection.cost}
