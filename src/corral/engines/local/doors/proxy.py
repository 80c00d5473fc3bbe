"""The proxy behind the door out: one process, one loop, a few threads that look up names and connect."""

import queue
import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

from corral.engines.local.doors import address_policy
from corral.engines.local.doors.proxy_requests import (
    END_OF_HEAD,
    LONGEST_HEAD_BYTES,
    RequestRefused,
    Wanted,
    answer,
    read_request,
)
from corral.engines.local.records.tally import RelayedBytes

CONNECTIONS = 256
HEAD_SECONDS = 20
CONNECT_SECONDS = 10
IDLE_SECONDS = 1800
_LAST_WORDS_SECONDS = 2
_LOOK_SECONDS = 1.0
_OPENERS = 16
_CHUNK_BYTES = 1 << 18

Connect = Callable[[str, int], socket.socket]
Outcome = socket.socket | RequestRefused


def connect(host: str, port: int, allowed: address_policy.Allowed) -> socket.socket:
    """Looks the name up and connects to the first of its addresses that may be reached and answers."""
    try:
        # As bytes: text would be encoded by a module that is not loaded, and cannot be any more.
        found = socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        words = f"the name {host} leads to no address: {error.strerror}"
        raise RequestRefused(HTTPStatus.BAD_GATEWAY, "Name not found", words) from error
    permitted, refused = [], ""
    for family, _, _, _, where in found:
        address = str(where[0])
        because = address_policy.refusal(address, host, allowed)
        if because is None:
            permitted.append((family, where))
        else:
            refused = f"{address} is refused: {because}" if address == host else ""
            refused = refused or f"{host} leads to {address}, which is refused: {because}"
    if not permitted:
        raise RequestRefused(HTTPStatus.FORBIDDEN, "Refused by Corral", refused)
    return _first_that_answers(permitted, host, port)


def _first_that_answers(
    permitted: Sequence[tuple[int, tuple[Any, ...]]], host: str, port: int
) -> socket.socket:
    failure = ""
    timed_out = False
    for family, where in permitted:
        far = socket.socket(family, socket.SOCK_STREAM)
        far.settimeout(CONNECT_SECONDS)
        try:
            far.connect(where)
        except OSError as error:
            far.close()
            timed_out = isinstance(error, TimeoutError)
            failure = "no answer" if timed_out else error.strerror or str(error)
        else:
            return far
    status = HTTPStatus.GATEWAY_TIMEOUT if timed_out else HTTPStatus.BAD_GATEWAY
    raise RequestRefused(status, "No connection", f"{host} port {port} cannot be reached: {failure}")


class _Tunnel:
    """One connection of the workload, from its first byte to its last."""

    def __init__(self, near: socket.socket, until: float) -> None:
        self.near = near
        self.far: socket.socket | None = None
        self.head = b""
        self.opening = False
        self.leaving = False  # it has been told no and is listened to until it has heard that
        self.until = until
        # What waits to be written to, and which sides will say nothing more.
        self.waiting: dict[socket.socket, bytes] = {near: b""}
        self.finished: set[socket.socket] = set()

    def other(self, side: socket.socket) -> socket.socket | None:
        return self.far if side is self.near else self.near

    def events_of(self, side: socket.socket) -> int:
        """What to wait for: to read when the other side has taken everything, to write what waits."""
        if self.opening:
            return 0
        events = selectors.EVENT_WRITE if self.waiting[side] else 0
        other = self.other(side)
        if side not in self.finished and (other is None or not self.waiting[other]):
            events |= selectors.EVENT_READ
        return events

    @property
    def done(self) -> bool:
        return self.far is not None and len(self.finished) == 2 and not any(self.waiting.values())


