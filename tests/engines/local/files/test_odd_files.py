"""Odd files and silent supervisors concern the work they belong to, and nobody else."""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from corral.core.refusals import Unavailable
from corral.core.steps import Step
from corral.engines.interface import Ending, RunPhase
from corral.engines.local.attempts import attempt
from corral.engines.local.files.user_ids import UserIdsUnavailable
from tests.engines.engine_suite import everything
from tests.engines.local.places import LIMIT_SECONDS, LocalPlace, local_place

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root has a uid for every person")
NEST = """
import os
for _ in range(3000):
    os.mkdir("d"); os.chdir("d")
"""


@pytest.fixture
async def local() -> AsyncIterator[LocalPlace]:
    async with local_place() as made:
        yield made


async def ends_well(local: LocalPlace, name: str) -> None:
    ended = await local.finish(local.sized(name, "true"))
    assert ended.ending is Ending.SUCCEEDED, ended.detail


async def again(local: LocalPlace) -> None:
    """As after a restart of Corral."""
    await local.engine.close()
    local.engine = local.another_engine()


async def test_nested_directories_are_removed_and_nobody_waits(local: LocalPlace) -> None:
    ended = await local.finish(local.sized("deep", "python3", "-c", NEST))
    assert ended.ending is Ending.SUCCEEDED, ended.detail
    await local.engine.forget(["deep"])
    await local.engine.discard(["deep"])
    assert not (local.directory / "data" / "workspaces" / "deep").exists()
    await ends_well(local, "next")


@pytest.mark.parametrize("kind", ["file", "empty directory", "broken description", "unreadable", "link"])
async def test_strays_among_our_directories_are_left_alone(local: LocalPlace, kind: str) -> None:
    await ends_well(local, "before")
    await local.engine.forget(["before"])
    data = local.directory / "data"
    for place in ("run", "gone", "workspaces", "homes"):
        _lay(data / place / "stray", kind)
    await again(local)
    await ends_well(local, "after")
    assert (await local.engine.logs("before", 0, 10)).data == b""
    await local.engine.discard(["before"])
    names = {one.name for one in (await local.engine.observe()).foreign}
    assert "run/stray" in names
    for place in ("run", "gone", "workspaces", "homes"):
        stray = data / place / "stray"
        assert stray.is_symlink() or stray.exists(), place
        if kind == "unreadable":
            stray.chmod(0o700)


def _lay(stray: Path, kind: str) -> None:
    if kind == "file":
        stray.write_text("hello")
    elif kind == "link":
        stray.symlink_to("/nowhere/at/all")
    else:
        stray.mkdir()
        if kind == "broken description":
            (stray / "spec.json").write_text('{"version": 1, "replicas": 7}')
        elif kind == "unreadable":
            (stray / "spec.json").mkdir()
            stray.chmod(0)


async def test_stopped_supervisor_holds_up_no_start_and_no_restart(local: LocalPlace) -> None:
    await local.engine.start([local.sized("stopped", "sleep", "60"), local.sized("other", "sleep", "60")])
    await local.reach("stopped", RunPhase.RUNNING)
    pid = local.supervisor("stopped")
    os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        signals = asyncio.gather(
            local.engine.signal(["stopped"], 1), local.engine.signal(["other"], 1), return_exceptions=True
        )
        await ends_well(local, "meanwhile")
        ended = await local.reach("other", RunPhase.ENDED)
        assert ended.ending is Ending.SUSPENDED
        assert time.monotonic() - began < LIMIT_SECONDS
        silent, told = await signals
        assert isinstance(silent, Unavailable)
        assert told is None
        await again(local)
        assert (await everything(local.engine))["stopped"].phase is not RunPhase.ENDED
        await ends_well(local, "later")
        (trouble,) = (await local.engine.observe()).troubles
        assert (trouble.workload, trouble.step) == ("stopped", Step.FOLLOW)
        assert trouble.detail == "its supervisor does not answer"
    finally:
        os.kill(pid, signal.SIGCONT)
    await local.engine.signal(["stopped"], 1)
    assert (await local.reach("stopped", RunPhase.ENDED)).ending is Ending.SUSPENDED
    assert (await local.engine.observe()).troubles == ()


