"""Into running work over WebSockets: commands in it (`execute`), connections to its ports (`connect`).

Bytes are binary messages, all else is JSON in text messages:

    execute   first of the caller: {"command": […], "terminal": {"rows": 24, "columns": 80} or null}
              then its input, {"end_of_input": true}, and {"terminal": {…}} when the size changes
              of Corral: binary, of which the first byte is 1 (output) or 2 (errors); last {"exit_code": 0}
    connect   binary both ways; {"end_of_input": true} and {"end_of_output": true}

Only the owner of work may enter it: whoever does acts as the owner.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field, StringConstraints, ValidationError
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from corral.api.callers import ApiContext, Caller
from corral.api.models import Input, storable
from corral.api.parts import part_of
from corral.api.sockets import GOING_AWAY, endpoint, tell, until_first
from corral.api.standing import Check, while_allowed
from corral.core.concurrency import ConcurrencyLimit
from corral.core.json_text import read_json
from corral.core.permissions import Permission
from corral.core.refusals import Malformed
from corral.engines.sessions import Session, Terminal
from corral.workloads.context import WorkloadContext
from corral.workloads.visits import FoundRun, find_run, record_command

OUTPUT, ERRORS = b"\x01", b"\x02"
_PIECE = 65536
_FIRST_WORD_SECONDS = 20.0
# What is left in the pipes when a command has ended; whoever holds them open longer is not waited for.
_LAST_WORDS_SECONDS = 2.0

T = TypeVar("T", bound=Input)

Word = Annotated[str, StringConstraints(max_length=8192), AfterValidator(storable)]


class Size(Input):
    rows: int = Field(ge=1, le=10000)
    columns: int = Field(ge=1, le=10000)

    def terminal(self) -> Terminal:
        return Terminal(self.rows, self.columns)


class Command(Input):
    """What the caller of `execute` says first."""

    command: list[Word] = Field(min_length=1, max_length=500)
    terminal: Size | None = None


class Said(Input):
    """What the caller says beside the bytes."""

    end_of_input: bool = False
    terminal: Size | None = None


def session_places() -> ConcurrencyLimit:
    return ConcurrencyLimit(16, "commands in running work", "Leave some of them, then try again.")


def connection_places() -> ConcurrencyLimit:
    return ConcurrencyLimit(128, "connections to running work", "Close some of them, then try again.")


async def execute(websocket: WebSocket, caller: Caller) -> None:
    here, database = part_of(websocket, WorkloadContext), part_of(websocket, ApiContext).database
    run, check = await _admitted(websocket, caller)
    engine = await here.zones.reach(run.zone_id)
    with here.sessions.taken(caller.user_id):
        await websocket.accept()
        first = await _first_word(websocket)
        await database.write(record_command, caller, _workload_id(websocket), first.command[0])
        terminal = None if first.terminal is None else first.terminal.terminal()
        session = await engine.execute(run.name, first.command, terminal)
        try:
            await _serve_session(websocket, session, while_allowed(websocket, check))
        finally:
            await session.close()


async def connect(websocket: WebSocket, caller: Caller) -> None:
    here = part_of(websocket, WorkloadContext)
    port = _number(websocket, "port", 1, 65535)
    run, check = await _admitted(websocket, caller)
    engine = await here.zones.reach(run.zone_id)
    with here.connections.taken(caller.user_id):
        connected = await engine.dial(run.name, port)
        reader, writer = await asyncio.open_connection(sock=connected)
        try:
            await websocket.accept()
            ended = await until_first(
                _from_port(websocket, reader),
                _to_port(websocket, writer),
                while_allowed(websocket, check),
            )
            await websocket.close(GOING_AWAY if ended == 2 else 1000)
        finally:
            writer.close()


async def _serve_session(websocket: WebSocket, session: Session, allowed: Coroutine[Any, Any, None]) -> None:
    reading = [
        asyncio.ensure_future(_from_command(websocket, session.read, OUTPUT)),
        asyncio.ensure_future(_from_command(websocket, session.read_error, ERRORS)),
    ]
    try:
        ended = await until_first(session.wait(), _to_command(websocket, session), allowed)
        if ended == 0:
            await asyncio.wait(reading, timeout=_LAST_WORDS_SECONDS)
            await tell(websocket, {"exit_code": await session.wait()})
        await websocket.close(GOING_AWAY if ended == 2 else 1000)
    finally:
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)


async def _from_command(websocket: WebSocket, read: Callable[[int], Awaitable[bytes]], stream: bytes) -> None:
    while data := await read(_PIECE):
        await websocket.send_bytes(stream + data)


async def _to_command(websocket: WebSocket, session: Session) -> None:
    """Returns when the caller has gone."""
    while (message := await _received(websocket)) is not None:
        if isinstance(message, bytes):
            await _write(session, message)
        elif message.terminal is not None:
            await session.resize(message.terminal.terminal())
        elif message.end_of_input:
            await session.close_input()


async def _write(session: Session, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):  # it reads no more; its end comes in its own time
        await session.write(data)


async def _from_port(websocket: WebSocket, reader: asyncio.StreamReader) -> None:
    while data := await _read(reader):
        await websocket.send_bytes(data)
    await tell(websocket, {"end_of_output": True})


async def _read(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(_PIECE)
    except OSError:
        return b""  # the other side broke it off


async def _to_port(websocket: WebSocket, writer: asyncio.StreamWriter) -> None:
    """Returns when the caller has gone."""
    while (message := await _received(websocket)) is not None:
        try:
            if isinstance(message, bytes):
                writer.write(message)
                await writer.drain()
            elif message.end_of_input and writer.can_write_eof():
                writer.write_eof()
        except OSError:
            pass  # nobody reads there any more; what was answered still comes


async def _received(websocket: WebSocket) -> bytes | Said | None:
    message = await websocket.receive()
    if message["type"] == "websocket.disconnect":
        return None
    if message.get("bytes") is not None:
        return bytes(message["bytes"])
    return _read_as(Said, message["text"])


async def _first_word(websocket: WebSocket) -> Command:
    try:
        async with asyncio.timeout(_FIRST_WORD_SECONDS):
            message = await websocket.receive()
    except TimeoutError:
        raise Malformed("No command came.", "Say what to run in the first message.") from None
    return _read_as(Command, message.get("text") or "")


def _read_as(kind: type[T], text: str) -> T:
    try:
        return kind.model_validate(read_json(text))
    except (ValueError, ValidationError) as error:
        raise Malformed(f"The message is no {kind.__name__.lower()}.", "See the API's page.") from error


async def _admitted(websocket: WebSocket, caller: Caller) -> tuple[FoundRun, Check]:
    """The run that is meant, and how to ask again whether the caller may be in it."""
    database = part_of(websocket, ApiContext).database
    number = _number(websocket, "replica", 0, 9999, usual=0)

    async def check(now: Caller) -> FoundRun:
        return await database.read(find_run, now, _workload_id(websocket), number)

    return await check(caller), check


def _workload_id(websocket: WebSocket) -> str:
    return str(websocket.path_params["workload_id"])


def _number(websocket: WebSocket, name: str, least: int, most: int, usual: int | None = None) -> int:
    text = websocket.query_params.get(name, "" if usual is None else str(usual))
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and least <= int(text) <= most):
        raise Malformed(f"{name} is no number from {least} to {most}.", f"Add ?{name}=… to the address.")
    return int(text)


routes = [
    WebSocketRoute("/workloads/{workload_id}/execute", endpoint(execute, Permission.WORKLOADS_RUN)),
    WebSocketRoute("/workloads/{workload_id}/connect", endpoint(connect, Permission.WORKLOADS_RUN)),
]
