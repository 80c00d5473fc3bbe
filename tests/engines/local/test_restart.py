"""Work outlives Corral: what is found again, what is never started twice, what a full disk does."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from corral.engines.interface import Ending, RunPhase
from corral.engines.local.records import durable_json
from tests.engines.engine_suite import Reader, everything
from tests.engines.local.places import LocalPlace, local_place

ROOT = Path(__file__).resolve().parents[3]
COUNT_STARTS = "echo started >> starts; echo begun; while [ ! -f go ]; do sleep 0.02; done; echo ready"


@pytest.fixture
async def local() -> AsyncIterator[LocalPlace]:
    async with local_place() as made:
        yield made


def start_host(local: LocalPlace, *command: str) -> subprocess.Popen[str]:
    host = subprocess.Popen(
        [sys.executable, "-m", "tests.engines.local.host", str(local.directory), *command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert host.stdout is not None
    assert host.stdout.readline() == "started\n"
    return host


async def test_work_is_found_again_after_the_engine_was_killed(local: LocalPlace) -> None:
    host = await asyncio.to_thread(start_host, local, "sh", "-c", COUNT_STARTS)
    host.kill()
    host.communicate()
    found = await everything(local.engine)
    assert found["a"].phase is RunPhase.RUNNING
    await local.engine.start([local.sized("a", "sh", "-c", COUNT_STARTS)])
    workspace = local.directory / "data" / "workspaces" / "a"
    (workspace / "go").touch()
    ended = await local.reach("a", RunPhase.ENDED)
    assert (ended.ending, ended.exit_code) == (Ending.SUCCEEDED, 0)
    assert await local.output("a") == "begun\nready\n"
    assert (workspace / "starts").read_text() == "started\n"


async def test_ending_without_corral_is_told_exactly_as_it_was(local: LocalPlace) -> None:
    host = await asyncio.to_thread(start_host, local, "sh", "-c", "sleep 0.3; exit 7")
    host.kill()
    host.communicate()
    await local.supervisors_gone()
    ended = (await everything(local.engine))["a"]
    assert (ended.phase, ended.exit_code) == (RunPhase.ENDED, 7)
    await local.forget_what_was_told()
    assert (await everything(local.engine))["a"] == ended
    reader = Reader(local.engine)
    await reader.read()
    await local.engine.forget(["a"])
    await local.forget_what_was_told()
    assert await everything(local.engine) == {}
    await local.engine.start([local.sized("a", "true")])
    assert await everything(local.engine) == {}


async def test_run_that_was_told_to_go_is_still_leaving_after_a_restart(local: LocalPlace) -> None:
    await local.engine.start([local.start("stubborn-a")])
    await local.reach("stubborn-a", RunPhase.RUNNING)
    await local.engine.signal(["stubborn-a"], 3600)
    await local.forget_what_was_told()
    assert (await everything(local.engine))["stubborn-a"].phase is RunPhase.LEAVING
    await local.engine.kill(["stubborn-a"])
    assert (await local.reach("stubborn-a", RunPhase.ENDED)).ending is Ending.SUSPENDED


async def test_two_engines_start_a_run_once(local: LocalPlace) -> None:
    start = local.sized("a", "sh", "-c", "echo started >> starts; sleep 0.2")
    other = local.another_engine()
    for engine in (local.engine, other):
        await engine.inventory()  # who opens a directory tidies up in it
    await asyncio.gather(local.engine.start([start]), other.start([start]))
    ended = await local.reach("a", RunPhase.ENDED)
    assert ended.ending is Ending.SUCCEEDED
    local.engine, first = other, local.engine
    assert await local.reach("a", RunPhase.ENDED) == ended
    await first.close()
    starts = local.directory / "data" / "workspaces" / "a" / "starts"
    assert starts.read_text() == "started\n"


async def test_intent_of_which_nothing_came_is_withdrawn_and_can_be_started_again(local: LocalPlace) -> None:
    await local.engine.start([local.sized("a", "true")])
    await local.reach("a", RunPhase.ENDED)
    await local.engine.forget(["a"])
    await local.engine.close()
    await local.supervisors_gone()
    # As if the engine had been killed between the intent and the supervisor.
    gone, intent = local.directory / "data" / "gone" / "a-1", local.run_directory("a")
    gone.rename(intent)
    for name in ("begun.json", "exit-0.json", "forgotten-0"):
        (intent / name).unlink()
    local.engine = local.another_engine()
    assert await everything(local.engine) == {}
    assert (await local.finish(local.sized("a", "true"))).ending is Ending.SUCCEEDED


async def test_supervisors_are_made_again_after_their_forkserver_was_killed(local: LocalPlace) -> None:
    assert (await local.finish(local.sized("a", "true"))).ending is Ending.SUCCEEDED
    process = local.engine._forkserver._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    assert (await local.finish(local.sized("b", "true"))).ending is Ending.SUCCEEDED


async def test_work_goes_on_when_the_forkserver_is_killed(local: LocalPlace) -> None:
    await local.engine.start([local.start("endless-a")])
    await local.reach("endless-a", RunPhase.RUNNING)
    process = local.engine._forkserver._process
    assert process is not None
    process.kill()
    process.wait()
    await local.forget_what_was_told()
    assert (await everything(local.engine))["endless-a"].phase is RunPhase.RUNNING


async def test_what_nobody_accounts_for_is_shown_and_left_alone(local: LocalPlace) -> None:
    await local.engine.inventory()
    strange = local.directory / "data" / "run" / "w9-1"
    strange.mkdir()
    (strange / "spec.json").write_text("{broken")
    observed = await local.engine.observe()
    assert [(each.name, each.detail) for each in observed.foreign] == [
        ("run/w9-1", "a directory that is not that of a known attempt")
    ]
    await local.forget_what_was_told()
    assert [each.name for each in (await local.engine.observe()).foreign] == ["run/w9-1"]
    assert strange.exists()
    shutil.rmtree(strange)


async def test_record_of_an_ending_is_written_once(tmp_path: Path) -> None:
    assert durable_json.write_once(tmp_path, "exit-0.json", {"ending": "failed"})
    assert not durable_json.write_once(tmp_path, "exit-0.json", {"ending": "lost"})
    assert durable_json.read(tmp_path, "exit-0.json") == {"version": 1, "ending": "failed"}


FULL_DISK = """
import asyncio, os, sys
from pathlib import Path
from corral.engines.local.kernel import syscalls
from tests.engines.local.places import LocalPlace, PHASES
from corral.engines.interface import RunPhase

