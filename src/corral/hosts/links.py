"""Connections to other hosts: only to addresses that they announced, over TLS or this machine's loopback."""

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI, WebSocketException
from websockets.protocol import State

from corral.core.json_text import read_json
from corral.core.networks import is_loopback
from corral.core.refusals import Conflict, Forbidden, Invalid, Malformed, NotFound, Refusal, Unavailable
from corral.hosts.credentials import HostCredentials
from corral.hosts.link import ANSWER_HEADER, PATH
from corral.hosts.service import Host

PREFIX = "/api/v1"
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 30.0
LARGEST_MESSAGE = 1024 * 1024
_IDLE_SECONDS = 10.0
_MOST_IDLE = 4
_KINDS: dict[str, type[Refusal]] = {
    kind.slug: kind for kind in (NotFound, Conflict, Forbidden, Invalid, Malformed, Unavailable)
}


class _Direct(connect):
    """Goes where it was sent: an answer that leads elsewhere is none of a host."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class Link:
    """An open connection to a host that has proved to have our keys."""

    def __init__(self, host: Host, connection: ClientConnection) -> None:
        self.host = host
        self._connection = connection

    @property
    def is_open(self) -> bool:
        return self._connection.state is State.OPEN

    async def send(self, message: dict[str, Any] | bytes) -> None:
        try:
            await self._connection.send(message if isinstance(message, bytes) else json.dumps(message))
        except WebSocketException as error:
            raise _lost(self.host) from error

    async def receive(self) -> dict[str, Any] | bytes:
        """The next message; a refusal of the host is raised as what it is."""
        try:
            message = await self._connection.recv()
        except WebSocketException as error:
            raise _lost(self.host) from error
        if isinstance(message, bytes):
            return message
        answer = read_json(message)
        if not isinstance(answer, dict):
            raise _lost(self.host)
        if (refused := answer.get("refused")) is not None:
            kind = _KINDS.get(str(refused.get("slug")), Unavailable)
            raise kind(str(refused["detail"]), str(refused["remedy"]))
        return answer

    async def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Sends a request and returns the answer's head."""
        await self.send(request)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await self.receive()
        except TimeoutError:
            raise _lost(self.host) from None
        if isinstance(answer, bytes):
            raise _lost(self.host)
        return answer

    async def receive_bytes(self) -> bytes:
        message = await self.receive()
        if not isinstance(message, bytes):
            raise _lost(self.host)
        return message

    async def close(self) -> None:
        await self._connection.close()


class HostLinks:
    """Of one process. Short questions share connections that are open for some seconds anyway."""

    def __init__(self, credentials: HostCredentials, ca_file: Path | None = None) -> None:
        self._credentials = credentials
        self._ca_file = ca_file
        self._tls: ssl.SSLContext | None = None
        self._idle: dict[str, list[tuple[Link, float]]] = {}

    async def open(self, host: Host) -> Link:
        """A connection of one's own; whoever opens it closes it."""
        call, header = self._credentials.call(host.id)
        try:
            connection = await _Direct(
                _address(host),
                additional_headers={"Authorization": header},
                ssl=self._context() if host.url.startswith("https:") else None,
                open_timeout=CONNECT_SECONDS,
                close_timeout=1.0,
                max_size=LARGEST_MESSAGE,
                compression=None,
                proxy=None,
            )
        except (OSError, TimeoutError, InvalidHandshake, InvalidURI) as error:
            raise _unreachable(host, _cause(error)) from error
        response = connection.response
        proof = "" if response is None else response.headers.get(ANSWER_HEADER, "")
        if not self._credentials.is_answer(call, proof):
            await connection.close()
            raise _unreachable(host, f"whoever answers at {host.url} does not have the keys of this Corral")
        return Link(host, connection)

    @asynccontextmanager
    async def shared(self, host: Host) -> AsyncIterator[Link]:
        """For a question with an answer; the connection is used again if nothing went wrong."""
        link = self._unused(host) or await self.open(host)
        try:
            yield link
        except BaseException:
            await link.close()
            raise
        idle = self._idle.setdefault(host.id, [])
        if len(idle) < _MOST_IDLE:
            idle.append((link, time.monotonic()))
        else:
            await link.close()

    async def close(self) -> None:
        links = [link for idle in self._idle.values() for link, _ in idle]
        self._idle.clear()
        await asyncio.gather(*(link.close() for link in links))

    def _unused(self, host: Host) -> Link | None:
        idle = self._idle.get(host.id, [])
        while idle:
            link, since = idle.pop()
            if link.is_open and link.host == host and time.monotonic() - since < _IDLE_SECONDS:
                return link
        return None

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context(cafile=self._ca_file)
        return self._tls


def _address(host: Host) -> str:
    parts = urlsplit(host.url)
    name = parts.hostname or ""
    if parts.scheme == "https" and name:
        return f"wss://{parts.netloc}{PREFIX}{PATH}"
    if parts.scheme == "http" and is_loopback(name):
        return f"ws://{parts.netloc}{PREFIX}{PATH}"
    if not host.url:
        raise _unreachable(host, "it announces no address: set internal_url there")
    raise _unreachable(host, f"its address {host.url} is neither https nor on loopback")


def _cause(error: Exception) -> str:
    if isinstance(error, InvalidStatus):
        try:
            problem = read_json(bytes(error.response.body or b""))
            return f"it refuses: {str(problem['detail']).rstrip('.')}"
        except (ValueError, KeyError, TypeError):
            return f"it answers with {error.response.status_code}"
    if isinstance(error, TimeoutError):
        return f"no answer within {CONNECT_SECONDS:g} s"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error)[:200] or type(error).__name__


def _unreachable(host: Host, why: str) -> Unavailable:
    return Unavailable(
        f"The host {host.name} cannot be reached from here: {why}.",
        f"Look whether Corral runs on {host.name} (corral host list). Its work goes on.",
    )


def _lost(host: Host) -> Unavailable:
    return Unavailable(
        f"The connection to the host {host.name} was lost.", "Try again in some seconds; its work goes on."
    )
