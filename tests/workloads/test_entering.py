"""Into running work over WebSockets: who may, what passes, and when it ends."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI

from corral.api import sockets
from corral.api.callers import ApiContext
from corral.api.parts import part, provide
from corral.core.concurrency import ConcurrencyLimit
from corral.core.refusals import Conflict
from corral.engines.sessions import Terminal
from corral.engines.simulated import Program
from corral.workloads.context import WorkloadContext
from tests.apps import ORIGIN, ApiClient
from tests.campus import made
from tests.control.ground import Ground, OneZone, use_zone

pytestmark = pytest.mark.sqlite

SHELL = {"command": ["sh", "-c", "secret"], "terminal": {"rows": 24, "columns": 80}}


@pytest.fixture
def database_kind() -> str:
    """The database plays no part here."""
    return "sqlite"


class Echo:
    """A session that says everything again, louder; it ends with 5 when nothing more will come."""

    def __init__(self, command: Sequence[str], terminal: Terminal | None) -> None:
        self.command, self.sizes, self.closed = tuple(command), [terminal], False
        self._said: asyncio.Queue[bytes] = asyncio.Queue()
        self._ended = asyncio.Event()

    async def read(self, limit: int = 65536) -> bytes:
        return (await self._said.get())[:limit]

    async def read_error(self, limit: int = 65536) -> bytes:
        await self._ended.wait()
        said, self.last = self.last, b""
        return said[:limit]

    last = b"gone\n"

    async def write(self, data: bytes) -> None:
        self._said.put_nowait(data.upper())

    async def close_input(self) -> None:
        self._said.put_nowait(b"")
        self._ended.set()

    async def resize(self, terminal: Terminal) -> None:
        self.sizes.append(terminal)

    async def wait(self) -> int:
        await self._ended.wait()
        return 5

    async def close(self) -> None:
        self.closed = True


class Machine:
    """The part of an engine that reaches into runs."""

    def __init__(self) -> None:
        self.sessions: list[Echo] = []
        self.port: socket.socket | None = None

    async def execute(self, run: str, command: Sequence[str], terminal: Terminal | None = None) -> Echo:
        self.run = run
        self.sessions.append(Echo(command, terminal))
        return self.sessions[-1]

    async def dial(self, run: str, port: int) -> socket.socket:
        if port != 8888:
            raise Conflict(f"Nothing listens on port {port} of {run}.", "Start something there.")
        self.port, ours = socket.socketpair()
        self.port.setblocking(False)
        ours.setblocking(False)
        return ours


class Opened:
    """The caller's end of a WebSocket."""

    def __init__(self) -> None:
        self.to_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.from_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def next(self) -> dict[str, Any]:
        return await asyncio.wait_for(self.from_app.get(), 10)

    async def told(self) -> Any:
        return json.loads((await self.next())["text"])

    def say(self, what: Any) -> None:
        message = {"bytes": what} if isinstance(what, bytes) else {"text": json.dumps(what)}
        self.to_app.put_nowait({"type": "websocket.receive", **message})

    async def refusal(self) -> tuple[int, str]:
        """Of one that was not opened: the status and the kind of problem."""
        start, body = await self.next(), await self.next()
        assert start["type"] == "websocket.http.response.start"
        return start["status"], json.loads(body["body"])["type"].removeprefix("/problems/")


@asynccontextmanager
async def opening(app: FastAPI, path: str, **headers: str) -> AsyncIterator[Opened]:
    """A WebSocket as the server hands it to the application."""
    opened = Opened()
    where, _, query = path.partition("?")
    sent = {"host": "corral.test", **{name.replace("_", "-"): value for name, value in headers.items()}}
    scope = {
        "type": "websocket",
        "path": f"/api/v1{where}",
        "raw_path": where.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        "client": ("192.0.2.9", 4000),
        "scheme": "wss",
        "subprotocols": [],
        "extensions": {"websocket.http.response": {}},
    }
    opened.to_app.put_nowait({"type": "websocket.connect"})
    serving = asyncio.create_task(app(scope, opened.to_app.get, opened.from_app.put))  # type: ignore[arg-type]
    try:
        yield opened
    finally:
        opened.to_app.put_nowait({"type": "websocket.disconnect", "code": 1001})
        await asyncio.wait_for(serving, 10)


async def _bearer(person: ApiClient) -> str:
    secret = made(await person.post("/me/tokens", {"name": "script", "scopes": ["*"]}))["secret"]
    return f"Bearer {secret}"


def _cookie(person: ApiClient) -> str:
    return "; ".join(f"{name}={value}" for name, value in person.http.cookies.items())