class Proxy:
    """Serves connections of `listener` until the process ends; `connect` opens what is asked for.

    What comes from outside and goes there is counted in `relayed`; `told_no` hears why no host was
    reached.
    """

    def __init__(
        self,
        listener: socket.socket,
        connect: Connect,
        relayed: RelayedBytes | None = None,
        told_no: Callable[[str], None] | None = None,
    ) -> None:
        self._told_no = told_no
        self._relayed = relayed
        self._listener = listener
        self._connect = connect
        self._selector = selectors.DefaultSelector()
        self._tunnels: set[_Tunnel] = set()
        self._wanted: queue.SimpleQueue[tuple[_Tunnel, Wanted]] = queue.SimpleQueue()
        self._opened: queue.SimpleQueue[tuple[_Tunnel, Wanted, Outcome]] = queue.SimpleQueue()
        self._awake, self._wake = socket.socketpair()
        self._openers = 0
        self._opening = 0

    def serve(self) -> None:
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._awake, selectors.EVENT_READ)
        looked = time.monotonic()
        while True:
            # Nobody is looked after where nobody is: a door that is not used costs nothing.
            for key, events in self._selector.select(_LOOK_SECONDS if self._tunnels else None):
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj is self._awake:
                    self._take_opened()
                elif key.data in self._tunnels:
                    self._go_on(key.data, key.fileobj, events)  # type: ignore[arg-type]
            now = time.monotonic()
            if now - looked >= _LOOK_SECONDS:
                looked = now
                for tunnel in [tunnel for tunnel in self._tunnels if tunnel.until < now]:
                    self._run_out(tunnel)

    def _accept(self) -> None:
        try:
            near, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        if len(self._tunnels) >= 2 * CONNECTIONS:
            near.close()  # one that does not even listen to being told
            return
        near.setblocking(False)
        tunnel = _Tunnel(near, time.monotonic() + HEAD_SECONDS)
        self._tunnels.add(tunnel)
        if len(self._tunnels) > CONNECTIONS:
            words = f"this workload has {CONNECTIONS} connections open already; close some first"
            self._tell_no(
                tunnel, RequestRefused(HTTPStatus.SERVICE_UNAVAILABLE, "Too many connections", words)
            )
        self._listen(tunnel)

    def _go_on(self, tunnel: _Tunnel, side: socket.socket, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                sent = side.send(tunnel.waiting[side])
                tunnel.waiting[side] = tunnel.waiting[side][sent:]
                self._close_behind(tunnel, side)
            if events & selectors.EVENT_READ:
                self._read(tunnel, side)
        except BlockingIOError:
            pass
        except OSError:
            # One of the two is gone; the other is told by the end of its connection.
            self._drop(tunnel)
            return
        if tunnel.done:
            self._drop(tunnel)
        else:
            self._listen(tunnel)

    def _read(self, tunnel: _Tunnel, side: socket.socket) -> None:
        chunk = side.recv(_CHUNK_BYTES)
        other = tunnel.other(side)
        if other is not None:
            tunnel.until = time.monotonic() + IDLE_SECONDS
            if chunk:
                tunnel.waiting[other] += chunk
                self._count(chunk, received=side is tunnel.far)
            else:
                tunnel.finished.add(side)
                self._close_behind(tunnel, other)
        elif not chunk:
            raise ConnectionResetError
        elif not tunnel.leaving:
            self._read_head(tunnel, chunk)

    def _close_behind(self, tunnel: _Tunnel, side: socket.socket) -> None:
        """Nothing more will be written to a side whose other side has finished, once it has everything."""
        if not tunnel.waiting[side] and (tunnel.leaving or tunnel.other(side) in tunnel.finished):
            side.shutdown(socket.SHUT_WR)

    def _read_head(self, tunnel: _Tunnel, chunk: bytes) -> None:
        tunnel.head += chunk
        head, found, rest = tunnel.head.partition(END_OF_HEAD)
        try:
            if len(head) > LONGEST_HEAD_BYTES:
                status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
                raise RequestRefused(status, "Request too long", "the head of the request is too long")
            if found:
                wanted = read_request(head + found)
                tunnel.head = rest
                self._open(tunnel, wanted)
        except RequestRefused as refused:
            self._tell_no(tunnel, refused)

    def _open(self, tunnel: _Tunnel, wanted: Wanted) -> None:
        tunnel.opening = True
        self._opening += 1
        if self._opening > self._openers and self._openers < _OPENERS:
            self._openers += 1
            threading.Thread(target=self._open_next, daemon=True).start()
        self._wanted.put((tunnel, wanted))

    def _open_next(self) -> None:
        while True:
            tunnel, wanted = self._wanted.get()
            try:
                outcome: Outcome = self._connect(wanted.host, wanted.port)
            except RequestRefused as refused:
                outcome = refused
            except OSError as error:
                words = f"{wanted.host} cannot be reached: {error.strerror or error}"
                outcome = RequestRefused(HTTPStatus.BAD_GATEWAY, "No connection", words)
            self._opened.put((tunnel, wanted, outcome))
            self._wake.send(b"x")

    def _take_opened(self) -> None:
        for _ in self._awake.recv(_CHUNK_BYTES):
            tunnel, wanted, outcome = self._opened.get()
            self._opening -= 1
            tunnel.opening = False
            if isinstance(outcome, RequestRefused):
                self._tell_no(tunnel, outcome)
                if self._told_no is not None:
                    self._told_no(outcome.words)
            else:
                self._begin_relay(tunnel, wanted, outcome)
            self._listen(tunnel)

    def _begin_relay(self, tunnel: _Tunnel, wanted: Wanted, far: socket.socket) -> None:
        far.setblocking(False)
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tunnel.near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tunnel.far = far
        tunnel.until = time.monotonic() + IDLE_SECONDS
        tunnel.waiting[far] = (wanted.forward or b"") + tunnel.head
        self._count(tunnel.waiting[far], received=False)
        if wanted.forward is None:
            tunnel.waiting[tunnel.near] = b"HTTP/1.1 200 Connected\r\n\r\n"

    def _count(self, data: bytes, *, received: bool) -> None:
        if self._relayed is not None:
            (self._relayed.receive if received else self._relayed.send)(len(data))

    def _tell_no(self, tunnel: _Tunnel, refused: RequestRefused) -> None:
        tunnel.leaving = True
        tunnel.until = time.monotonic() + _LAST_WORDS_SECONDS
        tunnel.waiting[tunnel.near] = answer(refused.status, refused.reason, refused.words)

    def _run_out(self, tunnel: _Tunnel) -> None:
        if not tunnel.opening:  # a thread has it, and has a limit of its own
            self._drop(tunnel)

    def _listen(self, tunnel: _Tunnel) -> None:
        """Waits for what each side can do now; a side that can do nothing is not asked."""
        for side in (tunnel.near, tunnel.far):
            if side is None:
                continue
            events = tunnel.events_of(side)
            registered = side in self._selector.get_map()
            if events and registered:
                self._selector.modify(side, events, tunnel)
            elif events:
                self._selector.register(side, events, tunnel)
            elif registered:
                self._selector.unregister(side)

    def _drop(self, tunnel: _Tunnel) -> None:
        self._tunnels.discard(tunnel)
        for side in (tunnel.near, tunnel.far):
            if side is not None:
                if side in self._selector.get_map():
                    self._selector.unregister(side)
                side.close()