async def main(directory):
    place = LocalPlace(directory)
    wait = "while [ ! -f /dev/shm/go ]; do sleep 0.02; done"
    await place.engine.start([place.sized("a", "sh", "-c", f"echo before; {wait}; echo while; exit 3")])
    await place.wrote("a", "before")
    filler = directory / "data" / "filler"
    with filler.open("wb") as file:
        try:
            while file.write(bytes(1 << 16)): file.flush()
        except OSError as error:
            print("full", error.errno)
    session = await place.engine.execute("a", ["touch", "/dev/shm/go"])
    ended = await place.reach("a", RunPhase.ENDED)
    await session.close()
    print(ended.ending, ended.exit_code, (await place.engine.logs("a", 0, 1000)).data)
    filler.unlink()
    await place.close()

syscalls.unshare("mnt")
syscalls.keep_mounts_to_ourselves()
directory = Path(sys.argv[1])
(directory / "data").mkdir()
syscalls.mount_memory(str(directory / "data"), 4)
asyncio.run(main(directory))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")
def test_full_disk_loses_output_but_no_ending() -> None:
    with tempfile.TemporaryDirectory(prefix="corral-") as name:
        Path(name).chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", FULL_DISK, name],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    full, ended = done.stdout.splitlines()
    assert full == "full 28"
    assert ended.startswith("failed 3")
