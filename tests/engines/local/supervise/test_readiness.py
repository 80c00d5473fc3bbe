"""Readiness of real work, and how a prober paces itself."""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from corral.engines.interface import Ending, Run, RunPhase, Start
from corral.engines.local.records.spec import ReplicaSpec, spec_from
from corral.engines.local.supervise import readiness
from corral.engines.local.supervise.readiness import answers
from corral.engines.tasks import HttpReadiness, OutputReadiness, Readiness, TcpReadiness
from tests.engines.engine_suite import everything
from tests.engines.local.places import LIMIT_SECONDS, LocalPlace, local_place

SERVE = """
import pathlib, socket, time
print("begun", flush=True)
while not pathlib.Path("go").exists():
    time.sleep(0.02)
server = socket.create_server(("127.0.0.1", 8000))
while True:
    connection, _ = server.accept()
    with connection:
        connection.recv(1000)
        connection.sendall({answer!r})
"""
# Answers as slowly as it can, and for ever.
DRIP = """
import socket, threading, time
server = socket.create_server(("127.0.0.1", 8000))
def drip(connection):
    while True:
        connection.sendall(b"H")
        time.sleep(0.05)
while True:
    threading.Thread(target=drip, args=[server.accept()[0]], daemon=True).start()
"""


@pytest.fixture
async def local() -> AsyncIterator[LocalPlace]:
    async with local_place() as made:
        yield made


def work(local: LocalPlace, program: str, check: Readiness) -> Start:
    start = local.sized("a", "python3", "-c", program)
    assert start.task is not None
    return replace(start, task=replace(start.task, readiness=check))


async def when_ready(local: LocalPlace) -> Run:
    async with asyncio.timeout(LIMIT_SECONDS):
        while (run := (await everything(local.engine))["a"]).ready_since is None:
            assert run.phase is not RunPhase.ENDED, await local.output("a")
            await local.engine.wait((await local.engine.observe()).cursor, 1)
    return run


async def output_of(local: LocalPlace, text: str) -> None:
    written = b""
    async with asyncio.timeout(LIMIT_SECONDS), aclosing(local.engine.follow("a", 0)) as output:
        async for chunk in output:
            written += chunk.data
            if text.encode() in written:
                return


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (TcpReadiness(8000), b""),
        (HttpReadiness(8000, "/healthz"), b"HTTP/1.1 204 No Content\r\n\r\n"),
        # It is not followed: the address is not reachable, and nobody asks.
        (HttpReadiness(8000), b"HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\n\r\n"),
    ],
)
async def test_run_is_ready_once_its_port_answers(local: LocalPlace, check: Readiness, answer: bytes) -> None:
    await local.engine.start([work(local, SERVE.format(answer=answer), check)])
    await output_of(local, "begun")
    running = await local.reach("a", RunPhase.RUNNING)
    assert running.ready_since is None
    (local.directory / "data" / "workspaces" / "a" / "go").touch()
    ready = await when_ready(local)
    assert ready.phase is RunPhase.RUNNING
    assert ready.since == running.since
    assert ready.ready_since is not None
    assert ready.ready_since > running.since
    await local.engine.signal(["a"], 0)
    ended = await local.reach("a", RunPhase.ENDED)
    assert (ended.ending, ended.ready_since) == (Ending.SUSPENDED, None)


async def test_readiness_survives_a_restart_of_corral(local: LocalPlace) -> None:
    await local.engine.start(
        [work(local, "import time; print('up', flush=True); time.sleep(600)", OutputReadiness("up"))]
    )
    ready = await when_ready(local)
    await local.forget_what_was_told()
    assert (await everything(local.engine))["a"].ready_since == ready.ready_since


async def test_text_is_found_also_when_it_is_written_in_pieces(local: LocalPlace) -> None:
    program = (
        "import sys, time\n"
        "for part in ('server is', ' lis', 'tening\\n'):\n"
        "    print(part, end='', flush=True); time.sleep(0.1)\n"
        "time.sleep(600)"
    )
    await local.engine.start([work(local, program, OutputReadiness("is listening"))])
    await when_ready(local)


