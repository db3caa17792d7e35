"""What the owner of a study sees and does."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Query
from sqlalchemy import Connection

from crowdrank.server.content import task_name
from crowdrank.server.context import Owner, Served, Study
from crowdrank.server.errors import ApiError
from crowdrank.server.item_table import is_embedded, new_item
from crowdrank.server.schemas import InvitationsBody, ItemsBody, StateBody
from crowdrank.server.study_file import check_name
from crowdrank.server.times import as_date
from crowdrank.store import access, studies

router = APIRouter()


@router.get("/items")
def items(study: Study, _: Owner) -> dict[str, Any]:
    """All items."""
    with study.database.read() as connection:
        rows = studies.read_items(connection, study.id)
    return {
        "items": [
            {
                "id": row.name,
                "title": row.title,
                "task": task_name(row.task),
                "judgments": row.judgments,
                "asked_now": row.open,
                "state": row.state,
                "next": row.wanted,
                "owner": row.owner,
                "place": row.content.get("place"),
            }
            for row in rows
        ]
    }


@router.post("/items")
def add_items(study: Study, _: Owner, body: ItemsBody) -> dict[str, Any]:
    """Add items; they can be asked about at once."""
    new = [new_item(each.model_dump(exclude_none=True), f"item {each.id[:50]!r}") for each in body.items]
    for each in new:
        check_name(study.file.kind, each.name, f"item {each.name!r}")
        image = each.content.get("image")
        if image and not is_embedded(image):
            raise ApiError(422, f"item {each.name!r}: image must be data:image/…;base64,…", "not_valid")
    with study.database.write() as connection:
        _changeable(connection, study)
        known = studies.items_of(connection, study.id, ((each.task, each.name) for each in new))
        twice = len({(each.task, each.name) for each in new}) < len(new)
        if known or twice:
            names = ", ".join(name for _, name in known) or "an id of the list"
            raise ApiError(409, f"the study has these items already: {names}", "item_exists")
        studies.add_items(connection, study.id, new)
        studies.note(connection, study.id, "owner", "added items", items=[each.name for each in new])
    return {"added": [each.name for each in new]}


@router.delete("/items/{item:path}")
def withdraw_item(study: Study, _: Owner, item: str, task: str | None = None) -> dict[str, Any]:
    """Do not ask about an item any more; its judgments stay."""
    _change(study, item, task, "withdrew an item", state="withdrawn", wanted=False)
    return {"withdrawn": item}


@router.post("/items/{item:path}/restore")
def restore_item(study: Study, _: Owner, item: str, task: str | None = None) -> dict[str, Any]:
    """Ask about a withdrawn item again."""
    _change(study, item, task, "restored an item", state="active")
    return {"restored": item}


@router.post("/items/{item:path}/next")
def ask_next(study: Study, _: Owner, item: str, task: str | None = None) -> dict[str, Any]:
    """Ask the next annotator about this item."""
    _change(study, item, task, "sent the next annotator to an item", wanted=True)
    return {"next": item}


def _change(study: Served, item: str, task: str | None, action: str, **values: Any) -> None:
    with study.database.write() as connection:
        _changeable(connection, study)
        if not studies.change_item(connection, study.id, item, task, **values):
            raise ApiError(404, f"there is no item {item!r}", "no_item")
        studies.note(connection, study.id, "owner", action, item=item)


def _changeable(connection: Connection, study: Served) -> None:
    """Refuse changes of a frozen study."""
    if studies.locked(connection, study.id).state == "frozen":
        raise ApiError(409, "the study is frozen; open or close it before you change anything", "frozen")


@router.post("/state")
def set_state(study: Study, _: Owner, body: StateBody) -> dict[str, Any]:
    """Open, pause, close or freeze the study."""
    with study.database.write() as connection:
        before = studies.set_state(connection, study.id, body.state)
        studies.note(connection, study.id, "owner", "set the state", before=before, now=body.state)
    return {"state": body.state, "before": before}


@router.post("/annotators/{annotator:path}/void")
def void(study: Study, _: Owner, annotator: str) -> dict[str, Any]:
    """Leave out all judgments of an annotator; they are kept, and can be brought back."""
    return _set_annotator(study, annotator, "void", "voided an annotator")


@router.post("/annotators/{annotator:path}/restore")
def restore(study: Study, _: Owner, annotator: str) -> dict[str, Any]:
    """Count the judgments of an annotator again."""
    return _set_annotator(study, annotator, "active", "restored an annotator")


@router.post("/annotators/{annotator:path}/revoke")
def revoke(study: Study, _: Owner, annotator: str) -> dict[str, Any]:
    """End all tokens of an annotator; their judgments stay."""
    with study.database.write() as connection:
        found = access.find_annotator(connection, study.id, annotator)
        if found is None:
            raise ApiError(404, f"there is no annotator {annotator!r}", "no_annotator")
        count = access.revoke_tokens(connection, study.id, found.id)
        studies.note(connection, study.id, "owner", "revoked tokens", annotator=annotator, tokens=count)
    return {"annotator": annotator, "revoked": count}


def _set_annotator(study: Served, annotator: str, state: str, action: str) -> dict[str, Any]:
    with study.database.write() as connection:
        _changeable(connection, study)
        if not access.set_annotator_state(connection, study.id, annotator, state):
            raise ApiError(404, f"there is no annotator {annotator!r}", "no_annotator")
        studies.note(connection, study.id, "owner", action, annotator=annotator)
    return {"annotator": annotator, "state": state}


@router.post("/owners/revoke")
def revoke_owners(study: Study, me: Owner) -> dict[str, Any]:
    """End all other tokens of the owner: links of earlier starts."""
    with study.database.write() as connection:
        count = access.revoke_tokens(connection, study.id, None, keep=me.token_id)
        studies.note(connection, study.id, "owner", "revoked owners' tokens", tokens=count)
    return {"revoked": count}


@router.post("/invitations")
def invite(study: Study, _: Owner, body: InvitationsBody) -> dict[str, Any]:
    """Make invitations; their links are shown only now."""
    if (body.count is None) == (body.names is None):
        raise ApiError(422, 'give either "count" or "names"', "not_valid")
    names = list(body.names) if body.names is not None else [None] * (body.count or 0)
    with study.database.write() as connection:
        made = access.invite(connection, study.id, names, study.file.access.days)
        studies.note(connection, study.id, "owner", "made invitations", count=len(made))
    return {
        "invitations": [
            {"id": number, "name": name, "link": f"{study.join_link}#invite={code}"}
            for (number, code), name in zip(made, names, strict=True)
        ]
    }


@router.get("/invitations")
def invitations(study: Study, _: Owner) -> dict[str, Any]:
    """All invitations, without their links."""
    with study.database.read() as connection:
        rows = access.read_invitations(connection, study.id)
    now = time.time()
    return {
        "invitations": [
            {
                "id": row.id,
                "name": row.name,
                "annotator": row.annotator,
                "state": "revoked"
                if row.revoked
                else "used"
                if row.annotator
                else "expired"
                if row.expires <= now
                else "unused",
                "created_at": as_date(row.created),
            }
            for row in rows
        ]
    }


@router.delete("/invitations/{number}")
def revoke_invitation(study: Study, _: Owner, number: Annotated[int, "id"]) -> dict[str, Any]:
    """Revoke an invitation, and the tokens of who used it."""
    with study.database.write() as connection:
        if not 0 < number < 1 << 31 or not access.revoke_invitation(connection, study.id, number):
            raise ApiError(404, f"there is no invitation {number}", "no_invitation")
        studies.note(connection, study.id, "owner", "revoked an invitation", invitation=number)
    return {"revoked": number}


@router.get("/audit")
def audit(
    study: Study,
    _: Owner,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    before: Annotated[int | None, Query(ge=0, le=1 << 31)] = None,
) -> dict[str, Any]:
    """Who did what, newest first."""
    with study.database.read() as connection:
        rows = studies.read_audit(connection, study.id, limit, before)
    return {
        "entries": [
            {"number": row.id, "at": as_date(row.time), "who": row.actor, "action": row.action, "detail": row.details}
            for row in rows
        ]
    }
