"""The desk in the API's process, asked as the gateway asks it: over its socket, with a database behind it."""

import asyncio
import os
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from corral.api.parts import part, provide
from corral.apps.context import AppContext
from corral.apps.desk import Desk
from corral.core.refusals import Unavailable
from corral.engines.interface import Reach
from corral.gateway.broker import AppState, BrokerUnavailableError, NotAdmittedError
from corral.gateway.grants import Grant
from corral.gateway.names import AppName, AppNames
from corral.gateway.remote_broker import SOCKET, RemoteBroker
from corral.identity.context import Identity
from tests.apps import ApiClient
from tests.campus import made
from tests.control.ground import Ground

WORK = {"name": "served", "command": ["serve"], "resources": {"cpu_milli": 100, "memory_mib": 64}}
OPEN = {"ports": ["web=8000/http", "other=9000/tcp"]}


async def no_engine(_: str) -> Reach:
    raise Unavailable("No engine is here.", "Wait.")


@pytest.fixture
def desk(ground: Ground, tmp_path: Path) -> Desk:
    provide(ground.campus.app, AppContext(AppNames("https", "apps.test")))
    access = part(ground.campus.app, Identity).access
    return Desk(ground.campus.database, tmp_path, b"k" * 32, access.by_credential, no_engine)


@pytest.fixture
async def broker(desk: Desk, tmp_path: Path) -> AsyncIterator[RemoteBroker]:
    async with desk.open():
        asking = RemoteBroker(tmp_path)
        yield asking
        asking.close()


async def submit(client: ApiClient, **more: Any) -> str:
    return str(made(await client.post("/training", {**WORK, **OPEN, **more}))["id"])


async def ticket(client: ApiClient, workload_id: str, port: int | None = None) -> str:
    return str(made(await client.post(f"/workloads/{workload_id}/tickets", {"port": port}))["ticket"])


async def grant_of(broker: RemoteBroker, client: ApiClient, workload_id: str) -> Grant:
    return await broker.redeem(await ticket(client, workload_id), AppName(workload_id))


async def test_a_ticket_becomes_a_grant_of_whoever_asked_for_it(ground: Ground, broker: RemoteBroker) -> None:
    work = await submit(ground.campus.admin)
    grant = await grant_of(broker, ground.campus.admin, work)
    me = made(await ground.campus.admin.get("/me"))["id"]
    assert (grant.user_id, grant.name) == (me, AppName(work))
    assert await broker.standing([grant]) == [True]


async def test_an_app_follows_the_state_of_its_work(ground: Ground, broker: RemoteBroker) -> None:
    admin = ground.campus.admin
    work = await submit(admin)
    grant = await grant_of(broker, admin, work)
    assert (await broker.admit(grant)).state is AppState.QUEUED
    await ground.settle()
    await ground.pass_time(5)
    ready = await broker.admit(grant)
    assert (ready.state, ready.port, ready.title) == (AppState.READY, 8000, "served")
    await admin.post(f"/workloads/{work}/stop")
    await ground.settle()
    await ground.pass_time(60)
    assert (await broker.admit(grant)).state is AppState.STOPPED


async def test_a_ticket_that_is_too_old_opens_nothing(ground: Ground, broker: RemoteBroker) -> None:
    work = await submit(ground.campus.admin)
    late = await ticket(ground.campus.admin, work)
    await ground.pass_time(61)
    with pytest.raises(NotAdmittedError):
        await broker.redeem(late, AppName(work))


async def test_another_app_or_port_is_not_what_the_ticket_says(ground: Ground, broker: RemoteBroker) -> None:
    first, second = await submit(ground.campus.admin), await submit(ground.campus.admin)
    given = await ticket(ground.campus.admin, first)
    for name in (AppName(second), AppName(first, 8000), AppName(first, 22)):
        with pytest.raises(NotAdmittedError):
            await broker.redeem(given, name)
    assert (await broker.redeem(given, AppName(first))).workload_id == first