async def test_server_that_never_answers_is_not_ready_and_holds_nothing_up(local: LocalPlace) -> None:
    await local.engine.start([work(local, DRIP, HttpReadiness(8000))])
    await local.reach("a", RunPhase.RUNNING)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2):
            await when_ready(local)
    began = time.monotonic()
    await local.engine.kill(["a"])
    ended = await local.reach("a", RunPhase.ENDED)
    assert ended.ending is Ending.SUSPENDED
    assert time.monotonic() - began < readiness.PROBE_SECONDS


@pytest.mark.parametrize(
    ("answer", "ready"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", True),
        (b"HTTP/1.0 399\r\n", True),
        (b"HTTP/1.1 400 Bad Request\r\n", False),
        (b"HTTP/1.1 503 Service Unavailable\r\n", False),
        (b"HTTP/1.1 -200 OK\r\n", False),
        (b"HTTP/1.1 2000000000000000000000000000 OK\r\n", False),
        (b"SSH-2.0-OpenSSH_9 200\r\n", False),
        (b"HTTP/1.1", False),
        (b"H" * 100_000, False),
        (b"", False),
    ],
)
def test_only_a_status_line_that_says_yes_is_an_answer(answer: bytes, ready: bool) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(LIMIT_SECONDS)
        sender = threading.Thread(target=_send, args=(theirs, answer))
        sender.start()
        assert answers(ours, 80, "/") is ready
        ours.shutdown(socket.SHUT_RDWR)
        sender.join()


def _send(connection: socket.socket, answer: bytes) -> None:
    try:
        connection.sendall(answer)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        return


class FakeLoop:
    """Runs what is due at once; says how long the pauses were."""

    def __init__(self) -> None:
        self.pauses: list[float] = []
        self.due: Callable[[], None] | None = None

    def after(self, seconds: float, callback: Callable[[], None]) -> None:
        self.pauses.append(seconds)
        self.due = callback


def test_three_failures_in_a_row_make_it_unready_and_pauses_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results = iter([False] * 8 + [True, False, False, True, False, False, False, False])
    replica: Any = SimpleNamespace(
        phase="running", ready_since=None, spec=SimpleNamespace(readiness={"kind": "tcp", "port": 1})
    )

    def note_ready(ready: bool) -> bool:
        changed = ready == (replica.ready_since is None)
        replica.ready_since = 1 if ready else None
        return changed

    replica.note_ready = note_ready
    loop, news = FakeLoop(), []
    prober = readiness._Prober(loop, replica, None, lambda: news.append(replica.ready_since))  # type: ignore[arg-type]
    monkeypatch.setattr(prober, "_probe", lambda: prober._finish(next(results)))
    prober.start()
    for _ in range(16):
        assert loop.due is not None
        due, loop.due = loop.due, None
        due()
    assert news == [1, None]
    assert loop.pauses[:8] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert max(loop.pauses) == readiness.READY_PAUSE_SECONDS


def test_intents_from_before_readiness_are_read() -> None:
    old = {
        "attempt": "w-1",
        "workload": "w",
        "node": "n",
        "owner": "o",
        "mode": "none",
        "uid": 1,
        "gid": 1,
        "workspace": "/w",
        "sockets": "/s",
        "replicas": [
            {
                "run": "r",
                "replica": "0",
                "command": ["true"],
                "environment": {},
                "cpu_milli": 1,
                "memory_mib": 1,
                "processes": 1,
                "disk_mib": 1,
                "devices": [],
                "held": [],
            }
        ],
    }
    (replica,) = spec_from(old).replicas  # type: ignore[arg-type]
    assert isinstance(replica, ReplicaSpec)
    assert replica.readiness is None
    assert Path(spec_from(old).workspace) == Path("/w")  # type: ignore[arg-type]
