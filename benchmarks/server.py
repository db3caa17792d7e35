"""Load on `crowdrank serve`: 200 annotators at once on 500 items, on SQLite; and the start with 50,000 judgments.

    python benchmarks/server.py [--seconds 300] [--annotators 200] [--items 500] [--think 2.0] [--database URL]

Each annotator submits a judgment and asks for the next question, then thinks: `--think` seconds on average, between
half of it and one and a half times as long. Two seconds are quick: people take about five for two short texts. Submit
plus next is timed together, as a person waits for it (the page asks ahead, so that nobody sees even this). The
annotators share the two cores with the server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

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
        self.memory: list[tuple[float, float]] = []
        self.spent = self.spent_beside = 0.0  # seconds of processor: of the server, of the process beside it

    def measure(self) -> None:
        """Note the memory, in MB: of the server, and of the process that computes rankings beside it."""
        here = psutil.Process(self.process.pid)
        others = here.children(recursive=True)
        self.memory.append((here.memory_info().rss / 1e6, sum(each.memory_info().rss for each in others) / 1e6))
        self.spent = sum(here.cpu_times()[:2])
        self.spent_beside = sum(sum(each.cpu_times()[:2]) for each in others)

    def end(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.wait()


class Connection:
    """One annotator's connection. As little HTTP as possible: the cores are for the server."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.host, self.port, self.path = parts.hostname, parts.port, parts.path
        self.token = ""

    async def open(self) -> None:
        """Connect."""
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port)

    async def call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """The content of an answer; an error if it is not a success."""
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {self.path}/{path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        head += f"Authorization: Bearer {self.token}\r\n\r\n" if self.token else "\r\n"
        self.writer.write(head.encode() + content)
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        length = next(int(line[15:]) for line in lines if line.startswith("content-length:"))
        answer = await self.reader.readexactly(length)
        if " 200 " not in lines[0]:
            raise OSError(f"{lines[0]} {answer[:100]!r}")
        found: dict[str, Any] = json.loads(answer)
        return found


class Load:
    """What all annotators measure."""

    def __init__(self, server: Server, think: float, seconds: float) -> None:
        self.server, self.think, self.end = server, think, time.monotonic() + seconds
        self.times: list[float] = []
        self.errors: list[str] = []

    async def annotate(self, number: int) -> None:
        """One annotator until the end."""
        rng, here = random.Random(number), Connection(self.server.address)
        await asyncio.sleep(rng.random() * self.think)
        await here.open()
        here.token = (await here.call("POST", "join", {}))["token"]
        questions = (await here.call("GET", "questions?count=1"))["questions"]
        while time.monotonic() < self.end and questions:
            await asyncio.sleep(self.think * (0.5 + rng.random()))
            left, right = (item["id"] for item in questions[0]["items"])
            chance = 1 / (1 + math.exp((int(left[1:]) - int(right[1:])) / 50))
            asked = questions[0]["id"]
            judgment = {"key": f"k{asked}", "question": asked, "winner": left if rng.random() < chance else right}
            started = time.perf_counter()
            try:
                await here.call("POST", "judgments", [judgment])
                questions = (await here.call("GET", "questions?count=1"))["questions"]
            except (OSError, EOFError) as error:
                self.errors.append(repr(error))
                continue
            self.times.append(time.perf_counter() - started)

    async def watch(self) -> None:
        """Memory, every few seconds."""
        while time.monotonic() < self.end:
            self.server.measure()
            await asyncio.sleep(5)


async def run(server: Server, annotators: int, think: float, seconds: float) -> Load:
    """All annotators at once."""
    load = Load(server, think, seconds)
    await asyncio.gather(load.watch(), *(load.annotate(number) for number in range(annotators)))
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
    print(
        f"processor of the server: {1000 * server.spent / len(times):.1f} ms for each judgment, with start and joins;"
    )
    print(f"of the process beside it: {server.spent_beside:.0f} s; of the annotators: {time.process_time():.0f} s")
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")
    print("submit + next, ms: " + ", ".join(f"p{q} {np.percentile(times, q):.0f}" for q in (50, 95, 99)))
    for name, used in zip(("server", "process beside it"), zip(*memory, strict=True), strict=True):
        print(f"memory of the {name}, MB: {used[len(used) // 3]:.0f} after a third, {used[-1]:.0f} at the end")
    print(f"start: {server.started:.2f} s")
    if given.stored:
        with tempfile.TemporaryDirectory() as folder:
            print(f"start with {given.stored:,} judgments: {start_with(given.stored, given.items, Path(folder)):.2f} s")


if __name__ == "__main__":
    main()