@pytest.fixture
async def place(ground: Ground) -> AsyncIterator[SimpleNamespace]:
    """Ana's work runs; she has a browser and a token."""
    campus = ground.campus
    machine = Machine()
    use_zone(campus.app, OneZone(ground.zone, machine))
    await campus.person("ana")
    ana = await campus.sign_in("ana")
    ground.programs["long"] = Program(None, 1, 2)
    work = await ground.submit(ana, "long")
    await ground.pass_time(10)
    yield SimpleNamespace(
        app=campus.app, machine=machine, ana=ana, work=work, token=await _bearer(ana), ground=ground
    )
    if machine.port is not None:
        machine.port.close()


async def test_command_gets_input_and_size_and_gives_output_and_exit_code(place: SimpleNamespace) -> None:
    path = f"/workloads/{place.work}/execute"
    async with opening(place.app, path, authorization=place.token) as opened:
        assert (await opened.next())["type"] == "websocket.accept"
        opened.say(SHELL)
        opened.say(b"hello")
        assert (await opened.next())["bytes"] == b"\x01HELLO"
        opened.say({"terminal": {"rows": 50, "columns": 100}})
        opened.say({"end_of_input": True})
        assert (await opened.next())["bytes"] == b"\x02gone\n"
        assert await opened.told() == {"exit_code": 5}
        assert (await opened.next())["type"] == "websocket.close"
    (session,) = place.machine.sessions
    assert place.machine.run == f"{place.work}-1-0"
    assert session.command == ("sh", "-c", "secret")
    assert session.sizes == [Terminal(24, 80), Terminal(50, 100)]
    assert session.closed
    (entry,) = await place.ground.campus.audit(action="workload.execute")
    assert entry["after"] == {"program": "sh"}


async def test_command_ends_when_its_caller_goes(place: SimpleNamespace) -> None:
    path = f"/workloads/{place.work}/execute"
    async with opening(place.app, path, authorization=place.token) as opened:
        await opened.next()
        opened.say(SHELL)
        opened.say(b"x")
        await opened.next()
    assert place.machine.sessions[0].closed


async def test_only_the_owner_may_enter(place: SimpleNamespace) -> None:
    campus = place.ground.campus
    await campus.person("bert")
    admin, bert = campus.admin, await campus.sign_in("bert")
    callers = (
        (await _bearer(admin), (403, "forbidden")),
        (await _bearer(bert), (404, "not-found")),
        ("Bearer nonsense", (401, "unauthenticated")),
    )
    for path in (f"/workloads/{place.work}/execute", f"/workloads/{place.work}/connect?port=8888"):
        for authorization, refusal in callers:
            async with opening(place.app, path, authorization=authorization) as opened:
                assert await opened.refusal() == refusal
        async with opening(place.app, path) as opened:
            assert await opened.refusal() == (401, "unauthenticated")
    assert place.machine.sessions == []


async def test_browser_may_open_one_only_from_the_console(place: SimpleNamespace) -> None:
    path, cookie = f"/workloads/{place.work}/execute", _cookie(place.ana)
    async with opening(place.app, path, cookie=cookie, origin=ORIGIN) as opened:
        assert (await opened.next())["type"] == "websocket.accept"
    async with opening(place.app, path, cookie=cookie, origin="https://evil.example") as opened:
        assert await opened.refusal() == (403, "cross-site")
    async with opening(place.app, path, cookie=cookie) as opened:
        assert await opened.refusal() == (403, "cross-site")
    async with opening(place.app, path, cookie=cookie, origin=ORIGIN, host="evil.example") as opened:
        assert await opened.refusal() == (400, "malformed")


async def test_what_does_not_run_cannot_be_entered(place: SimpleNamespace) -> None:
    waiting = await place.ground.submit(place.ana, "waits", gpus=8)
    for path, refusal in (
        (f"/workloads/{waiting}/execute", (409, "conflict")),
        (f"/workloads/{place.work}/execute?replica=1", (404, "not-found")),
        (f"/workloads/{place.work}/execute?replica=x", (400, "malformed")),
        (f"/workloads/{place.work}/connect", (400, "malformed")),
        (f"/workloads/{place.work}/connect?port=80", (409, "conflict")),
    ):
        async with opening(place.app, path, authorization=place.token) as opened:
            assert await opened.refusal() == refusal


