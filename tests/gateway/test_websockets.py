"""WebSockets through the gateway, with a real client and a real server."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from tests.gateway.street import CONSOLE, WORKLOAD, Street, says, street

KERNEL = Subprotocol("v1.kernel.websocket.jupyter.org")


async def _echo(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


@contextlib.asynccontextmanager
async def _echoing() -> AsyncIterator[Street]:
    async with (
        serve(_echo, "127.0.0.1", 0, subprotocols=[KERNEL], max_size=None) as server,
        street(says(b"")) as at,
    ):
        at.desk.workload_port = next(iter(server.sockets)).getsockname()[1]
        yield at


def _open(at: Street, origin: str | None = "own", **more: object) -> connect:
    shown = at.origin if origin == "own" else origin
    headers = {"Cookie": at.cookie(), **({"Origin": shown} if shown else {})}
    return connect(
        f"ws://{at.host}/api/kernels",
        host="127.0.0.1",
        port=at.port,
        additional_headers=headers,
        max_size=None,
        **more,  # type: ignore[arg-type]
    )


async def test_messages_pass_both_ways_with_the_subprotocol() -> None:
    async with _echoing() as at, _open(at, subprotocols=[KERNEL]) as client:
        assert client.subprotocol == KERNEL
        for message in ("text", b"bytes", b"x" * 3_000_000):
            await client.send(message)
            assert await client.recv() == message


async def test_many_stay_open_at_once() -> None:
    async with _echoing() as at, contextlib.AsyncExitStack() as stack:
        clients: list[ClientConnection] = [
            await stack.enter_async_context(_open(at, subprotocols=[KERNEL])) for _ in range(50)
        ]
        for number, client in enumerate(clients):
            await client.send(str(number))
        assert [await client.recv() for client in clients] == [str(number) for number in range(50)]


@pytest.mark.parametrize("origin", [CONSOLE, "null", f"http://{WORKLOAD}.example.org", None])
async def test_another_page_opens_none(origin: str | None) -> None:
    async with _echoing() as at:
        with pytest.raises(InvalidStatus) as refused:
            async with _open(at, origin):
                pass
        assert refused.value.response.status_code == 403


async def test_the_client_hears_when_the_workload_ends() -> None:
    async def end(connection: ServerConnection) -> None:
        connection.transport.abort()

    async with serve(end, "127.0.0.1", 0) as server, street(says(b"")) as at:
        at.desk.workload_port = next(iter(server.sockets)).getsockname()[1]
        async with _open(at) as client:
            with pytest.raises(ConnectionClosed):
                await asyncio.wait_for(client.recv(), 5)


async def test_the_workload_hears_when_the_client_ends() -> None:
    ended = asyncio.Event()

    async def wait(connection: ServerConnection) -> None:
        await connection.wait_closed()
        ended.set()

    async with serve(wait, "127.0.0.1", 0) as server, street(says(b"")) as at:
        at.desk.workload_port = next(iter(server.sockets)).getsockname()[1]
        client = await _open(at)
        client.transport.abort()
        await asyncio.wait_for(ended.wait(), 5)


async def test_a_server_that_does_not_switch_answers_as_usual() -> None:
    async with street(says(b"no sockets here")) as at:
        with pytest.raises(InvalidStatus) as refused:
            async with _open(at):
                pass
        assert refused.value.response.status_code == 200
