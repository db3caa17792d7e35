"""Server-sent events, from a real server."""

from __future__ import annotations

import json

import httpx2

from crowdrank.client import Client


def changes(lines):
    """The events of a stream."""
    for line in lines:
        if line.startswith("data: "):
            yield set(json.loads(line.removeprefix("data: "))["changed"])


def test_a_stream_says_what_changed(process, study_files, tmp_path):
    server = process(study_files(tmp_path / "s"), "--port", "0")
    client = Client(server.url, "fruit")
    client.join()
    headers = {"Authorization": f"Bearer {server.owner_token}"}
    address = f"{server.url}/api/v1/studies/fruit/events"
    with httpx2.stream("GET", address, headers=headers, timeout=30) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        events = changes(stream.iter_lines())
        assert {"status", "consensus", "annotators", "items", "audit"} <= next(events)
        (question,) = client.questions(1)
        client.submit([{"question": question["id"], "tie": True}])
        assert any("status" in each for each in events)
        assert any("consensus" in each for each in events)
        owner = Client(server.url, "fruit", server.owner_token)
        owner.post("state", {"state": "paused"})
        assert any("study" in each for each in events)
    assert server.end() in (0, -15)
