"""What a host does for the others: reach into its work, and send content that it keeps. One WebSocket each.

The caller sends a request as JSON; the answer is JSON, too, and bytes follow as binary messages:

    {"call": "logs", "zone", "run", "after", "limit"}      {"offset", "next", "dropped", "ended"} and the data
    {"call": "follow", "zone", "run", "after"}             the same again and again; {"over": true} at the end
    {"call": "content", "digest"}                          {"size"} and the data, in pieces
    {"call": "execute", "zone", "run", "command", "terminal"}
        {"ok": true}; input is binary, beside {"end_of_input": true} and {"terminal": [rows, columns]};
        output begins with the byte 1 (output) or 2 (errors); at last {"exit_code"}
    {"call": "dial", "zone", "run", "port"}
        {"ok": true}; binary both ways; {"end_of_input": true} and {"end_of_output": true}

A refusal is {"refused": …} in place of the answer. After logs and content another request may follow.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from corral.api.callers import ApiContext, request_origin
from corral.api.parts import part_of
from corral.api.problems import refusal_response
from corral.api.sockets import until_first
from corral.core.json_text import read_json
from corral.core.refusals import Malformed, NotFound, Refusal
from corral.engines.interface import Reach
from corral.engines.reports import LogChunk
from corral.engines.sessions import Session, Terminal
from corral.hosts.credentials import HostCredentials

PATH = "/hosts/link"
ANSWER_HEADER = "X-Corral-Answer"
OUTPUT, ERRORS = b"\x01", b"\x02"
PIECE_BYTES = 256 * 1024
_READ_BYTES = 65536
_LAST_WORDS_SECONDS = 2.0

# The engine of a zone, if it is this host that reaches into its work.
EngineHere = Callable[[str], Reach | None]
# Where content with this SHA-256 is, or would be.
ContentPath = Callable[[str], Path]


@dataclass(frozen=True, slots=True)
class HostService:
    """What other hosts may ask of this one."""

    name: str
    credentials: HostCredentials
    engine: EngineHere
    content: ContentPath


async def serve_link(websocket: WebSocket) -> None:
    service = part_of(websocket, HostService)
    try:
        call = service.credentials.accept(websocket.headers.get("authorization"))
    except Refusal as refusal:
        answer = refusal_response(refusal, request_origin(websocket).request_id)
        await websocket.send_denial_response(answer)
        return
    proof = (ANSWER_HEADER.lower().encode(), service.credentials.answer(call).encode())
    await websocket.accept(headers=[proof])
    with contextlib.suppress(WebSocketDisconnect):
        await until_first(_serve(websocket, service), part_of(websocket, ApiContext).stopping.wait())
        await websocket.close()


async def _serve(websocket: WebSocket, service: HostService) -> None:
    while True:
        request = _read(await websocket.receive_text())
        try:
            goes_on = await _answered(websocket, service, request)
        except Refusal as refusal:
            told = {"slug": refusal.slug, "detail": refusal.detail, "remedy": refusal.remedy}
            await _tell(websocket, {"refused": told})
            return
        if not goes_on:
            return


async def _answered(websocket: WebSocket, service: HostService, request: dict[str, Any]) -> bool:
    """Whether another request may follow."""
    try:
        return await _CALLS[request["call"]](websocket, service, request)
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed(f"{service.name} cannot read this call.", "Use the same version.") from error


def _read(text: str) -> dict[str, Any]:
    try:
        request = read_json(text)
    except ValueError:
        request = None
    if not isinstance(request, dict) or request.get("call") not in _CALLS:
        raise WebSocketDisconnect  # a host of another version; it sees that the connection ends
    return request


async def _logs(websocket: WebSocket, service: HostService, request: dict[str, Any]) -> bool:
    limit = min(int(request["limit"]), PIECE_BYTES * 2)
    chunk = await _engine(service, request).logs(str(request["run"]), int(request["after"]), limit)
    await _send_chunk(websocket, chunk)
    return True


async def _follow(websocket: WebSocket, service: HostService, request: dict[str, Any]) -> bool:
    async def send_all() -> None:
        engine = _engine(service, request)
        async for chunk in engine.follow(str(request["run"]), int(request["after"])):
            await _send_chunk(websocket, chunk)
        await _tell(websocket, {"over": True})

    # Nothing comes from the other side but its going away.
    await until_first(send_all(), _until_gone(websocket))
    return False


async def _content(websocket: WebSocket, service: HostService, request: dict[str, Any]) -> bool:
    digest = str(request["digest"])
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise Malformed("This is no SHA-256.", "Ask for content by its digest.")
    path = service.content(digest)
    try:
        file = await asyncio.to_thread(path.open, "rb")
    except FileNotFoundError:
        raise NotFound(f"{service.name} has no content {digest[:12]}….", "Upload it again.") from None
    with file:
        size = await asyncio.to_thread(lambda: file.seek(0, 2))
        file.seek(0)
        await _tell(websocket, {"size": size})
        while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
            await websocket.send_bytes(piece)
    return True


async def _execute(websocket: WebSocket, service: HostService, request: dict[str, Any]) -> bool:
    size = request.get("terminal")
    terminal = None if size is None else Terminal(int(size[0]), int(size[1]))
    command = [str(word) for word in request["command"]]
    session = await _engine(service, request).execute(str(request["run"]), command, terminal)
    try:
        await _tell(websocket, {"ok": True})
        await _serve_session(websocket, session)
    finally:
        await session.close()
    return False


async def _serve_session(websocket: WebSocket, session: Session) -> None:
    reading = [
        asyncio.ensure_future(_send_all(websocket, session.read, OUTPUT)),
        asyncio.ensure_future(_send_all(websocket, session.read_error, ERRORS)),
    ]
    try:
        if await until_first(session.wait(), _to_session(websocket, session)) == 0:
            await asyncio.wait(reading, timeout=_LAST_WORDS_SECONDS)
            await _tell(websocket, {"exit_code": await session.wait()})
    finally:
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)


async def _to_session(websocket: WebSocket, session: Session) -> None:
    while (message := await _received(websocket)) is not None:
        if isinstance(message, bytes):
            with contextlib.suppress(BrokenPipeError):  # it reads no more; its end comes in its own time
                await session.write(message)
        elif message.get("terminal"):
            rows, columns = message["terminal"]
            await session.resize(Terminal(int(rows), int(columns)))
        elif message.get("end_of_input"):
            await session.close_input()


async def _dial(websocket: WebSocket, service: HostService, request: dict[str, Any]) -> bool:
    connected = await _engine(service, request).dial(str(request["run"]), int(request["port"]))
    reader, writer = await asyncio.open_connection(sock=connected)
    try:
        await _tell(websocket, {"ok": True})
        await until_first(_from_port(websocket, reader), _to_port(websocket, writer))
    finally:
        writer.close()
    return False


async def _from_port(websocket: WebSocket, reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(OSError):  # the other side broke it off
        while data := await reader.read(_READ_BYTES):
            await websocket.send_bytes(data)
    await _tell(websocket, {"end_of_output": True})
    await asyncio.Event().wait()  # what is still sent to the port goes there, until the caller leaves


async def _to_port(websocket: WebSocket, writer: asyncio.StreamWriter) -> None:
    while (message := await _received(websocket)) is not None:
        with contextlib.suppress(OSError):  # nobody reads there any more; what was answered still comes
            if isinstance(message, bytes):
                writer.write(message)
                await writer.drain()
            elif message.get("end_of_input") and writer.can_write_eof():
                writer.write_eof()


def _engine(service: HostService, request: dict[str, Any]) -> Reach:
    """Never one that would pass the call on: a zone is reached by the host that it is on."""
    engine = service.engine(str(request["zone"]))
    if engine is None:
        raise NotFound(f"{service.name} does not drive this zone.", "List the zones: corral zone list.")
    return engine


async def _send_chunk(websocket: WebSocket, chunk: LogChunk) -> None:
    head = {"offset": chunk.offset, "next": chunk.next, "dropped": chunk.dropped, "ended": chunk.ended}
    await _tell(websocket, head)
    await websocket.send_bytes(chunk.data)


async def _send_all(websocket: WebSocket, read: Callable[[int], Awaitable[bytes]], stream: bytes) -> None:
    while data := await read(_READ_BYTES):
        await websocket.send_bytes(stream + data)


async def _received(websocket: WebSocket) -> bytes | dict[str, Any] | None:
    message = await websocket.receive()
    if message["type"] == "websocket.disconnect":
        return None
    if message.get("bytes") is not None:
        return bytes(message["bytes"])
    read = read_json(message["text"])
    return read if isinstance(read, dict) else {}


async def _until_gone(websocket: WebSocket) -> None:
    while await _received(websocket) is not None:
        pass


async def _tell(websocket: WebSocket, what: dict[str, Any]) -> None:
    await websocket.send_text(json.dumps(what))


_CALLS: dict[str, Callable[[WebSocket, HostService, dict[str, Any]], Awaitable[bool]]] = {
    "logs": _logs,
    "follow": _follow,
    "content": _content,
    "execute": _execute,
    "dial": _dial,
}
routes = [WebSocketRoute(PATH, serve_link)]
