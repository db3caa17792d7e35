"""Studies that are served within the tests, and by processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from crowdrank.server.app import ServerSettings, create_app
from crowdrank.server.limits import Rates
from crowdrank.server.study_file import read_study
from crowdrank.store import access


def write_study(folder: Path, name: str = "fruit", items: int = 12, study: str = "", rest: str = "") -> Path:
    """The files of a study of pairs, with more keys for [study] and more sections."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.csv").write_text("id,title,text\n" + "".join(f"i{k},Item {k},text {k}\n" for k in range(items)))
    kind = "" if "kind" in study else 'kind = "pairs"\n'
    text = f'[study]\nname = "{name}"\ntitle = "Fruit"\n{kind}items = "{name}.csv"\n{study}\n{rest}\n'
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


class Annotator:
    """Somebody with a token; requests go to the study."""

    def __init__(self, client: TestClient, study: str, token: str | None, name: str = "") -> None:
        self.client, self.study, self.token, self.name = client, study, token, name

    def request(self, method: str, path: str, **more: Any) -> Any:
        headers = {**({"Authorization": f"Bearer {self.token}"} if self.token else {}), **more.pop("headers", {})}
        return self.client.request(method, f"/api/v1/studies/{self.study}/{path}", headers=headers, **more)

    def ok(self, method: str, path: str, **more: Any) -> Any:
        """The content of an answer that must be a success."""
        answer = self.request(method, path, **more)
        assert answer.status_code == 200, answer.text
        return answer.json() if answer.headers["content-type"] == "application/json" else answer

    def questions(self, count: int = 5) -> list[dict[str, Any]]:
        return self.ok("GET", f"questions?count={count}")["questions"]

    def judge(self, count: int = 1, better=lambda a, b: a < b) -> list[str]:
        """Answer questions of pairs; the keys that are stored."""
        answers = []
        for question in self.questions(count):
            left, right = (item["id"] for item in question["items"])
            winner = left if better(left, right) else right
            answers.append({"key": f"{self.name}-{question['id']}", "question": question["id"], "winner": winner})
        return self.ok("POST", "judgments", json=answers)["stored"] if answers else []


class Hall:
    """A server within the test."""

    def __init__(self, paths: list[Path], url: str, rates: Rates) -> None:
        self.app = create_app(
            [read_study(path) for path in paths],
            ServerSettings(url, "http://testserver", rates=rates, own_process=False),
        )
        self.client = TestClient(self.app, raise_server_exceptions=False)
        self.name = next(iter(self.app.state.studies))

    @property
    def served(self):
        return self.app.state.studies[self.name]

    def owner(self, study: str | None = None, days: float = 1.0) -> Annotator:
        served = self.app.state.studies[study or self.name]
        with served.database.write() as connection:
            token = access.new_token(connection, served.id, None, days)
        return Annotator(self.client, study or self.name, token)

    def stranger(self, token: str | None = None) -> Annotator:
        return Annotator(self.client, self.name, token)

    def join(self, study: str | None = None, **body: Any) -> Annotator:
        joined = Annotator(self.client, study or self.name, None).ok("POST", "join", json=body)
        return Annotator(self.client, study or self.name, joined["token"], joined["annotator"])


@pytest.fixture
def hall(tmp_path):
    """Starts servers within the test: `hall(url, rest='[collection]…')`."""
    running = []

    def start(url: str | None = None, *, paths: list[Path] | None = None, rates: Rates | None = None, **study: Any):
        paths = paths or [write_study(tmp_path / "study", **study)]
        made = Hall(paths, url or f"sqlite:///{tmp_path / 'study.db'}", rates or Rates())
        made.client.__enter__()
        running.append(made)
        return made

    yield start
    for each in running:
        each.client.__exit__(None, None, None)


class Process:
    """A server in a process of its own."""

    def __init__(self, path: Path, *more: str) -> None:
        command = [sys.executable, "-m", "crowdrank", "serve", str(path), "--json", *more]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.links = json.loads(line)
        self.url = self.links["url"]
        self.owner_token = self.links["owner"].rpartition("=")[2]

    def end(self) -> int:
        self.process.terminate()
        code = self.process.wait(20)
        self.close()
        return code

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(20)
        self.close()

    def close(self) -> None:
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.fixture
def process():
    """Starts servers as processes: `process(path, '--port', '0')`."""
    running: list[Process] = []

    def start(path: Path, *more: str) -> Process:
        running.append(Process(path, *more))
        return running[-1]

    yield start
    for each in running:
        if each.process.poll() is None:
            each.kill()


@pytest.fixture
def study_files():
    """`write_study`, for tests that need its files."""
    return write_study


def wait_until(holds, seconds: float = 30.0) -> bool:
    """Whether something holds within some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def eventually():
    """`wait_until`."""
    return wait_until
