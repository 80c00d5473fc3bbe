"""Connections to workloads: one request at a time on each, kept for the next one if the workload lets us."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Protocol

import httptools

from corral.gateway.heads import Header, MalformedError, ResponseHead, read_response

_MOST_IDLE = 8  # for each port of a workload
_MOST_HEADER_BYTES = 256 * 1024


class Client(Protocol):
    """Whoever waits for an answer."""

    def answer(self, head: ResponseHead) -> None: ...
    def answer_body(self, data: bytes) -> None: ...
    def answer_over(self) -> None: ...
    def flush(self) -> None: ...
    def answer_failed(self, why: str) -> None:
        """The workload ended the connection, or what it said is no HTTP."""

    def switched(self, rest: bytes) -> None:
        """From here on it is a WebSocket; `rest` is what came with the answer."""

    def tunnelled(self, data: bytes) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...


class Upstream(asyncio.Protocol):
    """One connection to a port of a workload."""

    transport: asyncio.Transport

    def __init__(self, pool: "Pool", key: "Key", closed: Callable[[], None]) -> None:
        self._pool = pool
        self._key = key
        self._closed = closed
        self._client: Client | None = None
        self._method = b""
        self._is_open = True
        self._is_tunnel = False
        self.requests = 0
        self._new_parser()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def ask(self, client: Client, method: bytes, data: bytes) -> None:
        """Sends a head, with as much of its body as is there already."""
        self._client, self._method = client, method
        self.requests += 1
        self._head: ResponseHead | None = None
        self._raw = 0
        self._header_bytes = 0
        self.transport.write(data)

    def write(self, data: bytes) -> None:
        self.transport.write(data)

    def abandon(self) -> None:
        """Nobody waits for the answer any more."""
        self._client = None
        self._is_open = False
        self.transport.abort()

    # What the workload says

    def data_received(self, data: bytes) -> None:
        client = self._client
        if client is None:
            self.transport.abort()  # it speaks without being asked
        elif self._is_tunnel:
            client.tunnelled(data)
        elif self._raw and len(data) <= self._raw:
            self._raw -= len(data)
            client.answer_body(data)
            if not self._raw:
                self._new_parser()
                self._over()
        elif self._raw:
            self._fail("The workload sent more than it announced.")
        else:
            self._feed(data)

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._switch(data[upgrade.args[0] :])
        except (httptools.HttpParserError, MalformedError) as error:
            if self._client is not None:
                self._fail(f"What the workload answers is no HTTP: {str(error)[:200]}.")
            else:
                self.transport.abort()
        else:
            if self._client is None:
                return
            self._client.flush()
            self._header_bytes += len(data) if self._head is None else 0
            if self._header_bytes > _MOST_HEADER_BYTES:
                self._fail("The header of the workload's answer is too large.")

    def _switch(self, rest: bytes) -> None:
        if self._client is None:
            return
        self._is_tunnel = True
        self._client.switched(rest)

    def eof_received(self) -> None:
        """Closed by the workload: `connection_lost` says what that means."""

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_open = False
        self._pool.forget(self)
        self._closed()
        client = self._client
        if client is None:
            return
        if self._is_tunnel or (self._head is not None and self._until_end and exc is None):
            self._client = None
            client.answer_over()
        else:
            self._client = None
            client.answer_failed("The workload closed the connection.")

    def pause_writing(self) -> None:
        if self._client is not None:
            self._client.pause_reading()

    def resume_writing(self) -> None:
        if self._client is not None:
            self._client.resume_reading()

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        self._status_text = b""
        self._headers: list[Header] = []

    def on_status(self, text: bytes) -> None:
        self._status_text += text

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head is None:  # trailers are nobody's
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if self._client is None or self._head is not None:
            raise MalformedError("it answers what was not asked")
        head = read_response(self._parser.get_status_code(), self._status_text, self._headers)
        if head.status < 200 and head.status != 101:
            self._client.answer(head)  # another one follows
            return
        self._head = head
        has_body = head.has_body(self._method)
        self._until_end = has_body and head.content_length is None and not head.is_chunked
        self._reusable = self._parser.should_keep_alive() and (has_body or self._method != b"HEAD")
        if has_body and head.content_length is not None:
            self._raw = head.content_length
        self._client.answer(head)
        if self._method == b"HEAD" and self._client is not None:
            self._over()  # the parser would wait for the body

    def on_body(self, body: bytes) -> None:
        if self._client is not None:
            if self._raw:
                self._raw -= len(body)
            self._client.answer_body(body)

    def on_message_complete(self) -> None:
        if self._head is not None and self._head.status != 101 and self._client is not None:
            self._over()

    # The end

    def _over(self) -> None:
        client, self._client = self._client, None
        assert client is not None
        if self._reusable and self._is_open and not self.transport.is_closing():
            self._pool.keep(self._key, self)
        else:
            self.transport.close()
        client.answer_over()

    def _fail(self, why: str) -> None:
        client, self._client = self._client, None
        self.transport.abort()
        if client is not None:
            client.answer_failed(why)

    def _new_parser(self) -> None:
        self._parser = httptools.HttpResponseParser(self)

    @property
    def is_usable(self) -> bool:
        return self._is_open and not self.transport.is_closing()


Key = tuple[str, int]  # run and port


class Pool:
    """Connections that wait for the next request."""

    def __init__(self) -> None:
        self._idle: dict[Key, deque[Upstream]] = defaultdict(deque)

    def take(self, key: Key) -> Upstream | None:
        idle = self._idle.get(key)
        while idle:
            upstream = idle.pop()
            if upstream.is_usable:
                return upstream
        return None

    def keep(self, key: Key, upstream: Upstream) -> None:
        idle = self._idle[key]
        if len(idle) >= _MOST_IDLE:
            idle.popleft().abandon()
        idle.append(upstream)

    def forget(self, upstream: Upstream) -> None:
        key = upstream._key  # noqa: SLF001 - the two belong together
        idle = self._idle.get(key)
        if idle is not None and upstream in idle:
            idle.remove(upstream)
        if not idle:
            self._idle.pop(key, None)

    def close(self) -> None:
        for idle in tuple(self._idle.values()):
            for upstream in tuple(idle):
                upstream.abandon()
