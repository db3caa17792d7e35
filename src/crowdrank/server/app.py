"""The application: `create_app` makes one from studies and a database."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fastapi import FastAPI

from crowdrank import __version__
from crowdrank.server import errors
from crowdrank.server.background import Background, Job
from crowdrank.server.context import Served
from crowdrank.server.demo import Demo
from crowdrank.server.engine import Engine
from crowdrank.server.limits import RateLimits, Rates
from crowdrank.server.middleware import Guard
from crowdrank.server.routes import demonstrating, events, exporting, joining, judging, owning, pages, results
from crowdrank.server.study_file import StudyFile, read_study
from crowdrank.store import studies
from crowdrank.store.database import Database
from crowdrank.store.writer import Writer

API = "/api/v1/studies/{name}"
ENVIRONMENT = "CROWDRANK_SERVE"  # how the processes of one server get their settings
# Seconds that a thread may run while another one waits. The thread that stores judgments waits after every statement.
TURN = 0.0005


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What a server is started with."""

    database: str
    public_url: str  # without a slash at the end
    demo: bool = False
    rates: Rates = field(default_factory=Rates)
    own_process: bool = True  # for what takes long


def create_app(files: Sequence[StudyFile], settings: ServerSettings) -> FastAPI:
    """An application that serves these studies."""
    database = Database(settings.database)
    database.prepare()
    background = Background(settings.database, own_process=settings.own_process)
    served = {file.name: _served(file, database, background, settings) for file in files}
    limits = RateLimits(settings.rates)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        sys.setswitchinterval(TURN)
        background.start()
        for each in served.values():
            each.writer.start()
        yield
        for each in served.values():
            each.writer.stop()
        background.stop()
        database.close()

    app = FastAPI(
        title="crowdrank",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        description="Judgments of people and LLMs, and the ranking they support. Send tokens as Authorization: Bearer.",
    )
    app.state.studies, app.state.limits, app.state.database, app.state.streams = served, limits, database, {}
    app.add_middleware(Guard, limits=limits, public_url=settings.public_url)
    errors.install(app)
    app.include_router(judging.quick, prefix=API)  # the first: most requests
    for room in (judging, joining, owning, results, exporting, events, demonstrating):
        app.include_router(room.router, prefix=API)
    app.include_router(pages.media, prefix=API)
    app.include_router(pages.router)
    return app


def _served(file: StudyFile, database: Database, background: Background, settings: ServerSettings) -> Served:
    with database.write() as connection:
        study_id = studies.open_study(connection, file.name, file.items)
    engine = Engine(file)
    results = background.add(Job(study_id, file), engine)
    demo = Demo() if settings.demo else None
    return Served(study_id, file, database, engine, results, Writer(database), settings.public_url, demo)


def from_environment() -> FastAPI:
    """The application of one of several processes."""
    database, public_url, *paths = os.environ[ENVIRONMENT].split("\n")
    return create_app([read_study(Path(path)) for path in paths], ServerSettings(database, public_url))