async def test_guessing_tickets_takes_no_turn_at_writing(
    ground: Ground, broker: RemoteBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(*_: object) -> None:
        raise AssertionError("a wrong ticket was written about")

    monkeypatch.setattr(ground.campus.database, "write", write)
    for guess in ("", "guess", "x" * 8000):
        with pytest.raises(NotAdmittedError):
            await broker.redeem(guess, AppName("w" + "0" * 22))


async def test_only_the_owner_gets_a_ticket(ground: Ground, broker: RemoteBroker) -> None:
    work = await submit(ground.campus.admin)
    await ground.campus.person("mallory")
    mallory = await ground.campus.sign_in("mallory")
    assert (await mallory.post(f"/workloads/{work}/tickets", {})).status_code == 404
    theirs = await submit(mallory)
    answer = await ground.campus.admin.post(f"/workloads/{theirs}/tickets", {})
    assert answer.status_code == 403  # the administrator sees it, and is not mallory


async def test_a_forged_grant_is_not_admitted(ground: Ground, broker: RemoteBroker) -> None:
    """The gateway seals grants; the desk does not rely on it."""
    work = await submit(ground.campus.admin)
    grant = await grant_of(broker, ground.campus.admin, work)
    await ground.campus.person("mallory")
    mallory = await ground.campus.sign_in("mallory")
    theirs = await grant_of(broker, mallory, await submit(mallory))
    forged = [
        Grant(grant.user_id, theirs.session_id, grant.name, grant.granted_at),
        Grant(theirs.user_id, theirs.session_id, grant.name, grant.granted_at),
        Grant(grant.user_id, "s" + "0" * 22, grant.name, grant.granted_at),
        Grant(grant.user_id, "", grant.name, grant.granted_at),
    ]
    assert await broker.standing([*forged, grant]) == [False] * 4 + [True]
    for one in forged:
        with pytest.raises(NotAdmittedError):
            await broker.connect(one, "run", 8000)


async def test_who_signs_out_or_is_disabled_is_admitted_no_more(ground: Ground, broker: RemoteBroker) -> None:
    user_id = await ground.campus.person("mei")
    for way in ("signs out", "is disabled"):
        mei = await ground.campus.sign_in("mei")
        grant = await grant_of(broker, mei, await submit(mei))
        assert await broker.standing([grant]) == [True]
        if way == "signs out":
            await mei.delete("/session")
        else:
            made(await ground.campus.admin.patch(f"/users/{user_id}", {"state": "disabled"}, match="*"))
        assert await broker.standing([grant]) == [False]


async def test_a_connection_that_cannot_be_made_says_why(ground: Ground, broker: RemoteBroker) -> None:
    work = await submit(ground.campus.admin)
    grant = await grant_of(broker, ground.campus.admin, work)
    await ground.settle()
    await ground.pass_time(5)
    ready = await broker.admit(grant)
    assert ready.run
    with pytest.raises(ConnectionError, match="No engine is here"):
        await broker.connect(grant, ready.run, ready.port)
    with pytest.raises(ConnectionError, match="runs no more"):
        await broker.connect(grant, "another-run", ready.port)


async def test_the_socket_is_for_our_own_user(desk: Desk, broker: RemoteBroker, tmp_path: Path) -> None:
    assert await broker.key() == b"k" * 32
    assert stat.S_IMODE((tmp_path / SOCKET).stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
async def test_another_user_gets_no_answer(desk: Desk, broker: RemoteBroker, tmp_path: Path) -> None:
    """Also where the mode of the socket would let them in."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    (tmp_path / SOCKET).chmod(0o666)
    ask = (
        "import os, socket, sys; os.setuid(65534); s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET);"
        'os.chdir(sys.argv[1]); s.connect("gateway.sock"); s.send(b\'{"ask": "key", "id": 1}\');'
        "s.settimeout(20); print('answered' if s.recv(1000) else 'closed')"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ask, str(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    output, _ = await process.communicate()
    assert b"answered" not in output
    assert b"closed" in output or b"BrokenPipe" in output or b"ConnectionReset" in output


async def test_nonsense_ends_the_conversation_and_no_more(broker: RemoteBroker, tmp_path: Path) -> None:
    await broker.key()
    strange = RemoteBroker(tmp_path)
    with pytest.raises(BrokerUnavailableError):
        await strange._ask({"ask": "nothing of the kind"})
    strange.close()
    assert await broker.key() == b"k" * 32
