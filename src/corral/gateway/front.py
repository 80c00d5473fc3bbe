"""Connections of clients: reads requests, has them answered, one at a time.

A request that comes before the one before it is answered is not read: the connection ends after that answer,
and whoever sends so sends again. No browser does.
"""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Protocol

import httptools

from corral.gateway.heads import (
    Addition,
    Header,
    MalformedError,
    RequestHead,
    ResponseHead,
    read_request,
    request_bytes,
    response_bytes,
)
from corral.gateway.upstream import Upstream
from corral.net.connections import Connection, Writing

MOST_HEADER_BYTES = 64 * 1024
_SLICE = 64 * 1024
# A browser's connection that has no request on it, and a WebSocket on which nobody says anything.
KEEP_SECONDS = 75.0
SILENT_SECONDS = 3600.0


class Refused(Exception):
    """A request that is answered by the gateway itself."""

    def __init__(self, status: int, body: bytes, headers: tuple[Header, ...] = ()) -> None:
        super().__init__(status)
        self.status = status
        self.body = body
        self.headers = headers


class Target(Protocol):
    """Where a request goes, once it may."""

    addition: Addition
    answer_headers: tuple[Header, ...]
    own_cookies: frozenset[bytes]

    def take(self) -> Upstream | None:
        """A connection that waits for a request."""

    async def connect(self) -> Upstream: ...

    def entered(self, front: "Front") -> None:
        """The request goes out now; `left` follows when it is over."""

    def left(self, front: "Front") -> None: ...


Later = Callable[[], Awaitable[Target]]


class Router(Protocol):
    def route(self, head: RequestHead, front: "Front") -> Target | Later:
        """Raises Refused; so does what it returns where something has to be asked, or a body read, first."""