async def test_line_at_a_stopped_supervisor_may_be_full(local: LocalPlace) -> None:
    """Each restart leaves a connection that nobody accepts; one more must not wait for ever."""
    await local.engine.start([local.sized("stopped", "sleep", "60")])
    await local.reach("stopped", RunPhase.RUNNING)
    pid = local.supervisor("stopped")
    os.kill(pid, signal.SIGSTOP)
    path = str(local.directory / "sockets" / "stopped-1" / "control.sock")
    loop = asyncio.get_running_loop()
    waiting = []
    try:
        while True:
            one = socket.socket(socket.AF_UNIX)
            one.setblocking(False)
            waiting.append(one)
            try:
                one.connect(path)
            except BlockingIOError:
                break
        await again(local)
        began = loop.time()
        await ends_well(local, "other")
        assert loop.time() - began < LIMIT_SECONDS
    finally:
        os.kill(pid, signal.SIGCONT)
        for one in waiting:
            one.close()
    await local.engine.kill(["stopped"])
    await local.reach("stopped", RunPhase.ENDED)


async def test_work_whose_directory_was_removed_is_lost_and_says_so(
    local: LocalPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt, "_LONGEST_REST_SECONDS", 0.3)
    await local.engine.start([local.sized("homeless", "sleep", "60")])
    await local.reach("homeless", RunPhase.RUNNING)
    pid = local.supervisor("homeless")
    shutil.rmtree(local.run_directory("homeless"))
    await ends_well(local, "other")
    with contextlib.suppress(ProcessLookupError):  # on a slow machine it has seen it and gone
        os.kill(pid, signal.SIGKILL)
    ended = await local.reach("homeless", RunPhase.ENDED)
    assert (ended.ending, ended.detail) == (Ending.LOST, "its directory in run/ was removed")
    await local.engine.forget(["homeless"])
    await local.engine.discard(["homeless"])


async def test_work_whose_directory_was_removed_does_not_outlive_it(
    local: LocalPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Corral that starts later would not know of it, and run it a second time beside it."""
    monkeypatch.setattr(attempt, "_LONGEST_REST_SECONDS", 0.3)
    await local.engine.start([local.sized("homeless", "sleep", "600")])
    await local.reach("homeless", RunPhase.RUNNING)
    shutil.rmtree(local.run_directory("homeless"))
    ended = await local.reach("homeless", RunPhase.ENDED)
    assert (ended.ending, ended.detail) == (Ending.LOST, "its directory in run/ was removed")
    await local.engine.forget(["homeless"])
    await local.engine.discard(["homeless"])


async def test_damaged_messages_of_one_run_hide_no_others(local: LocalPlace) -> None:
    await local.engine.start([local.sized("bad", "sleep", "60"), local.sized("good", "sleep", "60")])
    for name in ("bad", "good"):
        await local.reach(name, RunPhase.RUNNING)
    (local.run_directory("bad") / "said-0" / f"{0:020d}").write_text("not JSON\n")
    line = '{"kind":"report","at":1,"body":{"step":1}}\n'
    (local.run_directory("good") / "said-0" / f"{0:020d}").write_text(line)
    assert [message.run for message in await local.engine.messages({})] == ["good"]
    (trouble,) = (await local.engine.observe()).troubles
    assert (trouble.workload, trouble.step) == ("bad", Step.OUTPUT)


@AS_ROOT
async def test_without_the_map_of_people_work_waits_and_the_engine_says_why(local: LocalPlace) -> None:
    await ends_well(local, "before")
    people = local.directory / "data" / "people.json"
    whole = people.read_text()
    people.write_text(whole[: len(whole) // 2])
    await again(local)
    with pytest.raises(UserIdsUnavailable):
        await local.engine.start([local.sized("later", "true")])
    (trouble,) = (await local.engine.observe()).troubles
    assert trouble.workload is None
    assert "Restore people.json from a backup" in trouble.detail
    people.write_text(whole)
    await ends_well(local, "later")
    assert (await local.engine.observe()).troubles == ()
