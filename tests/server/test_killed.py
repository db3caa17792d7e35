"""Servers that are killed: every judgment that was acknowledged is there, once."""

from __future__ import annotations

import asyncio
import random
import socket
from collections import Counter

import httpx2
import pytest

KILLS = 10
CLIENTS = 50
BETWEEN = 10  # judgments that are acknowledged between two kills, at least


class Crowd:
    """Clients that judge, and repeat what was not acknowledged with the same key."""

    def __init__(self, url: str) -> None:
        self.address = f"{url}/api/v1/studies/fruit"
        self.acknowledged: set[tuple[str, str]] = set()
        self.sent: set[tuple[str, str]] = set()
        self.ended = False

    async def answer(self, client, method, path, headers=None, body=None):
        """The answer to a request, which is repeated until there is one."""
        while not self.ended:
            try:
                got = await client.request(method, f"{self.address}/{path}", headers=headers, json=body)
                if got.status_code == 200:
                    return got.json()
            except httpx2.HTTPError:
                pass
            await asyncio.sleep(0.2 + random.random() / 2)  # fifty that ask at once would keep it from starting
        return None

    async def works(self, more: int) -> None:
        """Wait until some more judgments are acknowledged."""
        wanted = len(self.acknowledged) + more
        while len(self.acknowledged) < wanted:
            await asyncio.sleep(0.02)

    async def judge(self, number: int) -> None:
        async with httpx2.AsyncClient(timeout=10, verify=False) as client:  # certificates would take a second to load
            joined = await self.answer(client, "POST", "join", body={})
            if joined is None:
                return
            who, headers = joined["annotator"], {"Authorization": f"Bearer {joined['token']}"}
            while not self.ended:
                found = await self.answer(client, "GET", "questions?count=2", headers)
                for question in (found or {"questions": []})["questions"]:
                    key = f"{number}-{question['id']}"
                    winner = question["items"][0]["id"]
                    self.sent.add((who, key))
                    body = [{"key": key, "question": question["id"], "winner": winner}]
                    done = await self.answer(client, "POST", "judgments", headers, body)
                    if done is not None:
                        assert done["stored"] == [key]
                        self.acknowledged.add((who, key))


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_nothing_acknowledged_is_lost_or_doubled(process, study_files, tmp_path, request, kind, in_loop):
    path = study_files(tmp_path / "s", items=60)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    more = ["--port", port]
    if kind == "postgresql":
        more += ["--database", request.getfixturevalue("postgresql_url")]
    crowd = Crowd(f"http://127.0.0.1:{port}")

    async def run():
        server = await asyncio.to_thread(process, path, *more)
        clients = [asyncio.create_task(crowd.judge(number)) for number in range(CLIENTS)]
        for _ in range(KILLS):
            await crowd.works(BETWEEN)
            await asyncio.sleep(random.random() / 5)
            await asyncio.to_thread(server.kill)
            server = await asyncio.to_thread(process, path, *more)
        await crowd.works(BETWEEN)
        crowd.ended = True
        await asyncio.gather(*clients)
        headers = {"Authorization": f"Bearer {server.owner_token}"}
        async with httpx2.AsyncClient(timeout=30) as client:
            return (await client.get(f"{crowd.address}/export.json", headers=headers)).json()["judgments"]

    judgments = in_loop(run())
    found = Counter((each["annotator"], each["key"]) for each in judgments)
    assert max(found.values()) == 1
    assert crowd.acknowledged <= set(found)
    assert set(found) <= crowd.sent
    assert len(crowd.acknowledged) > KILLS * BETWEEN
