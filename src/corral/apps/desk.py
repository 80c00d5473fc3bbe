"""Answers the gateway: a Unix socket in the data directory, for processes of Corral's own user alone."""

import asyncio
import contextlib
import os
import socket
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from corral.api.callers import Caller
from corral.apps import tickets
from corral.apps.admission import FoundApp, find_app
from corral.core.refusals import Refusal
from corral.engines.interface import Reach
from corral.gateway.broker import NotAdmittedError
from corral.gateway.names import AppName
from corral.gateway.remote_broker import SOCKET
from corral.net.channel import Channel, Message
from corral.store.database import Database

log = structlog.get_logger("corral.apps")

_BACKLOG = 16
_MOST_AT_ONCE = 256

# The caller behind a credential, while it is good and the account active; None otherwise.
FindCaller = Callable[[str], Awaitable[Caller | None]]
FindReach = Callable[[str], Awaitable[Reach]]


@dataclass(frozen=True, slots=True)
class Desk:
    """What it takes to answer."""

    database: Database
    directory: Path
    key: bytes
    find_caller: FindCaller
    reach: FindReach

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        listener = _listen(self.directory)
        visitors: set[_Visitor] = set()
        loop = asyncio.get_running_loop()

        def accept() -> None:
            with contextlib.suppress(BlockingIOError):
                connected, _ = listener.accept()
                if _user_of(connected) not in (os.geteuid(), 0):
                    connected.close()
                    return
                visitors.add(_Visitor(self, connected, visitors))

        loop.add_reader(listener.fileno(), accept)
        try:
            yield
        finally:
            loop.remove_reader(listener.fileno())
            listener.close()
            for visitor in tuple(visitors):
                visitor.channel.close()

    async def caller(self, message: Message) -> Caller:
        caller = await self.find_caller(str(message["session_id"]))
        if caller is None or caller.user_id != message["user_id"]:
            raise NotAdmittedError("the session has ended")
        return caller

    async def app(self, message: Message) -> FoundApp:
        caller = await self.caller(message)
        name = _name(message)
        try:
            return await self.database.read(find_app, caller, name.workload_id, name.port)
        except Refusal as refusal:
            raise NotAdmittedError(refusal.detail) from refusal


class _Visitor:
    """One gateway that is connected."""

    def __init__(self, desk: Desk, connected: socket.socket, visitors: "set[_Visitor]") -> None:
        self._desk = desk
        self._tasks: set[asyncio.Task[None]] = set()
        self._visitors = visitors
        # What is closed here is closed for everybody: the engine counts what goes through it until then.
        self._lent: dict[int, socket.socket] = {}
        self._numbers = 0
        self.channel = Channel(connected, self._asked, self._gone)

    def _asked(self, message: Message, passed: socket.socket | None) -> None:
        if message.get("tell") == "closed":
            if (lent := self._lent.pop(int(message["lent"]), None)) is not None:
                lent.close()
            return
        if passed is not None or len(self._tasks) >= _MOST_AT_ONCE:
            if passed is not None:
                passed.close()
            self.channel.send({"id": message.get("id"), "busy": True})
            return
        task = asyncio.get_running_loop().create_task(self._answer(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _gone(self) -> None:
        self._visitors.discard(self)
        for task in tuple(self._tasks):
            task.cancel()
        for lent in self._lent.values():
            lent.close()
        self._lent.clear()

    async def _answer(self, message: Message) -> None:
        number = message.get("id")
        connected: socket.socket | None = None
        try:
            if message["ask"] == "connect":
                connected = await _connect(self._desk, message)
                answer: Mapping[str, Any] = {}
            else:
                answer = await _QUESTIONS[message["ask"]](self._desk, message)
        except NotAdmittedError as refused:
            answer = {"refused": str(refused) or "no"}
        except (Refusal, ConnectionError) as error:
            answer = {"why": error.detail if isinstance(error, Refusal) else str(error)}
        except Exception:
            log.exception("the gateway asked in vain", asked=message.get("ask"))
            self.channel.close()
            return
        if connected is None:
            self.channel.send({"id": number, **answer})
        else:
            self._numbers += 1
            self._lent[self._numbers] = connected
            self.channel.send({"id": number, "lent": self._numbers}, connected.fileno())


async def _key(desk: Desk, message: Message) -> Mapping[str, Any]:  # noqa: ARG001
    return {"key": desk.key.hex()}


async def _redeem(desk: Desk, message: Message) -> Mapping[str, Any]:
    secret = str(message["ticket"])
    if not await desk.database.read(tickets.is_known, secret):
        raise NotAdmittedError("unknown")
    user_id, session_id = await desk.database.write(tickets.redeem, secret, _name(message))
    await desk.caller({"user_id": user_id, "session_id": session_id})
    return {"user_id": user_id, "session_id": session_id, "granted_at": int(time.time())}


async def _admit(desk: Desk, message: Message) -> Mapping[str, Any]:
    found = (await desk.app(message)).admission
    return {
        "state": found.state,
        "title": found.title,
        "detail": found.detail,
        "run": found.run,
        "port": found.port,
        "read_only": found.read_only,
    }


async def _connect(desk: Desk, message: Message) -> socket.socket:
    """Checks again: what was admitted a moment ago may be another attempt by now."""
    found = await desk.app(message)
    if (found.admission.run, found.admission.port) != (message["run"], message["to"]):
        raise ConnectionError("it runs no more, or elsewhere")
    engine = await desk.reach(found.zone_id)
    return await engine.dial(found.admission.run, found.admission.port)


async def _standing(desk: Desk, message: Message) -> Mapping[str, Any]:
    stand = []
    for grant in message["grants"]:
        try:
            await desk.app(grant)
        except NotAdmittedError:
            stand.append(False)
        else:
            stand.append(True)
    return {"stand": stand}


_QUESTIONS: dict[str, Callable[[Desk, Message], Awaitable[Mapping[str, Any]]]] = {
    "key": _key,
    "redeem": _redeem,
    "admit": _admit,
    "standing": _standing,
}


def _name(message: Message) -> AppName:
    port = message.get("port")
    return AppName(str(message["workload_id"]), None if port is None else int(port))


def _listen(directory: Path) -> socket.socket:
    """By way of the directory's descriptor: paths of sockets are short, those of directories are not."""
    folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(SOCKET, dir_fd=folder)
        before = os.umask(0o177)
        try:
            listener.bind(f"/proc/self/fd/{folder}/{SOCKET}")
        finally:
            os.umask(before)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    finally:
        os.close(folder)
    return listener


def _user_of(connected: socket.socket) -> int:
    credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[1])
