"""The control socket: Corral's side of a supervisor. JSON lines, each answered by one line with the same id.

Whoever is connected is also told the state of every replica, at once and after every change: a line without
an id. So a reader needs no other way to learn what happened, and the end of the connection is the end of the
supervisor. Only our own user is listened to.
"""

import contextlib
import json
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path

from corral.engines.local.supervise.event_loop import Loop

VERSION = 1
MOST_LINE_BYTES = 1024 * 1024
_CREDENTIALS = struct.Struct("3i")
_AT_ONCE = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL

# Gives the answer, now or later, and hands over descriptors, which are closed here afterwards.
Reply = Callable[[dict[str, object], list[int]], None]
Handler = Callable[[dict[str, object], Reply], None]


class Refused(Exception):
    """A command that cannot be carried out, in words for whoever gave it."""


class Control:
    """`handlers` by the name of the command."""

    def __init__(self, loop: Loop, path: Path, state: Callable[[], dict[str, object]]) -> None:
        self.handlers: dict[str, Handler] = {}
        self._loop = loop
        self._state = state
        self._connections: dict[int, tuple[socket.socket, bytearray]] = {}
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        path.chmod(0o600)
        self._listener.listen(16)
        self._listener.setblocking(False)
        loop.watch(self._listener.fileno(), self._accept)

    def tell(self) -> None:
        """Something changed."""
        line = self._line({"version": VERSION, "state": self._state()})
        for descriptor in list(self._connections):
            self._send(descriptor, line, [])

    def close(self) -> None:
        for descriptor in list(self._connections):
            self._hang_up(descriptor)
        self._loop.unwatch(self._listener.fileno())
        self._listener.close()

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        if _CREDENTIALS.unpack(peer)[1] not in (0, os.geteuid()):
            connection.close()
            return
        descriptor = connection.fileno()
        self._connections[descriptor] = (connection, bytearray())
        self._loop.watch(descriptor, lambda: self._read(descriptor))
        self._send(descriptor, self._line({"version": VERSION, "state": self._state()}), [])

    def _read(self, descriptor: int) -> None:
        connection, buffer = self._connections[descriptor]
        try:
            data = connection.recv(65536, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        buffer += data
        if not data or len(buffer) > MOST_LINE_BYTES:
            self._hang_up(descriptor)
            return
        while (end := buffer.find(b"\n")) >= 0:
            line = bytes(buffer[:end])
            del buffer[: end + 1]
            self._obey(descriptor, line)
            if descriptor not in self._connections:
                return

    def _obey(self, descriptor: int, line: bytes) -> None:
        number: object = None
        connection, _ = self._connections[descriptor]

        def reply(answer: dict[str, object], descriptors: list[int]) -> None:
            known = self._connections.get(descriptor)
            # The number may be that of another connection by now.
            if known is not None and known[0] is connection:
                content = {"version": VERSION, "id": number, **answer}
                self._send(descriptor, self._line(content), descriptors)
            for each in descriptors:
                os.close(each)

        try:
            command = json.loads(line)
            number = command["id"]
            handler = self.handlers.get(command["do"])
            if handler is None:
                raise Refused(f"this supervisor cannot {command['do']}: it is older")
            handler(command, reply)
        except Refused as refused:
            reply({"error": str(refused)}, [])
        except (ValueError, KeyError, TypeError, IndexError) as error:
            reply({"error": f"not understood: {error!r}"}, [])
        except OSError as error:  # no more processes or descriptors: what runs goes on
            reply({"error": f"this machine cannot: {error.strerror}"}, [])

    def _send(self, descriptor: int, line: bytes, descriptors: list[int]) -> None:
        connection, _ = self._connections[descriptor]
        try:
            # Never waits: whoever does not read loses the connection and asks again.
            sent = socket.send_fds(connection, [line], descriptors, _AT_ONCE)
        except OSError:
            sent = 0
        if sent != len(line):
            self._hang_up(descriptor)

    def _hang_up(self, descriptor: int) -> None:
        connection, _ = self._connections.pop(descriptor)
        self._loop.unwatch(descriptor)
        with contextlib.suppress(OSError):
            connection.close()

    @staticmethod
    def _line(content: dict[str, object]) -> bytes:
        return json.dumps(content, separators=(",", ":")).encode() + b"\n"
