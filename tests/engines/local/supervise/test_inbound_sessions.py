"""Into runs of the local engine: commands inside, connections to ports; and how many of them."""

from collections.abc import AsyncIterator

import pytest

from corral.core.concurrency import TooManyOpen
from corral.core.refusals import Conflict
from corral.engines.interface import RunPhase
from corral.engines.sessions import Terminal
from tests.engines.local.marks import marked, wait_until_gone, wait_until_there
from tests.engines.local.places import LIMIT_SECONDS, LocalPlace, local_place

SERVE = """
import socket
with socket.create_server(('127.0.0.1', 8888)) as server:
    print('listening', flush=True)
    connections = []
    while True:
        connections.append(server.accept()[0])
        connections[-1].sendall(b'hello from inside')
"""


@pytest.fixture
async def local() -> AsyncIterator[LocalPlace]:
    async with local_place() as made:
        yield made


async def test_command_runs_inside_with_its_own_streams(local: LocalPlace) -> None:
    await local.engine.start([local.sized("endless-a", "sh", "-c", "echo mark > file; echo there; sleep 60")])
    await local.wrote("endless-a", "there")
    session = await local.engine.execute("endless-a", ["sh", "-c", "cat file -; echo wrong >&2; exit 5"])
    await session.write(b"typed\n")
    await session.close_input()
    output = b""
    while data := await session.read():
        output += data
    assert output == b"mark\ntyped\n"
    assert await session.read_error() == b"wrong\n"
    assert await session.wait() == 5
    await session.close()


async def test_command_in_a_terminal_sees_its_size(local: LocalPlace) -> None:
    await local.engine.start([local.sized("endless-a", "sleep", "60")])
    await local.reach("endless-a", RunPhase.RUNNING)
    session = await local.engine.execute(
        "endless-a", ["sh", "-c", "stty size; read x; stty size"], Terminal(24, 80)
    )
    output = b""
    while b"\n" not in output:
        output += await session.read()
    await session.resize(Terminal(50, 132))
    await session.write(b"\n")
    while data := await session.read():
        output += data
    assert output.split() == [b"24", b"80", b"50", b"132"]
    assert await session.wait() == 0
    await session.close()


async def test_session_ends_when_its_user_leaves(local: LocalPlace) -> None:
    seconds, words = marked()
    await local.engine.start([local.sized("endless-a", "sleep", "60")])
    await local.reach("endless-a", RunPhase.RUNNING)
    session = await local.engine.execute("endless-a", ["sh", "-c", f"echo in; exec sleep {seconds}"])
    assert await session.read() == b"in\n"
    wait_until_there(words)
    await session.close()
    wait_until_gone(words)


async def test_port_inside_is_dialled_and_one_that_nobody_listens_on_is_refused(local: LocalPlace) -> None:
    await local.engine.start([local.sized("endless-a", "python3", "-c", SERVE)])
    await local.wrote("endless-a", "listening")
    connected = await local.engine.dial("endless-a", 8888)
    with connected:
        connected.settimeout(LIMIT_SECONDS)
        assert connected.recv(100) == b"hello from inside"
        connected.sendall(b"and to it")
        before = (await local.engine.usage(["endless-a"])).runs["endless-a"]
    after = (await local.engine.usage(["endless-a"])).runs["endless-a"]
    for used in (before, after):
        assert (used.received_bytes, used.sent_bytes) == (len(b"and to it"), len(b"hello from inside"))
    await local.forget_what_was_told()
    assert (await local.engine.usage(["endless-a"])).runs["endless-a"].sent_bytes == len(b"hello from inside")
    with pytest.raises(Conflict, match="nothing listens on port 9"):
        await local.engine.dial("endless-a", 9)


async def test_commands_and_connections_are_bounded_over_all_the_work_of_a_person(local: LocalPlace) -> None:
    names = ("endless-a", "endless-b")
    await local.engine.start([local.sized(name, "python3", "-c", SERVE) for name in names])
    for name in names:
        await local.wrote(name, "listening")
    sessions = [await local.engine.execute(name, ["sleep", "60"]) for name in names]
    with pytest.raises(TooManyOpen, match="has 2 commands in running work open, which is the limit") as full:
        await local.engine.execute("endless-a", ["true"])
    assert full.value.remedy == "Leave some of them, then try again."
    await sessions[0].close()
    await sessions[0].close()
    again = await local.engine.execute("endless-b", ["true"])
    for session in (again, *sessions):
        await session.close()
    connections = [await local.engine.dial(name, 8888) for name in names]
    with pytest.raises(TooManyOpen, match="has 2 connections to ports of work open, which is the limit"):
        await local.engine.dial("endless-b", 8888)
    connections[0].close()
    with pytest.raises(Conflict, match="nothing listens"):
        await local.engine.dial("endless-b", 9)
    (await local.engine.dial("endless-b", 8888)).close()
    connections[1].close()
