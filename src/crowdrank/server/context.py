"""What requests share: the database, and the studies that are served."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request

from crowdrank.server.content import Contents
from crowdrank.server.demo import Demo
from crowdrank.server.engine import Engine
from crowdrank.server.errors import ApiError
from crowdrank.server.limits import RateLimits
from crowdrank.server.results import LiveResults
from crowdrank.server.study_file import StudyFile
from crowdrank.store import access
from crowdrank.store.access import Holder
from crowdrank.store.database import Database


@dataclass(frozen=True, slots=True)
class Served:
    """A study that is served."""

    id: int
    file: StudyFile
    database: Database
    engine: Engine
    results: LiveResults
    public_url: str  # without a slash at the end
    demo: Demo | None = None
    contents: Contents = field(default_factory=Contents)

    @property
    def path(self) -> str:
        """What a proxy puts before our paths."""
        return urlsplit(self.public_url).path

    @property
    def join_link(self) -> str:
        return f"{self.public_url}/s/{self.file.name}"


# What waits for nothing is `async`: FastAPI would start it in a thread of its own otherwise.


async def served(request: Request, name: str) -> Served:
    """The study that the address names."""
    found: Served | None = request.app.state.studies.get(name)
    if found is None:
        raise ApiError(404, f"there is no study {name!r} here", "no_study")
    return found


Study = Annotated[Served, Depends(served)]


def holder(request: Request, study: Study) -> Holder:
    """Who sent the request, by the token of its header."""
    limits: RateLimits = request.app.state.limits
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise ApiError(401, "send your token: Authorization: Bearer TOKEN", "no_token")
    address = request.client.host if request.client else "unknown"
    try:
        with study.database.read() as connection:
            found = access.holder_of(connection, study.id, secret.strip()[:200])
    except access.AccessError:
        limits.check_failure(address)
        raise
    limits.check_token(found.token_id)
    return found


async def annotator(found: Annotated[Holder, Depends(holder)]) -> Holder:
    """An annotator whose judgments are wanted."""
    if found.is_owner:
        raise ApiError(403, "this is for annotators; join the study to judge", "annotators_only")
    if found.state != "active":
        raise ApiError(403, "the owner of the study does not take your judgments any more", "voided")
    return found


async def owner(found: Annotated[Holder, Depends(holder)]) -> Holder:
    """The owner of the study."""
    if not found.is_owner:
        raise ApiError(403, "only the owner of the study may do this", "owner_only")
    return found


Annotator = Annotated[Holder, Depends(annotator)]
Owner = Annotated[Holder, Depends(owner)]
