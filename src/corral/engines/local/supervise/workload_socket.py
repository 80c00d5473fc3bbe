"""The workload socket: report, checkpoint, done. Which socket it is says who speaks.

JSON lines: {"kind": "report", "body": {"step": 1, "loss": 0.5}} is answered by {"ok": true} or by
{"ok": false, "error": "…"}. What was said is kept in segments, one JSON line each.
"""

import contextlib
import json
import socket
from pathlib import Path

from corral.engines.local.records.segments import SegmentWriter
from corral.engines.local.supervise.event_loop import Clock, Loop, boot_time

KINDS = ("report", "checkpoint", "done")
MOST_LINE_BYTES = 16 * 1024
MOST_CONNECTIONS = 32
MOST_FIELDS = 64
KEPT_BYTES = 4 * 1024 * 1024
SEGMENT_BYTES = 512 * 1024
# Listening costs CPU outside of the work's own limit; who says more than this waits.
LINES_EACH_SECOND = 500


class WorkloadSocket:
    """Listens for one replica. What it says can be anything: everything is bounded and checked."""

    def __init__(self, loop: Loop, clock: Clock, path: Path, journal: Path) -> None:
        self.done = False
        self._loop = loop
        self._clock = clock
        self._journal = SegmentWriter(journal, SEGMENT_BYTES, KEPT_BYTES)
        self._connections: dict[int, tuple[socket.socket, bytearray]] = {}
        self._window_began = 0.0
        self._lines = 0
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        path.chmod(0o666)  # only the inside of one sandbox can reach it
        self._listener.listen(MOST_CONNECTIONS)
        self._listener.setblocking(False)
        loop.watch(self._listener.fileno(), self._accept)

    @property
    def connections(self) -> list[int]:
        """Descriptors of those who talk now."""
        return list(self._connections)

    def close(self) -> None:
        for descriptor in list(self._connections):
            self._hang_up(descriptor)
        self._loop.unwatch(self._listener.fileno())
        self._listener.close()
        self._journal.close()

    def drain(self) -> None:
        """Reads what was said before the end, also by who had only just connected."""
        for _ in range(MOST_CONNECTIONS):
            self._accept()
        for descriptor in list(self._connections):
            while descriptor in self._connections and self._read(descriptor):
                pass

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        if len(self._connections) >= MOST_CONNECTIONS:
            connection.close()
            return
        connection.setblocking(False)
        descriptor = connection.fileno()
        self._connections[descriptor] = (connection, bytearray())
        self._loop.watch(descriptor, lambda: self._take(descriptor))

    def _take(self, descriptor: int) -> None:
        now = boot_time()
        if now - self._window_began > 1:
            self._window_began, self._lines = now, 0
        if self._lines >= LINES_EACH_SECOND:
            self._loop.unwatch(descriptor)
            connection, _ = self._connections[descriptor]
            self._loop.after(1, lambda: self._take_again(descriptor, connection))
        else:
            self._read(descriptor)

    def _take_again(self, descriptor: int, connection: socket.socket) -> None:
        known = self._connections.get(descriptor)
        if known is not None and known[0] is connection:
            self._loop.watch(descriptor, lambda: self._take(descriptor))

    def _read(self, descriptor: int) -> bool:
        """False when there is nothing more now."""
        connection, buffer = self._connections[descriptor]
        try:
            data = connection.recv(MOST_LINE_BYTES)
        except BlockingIOError:
            return False
        except ConnectionError:
            data = b""
        if not data:
            self._hang_up(descriptor)
            return False
        buffer += data
        while (end := buffer.find(b"\n")) >= 0:
            line = bytes(buffer[:end])
            del buffer[: end + 1]
            self._lines += 1
            self._answer(connection, self._hear(line))
        if len(buffer) > MOST_LINE_BYTES:
            self._answer(connection, f"a line has at most {MOST_LINE_BYTES} bytes")
            self._hang_up(descriptor)
            return False
        return True

    def _hear(self, line: bytes) -> str | None:
        """Keeps what was said; an error in words if it cannot."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return "this is not a line of JSON"
        error = _check(message)
        if error is not None:
            return error
        entry = {"kind": message["kind"], "at": self._clock.instant(), "body": message.get("body", {})}
        dropped = self._journal.dropped
        self._journal.write(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
        self.done = self.done or message["kind"] == "done"
        return None if self._journal.dropped == dropped else "it could not be kept: the disk is full"

    def _answer(self, connection: socket.socket, error: str | None) -> None:
        answer = {"ok": True} if error is None else {"ok": False, "error": error}
        # Who has gone or does not read its answers gets none, and is heard all the same.
        with contextlib.suppress(OSError):
            connection.send(json.dumps(answer).encode() + b"\n", socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)

    def _hang_up(self, descriptor: int) -> None:
        connection, _ = self._connections.pop(descriptor)
        self._loop.unwatch(descriptor)
        connection.close()


def _check(message: object) -> str | None:
    if not isinstance(message, dict) or message.get("kind") not in KINDS:
        return f"kind is one of {', '.join(KINDS)}"
    body = message.get("body", {})
    if not isinstance(body, dict) or len(body) > MOST_FIELDS:
        return f"body is an object with at most {MOST_FIELDS} fields"
    if not all(isinstance(value, str | int | float | bool | None) for value in body.values()):
        return "the fields of body are numbers, texts or truth values"
    return None
