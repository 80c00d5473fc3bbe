"""HTTP and WebSockets as uvicorn speaks them, with limits: bytes of a header, and time for everything.

Uvicorn reads a header of any size, waits for it without end, and keeps what a client does not read for ever.
"""

import asyncio
import json
from functools import partial
from http import HTTPStatus
from typing import Any, cast

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from corral.api.standing import DROP
from corral.net.connections import Connection, Writing

MOST_HEADER_BYTES = 64 * 1024
# What is given to the parser at once; a header is at most this much longer than it may be.
_SLICE = 16 * 1024
_MOST_FRAMES = 4096
_DEAF_SECONDS = 2.0
# A body may take this long for every byte of it, beside the time in which nothing may come.
_SECONDS_PER_BYTE = 1 / 1024


class Reading(FlowControl):
    """Reads no more from a client while what it has sent already waits for answers that come first."""

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__(transport)
        self._held = False
        self._owed = False

    def hold(self) -> None:
        self._held = True
        self.pause_reading()

    def release(self) -> None:
        self._held = False
        if self._owed:
            self._owed = False
            self.resume_reading()

    def resume_reading(self) -> None:
        """Also asked for by whoever waits for a body that has come, or for the end of the connection."""
        if self._held:
            self._owed = True
        else:
            super().resume_reading()


