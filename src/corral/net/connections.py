"""Who may be connected: so many in all, so many from one address, and nobody for ever without saying a thing.

Connections are counted from the moment they are accepted, TLS handshake included. When all places are taken,
the one that has waited longest without a request makes room: whoever only holds connections open shuts nobody
out.
"""

import asyncio
import contextlib
import errno
import ipaddress
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog

log = structlog.get_logger("corral.server")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# For this machine alone: health checks, and whoever operates it.
RESERVED = 32
# Descriptors that are no connections of clients: database, logs, supervisors, and as many again for what
# clients are connected to (commands and ports of running work).
_OTHER_FILES = 512
_AT_ONCE = 64
_REST_SECONDS = 0.2
_SWEEP_SECONDS = 1.0
_FULL = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


@dataclass(frozen=True, slots=True)
class Limits:
    connections: int = 2000
    per_address: int = 500
    header_seconds: float = 20.0
    stalled_seconds: float = 30.0

    def within(self, files: int) -> "Limits":
        """The same for a process that may open so many files."""
        most = max(2 * RESERVED, (files - _OTHER_FILES) // 2)
        return Limits(
            min(self.connections, most), self.per_address, self.header_seconds, self.stalled_seconds
        )


class Watched(Protocol):
    """What a connection is to the sweep, whichever protocol it speaks."""

    def look(self, now: float) -> None:
        """Ends it when its time is up."""

    def end(self) -> None:
        """Ends it at once: its place is needed."""


class Writing:
    """Tells when a client has read nothing for too long of what waits for it."""

    def __init__(self, transport: asyncio.Transport, seconds: float) -> None:
        self._transport = transport
        self._seconds = seconds
        self._left = 0
        self._since: float | None = None

    def goes_on(self) -> None:
        """The client has read again."""
        self._since = None

    def is_stalled(self, now: float) -> bool:
        left = self._transport.get_write_buffer_size()
        if left == 0:
            self._since = None
        elif self._since is None or left < self._left:
            self._since = now
        self._left = left
        return self._since is not None and now - self._since >= self._seconds


class Connection:
    """One that was accepted. `speaker` is its protocol, once it has one."""

    __slots__ = ("address", "limits", "places", "speaker")

    def __init__(self, places: "ConnectionSlots", address: str) -> None:
        self.places = places
        self.limits = places.limits
        self.address = address
        self.speaker: Watched | None = None

    def wait(self) -> None:
        """There is no request on it now."""
        self.places.waiting.setdefault(self)

    def work(self) -> None:
        """A request has arrived on it."""
        self.places.waiting.pop(self, None)

    def gone(self) -> None:
        self.places.release(self)


class ConnectionSlots:
    def __init__(self, limits: Limits, proxies: Sequence[Network] = ()) -> None:
        self.limits = limits
        self.open: set[Connection] = set()
        # In the order in which they began to wait.
        self.waiting: dict[Connection, None] = {}
        self._proxies = tuple(proxies)
        self._from: Counter[str] = Counter()

    def admit(self, address: str) -> Connection | None:
        """A place for whoever comes from there; None if there is none."""
        local, proxy = self._standing(address)
        if not (local or proxy) and self._from[address] >= self.limits.per_address:
            return None
        most = self.limits.connections - (0 if local else RESERVED)
        if len(self.open) >= most and not self._make_room():
            return None
        connection = Connection(self, address)
        self.open.add(connection)
        self._from[address] += 1
        connection.wait()
        return connection

    def release(self, connection: Connection) -> None:
        if connection in self.open:
            self.open.discard(connection)
            self.waiting.pop(connection, None)
            self._from[connection.address] -= 1
            if not self._from[connection.address]:
                del self._from[connection.address]

    def look(self, now: float) -> None:
        for connection in tuple(self.open):
            if connection.speaker is not None:
                connection.speaker.look(now)

    def _make_room(self) -> bool:
        for connection in self.waiting:
            speaker = connection.speaker
            self.release(connection)
            if speaker is not None:
                speaker.end()
            return True
        return False

    def _standing(self, address: str) -> tuple[bool, bool]:
        try:
            parsed = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return False, False
        mapped = getattr(parsed, "ipv4_mapped", None)
        parsed = mapped or parsed
        return parsed.is_loopback, any(parsed in network for network in self._proxies)


class _Opening:
    """A connection before it has its protocol: while TLS is agreed on."""

    def __init__(self, task: "asyncio.Task[None]") -> None:
        self._task = task

    def look(self, now: float) -> None:
        """It has an end of its own."""

    def end(self) -> None:
        self._task.cancel()


class Acceptor:
    """Takes connections from the listening socket. To uvicorn it is one of its servers."""

    def __init__(
        self,
        listener: socket.socket,
        places: ConnectionSlots,
        protocol: Callable[[Connection], asyncio.Protocol],
        tls: ssl.SSLContext | None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._listener = listener
        self._places = places
        self._protocol = protocol
        self._tls = tls
        self._opening: set[asyncio.Task[None]] = set()
        self._later: asyncio.TimerHandle | None = None
        listener.setblocking(False)
        self._loop.add_reader(listener.fileno(), self._accept)
        self._sweep = self._loop.call_later(_SWEEP_SECONDS, self._look)

    def close(self) -> None:
        self._loop.remove_reader(self._listener.fileno())
        self._sweep.cancel()
        if self._later is not None:
            self._later.cancel()

    async def wait_closed(self) -> None:
        for task in tuple(self._opening):
            task.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)

    def _look(self) -> None:
        self._places.look(self._loop.time())
        self._sweep = self._loop.call_later(_SWEEP_SECONDS, self._look)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, address = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _FULL:
                    raise
                log.error("no connection can be accepted", error=error.strerror)
                self._rest()
                return
            self._take(accepted, str(address[0]))

    def _rest(self) -> None:
        """Descriptors are short: goes on in a moment, instead of failing in circles."""
        self._loop.remove_reader(self._listener.fileno())
        self._later = self._loop.call_later(
            _REST_SECONDS, self._loop.add_reader, self._listener.fileno(), self._accept
        )

    def _take(self, accepted: socket.socket, address: str) -> None:
        connection = self._places.admit(address)
        if connection is None:
            log.debug("connection refused: no place", address=address)
            accepted.close()
            return
        accepted.setblocking(False)
        with contextlib.suppress(OSError):
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = self._loop.create_task(self._open(accepted, connection))
        connection.speaker = _Opening(task)
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, accepted: socket.socket, connection: Connection) -> None:
        timeout = self._places.limits.header_seconds if self._tls else None
        try:
            await self._loop.connect_accepted_socket(
                lambda: self._protocol(connection), accepted, ssl=self._tls, ssl_handshake_timeout=timeout
            )
        except (OSError, asyncio.CancelledError):  # also a handshake that failed, or took too long
            connection.gone()
            accepted.close()
