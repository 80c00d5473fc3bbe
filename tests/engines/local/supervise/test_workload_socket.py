"""The workload socket listens to everyone inside, and to nobody without end."""

import contextlib
import json
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.engines.local.attempts.outputs import read_messages
from corral.engines.local.supervise.event_loop import Clock, Loop
from corral.engines.local.supervise.workload_socket import LINES_EACH_SECOND, WorkloadSocket

LINE = b'{"kind":"report"}\n'


class Socket:
    """The supervisor's side and somebody inside."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.loop = Loop()
        self.said = WorkloadSocket(self.loop, Clock(), directory / "socket", directory / "said-0")
        self.inside = self.connect()
        self.heard = b""

    def connect(self) -> socket.socket:
        talk = socket.socket(socket.AF_UNIX)
        talk.connect(str(self.directory / "socket"))
        talk.setblocking(False)
        return talk

    def turn_for(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        self.loop.after(seconds, lambda: None)
        while time.monotonic() < until:
            self.loop.turn()
            with contextlib.suppress(OSError):
                self.heard += self.inside.recv(1 << 20)


@pytest.fixture
def place() -> Iterator[Socket]:  # type: ignore[misc]
    with tempfile.TemporaryDirectory(prefix="corral-") as name:
        made = Socket(Path(name))
        yield made
        made.inside.close()
        made.said.close()


def test_what_is_said_is_kept_and_answered(place: Socket) -> None:
    place.inside.send(b'{"kind": "checkpoint", "body": {"path": "x"}}\n{"kind": "done"}\n')
    place.turn_for(0.05)
    assert [json.loads(line) for line in place.heard.splitlines()] == [{"ok": True}] * 2
    assert place.said.done
    kinds = [message.kind for message in read_messages(place.directory, "a", 0, 0, 10)]
    assert kinds == ["checkpoint", "done"]


def test_who_says_too_much_waits_and_loses_nothing(place: Socket) -> None:
    lines = 3 * LINES_EACH_SECOND
    began = time.monotonic()
    for _ in range(lines // 100):
        place.inside.send(LINE * 100)
        place.turn_for(0.01)
    kept = len(read_messages(place.directory, "a", 0, 0, lines))
    # The last piece of a second may be one too many.
    seconds = 1 + int(time.monotonic() - began)
    assert LINES_EACH_SECOND <= kept <= seconds * (LINES_EACH_SECOND + 100)
    until = time.monotonic() + 20
    while len(read_messages(place.directory, "a", 0, 0, lines)) < lines:
        assert time.monotonic() < until, "something that was said is lost"
        place.turn_for(0.2)


def test_who_hangs_up_while_waiting_is_forgotten(place: Socket) -> None:
    place.inside.send(LINE * 2 * LINES_EACH_SECOND)
    place.turn_for(0.1)
    place.inside.close()
    place.turn_for(1.3)
    other = place.connect()
    other.send(LINE)
    place.turn_for(0.05)
    assert json.loads(other.recv(100)) == {"ok": True}
    other.close()


def test_last_words_of_who_does_not_wait_for_an_answer_are_heard(place: Socket) -> None:
    place.inside.send(LINE * 300 + b'{"kind": "done"}\n')
    place.inside.close()
    place.said.drain()
    assert place.said.done
    assert len(read_messages(place.directory, "a", 0, 0, 1000)) == 301
