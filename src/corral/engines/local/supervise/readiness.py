"""Finds out whether a replica is ready: by a connection, by a request, or by a line of its output.

A probe is a child that joins the network of the attempt and reads one status line, within a few seconds. It
follows nothing that the work writes: no redirect, no header, no body. One probe of a replica is under way at
a time, with pauses that grow until it is ready. After that, three failures in a row make it unready again.
"""

import os
import signal
import socket
from collections.abc import Callable

from corral.engines.local.doors import inbound
from corral.engines.local.sandbox.namespaces import Attempt, fork_and_exit
from corral.engines.local.supervise.event_loop import Loop
from corral.engines.local.supervise.replica import SupervisedReplica

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0
READY_PAUSE_SECONDS = 10.0
MOST_FAILURES = 3
PROBE_SECONDS = 5
_STATUS_LINE_BYTES = 256
_READY_STATUS = range(200, 400)


def watch(
    loop: Loop, replica: SupervisedReplica, shared: Attempt | None, on_change: Callable[[], None]
) -> None:
    """Calls back when the replica has become ready or is not any more. `shared` is None without a sandbox."""
    check = replica.spec.readiness
    if check is None:
        return
    if check.get("kind") == "output":
        _OutputWatch(replica, str(check["text"]), on_change)
    else:
        _Prober(loop, replica, shared, on_change).start()


class _OutputWatch:
    """Keeps no more of the output than the text is long."""

    def __init__(self, replica: SupervisedReplica, text: str, on_change: Callable[[], None]) -> None:
        self._replica = replica
        self._text = text.encode()
        self._on_change = on_change
        self._tail = b""
        replica.on_output = self._look

    def _look(self, data: bytes) -> None:
        window = self._tail + data
        if self._text not in window:
            self._tail = window[-len(self._text) :]
            return
        self._replica.on_output = None
        if self._replica.note_ready(True):
            self._on_change()


class _Prober:
    def __init__(
        self,
        loop: Loop,
        replica: SupervisedReplica,
        shared: Attempt | None,
        on_change: Callable[[], None],
    ) -> None:
        assert replica.spec.readiness is not None
        self._loop = loop
        self._replica = replica
        self._shared = shared
        self._on_change = on_change
        self._port = int(str(replica.spec.readiness["port"]))
        path = replica.spec.readiness.get("path")
        self._path = None if path is None else str(path)
        self._pause = FIRST_PAUSE_SECONDS
        self._failures = 0

    def start(self) -> None:
        self._loop.after(self._pause, self._probe)

    def _probe(self) -> None:
        if self._replica.phase != "running":
            return
        try:
            child = fork_and_exit(self._ask)
        except OSError:  # no more processes: later
            self._finish(False)
            return
        self._loop.watch_once(os.pidfd_open(child), lambda: self._answered(child))

    def _answered(self, child: int) -> None:
        _, status = os.waitpid(child, 0)
        self._finish(os.waitstatus_to_exitcode(status) == 0)

    def _finish(self, ready: bool) -> None:
        self._failures = 0 if ready else self._failures + 1
        is_ready = self._replica.ready_since is not None
        if (ready or not is_ready or self._failures >= MOST_FAILURES) and self._replica.note_ready(ready):
            self._pause = FIRST_PAUSE_SECONDS
            self._on_change()
        if self._replica.ready_since is not None:
            pause = READY_PAUSE_SECONDS if not self._failures else 1.0
        else:
            pause = self._pause = min(self._pause * 2, LONGEST_PAUSE_SECONDS)
        self._loop.after(pause, self._probe)

    def _ask(self) -> None:
        """In the child: returns if the replica is ready, and ends with another code if it is not."""
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PROBE_SECONDS)  # however slowly it answers
        connected = inbound.connect(self._shared, self._port)
        if connected is None or (self._path is not None and not answers(connected, self._port, self._path)):
            os._exit(1)


def answers(connected: socket.socket, port: int, path: str) -> bool:
    """Whether a GET is answered with a status that says yes. Reads no more than one line."""
    request = f"GET {path} HTTP/1.0\r\nHost: localhost:{port}\r\nUser-Agent: corral-readiness\r\n\r\n"
    try:
        connected.sendall(request.encode())
        line = b""
        while b"\n" not in line and len(line) < _STATUS_LINE_BYTES:
            data = connected.recv(_STATUS_LINE_BYTES - len(line))
            if not data:
                break
            line += data
    except OSError:
        return False
    words = line.split(b"\n", 1)[0].split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        return False
    return int(words[1]) in _READY_STATUS