class Http(HttpToolsProtocol):
    flow: Reading

    def __init__(self, *args: Any, connection: Connection, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._connection = connection
        self._begun = self.loop.time()
        self._in_header = True  # waiting for one, or in the middle of it
        self._in_body = False
        self._heard = False  # anything of the request that is waited for
        self._header_bytes = 0
        self._body_bytes = 0
        self._without_body = 0
        self._held = b""
        self._deaf_since: float | None = None  # when it was refused: what still comes is thrown away
        self._writing: Writing | None = None
        self.ws_protocol_class = cast("Any", partial(WebSocket, connection=connection))

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = Reading(transport)
        self._writing = Writing(transport, self._connection.limits.stalled_seconds)
        self._connection.speaker = self

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.gone()
        self._held = b""
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._deaf_since is None:
            self._unset_keepalive_if_required()
            self._heard = True
            self._held += data
            self._read_on()

    def _read_on(self) -> None:
        """Gives the parser slice by slice, as long as no request waits for the one before it."""
        while self._held and not self.pipeline and self._deaf_since is None:
            piece, self._held = self._held[:_SLICE], self._held[_SLICE:]
            begun, self._begun_here = self._in_header, False
            if not self._feed(piece):
                self._held = b""
                break
            if begun and self._in_header and not self._begun_here:
                self._header_bytes += len(piece)
            self._without_body += len(piece) if self._in_body else 0
            if max(self._header_bytes, self._without_body) > MOST_HEADER_BYTES:
                self._refuse(
                    431, f"The header of a request has at most {MOST_HEADER_BYTES // 1024} KiB.", "Send less."
                )
        if self._held:
            self.flow.hold()
        else:
            self.flow.release()

    def _feed(self, piece: bytes) -> bool:
        """False when this was the last that is read here."""
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            if self._should_upgrade():
                self._connection.work()
                self.handle_websocket_upgrade()
            else:  # answered as if it had not been asked for, and then nothing more
                self.cycle.keep_alive = False
            return False
        except httptools.HttpParserError as error:
            self._refuse(400, f"This is no HTTP request: {str(error)[:200]}.", "Send it as HTTP/1.1.")
            return False
        return True

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        super().on_message_begin()
        cast("Any", self.scope)["extensions"] = {DROP: self.transport.abort}
        if not self._in_header:
            self._begun = self.loop.time()
        self._in_header, self._begun_here, self._header_bytes = True, True, 0

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_header:  # what comes after the body is nobody's: it was not there when it was checked
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_header, self._in_body = False, True
        self._begun, self._body_bytes, self._without_body = self.loop.time(), 0, 0
        self._connection.work()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        self._without_body = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body, self._without_body = False, 0
        super().on_message_complete()
        self._wait_if_done()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait_if_done()
        if self._held:
            self.loop.call_soon(self._read_on)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._writing is not None:
            self._writing.goes_on()

    def _wait_if_done(self) -> None:
        """Both the request and its answer are over: the next one is waited for."""
        if (
            not self.pipeline
            and not self._in_body
            and self.cycle is not None
            and self.cycle.response_complete
        ):
            self._in_header, self._header_bytes, self._begun = True, 0, self.loop.time()
            self._heard = bool(self._held)
            self._connection.wait()

    # The sweep

    def look(self, now: float) -> None:
        assert self._writing is not None
        if self._writing.is_stalled(now):
            self.transport.abort()
        elif self._deaf_since is not None:
            if now - self._deaf_since >= _DEAF_SECONDS:
                self.transport.abort()
        elif self.transport.is_closing():
            return
        elif self._in_body:
            self._look_at_body(now)
        elif (
            self._in_header
            and self._is_waiting
            and now - self._begun >= self._connection.limits.header_seconds
        ):
            if self._heard:
                self._refuse(408, "The rest of the request did not come.", "Send it at once.")
            else:
                self.transport.close()

    @property
    def _is_waiting(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _look_at_body(self, now: float) -> None:
        if self.flow.read_paused:
            self._begun, self._body_bytes = now, 0  # it is we who do not read
            return
        allowed = self._connection.limits.stalled_seconds + self._body_bytes * _SECONDS_PER_BYTE
        if now - self._begun < allowed:
            return
        if self.cycle is not None and self.cycle.response_started:
            self.transport.abort()
        else:
            self._refuse(408, "The body of the request comes too slowly, or not at all.", "Try again.")

    def end(self) -> None:
        self.transport.abort()

    def _refuse(self, status: int, detail: str, remedy: str) -> None:
        """Answers without the application. What still comes is dropped, but read: else no answer arrives."""
        if self.transport.is_closing() or self._deaf_since is not None:
            return
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.abort()  # in the middle of another answer
            return
        self._held, self._deaf_since = b"", self.loop.time()
        if self.cycle is not None:
            self.cycle.disconnected = True  # the application hears of it as of a client that went away
            self.cycle.message_event.set()
        self._connection.wait()
        self.flow.release()
        self.flow.resume_reading()
        self.transport.write(_problem(status, detail, remedy))
        if self.transport.can_write_eof():
            self.transport.write_eof()


class WebSocket(WebSocketsSansIOProtocol):
    def __init__(self, *args: Any, connection: Connection, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._connection = connection
        self._writing: Writing | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._writing = Writing(self.transport, self._connection.limits.stalled_seconds)
        self._connection.speaker = self

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.gone()
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._writing is not None:
            self._writing.goes_on()

    async def run_asgi(self) -> None:
        cast("Any", self.scope).setdefault("extensions", {})[DROP] = self.transport.abort
        await super().run_asgi()

    def handle_cont(self, event: Any) -> None:
        if len(self.frames) >= _MOST_FRAMES:
            self.transport.abort()  # a message in pieces of nothing
            return
        super().handle_cont(event)

    def look(self, now: float) -> None:
        assert self._writing is not None
        if self._writing.is_stalled(now):
            self.transport.abort()

    def end(self) -> None:
        self.transport.abort()


def _problem(status: int, detail: str, remedy: str) -> bytes:
    title = HTTPStatus(status).phrase
    slug = title.lower().replace(" ", "-")
    told = {"type": f"/problems/{slug}", "title": title, "status": status, "detail": detail, "remedy": remedy}
    body = json.dumps(told).encode()
    head = (
        f"HTTP/1.1 {status} {title}\r\ncontent-type: application/problem+json\r\n"
        f"content-length: {len(body)}\r\nx-content-type-options: nosniff\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
