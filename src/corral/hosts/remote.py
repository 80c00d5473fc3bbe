"""Work on another host: its output, commands in it and its ports, through the Corral there."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Sequence
from typing import Any

from corral.core.refusals import Refusal, Unavailable
from corral.engines.reports import LogChunk
from corral.engines.sessions import Session, Terminal
from corral.hosts.link import ERRORS, OUTPUT
from corral.hosts.links import HostLinks, Link
from corral.hosts.service import Host

_READ_BYTES = 65536
_QUEUED_PIECES = 16  # so many wait to be read before the other host is not read any more


class RemoteReach:
    """A zone that another host drives, as far as its work is reached and not acted on."""

    def __init__(self, host: Host, zone_id: str, links: HostLinks) -> None:
        self._host = host
        self._zone_id = zone_id
        self._links = links

    async def logs(self, run: str, after: int, limit: int) -> LogChunk:
        request = self._request("logs", run, after=after, limit=limit)
        try:
            return await self._logs(request)
        except Unavailable:
            # A shared connection may have been lost since it was used last; a new one says what is wrong.
            return await self._logs(request)

    async def _logs(self, request: dict[str, Any]) -> LogChunk:
        async with self._links.shared(self._host) as link:
            head = await link.ask(request)
            return _chunk(head, await link.receive_bytes())

    async def follow(self, run: str, after: int) -> AsyncIterator[LogChunk]:
        link = await self._links.open(self._host)
        try:
            await link.send(self._request("follow", run, after=after))
            while isinstance(head := await link.receive(), dict) and not head.get("over"):
                yield _chunk(head, await link.receive_bytes())
        finally:
            await link.close()

    async def execute(self, run: str, command: Sequence[str], terminal: Terminal | None = None) -> Session:
        size = None if terminal is None else [terminal.rows, terminal.columns]
        link = await self._begun(self._request("execute", run, command=list(command), terminal=size))
        return RemoteSession(link)

    async def dial(self, run: str, port: int) -> socket.socket:
        link = await self._begun(self._request("dial", run, port=port))
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        relay = asyncio.create_task(_relay(link, theirs), name=f"port {port} of {run}")
        _RELAYS.add(relay)
        relay.add_done_callback(_RELAYS.discard)
        return ours

    async def _begun(self, request: dict[str, Any]) -> Link:
        link = await self._links.open(self._host)
        try:
            await link.ask(request)
        except BaseException:
            await link.close()
            raise
        return link

    def _request(self, call: str, run: str, **more: Any) -> dict[str, Any]:
        return {"call": call, "zone": self._zone_id, "run": run, **more}


class RemoteSession:
    """A command inside a run of another host."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._streams = {OUTPUT: _Pieces(), ERRORS: _Pieces()}
        self._exit: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read_all(), name="session on another host")

    async def read(self, limit: int = _READ_BYTES) -> bytes:
        return await self._streams[OUTPUT].read(limit)

    async def read_error(self, limit: int = _READ_BYTES) -> bytes:
        return await self._streams[ERRORS].read(limit)

    async def write(self, data: bytes) -> None:
        if self._exit.done():
            raise BrokenPipeError
        await self._link.send(data)

    async def close_input(self) -> None:
        await self._link.send({"end_of_input": True})

    async def resize(self, terminal: Terminal) -> None:
        await self._link.send({"terminal": [terminal.rows, terminal.columns]})

    async def wait(self) -> int:
        return await asyncio.shield(self._exit)

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        if self._exit.done() and not self._exit.cancelled():
            self._exit.exception()  # whoever closes it has seen it, or does not want to
        await self._link.close()

    async def _read_all(self) -> None:
        try:
            while not self._exit.done():
                message = await self._link.receive()
                if isinstance(message, bytes):
                    await self._streams[message[:1]].add(message[1:])
                elif "exit_code" in message:
                    self._exit.set_result(int(message["exit_code"]))
        except (Refusal, KeyError) as error:
            self._exit.set_exception(error)
        finally:
            for stream in self._streams.values():
                stream.end()


class _Pieces:
    """Bytes from one task to another; who adds waits while too many are unread."""

    def __init__(self) -> None:
        self._pieces: asyncio.Queue[bytes] = asyncio.Queue(_QUEUED_PIECES)
        self._rest = b""
        self._ended = asyncio.Event()

    async def add(self, data: bytes) -> None:
        if data:
            await self._pieces.put(data)

    def end(self) -> None:
        self._ended.set()

    async def read(self, limit: int) -> bytes:
        if not self._rest:
            self._rest = await self._next()
        data, self._rest = self._rest[:limit], self._rest[limit:]
        return data

    async def _next(self) -> bytes:
        if self._pieces.empty() and not self._ended.is_set():
            getting = asyncio.ensure_future(self._pieces.get())
            ended = asyncio.ensure_future(self._ended.wait())
            try:
                await asyncio.wait({getting, ended}, return_when=asyncio.FIRST_COMPLETED)
                if getting.done():
                    return getting.result()
            finally:
                getting.cancel()
                ended.cancel()
                await asyncio.gather(getting, ended, return_exceptions=True)
        return b"" if self._pieces.empty() else self._pieces.get_nowait()


async def _relay(link: Link, local: socket.socket) -> None:
    """Between a port on the other host and a socket here, until both ways are over."""
    reader, writer = await asyncio.open_connection(sock=local)
    sending = asyncio.create_task(_send_all(reader, link))
    try:
        with contextlib.suppress(OSError, Refusal):  # whoever is at the other end sees that it is closed
            while isinstance(message := await link.receive(), bytes):
                writer.write(message)
                await writer.drain()
            writer.write_eof()
            await sending
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        writer.close()
        await link.close()


async def _send_all(reader: asyncio.StreamReader, link: Link) -> None:
    with contextlib.suppress(OSError, Refusal):
        while data := await reader.read(_READ_BYTES):
            await link.send(data)
        await link.send({"end_of_input": True})


def _chunk(head: dict[str, Any], data: bytes) -> LogChunk:
    return LogChunk(
        data, int(head["offset"]), int(head["next"]), int(head["dropped"]), ended=bool(head["ended"])
    )


_RELAYS: set[asyncio.Task[None]] = set()  # the loop itself keeps tasks weakly
