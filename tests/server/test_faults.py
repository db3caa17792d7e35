"""Databases that are away, read-only or full: a clear message, and nothing that was acknowledged is lost."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys

import httpx2
import pytest

from crowdrank.client import Client, ClientError
from crowdrank.settings import InputError
from crowdrank.store import database as database_module
from crowdrank.store.database import Database


def keys(study):
    return sorted(each["key"] for each in study.owner().ok("GET", "export.json")["judgments"])


def test_a_database_that_goes_away_and_comes_back(hall, postgresql, postgresql_url):
    """All connections are cut and no new ones allowed; then they are."""
    study = hall(postgresql_url)
    ann = study.join()
    stored = ann.judge(2)
    question = ann.questions(1)[0]
    name = postgresql_url.rpartition("?")[0].rpartition("/")[2]
    postgresql.psql(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false;")
    postgresql.psql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}';")
    answer = [{"key": "later", "question": question["id"], "tie": True}]
    away = ann.request("POST", "judgments", json=answer)
    assert (away.status_code, away.json()["code"]) == (503, "database_unavailable")
    assert "nothing was stored" in away.json()["error"]
    assert "retry-after" in away.headers
    postgresql.psql(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true;")
    assert ann.ok("POST", "judgments", json=answer)["stored"] == ["later"]
    assert keys(study) == sorted([*stored, "later"])
    assert study.owner().ok("GET", "consensus?wait=30")["judgments"] == 3  # what runs in the background has gone on


def test_a_database_that_becomes_read_only(hall, tmp_path, monkeypatch):
    study = hall()
    ann = study.join()
    stored = ann.judge(2)
    question = ann.questions(1)[0]
    answer = [{"key": "later", "question": question["id"], "tie": True}]
    with study.served.database._engine.connect() as connection:
        pool = connection.engine.pool
    pool.dispose()
    events = []

    def read_only(connection, _):
        events.append(connection.execute("PRAGMA query_only=ON"))

    database_module.event.listen(study.served.database._engine, "connect", read_only)
    study.served.database._engine.dispose()
    refused = ann.request("POST", "judgments", json=answer)
    assert (refused.status_code, refused.json()["code"]) == (503, "database_unavailable")
    assert "readonly" in refused.json()["error"]
    database_module.event.remove(study.served.database._engine, "connect", read_only)
    study.served.database._engine.dispose()
    ann.ok("POST", "judgments", json=answer)
    assert keys(study) == sorted([*stored, "later"])


def test_a_read_only_file_is_refused_at_the_start(tmp_path, study_files):
    path = study_files(tmp_path / "s")
    folder = tmp_path / "none"
    command = [sys.executable, "-m", "crowdrank", "serve", str(path), "--json", "--port", "0"]
    done = subprocess.run([*command, "--database", f"sqlite:///{folder}/x.db"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "folder of the database does not exist" in done.stderr
    (tmp_path / "other.db").write_bytes(b"not a database" * 100)
    done = subprocess.run([*command, "--database", f"sqlite:///{tmp_path}/other.db"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "cannot use the database" in done.stderr


@pytest.mark.parametrize("url", ["mysql://a/b", "nonsense", "postgresql://u:secret@127.0.0.1:1/x"])
def test_databases_that_cannot_be_used(url):
    with pytest.raises(InputError) as refused:
        Database(url).prepare()
    assert "secret" not in str(refused.value)


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
from crowdrank.cli import main
main()
"""


def test_a_full_disk_loses_nothing(tmp_path, study_files):
    """No file may grow beyond 800 kB: the write-ahead log of SQLite is soon full."""
    path = study_files(tmp_path / "s", items=40)
    command = [sys.executable, "-c", LIMITED, "800000", "serve", str(path), "--json", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = eval(server.stdout.readline())["url"]
        joined = httpx2.post(f"{url}/api/v1/studies/fruit/join", json={}).json()
        headers = {"Authorization": f"Bearer {joined['token']}"}
        stored, full = judge_until_full(f"{url}/api/v1/studies/fruit", headers)
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()
        server.stdout.close()
    assert full["code"] == "database_unavailable"
    assert "nothing was stored" in full["error"]
    assert len(stored) > 5
    connection = sqlite3.connect(path.with_suffix(".db"))
    found = [key for (key,) in connection.execute("SELECT key FROM judgment")]
    connection.close()
    assert sorted(found) == sorted(stored)


def judge_until_full(address, headers):
    """The keys that were acknowledged, and the answer that said that there is no room."""
    stored = []
    details = {"note": "x" * 3000}
    for _ in range(400):
        asked = httpx2.get(f"{address}/questions?count=1", headers=headers)
        if asked.status_code == 503:
            return stored, asked.json()
        question = asked.json()["questions"][0]["id"]
        answer = {"key": f"k{question}", "question": question, "tie": True, "details": details}
        done = httpx2.post(f"{address}/judgments", json=[answer], headers=headers)
        if done.status_code == 503:
            return stored, done.json()
        stored += done.json()["stored"]
    raise AssertionError("the disk never became full")


def test_the_client_tries_again_and_gives_up_with_a_sentence(monkeypatch):
    monkeypatch.setattr("crowdrank.client.WAIT", 0.0)
    with pytest.raises(ClientError, match="cannot be reached"):
        Client("http://127.0.0.1:1", "x").join()
