"""What all tests share. Tests are imported one by one (`--import-mode=importlib`), so `build.py` reaches them as a
fixture.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings

import chromium

browser = chromium.browser  # one for all tests: a process can run one only

# The first call of a kernel compiles it, on a fresh machine for longer than hypothesis allows an example to take.
settings.register_profile("crowdrank", deadline=None)
settings.load_profile("crowdrank")

# Small studies are ranked without the kernels of votes until these are compiled, which takes twice as long.
COMPILE = """
import crowdrank as cr
from crowdrank.warming import kernels_only
with kernels_only():
    cr.fit("crowd-bt", cr.simulate.pairs(items=6, annotators=4, votes=60, ties={ties}, seed=1).judgments)
"""


def pytest_configure(config: pytest.Config) -> None:
    """Before several processes test: what each of them, and every command they run, would compile for itself."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if getattr(config.option, "numprocesses", None):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads of one process would wait for those of the others
        ways = [subprocess.Popen([sys.executable, "-c", COMPILE.format(ties=ties)]) for ties in (0.0, 0.3)]
        assert [way.wait() for way in ways] == [0, 0]


@pytest.fixture(scope="session")
def build() -> ModuleType:
    """The functions of tests/build.py."""
    spec = spec_from_file_location("crowdrank_tests_build", Path(__file__).with_name("build.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def few_draws() -> Iterator[None]:
    """Fewer draws from posteriors, for modules in which nothing that is checked depends on their number."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("crowdrank.methods.pairs.votes.canonical.MOST_DRAWS", 100)
        patch.setattr("crowdrank.methods.pairs.votes.canonical.MOST_WARM_UP", 30)
        patch.setattr("crowdrank.methods.pairs.votes.canonical.FEWEST_DRAWS", 8)
        patch.setattr("crowdrank.methods.pairs.votes.canonical.FEWEST_WARM_UP", 8)
        yield


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Any]:
    """A real PostgreSQL server, from PyPI; the tests of the store and the server are never skipped."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it names a folder for locks where XDG_RUNTIME_DIR is not set
        import pgserver

        folder = tempfile.mkdtemp(prefix="pg")
        server = pgserver.get_server(folder, cleanup_mode=None)
    yield server
    os.kill(server.get_pid(), signal.SIGQUIT)  # at once: nobody needs these data
    shutil.rmtree(folder, ignore_errors=True)


STUDIES = "studies"  # the database of all tests on PostgreSQL


@pytest.fixture
def postgresql_url(postgresql) -> str:
    """An empty database, always the same: a new one for every test would take seconds to make and to delete."""
    import psycopg

    uri = postgresql.get_uri("postgres")
    with psycopg.connect(uri, autocommit=True) as connection:
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [STUDIES]).fetchone() is None:
            connection.execute(f"CREATE DATABASE {STUDIES}")
        connection.execute(others, [STUDIES])
    with psycopg.connect(postgresql.get_uri(STUDIES), autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    return postgresql.get_uri(STUDIES)


@pytest.fixture
def in_loop() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """`asyncio.run` in another thread: the browser's tests may run an event loop in this one."""

    def run(work: Coroutine[Any, Any, Any]) -> Any:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, work).result()

    return run


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request, tmp_path) -> str:
    """An empty database; every test that uses it runs on both kinds."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'study.db'}"
    return request.getfixturevalue("postgresql_url")
