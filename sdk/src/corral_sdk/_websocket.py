"""A WebSocket client (RFC 6455) in blocking style: what streams into workloads need, and no more."""

import base64
import contextlib
import hashlib
import json
import os
import select
import socket
import struct
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from corral_sdk._problems import Problem, UnexpectedAnswerError, UnreachableError
from corral_sdk._transport import Transport

__all__ = ["Closed", "WebSocket", "open_websocket"]

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUATION, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
_LARGEST_MESSAGE = 4 * 1024 * 1024
_LARGEST_HEAD = 64 * 1024
_DONE = 1000
_PIECE = 65536
_GOODBYE_SECONDS = 2.0

T = TypeVar("T")


class Closed(Exception):
    """The other side closed it."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"{code} {reason}".strip())
        self.code = code
        self.reason = reason


class WebSocket:
    """An open connection. One thread may read while another one writes."""

    def __init__(self, connection: socket.socket, rest: bytes = b"") -> None:
        connection.setblocking(False)
        self._connection = connection
        self._buffer = bytearray(rest)
        self._writing = threading.Lock()
        # TLS must not be used by two threads at the same moment, so nobody waits while holding it.
        self._using = threading.Lock()

    def send(self, message: bytes | str) -> None:
        text = isinstance(message, str)
        self._send(_TEXT if text else _BINARY, message.encode() if isinstance(message, str) else message)

    def receive(self) -> bytes | str:
        """The next message. Raises `Closed` at the end, also when the connection is lost."""
        kind, message = None, bytearray()
        while True:
            final, opcode, payload = self._received()
            if opcode == _PING:
                self._send(_PONG, payload)
            elif opcode == _CLOSE:
                code = struct.unpack("!H", payload[:2])[0] if len(payload) >= 2 else _DONE
                raise Closed(code, payload[2:].decode(errors="replace"))
            elif opcode in (_CONTINUATION, _TEXT, _BINARY):
                kind = opcode if opcode != _CONTINUATION else kind
                message += payload
                if len(message) > _LARGEST_MESSAGE:
                    raise Closed(1009, "a message is too large")
                if final:
                    return message.decode() if kind == _TEXT else bytes(message)

    def close(self) -> None:
        """Says goodbye and hangs up."""
        with contextlib.suppress(OSError):  # the other side may have been faster
            self._connection.settimeout(_GOODBYE_SECONDS)
            self._connection.sendall(_frame(_CLOSE, struct.pack("!H", _DONE)))
        self._connection.close()

    def hang_up(self) -> None:
        """Closes it from another thread than the reader's, and wakes the reader."""
        with contextlib.suppress(OSError):  # it may have ended already
            self._connection.shutdown(socket.SHUT_RDWR)

    def _send(self, opcode: int, payload: bytes) -> None:
        left = memoryview(_frame(opcode, payload))
        with self._writing:
            while left:
                with self._using:
                    written = _tried(partial(self._connection.send, left[:_PIECE]))
                left = left[written or 0 :]
                if written is None:
                    select.select([], [self._connection], [])

    def _received(self) -> tuple[bool, int, bytes]:
        first, second = self._take(2)
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack("!H", self._take(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", self._take(8))
        if size > _LARGEST_MESSAGE:
            raise Closed(1009, "a message is too large")
        return bool(first & 0x80), first & 0x0F, self._take(size)

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            try:
                with self._using:
                    received = _tried(partial(self._connection.recv, _PIECE))
                if received is None:
                    select.select([self._connection], [], [])
                    continue
            except (OSError, ValueError):  # also: closed by another thread
                received = b""
            if not received:
                raise Closed(1006, "the connection was lost")
            self._buffer += received
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken


def _tried(act: Callable[[], T]) -> T | None:
    """What it returns; None if it would have to wait."""
    try:
        return act()
    except BlockingIOError:
        return None
    except OSError as error:
        # Without importing ssl, which plain loopback does not need.
        if type(error).__name__ in ("SSLWantReadError", "SSLWantWriteError"):
            return None
        raise


def _frame(opcode: int, payload: bytes) -> bytes:
    size = len(payload)
    if size < 126:
        head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
    elif size < 65536:
        head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, size)
    mask = os.urandom(4)
    return head + mask + _masked(payload, mask)


def open_websocket(transport: Transport, target: str) -> WebSocket:
    """Connects as the transport's caller; a refusal comes as `Problem`, as from any other request."""
    try:
        return _open(transport, target)
    except Problem as problem:
        if problem.status == 401 and transport.has_newer_token():
            return _open(transport, target)
        raise


def _open(transport: Transport, target: str) -> WebSocket:
    key = base64.b64encode(os.urandom(16))
    host, connection = transport.connect()
    try:
        head = {
            "Host": host,
            **transport.headers(),
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": key.decode(),
        }
        lines = [f"GET {target} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items()), "", ""]
        connection.sendall("\r\n".join(lines).encode("latin-1"))
        status, headers, rest = _read_head(connection)
        if status != 101:
            raise _refusal(connection, status, headers, rest)
        expected = base64.b64encode(hashlib.sha1(key + _GUID, usedforsecurity=False).digest()).decode()
        if headers.get("sec-websocket-accept") != expected:
            raise UnexpectedAnswerError("What answers there is no WebSocket of Corral's.")
    except OSError as error:
        connection.close()
        reason = error.strerror or str(error) or type(error).__name__
        raise UnreachableError(f"Corral does not answer at {transport.url}.", f"{reason}.") from error
    except BaseException:
        connection.close()
        raise
    return WebSocket(connection, rest)


def _read_head(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    received = b""
    while b"\r\n\r\n" not in received:
        more = connection.recv(65536)
        if not more or len(received) > _LARGEST_HEAD:
            raise UnexpectedAnswerError("The answer ended before it began.")
        received += more
    head, _, rest = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    words = first.split(" ", 2)
    if len(words) < 2 or not words[1].isdigit():
        raise UnexpectedAnswerError("What answers there is no Corral.")
    return int(words[1]), headers, rest


def _refusal(
    connection: socket.socket, status: int, headers: dict[str, str], body: bytes
) -> Problem | UnexpectedAnswerError:
    size = int(headers.get("content-length") or 0)
    while len(body) < size:
        more = connection.recv(65536)
        if not more:
            break
        body += more
    document: Any = None
    with contextlib.suppress(ValueError):  # a proxy's own page, perhaps
        document = json.loads(body)
    if isinstance(document, dict) and "title" in document:
        return Problem(document, status)
    return UnexpectedAnswerError(f"HTTP status {status} without an explanation.")


def _masked(payload: bytes, mask: bytes) -> bytes:
    """Every byte xor the mask, as one large number: fast without a loop of ours."""
    size = len(payload)
    if not size:
        return b""
    repeated = (mask * (size // 4 + 1))[:size]
    number = int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")
    return number.to_bytes(size, "big")
