"""Switching the simulated annotators of `--demo` on and off."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from crowdrank.server.context import Owner, Study
from crowdrank.server.errors import ApiError
from crowdrank.server.schemas import DemoBody
from crowdrank.store import studies

router = APIRouter()


@router.post("/demo")
def switch(study: Study, _: Owner, body: DemoBody) -> dict[str, Any]:
    """Let simulated annotators answer, or stop them."""
    if study.demo is None:
        raise ApiError(409, "this study has no simulated annotators; start one with crowdrank serve --demo", "no_demo")
    with study.database.write() as connection:
        action = "switched simulated annotators on" if body.on else "switched simulated annotators off"
        studies.note(connection, study.id, "owner", action)
    study.demo.switch(study, body.on)
    return {"on": study.demo.is_on}
