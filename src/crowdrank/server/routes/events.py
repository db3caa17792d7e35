"""Changes, as server-sent events: one stream for each page of the owner."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from crowdrank.server.context import Owner, Served, Study
from crowdrank.server.errors import ApiError
from crowdrank.store import studies
from crowdrank.store.access import is_valid
from crowdrank.store.database import StoreError

router = APIRouter()
EVERY = 0.5  # seconds between two looks
COMMENT = 15.0  # seconds after which an idle stream says that it is alive
LONGEST = 3600.0  # seconds; the page opens a new one
MOST_STREAMS = 50  # of a study in each process
PARTS = ("study", "status", "consensus", "annotators", "stopping", "items", "invitations", "audit")
JUDGED = ("status", "annotators", "stopping")  # what a new judgment changes at once


@router.get("/events", response_class=StreamingResponse)
async def events(study: Study, me: Owner, request: Request) -> StreamingResponse:
    """What changed: `event: changed` with the names of the parts to fetch again."""
    streams: dict[int, int] = request.app.state.streams
    if streams.get(study.id, 0) >= MOST_STREAMS:
        raise ApiError(429, "too many pages follow this study; close some of them", "too_many_streams")
    return StreamingResponse(_stream(study, me.token_id, streams), media_type="text/event-stream")


async def _stream(study: Served, token_id: int, streams: dict[int, int]) -> AsyncIterator[str]:
    streams[study.id] = streams.get(study.id, 0) + 1
    try:
        async for text in _changes(study, token_id):
            yield text
    finally:
        streams[study.id] -= 1


async def _changes(study: Served, token_id: int) -> AsyncIterator[str]:
    """Events until the token ends or the page is closed."""
    end, said = time.monotonic() + LONGEST, time.monotonic()
    seen, computed = await _look(study, token_id), study.results.latest.sequence
    yield _event(PARTS)
    while seen is not None and time.monotonic() < end:
        await asyncio.sleep(EVERY)
        try:
            now = await _look(study, token_id)
        except StoreError:
            continue
        if now is None:
            return
        parts = list(PARTS) if now[1] != seen[1] or now[2] != seen[2] else list(JUDGED) if now != seen else []
        if study.results.latest.sequence != computed:
            computed = study.results.latest.sequence
            parts += [each for each in ("consensus", "annotators", "stopping", "status") if each not in parts]
        seen = now
        if parts:
            said = time.monotonic()
            yield _event(parts)
        elif time.monotonic() - said > COMMENT:
            said = time.monotonic()
            yield ": alive\n\n"


async def _look(study: Served, token_id: int) -> tuple[int, int, int, int] | None:
    """Where the study is; None if the token is not valid any more."""
    return await run_in_threadpool(_look_now, study, token_id)


def _look_now(study: Served, token_id: int) -> tuple[int, int, int, int] | None:
    study.results.look()
    with study.database.read() as connection:
        if not is_valid(connection, token_id):
            return None
        row = studies.read_study(connection, study.id)
        newest = studies.read_audit(connection, study.id, 1, None)
    return row.sequence, row.rebuild, newest[0].id if newest else 0, row.open


def _event(parts: Any) -> str:
    return f"event: changed\ndata: {json.dumps({'changed': list(parts)})}\n\n"
