"""Questions and judgments of an annotator."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse
from sqlalchemy import Connection

from crowdrank.server.answers import check_for
from crowdrank.server.content import shown_item, task_name
from crowdrank.server.context import Annotator, Known, Served, Study, Visit
from crowdrank.server.errors import ApiError
from crowdrank.server.routes.quick import QuickRoute
from crowdrank.server.schemas import AnswerBody, JudgmentBody, JudgmentsBody, Key
from crowdrank.server.times import as_date
from crowdrank.store import judgments, questions, studies
from crowdrank.store.judgments import Answer, Submitted
from crowdrank.store.tables import Record

router, quick = APIRouter(), APIRouter(route_class=QuickRoute)
NO_MORE = {
    "paused": "the study is paused; come back later",
    "closed": "the study is closed: thank you",
    "frozen": "the study is closed: thank you",
}


@quick.get("/questions", response_model=dict[str, Any])
async def next_questions(visit: Known, count: Annotated[int, Query(ge=1, le=100)] = 5) -> Response:
    """The questions you have, and new ones up to `count`. They are yours until they are answered or their time ends."""
    found = await visit.study.writer.run(lambda connection: _next(connection, visit, count), durable=False)
    return JSONResponse(found)


def _next(connection: Connection, visit: Visit, count: int) -> dict[str, Any]:
    study, token = visit
    of_study, caps, engine = studies.locked(connection, study.id), study.file.collection.caps, study.engine
    me = token.annotator(connection, study.id)  # with the lock: others may have changed the row before
    now = time.time()  # not before: the lock may have taken long
    if engine.expire(connection, study.id, now):
        of_study = studies.read_study(connection, study.id)
    if of_study.state == "open":
        engine.refresh(connection, of_study)
        wanted = studies.wanted_items(connection, study.id) if engine.some_wanted else ()
        checks = sum(engine.rng.random() < study.file.collection.gold_share for _ in range(count))
        offer = questions.Offer(engine.candidates(wanted), engine.checks(), checks, bool(wanted))
        leased = questions.lease(connection, of_study, me, study.file.kind, offer, count, caps, now)
    else:
        have = questions.open_questions(connection, me.id) if of_study.state == "paused" else []
        leased = questions.Leased(have[:count], NO_MORE[of_study.state], of_study.state)
    engine.took(leased.questions)
    shown = _shown(connection, study, leased.questions)
    progress = {"done": me.judgments, "limit": caps.annotator}
    return {"questions": shown, "progress": progress, "reason": leased.reason, "code": leased.code}


def _shown(connection: Connection, study: Served, rows: list[Record]) -> list[dict[str, Any]]:
    """Questions with the content of their items."""
    items = study.contents.of(connection, study.id, ((row.task, name) for row in rows for name in row.items))
    media = f"{study.path}/api/v1/studies/{study.file.name}/media"
    return [
        {
            "id": str(getattr(row, "question_id", None) or row.id),
            "kind": row.kind,
            "task": task_name(row.task),
            "items": [shown_item(items[row.task, name], media) for name in row.items if (row.task, name) in items],
        }
        for row in rows
    ]


@quick.post(
    "/judgments",
    response_model=dict[str, Any],
    responses={422: {"description": "none of the judgments could be stored"}},
)
async def submit(visit: Known, body: JudgmentsBody | list[JudgmentBody]) -> Response:
    """Store judgments. The answer names the keys that are stored, durably; a key is stored once."""
    given = body.judgments if isinstance(body, JudgmentsBody) else body
    done = await visit.study.writer.run(lambda connection: _store(connection, visit, given), durable=True)
    if not done.refused:
        return JSONResponse({"stored": done.stored})
    refused = [{"key": key, "error": error} for key, error in done.refused]
    if not done.stored:
        return JSONResponse({"stored": [], "refused": refused, "error": refused[0]["error"], "code": "refused"}, 422)
    return JSONResponse({"stored": done.stored, "refused": refused})


def _store(connection: Connection, visit: Visit, given: Sequence[JudgmentBody]) -> Submitted:
    study, token = visit
    of_study = studies.locked(connection, study.id)
    me = token.annotator(connection, study.id)  # with the lock: others may have changed the row before
    answers = [_answer(each, each.key, each.question) for each in given]
    _check_accepting(of_study)
    caps = study.file.collection.caps
    return judgments.submit(connection, of_study, me, answers, check_for(study.file), caps)


@router.get("/judgments")
def history(
    study: Study,
    me: Annotator,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    before: Annotated[int | None, Query(ge=0, le=1 << 31)] = None,
) -> dict[str, Any]:
    """Your judgments, newest first."""
    with study.database.read() as connection:
        rows = judgments.history(connection, me.id, limit, before)
        shown = _shown(connection, study, list(rows))
    return {
        "judgments": [
            {
                "key": row.key,
                "question": question,
                **({"skip": True} if row.status == "skipped" else row.answer),
                "at": as_date(row.created),
                "number": row.id,
            }
            for row, question in zip(rows, shown, strict=True)
        ]
    }


@router.delete("/judgments/{key:path}")
def undo(study: Study, me: Annotator, key: Key) -> dict[str, Any]:
    """Take a judgment back; its question is yours again."""
    with study.database.write() as connection:
        _check_accepting(studies.locked(connection, study.id))
        row = judgments.current(connection, me.id, key)
        if not judgments.withdraw(connection, study.id, me.id, key, study.file.collection.caps.seconds):
            raise ApiError(404, f"you have no judgment {key!r}", "no_judgment")
        assert row is not None
        question = _shown(connection, study, [row])[0]
    return {"withdrawn": key, "question": question}


@router.put("/judgments/{key:path}")
def edit(study: Study, me: Annotator, key: Key, body: AnswerBody) -> dict[str, Any]:
    """Answer the same question otherwise; the answer before is kept, but does not count."""
    if body.skip:
        raise ApiError(422, "an answer cannot become a skip; take it back with DELETE", "not_valid")
    with study.database.write() as connection:
        _check_accepting(studies.locked(connection, study.id))
        given = _answer(body, key, "")
        if judgments.edit(connection, study.id, me.id, key, given, check_for(study.file)) is None:
            raise ApiError(404, f"you have no judgment {key!r}", "no_judgment")
    return {"stored": [key]}


def _check_accepting(of_study: Record) -> None:
    """Refuse judgments that come too late."""
    if of_study.state in ("closed", "frozen"):
        raise ApiError(409, "the study is closed; it takes no more judgments", "closed")


def _answer(body: AnswerBody, key: str, question: str) -> Answer:
    if body.details is not None and len(str(body.details)) > 5000:
        raise ApiError(422, "details: more than 5,000 characters", "not_valid")
    return Answer(key, question, body.answer(), body.seconds, body.details)