class Front(asyncio.Protocol):
    """One connection of a client."""

    transport: asyncio.Transport

    def __init__(self, router: Router, connection: Connection) -> None:
        self._router = router
        self._connection = connection
        self._parser = httptools.HttpRequestParser(self)
        self._loop = asyncio.get_running_loop()
        self._head: RequestHead | None = None
        self._upstream: Upstream | None = None
        self._target: Target | None = None
        self._task: asyncio.Task[None] | None = None
        self._waiting = bytearray()  # of the body, until there is a connection
        self._is_whole = True  # the request has come to its end
        self._is_tunnel = False
        self._has_answered = False  # the head of the answer is out
        self._ends_after = False
        self._chunked = False
        self._unsent = b""  # goes out with what follows it
        self._is_extra = False
        self._header_bytes = 0
        self._paused_by: set[str] = set()
        self._body_reader: asyncio.Future[bytes] | None = None
        self.client = b""

    # The transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self.client = self._connection.address.encode()
        self._connection.speaker = self
        self._since = self._loop.time()  # the wait for a request, the last word of a WebSocket
        self._writing = Writing(self.transport, self._connection.limits.stalled_seconds)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._connection.gone()
        if self._task is not None:
            self._task.cancel()
        if self._upstream is not None:
            self._upstream.abandon()
            self._upstream = None
        self._leave()

    def data_received(self, data: bytes) -> None:
        if self._is_tunnel:
            self._since = self._loop.time()
            if self._upstream is not None:
                self._upstream.write(data)
            return
        if not self._is_whole:
            self._since = self._loop.time()
        for begin in range(0, len(data), _SLICE):
            piece = data if len(data) <= _SLICE else data[begin : begin + _SLICE]
            if not self._feed(piece):
                return

    def _feed(self, piece: bytes) -> bool:
        if self._head is None:
            self._header_bytes += len(piece)
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserUpgrade as upgrade:
            self._ends_after = True  # whatever comes of it, no request follows
            rest = piece[upgrade.args[0] :]
            if rest and self._head is not None and self._head.websocket:
                self._send_body(rest)
            return False
        except httptools.HttpParserError as error:
            self._refuse_malformed(f"This is no HTTP request: {str(error)[:200]}.")
            return False
        except MalformedError as error:
            self._refuse_malformed(str(error))
            return False
        if self._head is None and self._header_bytes > MOST_HEADER_BYTES:
            self._refuse_malformed(
                f"The header of a request has at most {MOST_HEADER_BYTES // 1024} KiB.", 431
            )
            return False
        return not self.transport.is_closing()

    def pause_writing(self) -> None:
        if self._upstream is not None:
            self._upstream.transport.pause_reading()

    def resume_writing(self) -> None:
        self._writing.goes_on()
        if self._upstream is not None:
            self._upstream.transport.resume_reading()

    # The sweep

    def look(self, now: float) -> None:
        """Ends it when its time is up: a head that does not come, an answer that nobody reads, silence."""
        if self._writing.is_stalled(now):
            self.transport.abort()
        elif self._is_tunnel:
            if now - self._since >= SILENT_SECONDS:
                self.transport.abort()
        elif not self._is_whole and self._head is not None:
            # A body that does not come; one that we do not read is another matter.
            if self._paused_by:
                self._since = now
            elif now - self._since >= self._connection.limits.stalled_seconds:
                self.transport.abort()
        elif self._head is None and not self.transport.is_closing():
            begun = self._header_bytes > 0
            if now - self._since >= (self._connection.limits.header_seconds if begun else KEEP_SECONDS):
                self.transport.abort()

    def end(self) -> None:
        self.transport.abort()

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        if self._head is not None or not self._is_whole:
            self._ends_after = self._is_extra = True
            return
        self._is_extra = self._is_whole = False
        self._url = b""
        self._headers: list[Header] = []

    def on_url(self, url: bytes) -> None:
        if not self._is_extra:
            self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head is None and not self._is_extra:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if self._is_extra:
            return
        parser = self._parser
        head = read_request(parser.get_method(), self._url, parser.get_http_version(), self._headers)
        self._head = head
        self._header_bytes = 0
        self._has_answered = False
        self._since = self._loop.time()
        self._connection.work()
        if not parser.should_keep_alive():
            self._ends_after = True
        try:
            found = self._router.route(head, self)
        except Refused as refused:
            self._answer_here(refused)
            return
        if callable(found):
            self._route_later(found)
        else:
            self._go(found)

    def on_body(self, body: bytes) -> None:
        if not self._is_extra:
            self._send_body(body)

    def on_message_complete(self) -> None:
        if self._is_extra:
            return
        self._is_whole = True
        if self._head is None:
            return  # answered already
        if self._head.is_chunked and self._upstream is not None:
            self._upstream.write(b"0\r\n\r\n")
        if self._body_reader is not None and not self._body_reader.done():
            self._body_reader.set_result(bytes(self._waiting))

    def _send_body(self, data: bytes) -> None:
        if self._head is None:
            return  # answered already: what still comes is dropped
        if self._upstream is None:
            self._waiting += data
            if self._body_reader is not None and len(self._waiting) > self._most_body:
                self._body_reader.set_exception(MalformedError("The form is too large."))
                self._body_reader = None
        elif self._head.is_chunked:
            self._upstream.write(b"%x\r\n%b\r\n" % (len(data), data))
        else:
            self._upstream.write(data)

    # Where the request goes

    async def body(self, most: int) -> bytes:
        """The whole body of a request that the gateway answers itself."""
        if len(self._waiting) > most:
            raise MalformedError("The form is too large.")
        if self._is_whole:
            return bytes(self._waiting)
        self._most_body = most
        self._body_reader = self._loop.create_future()
        self._resume("routing")
        return await self._body_reader

    def _route_later(self, later: Later) -> None:
        self._pause("routing")
        self._task = self._loop.create_task(self._route(later))

    async def _route(self, later: Later) -> None:
        try:
            target = await later()
            upstream = target.take() or await target.connect()
        except Refused as refused:
            self._answer_here(refused)
        except MalformedError as error:
            self._refuse_malformed(str(error))
        else:
            self._ask(target, upstream)
        finally:
            self._task = None
            self._resume("routing")

    def _go(self, target: Target) -> None:
        upstream = target.take()
        if upstream is not None:
            self._ask(target, upstream)
            return

        async def same() -> Target:
            return target

        self._route_later(same)

    def _ask(self, target: Target, upstream: Upstream) -> None:
        head = self._head
        if head is None or self.transport.is_closing():
            upstream.abandon()
            return
        self._target, self._upstream = target, upstream
        target.entered(self)
        data = request_bytes(head, target.addition)
        if self._waiting:
            body = bytes(self._waiting)
            self._waiting.clear()
            data += b"%x\r\n%b\r\n" % (len(body), body) if head.is_chunked else body
        if head.is_chunked and self._is_whole:
            data += b"0\r\n\r\n"
        upstream.ask(self, head.method, data)

    # What the workload answers

    def answer(self, head: ResponseHead) -> None:
        request, target = self._head, self._target
        assert request is not None
        assert target is not None
        final = head.status >= 200
        if head.status == 101 and not request.websocket:
            raise MalformedError("it switches to another protocol without being asked")
        has_body = head.has_body(request.method)
        self._chunked = has_body and head.content_length is None and request.version == "1.1"
        if final and has_body and head.content_length is None and request.version != "1.1":
            self._ends_after = True
        if final and not self._is_whole:
            self._ends_after = True  # it answers before it has read everything
        self._has_answered = self._has_answered or final
        self._unsent += response_bytes(
            head,
            chunked=self._chunked,
            close=self._ends_after,
            add=target.answer_headers,
            own_cookies=target.own_cookies,
        )

    def answer_body(self, data: bytes) -> None:
        if self._chunked:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        if self._unsent:
            data, self._unsent = self._unsent + data, b""
        self.transport.write(data)

    def answer_over(self) -> None:
        self._upstream = None
        if self._is_tunnel:
            self.transport.close()
            return
        if self._chunked:
            self._unsent += b"0\r\n\r\n"
        self.flush()
        self._done()

    def flush(self) -> None:
        """Sends the head of an answer by itself, if nothing of the body came with it."""
        if self._unsent:
            data, self._unsent = self._unsent, b""
            self.transport.write(data)

    def answer_failed(self, why: str) -> None:
        upstream, self._upstream = self._upstream, None
        if self._has_answered:
            self.transport.abort()  # the client sees that it is not whole
            return
        head, target = self._head, self._target
        if (
            head is not None
            and target is not None
            and upstream is not None
            and upstream.requests > 1
            and head.is_repeatable
            and not head.websocket
        ):
            # It was closed while it waited for us: nothing of this request was read.
            self._leave()
            self._go(_Anew(target))
            return
        self._answer_here(Refused(502, why.encode()))

    def switched(self, rest: bytes) -> None:
        self._is_tunnel = True
        self._unsent += rest
        self.flush()

    def tunnelled(self, data: bytes) -> None:
        self._since = self._loop.time()
        self.transport.write(data)

    def pause_reading(self) -> None:
        self._pause("workload")

    def resume_reading(self) -> None:
        self._resume("workload")

    # Answers of the gateway, and the end

    def _answer_here(self, refused: Refused) -> None:
        if self.transport.is_closing():
            return
        close = self._ends_after or not self._is_whole
        self._ends_after = close
        head = [b"HTTP/1.1 %d " % refused.status + HTTPStatus(refused.status).phrase.encode()]
        head += [name + b": " + value for name, value in refused.headers]
        head.append(b"content-length: %d" % len(refused.body))
        head.append(b"connection: close" if close else b"connection: keep-alive")
        data = b"\r\n".join(head) + b"\r\n\r\n"
        if self._head is None or self._head.method != b"HEAD":
            data += refused.body
        self.transport.write(data)
        self._done()

    def _refuse_malformed(self, why: str, status: int = 400) -> None:
        if self._head is not None and self._has_answered:
            self.transport.abort()
            return
        self._ends_after = True
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
        if self._upstream is not None:
            self._upstream.abandon()
            self._upstream = None
        self._answer_here(Refused(status, why.encode() + b"\n", ((b"content-type", b"text/plain"),)))

    def _leave(self) -> None:
        if self._target is not None:
            self._target.left(self)
            self._target = None

    def _done(self) -> None:
        self._leave()
        self._head = None
        self._since = self._loop.time()
        self._connection.wait()
        self._chunked = False
        self._waiting.clear()
        self._body_reader = None
        self._resume("workload")
        if self._ends_after:
            self.transport.close()

    def _pause(self, why: str) -> None:
        if not self._paused_by:
            self.transport.pause_reading()
        self._paused_by.add(why)

    def _resume(self, why: str) -> None:
        if why in self._paused_by:
            self._paused_by.discard(why)
            if not self._paused_by and not self.transport.is_closing():
                self.transport.resume_reading()


class _Anew:
    """The same target on a new connection."""

    def __init__(self, target: Target) -> None:
        self.addition = target.addition
        self.answer_headers = target.answer_headers
        self.own_cookies = target.own_cookies
        self.connect = target.connect
        self.entered = target.entered
        self.left = target.left

    def take(self) -> None:
        return None
