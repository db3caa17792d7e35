"""Load on `crowdrank serve`: 200 annotators at once on 500 items, on SQLite; and the start with 50,000 judgments.

    python benchmarks/server.py [--seconds 300] [--annotators 200] [--items 500] [--think 2.0] [--database URL]

Each annotator submits a judgment and asks for the next question, then thinks. Submit plus next is timed together, as
a person waits for it (the page asks ahead, so that nobody sees even this).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2
import numpy as np
import psutil


def write_study(folder: Path, items: int) -> Path:
    """A study of pairs."""
    (folder / "items.csv").write_text("id,title,text\n" + "".join(f"i{k},Item {k},Text of {k}\n" for k in range(items)))
    (folder / "study.toml").write_text('[study]\nname = "load"\nkind = "pairs"\nitems = "items.csv"\n')
    return folder / "study.toml"


class Server:
    """A server as a process, and what it costs."""

    def __init__(self, path: Path, database: str | None) -> None:
        command = [sys.executable, "-m", "crowdrank", "serve", str(path), "--json", "--port", "0"]
        started = time.perf_counter()
        self.process = subprocess.Popen(
            command + (["--database", database] if database else []), stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.links = json.loads(self.process.stdout.readline())
        self.address = f"{self.links['url']}/api/v1/studies/load"
        httpx2.get(f"{self.address}/study", timeout=60)
        self.started = time.perf_counter() - started
        self.memory: list[float] = []

    def measure(self) -> None:
        """Note the memory, in MB."""
        self.memory.append(psutil.Process(self.process.pid).memory_info().rss / 1e6)

    def end(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.wait()


class Load:
    """What all annotators measure."""

    def __init__(self, server: Server, think: float, seconds: float) -> None:
        self.server, self.think, self.end = server, think, time.monotonic() + seconds
        self.times: list[float] = []
        self.errors: list[str] = []

    async def annotate(self, client: httpx2.AsyncClient, number: int) -> None:
        """One annotator until the end."""
        rng, address = random.Random(number), self.server.address
        await asyncio.sleep(rng.random() * self.think)
        joined = (await client.post(f"{address}/join", json={})).json()
        headers = {"Authorization": f"Bearer {joined['token']}"}
        questions = (await client.get(f"{address}/questions?count=1", headers=headers)).json()["questions"]
        while time.monotonic() < self.end and questions:
            await asyncio.sleep(self.think * (0.5 + rng.random()))
            question = questions[0]
            left, right = (item["id"] for item in question["items"])
            chance = 1 / (1 + np.exp((int(left[1:]) - int(right[1:])) / 50))
            winner = left if rng.random() < chance else right
            body = [{"key": f"k{question['id']}", "question": question["id"], "winner": winner}]
            started = time.perf_counter()
            try:
                done = await client.post(f"{address}/judgments", json=body, headers=headers)
                more = await client.get(f"{address}/questions?count=1", headers=headers)
            except httpx2.HTTPError as error:
                self.errors.append(repr(error))
                continue
            self.times.append(time.perf_counter() - started)
            if done.status_code != 200 or more.status_code != 200:
                self.errors.append(f"{done.status_code} {more.status_code} {done.text[:100]}")
                continue
            questions = more.json()["questions"]

    async def watch(self) -> None:
        """Memory, every few seconds."""
        while time.monotonic() < self.end:
            self.server.measure()
            await asyncio.sleep(5)


async def run(server: Server, annotators: int, think: float, seconds: float) -> Load:
    """All annotators at once."""
    load = Load(server, think, seconds)
    limits = httpx2.Limits(max_connections=annotators, max_keepalive_connections=annotators)
    async with httpx2.AsyncClient(timeout=30, limits=limits) as client:
        await asyncio.gather(load.watch(), *(load.annotate(client, number) for number in range(annotators)))
    return load


def start_with(count: int, items: int, folder: Path) -> float:
    """Seconds to start with this many judgments in the store."""
    path = write_study(folder, items)
    server = Server(path, None)
    rng = random.Random(0)
    rows = ["annotator,left,right,winner"]
    for number in range(count):
        left, right = rng.sample(range(items), 2)
        rows.append(f"a{number % 200},i{left},i{right},i{min(left, right)}")
    headers = {"Authorization": f"Bearer {server.links['owner'].rpartition('=')[2]}"}
    body = "\n".join(rows).encode()
    done = httpx2.post(f"{server.address}/import?file=votes.csv", content=body, headers=headers, timeout=600)
    assert done.json()["imported"] == count, done.text
    server.end()
    again = Server(path, None)
    again.end()
    return again.started


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--annotators", type=int, default=200)
    parser.add_argument("--items", type=int, default=500)
    parser.add_argument("--think", type=float, default=2.0)
    parser.add_argument("--database")
    parser.add_argument("--stored", type=int, default=50_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(write_study(Path(folder), given.items), given.database)
        load = asyncio.run(run(server, given.annotators, given.think, given.seconds))
        server.end()
    times, memory = 1000 * np.array(load.times), server.memory
    print(f"{given.annotators} annotators on {given.items} items for {given.seconds:.0f} s, {os.cpu_count()} cores,")
    print(f"thinking {given.think:g} s: {len(times):,} judgments, {len(load.errors)} errors {load.errors[:3]}")
    print("submit + next, ms: " + ", ".join(f"p{q} {np.percentile(times, q):.0f}" for q in (50, 95, 99)))
    print(f"memory, MB: {memory[len(memory) // 3]:.0f} after a third, {memory[-1]:.0f} at the end")
    print(f"start: {server.started:.2f} s")
    if given.stored:
        with tempfile.TemporaryDirectory() as folder:
            print(f"start with {given.stored:,} judgments: {start_with(given.stored, given.items, Path(folder)):.2f} s")


if __name__ == "__main__":
    main()
