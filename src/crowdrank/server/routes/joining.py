"""Joining a study, and what everybody may know about it."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request

from crowdrank.server.content import practice_item
from crowdrank.server.context import Served, Study
from crowdrank.server.errors import ApiError
from crowdrank.server.schemas import JoinBody
from crowdrank.store import access, studies

router = APIRouter()


@router.get("/study")
def about(study: Study) -> dict[str, Any]:
    """What the study is about; for everybody."""
    file = study.file
    with study.database.read() as connection:
        state = studies.read_study(connection, study.id).state
    return {
        "name": file.name,
        "title": file.title,
        "question": file.question,
        "instructions": file.instructions,
        "kind": file.kind,
        "ties": file.ties,
        "scale": [{"grade": grade, "label": label} for grade, label in file.scale] if file.kind == "grades" else [],
        "language": file.language,
        "state": state,
        "access": file.access.mode,
        "join": study.join_link,
        "demo": study.demo is not None,
        "practice": _practice(study),
    }


def _practice(study: Served) -> list[dict[str, Any]]:
    """Questions that never count: pairs of the items for practice, one after the other, or all in one ranking."""
    items, kind = [practice_item(each) for each in study.file.practice], study.file.kind
    size = {"pairs": 2, "grades": 1, "rankings": max(len(items), 1)}[kind]
    groups = [items[first : first + size] for first in range(0, len(items) - size + 1, size)]
    return [
        {"id": f"practice{number}", "kind": kind, "task": None, "items": group}
        for number, group in enumerate(groups, 1)
    ]


@router.post("/join")
def join(study: Study, request: Request, body: JoinBody) -> dict[str, Any]:
    """Become an annotator: the answer has the token of all further requests."""
    request.app.state.limits.check_join(request.client.host if request.client else "unknown")
    if len(json.dumps(body.details)) > 5000:
        raise ApiError(422, "details: more than 5,000 characters", "not_valid")
    with study.database.write() as connection:
        if studies.locked(connection, study.id).state in ("closed", "frozen"):
            raise ApiError(409, "the study is closed", "closed")
        who = _who(study, connection, body)
        token = access.new_token(connection, study.id, who.id, study.file.access.days)
        studies.note(connection, study.id, who.name, "joined")
    return {"annotator": who.name, "token": token}


def _who(study: Served, connection: Any, body: JoinBody) -> Any:
    """The annotator who joins, by the rules of the study."""
    rules = study.file.access
    if body.invite is not None:
        return access.accept(connection, study.id, body.invite, body.details)
    if rules.mode == "invited":
        raise ApiError(403, "this study is by invitation; open the link of your invitation", "invitation_needed")
    if rules.mode == "listed":
        if body.annotator is None:
            raise ApiError(
                403, 'this study has a list of annotators; say who you are: {"annotator": "…"}', "not_listed"
            )
        if body.annotator not in rules.annotators:
            raise ApiError(403, f"{body.annotator!r} is not on the list of annotators of this study", "not_listed")
    return access.add_annotator(connection, study.id, body.annotator, body.details)
