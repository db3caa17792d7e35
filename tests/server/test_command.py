"""`crowdrank serve` as a command: links, options, mistakes, the demo, and several processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from crowdrank.client import Client


def run(*arguments):
    command = [sys.executable, "-m", "crowdrank", "serve", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_links_lead_where_they_say(process, study_files, tmp_path):
    server = process(study_files(tmp_path / "s"), "--port", "0")
    assert set(server.links) == {"url", "join", "owner"}
    assert server.links["join"] == f"{server.url}/s/fruit"
    assert server.links["owner"].startswith(f"{server.url}/s/fruit/dashboard#token=")
    assert Client(server.url, "fruit", server.owner_token).get("status")["judgments"] == 0
    client = Client(server.url, "fruit")
    client.join()
    client.submit([{"question": client.questions(1)[0]["id"], "tie": True}])
    assert server.end() in (0, -15)
    again = process(study_files(tmp_path / "s"), "--port", "0", "--public-url", "https://judge.example.org/x/")
    assert again.links["join"] == "https://judge.example.org/x/s/fruit"
    assert (tmp_path / "s" / "fruit.db").exists()
    assert again.end() in (0, -15)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name the file of a study, or use --demo"),
        (("STUDY", "--demo"), "name the file of a study, or use --demo"),
        (("none.toml",), "cannot read"),
        (("STUDY", "--port", "99999"), "cannot listen on"),
        (("STUDY", "--public-url", "example.org"), "must begin with http:// or https://"),
        (("STUDY", "--workers", "2"), "need PostgreSQL"),
        (("STUDY", "--workers", "0"), "at least 1"),
        (("STUDY", "--database", "mysql://x"), "sqlite:///FILE or postgresql://"),
        (("STUDY", "STUDY"), "same name"),
    ],
)
def test_mistakes_end_with_a_sentence(study_files, tmp_path, arguments, said):
    path = study_files(tmp_path / "s")
    more = () if "--port" in arguments else ("--port", "0")
    done = run(*(path if word == "STUDY" else word for word in arguments), *more)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_several_processes_agree(process, study_files, tmp_path, postgresql_url):
    """Two processes on PostgreSQL: caps are exact, and each sees what the other stored."""
    path = study_files(tmp_path / "s", items=8, rest="[collection]\nbudget = 40\ncaps = { annotator = 6 }")
    server = process(path, "--port", "0", "--workers", "2", "--database", postgresql_url)

    def work(number):
        client = Client(server.url, "fruit")
        client.join(annotator=f"a{number}")
        stored = 0
        while questions := client.questions(2):
            stored += len(client.submit([{"question": each["id"], "tie": True} for each in questions]))
        return stored

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) == 40
    owner = Client(server.url, "fruit", server.owner_token)
    found = owner.get("export.json")["judgments"]
    assert len({(each["annotator"], each["key"]) for each in found}) == len(found) == 40
    assert max(Counter(each["annotator"] for each in found).values()) <= 6
    assert {owner.get("status")["judgments"] for _ in range(4)} == {40}
    assert owner.get("consensus", wait=30)["judgments"] == 40  # whichever answers, and whichever stored them
    server.end()


def test_the_demo(process_demo, eventually):
    owner = process_demo
    assert owner.get("status")["demo"] == {"on": False}
    assert owner.post("demo", {"on": True}) == {"on": True}
    assert eventually(lambda: owner.get("status")["judgments"] > 5)
    assert owner.post("demo", {"on": False}) == {"on": False}
    assert {row["id"] for row in owner.get("annotators")["annotators"]} >= {"Ada", "bot"}


@pytest.fixture
def process_demo():
    command = [sys.executable, "-m", "crowdrank", "serve", "--demo", "--json", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    links = json.loads(server.stdout.readline())
    yield Client(links["url"], "demo", links["owner"].rpartition("=")[2])
    server.terminate()
    server.wait(20)
    server.stdout.close()
