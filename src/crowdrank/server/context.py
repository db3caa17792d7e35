"""What requests share: the database, and the studies that are served."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, NamedTuple
from urllib.parse import urlsplit

from fastapi import Depends, Request
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from crowdrank.server.activity import LiveActivity
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
from crowdrank.store.writer import Writer

MOST_KNOWN = 20_000  # tokens that are remembered


@dataclass(frozen=True, slots=True)
class Served:
    """A study that is served."""

    id: int
    file: StudyFile
    database: Database
    engine: Engine
    results: LiveResults
    writer: Writer
    public_url: str  # without a slash at the end
    demo: Demo | None = None
    contents: Contents = field(default_factory=Contents)
    activity: LiveActivity = field(default_factory=LiveActivity)
    known: set[str] = field(default_factory=set)  # tokens of annotators that were valid when they were first used

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


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request, by the token of its header; the database says who that is."""

    secret: str
    address: str
    limits: RateLimits

    def holder(self, connection: Connection, study_id: int) -> Holder:
        """Who holds the token."""
        try:
            found = access.holder_of(connection, study_id, self.secret)
        except access.AccessError:
            self.limits.check_failure(self.address)
            raise
        self.limits.check_token(found.token_id)
        return found

    def annotator(self, connection: Connection, study_id: int) -> Holder:
        """An annotator whose judgments are wanted."""
        found = self.holder(connection, study_id)
        if found.is_owner:
            raise ApiError(403, "this is for annotators; join the study to judge", "annotators_only")
        if found.state != "active":
            raise ApiError(403, "the owner of the study does not take your judgments any more", "voided")
        return found


async def caller(request: Request) -> Caller:
    """The token of the header."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise ApiError(401, "send your token: Authorization: Bearer TOKEN", "no_token")
    address = request.client.host if request.client else "unknown"
    return Caller(secret.strip()[:200], address, request.app.state.limits)


class Visit(NamedTuple):
    """A study, and who calls."""

    study: Served
    token: Caller


async def known_caller(request: Request, name: str) -> Visit:
    """A token that is or was valid here: others are refused before anything else is looked at.

    Whoever uses this checks the token again, in the transaction of the request. It depends on nothing: FastAPI takes
    longer to follow dependencies than all of this takes.
    """
    visit = Visit(await served(request, name), await caller(request))
    if visit.token.secret not in visit.study.known:
        await run_in_threadpool(_check_once, *visit)
    return visit


def _check_once(study: Served, found: Caller) -> None:
    with study.database.read() as connection:
        found.annotator(connection, study.id)
    if len(study.known) >= MOST_KNOWN:
        study.known.clear()
    study.known.add(found.secret)


Token = Annotated[Caller, Depends(caller)]
Known = Annotated[Visit, Depends(known_caller)]


def annotator(study: Study, token: Token) -> Holder:
    """An annotator whose judgments are wanted."""
    with study.database.read() as connection:
        return token.annotator(connection, study.id)


def owner(study: Study, token: Token) -> Holder:
    """The owner of the study."""
    with study.database.read() as connection:
        found = token.holder(connection, study.id)
    if not found.is_owner:
        raise ApiError(403, "only the owner of the study may do this", "owner_only")
    return found


Annotator = Annotated[Holder, Depends(annotator)]
Owner = Annotated[Holder, Depends(owner)]
