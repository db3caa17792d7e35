"""Plans and results, computed beside the server."""

from __future__ import annotations

import asyncio
import os
import signal
import socket

import psutil
import pytest

from crowdrank.client import Client
from crowdrank.server.following import Follower
from crowdrank.server.planning import Planner
from crowdrank.server.start import _listen


def votes(study):
    return Follower(study.served.database, study.served.id)


def test_following_sees_what_a_whole_reading_sees(hall, database_url):
    study = hall(database_url, items=6)
    ann, bob, owner = study.join(), study.join(), study.owner()
    follower = votes(study)
    assert follower.read().votes == ()
    ann.judge(3)
    assert len(follower.read().votes) == 3
    assert follower.read() is follower.read()  # nothing new
    keys = bob.judge(2)
    assert follower.read().rebuilt < follower.read().sequence  # only the new ones were read
    bob.ok("DELETE", f"judgments/{keys[0]}")
    owner.ok("DELETE", "items/i5")
    assert follower.read().votes == votes(study).read().votes
    assert len(follower.read().votes) == 4
    assert ("", "i5") not in follower.read().active
    assert len(follower.read().active) == 5
    owner.ok("POST", f"annotators/{ann.name}/void")
    assert len(follower.read().votes) == 1


def test_a_plan_asks_about_active_items_and_goes_on(hall):
    study = hall(items=6)
    ann, owner, follower = study.join(), study.owner(), votes(study)
    planner = Planner(study.served.file)
    assert planner.plan(follower.read()) is None  # before the first judgment all questions are worth the same
    ann.judge(4)
    plan = planner.plan(follower.read())
    assert {name for each in plan.questions for name in each.items} == {f"i{k}" for k in range(6)}
    judged = {(vote.task, name) for vote in follower.read().votes for name in vote.items}
    assert judged <= set(plan.beliefs)
    assert planner.plan(follower.read()) is None  # nothing new
    owner.ok("DELETE", "items/i0")
    assert "i0" not in {name for each in planner.plan(follower.read()).questions for name in each.items}


def test_the_process_is_started_again_and_ends_with_the_server(process, study_files, tmp_path, eventually):
    server = process(study_files(tmp_path / "s", items=4), "--port", "0")
    owner, client = Client(server.url, "fruit", server.owner_token), Client(server.url, "fruit")
    client.join()
    assert owner.get("consensus", wait=30)["stale"] is False
    (first,) = workers(server)
    assert psutil.Process(first).nice() > psutil.Process(server.process.pid).nice()
    os.kill(first, signal.SIGKILL)
    client.submit([{"question": client.questions(1)[0]["id"], "tie": True}])
    assert eventually(lambda: owner.get("consensus", wait=5)["judgments"] == 1)
    (second,) = workers(server)
    assert second != first
    server.kill()
    assert eventually(lambda: not psutil.pid_exists(second) or psutil.Process(second).status() == "zombie")


def workers(server):
    children = psutil.Process(server.process.pid).children(recursive=True)
    return [each.pid for each in children if "spawn_main" in " ".join(each.cmdline())]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_answers_leave_at_once(host, in_loop):
    """TCP_NODELAY; otherwise the second part of an answer waits 40 ms for a sign that the first has arrived."""
    listener = _listen(host, 0)
    found = []

    async def serve():
        answered = asyncio.Event()

        def accept(_, writer):
            found.append(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()
            answered.set()

        async with await asyncio.start_server(accept, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname()[:2])
            await answered.wait()
            writer.close()

    in_loop(serve())
    assert found == [1]
