"""Starting a server: checks, the owner's link, then Uvicorn."""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from crowdrank.server.app import ENVIRONMENT, ServerSettings, create_app
from crowdrank.server.study_file import StudyFile, read_study
from crowdrank.settings import InputError
from crowdrank.store import access, studies
from crowdrank.store.database import Database

DEMO = Path(__file__).parent / "demo_study" / "study.toml"
OWNER_DAYS = 30.0


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The options of the command."""

    files: tuple[Path, ...]
    database: str | None
    public_url: str | None
    host: str
    port: int
    processes: int
    demo: bool
    json: bool


def start(options: ServeOptions) -> None:
    """Serve until the process is told to end."""
    if options.demo == bool(options.files):
        raise InputError("name the file of a study, or use --demo: crowdrank serve study.toml")
    paths = [DEMO] if options.demo else [path.absolute() for path in options.files]
    files = [read_study(path) for path in paths]
    if len({file.name for file in files}) < len(files):
        raise InputError("two of the studies have the same name")
    listener = _listen(options.host, options.port)
    port = listener.getsockname()[1]
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(options.host, options.host)
    url = (options.public_url or f"http://{host}:{port}").rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise InputError(f"--public-url is {url!r}; it must begin with http:// or https://")
    database = options.database or f"sqlite:///{_usual_file(options, paths[0])}"
    _check_processes(options, database)
    settings = ServerSettings(database, url, options.demo)
    app = create_app(files, settings) if options.processes == 1 else None
    opened = app.state.database if app else _prepared(database, files)
    _announce(opened, files, url, options)
    config = uvicorn.Config(
        app or "crowdrank.server.app:from_environment",
        factory=app is None,
        log_level="warning",
        access_log=False,  # addresses of requests hold no secrets, but nobody needs them either
        proxy_headers=options.public_url is not None,
        server_header=False,
        timeout_graceful_shutdown=3,
        timeout_keep_alive=75,  # longer than people think: a connection that is closed just then costs a repetition
        workers=options.processes,
    )
    server = uvicorn.Server(config)
    if app is not None:
        server.run(sockets=[listener])
        return
    from uvicorn.supervisors import Multiprocess

    opened.close()
    os.environ[ENVIRONMENT] = "\n".join([database, url, *map(str, paths)])
    Multiprocess(config, sockets=[listener]).run()


def _listen(host: str, port: int) -> socket.socket:
    """A socket of the address; taken before anything is announced."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends at once (TCP_NODELAY) only where the protocol is named: every answer would take 40 ms longer.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        raise InputError(f"cannot listen on {host}:{port}: {error}; choose another --port") from None
    listener.listen(2048)
    listener.set_inheritable(True)
    return listener


def _usual_file(options: ServeOptions, path: Path) -> Path:
    if options.demo:
        return Path(tempfile.mkdtemp(prefix="crowdrank-demo-")) / "demo.db"
    return path.with_suffix(".db")


def _check_processes(options: ServeOptions, database: str) -> None:
    if options.processes < 1:
        raise InputError(f"--workers is {options.processes}; it must be at least 1")
    if options.processes > 1 and (options.demo or database.startswith("sqlite")):
        raise InputError("several --workers need PostgreSQL: --database postgresql://USER:PASSWORD@HOST/NAME")


def _prepared(url: str, files: list[StudyFile]) -> Database:
    database = Database(url)
    database.prepare()
    with database.write() as connection:
        for file in files:
            studies.open_study(connection, file.name, file.items)
    return database


def _announce(database: Database, files: list[StudyFile], url: str, options: ServeOptions) -> None:
    """Print the links; the owner's has a new token, which is nowhere else."""
    for file in files:
        with database.write() as connection:
            study_id = studies.open_study(connection, file.name, ())
            token = access.new_token(connection, study_id, None, OWNER_DAYS)
            studies.note(connection, study_id, "system", "started")
        links = {"url": url, "join": f"{url}/s/{file.name}", "owner": f"{url}/s/{file.name}/dashboard#token={token}"}
        if options.json:
            sys.stdout.write(json.dumps(links) + "\n")
        else:
            sys.stdout.write(
                f"{file.title}\n  annotators  {links['join']}\n  owner       {links['owner']}\n"
                f"  data        {database}\n"
            )
    if not options.json:
        sys.stdout.write("Keep the owner's link to yourself. Ctrl-C ends the server; nothing is lost.\n")
    sys.stdout.flush()