async def test_first_message_must_be_a_command(place: SimpleNamespace) -> None:
    path = f"/workloads/{place.work}/execute"
    for wrong in ({}, {"command": []}, {"command": ["sh"], "colour": 1}, b"sh"):
        async with opening(place.app, path, authorization=place.token) as opened:
            await opened.next()
            opened.say(wrong)
            assert (await opened.told())["problem"]["type"] == "/problems/malformed"
            assert (await opened.next())["code"] == sockets.REFUSED
    assert place.machine.sessions == []


async def test_so_many_at_once_and_no_more(place: SimpleNamespace) -> None:
    here = part(place.app, WorkloadContext)
    provide(place.app, replace(here, sessions=ConcurrencyLimit(1, "commands", "Leave one.")))
    path = f"/workloads/{place.work}/execute"
    async with opening(place.app, path, authorization=place.token) as opened:
        await opened.next()
        async with opening(place.app, path, authorization=place.token) as second:
            assert await second.refusal() == (429, "too-many-open")
    async with opening(place.app, path, authorization=place.token) as opened:
        assert (await opened.next())["type"] == "websocket.accept"


async def test_it_ends_with_the_right_to_be_there(place: SimpleNamespace) -> None:
    path = f"/workloads/{place.work}/execute"
    async with opening(place.app, path, cookie=_cookie(place.ana), origin=ORIGIN) as opened:
        await opened.next()
        opened.say(SHELL)
        await place.ana.delete("/session")
        assert (await opened.told())["problem"]["type"] == "/problems/unauthenticated"
        assert (await opened.next())["code"] == sockets.REFUSED
    assert place.machine.sessions[0].closed


@pytest.mark.parametrize("road", ["execute", "connect?port=8888"])
@pytest.mark.parametrize("lost", ["account", "role", "role that ends"])
async def test_it_ends_with_the_account_and_with_the_role(
    place: SimpleNamespace, road: str, lost: str
) -> None:
    campus = place.ground.campus
    me = made(await place.ana.get("/me"))
    (grant,) = me["roles"]
    on = {"role_id": grant["role_id"], "organisation_id": grant["organisation_id"]}
    if lost == "role that ends":
        made(await campus.admin.delete(f"/users/{me['id']}/grants/{grant['grant_id']}"))
        end = (campus.database.now() + timedelta(seconds=3)).isoformat()
        made(await campus.admin.post(f"/users/{me['id']}/grants", {**on, "expires_at": end}))
    path = f"/workloads/{place.work}/{road}"
    async with opening(place.app, path, authorization=place.token) as opened:
        assert (await opened.next())["type"] == "websocket.accept"
        if road == "execute":
            opened.say(SHELL)
        if lost == "account":
            made(await campus.admin.patch(f"/users/{me['id']}", {"state": "disabled"}, match="*"))
        elif lost == "role":
            made(await campus.admin.delete(f"/users/{me['id']}/grants/{grant['grant_id']}"))
        async with asyncio.timeout(8 if lost == "role that ends" else 5):
            assert "problem" in await opened.told()
            assert (await opened.next())["code"] == sockets.REFUSED


async def test_what_is_lost_before_the_first_word_is_lost(place: SimpleNamespace) -> None:
    """The command is read long after it was asked who calls."""
    async with opening(place.app, f"/workloads/{place.work}/execute", authorization=place.token) as opened:
        await opened.next()
        me = made(await place.ana.get("/me"))
        made(await place.ground.campus.admin.patch(f"/users/{me['id']}", {"state": "disabled"}, match="*"))
        opened.say(SHELL)
        assert (await opened.told())["problem"]["type"] == "/problems/unauthenticated"


async def test_stop_of_corral_ends_it(place: SimpleNamespace) -> None:
    path = f"/workloads/{place.work}/connect?port=8888"
    async with opening(place.app, path, authorization=place.token) as opened:
        await opened.next()
        part(place.app, ApiContext).stopping.set()
        assert (await opened.next())["code"] == sockets.GOING_AWAY


async def test_bytes_pass_to_a_port_and_back(place: SimpleNamespace) -> None:
    path = f"/workloads/{place.work}/connect?port=8888"
    loop = asyncio.get_running_loop()
    async with opening(place.app, path, authorization=place.token) as opened:
        assert (await opened.next())["type"] == "websocket.accept"
        opened.say(b"ping")
        assert await loop.sock_recv(place.machine.port, 100) == b"ping"
        await loop.sock_sendall(place.machine.port, b"pong")
        assert (await opened.next())["bytes"] == b"pong"
        opened.say({"end_of_input": True})
        assert await loop.sock_recv(place.machine.port, 100) == b""
        place.machine.port.close()
        assert await opened.told() == {"end_of_output": True}
        assert (await opened.next())["type"] == "websocket.close"
