"""Runs inside a machine of `machine.py`: one scene each, which prints what came of it as JSON."""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from corral.engines.interface import Run, RunPhase, Start
from corral.engines.local.engine import LocalEngine
from corral.engines.tasks import Task
from tests.soak import disk_scenes

LIMIT_SECONDS = 60
OWN_GROUP = Path("/sys/fs/cgroup/corral.service")
DATA = Path("/mnt/data")
BOMB = "data = []\nwhile True: data.append(bytearray(b'x') * (4 << 20))"
FORKS = (
    "import os, time\ncount = 0\n"
    "try:\n    while True:\n        if os.fork() == 0: time.sleep(60)\n        count += 1\n"
    "except OSError: print('forked', count)"
)


def start(name: str, *command: str, **more: Any) -> Start:
    task = Task("ada", command, name, network=False, **{"memory_mib": 64, **more})
    return Start(name, name, "0", 1, "guest", (), task)


def new_engine() -> LocalEngine:
    if os.geteuid() != 0:
        return LocalEngine(Path("/run/user/data"), Path("/run/user/sockets"), node="guest")
    return LocalEngine(DATA, Path("/run/corral"), node="guest")


async def reach(engine: LocalEngine, run: str, phase: RunPhase) -> Run:
    order = list(RunPhase)
    async with asyncio.timeout(LIMIT_SECONDS):
        while True:
            observed = await engine.observe()
            found = {each.run: each for each in observed.runs}[run]
            if order.index(found.phase) >= order.index(phase):
                return found
            await engine.wait(observed.cursor, 1)


async def finish(engine: LocalEngine, begun: Start) -> Run:
    await engine.start([begun])
    return await reach(engine, begun.run, RunPhase.ENDED)


async def limits(engine: LocalEngine) -> dict[str, object]:
    """Every limit of version 2, counters, and the end of what does not listen."""
    facts = (await engine.inventory()).facts["guest"]
    bomb = await finish(engine, start("bomb", "python3", "-c", BOMB, memory_mib=64))
    forks = await finish(engine, start("forks", "python3", "-c", FORKS, processes=20))
    said = (await engine.logs("forks", 0, 1000)).data.decode().split()
    stubborn = "trap '' TERM; echo listening; while :; do sleep 0.05; done"
    await engine.start([start("stubborn", "sh", "-c", stubborn)])
    await reach(engine, "stubborn", RunPhase.RUNNING)
    live = (await engine.usage(["stubborn"])).runs["stubborn"]
    await engine.signal(["stubborn"], 1)
    gone = await reach(engine, "stubborn", RunPhase.ENDED)
    return {
        "notes": facts.notes,
        "own": own_group(),
        "bomb": [bomb.ending, bomb.detail, bomb.out_of_memory],
        "forks": [forks.ending, *said],
        "live": [live.cpu_microseconds, live.memory_bytes, live.processes],
        "stubborn": gone.ending,
        "groups_left": await groups_left(),
    }


def own_group() -> str:
    return Path("/proc/self/cgroup").read_text().strip()


async def groups_left() -> list[str]:
    """A supervisor removes its groups after it has told of the end."""
    until = time.monotonic() + LIMIT_SECONDS
    while groups() and time.monotonic() < until:  # noqa: ASYNC110 - another process removes them
        await asyncio.sleep(0.05)
    return groups()


def groups() -> list[str]:
    return [path.name for path in OWN_GROUP.rglob("*-0") if path.is_dir()]


async def clock(engine: LocalEngine) -> dict[str, object]:
    """The clock is set two days ahead, and back by four, while something runs."""
    await engine.start([start("a", "sleep", "2")])
    await reach(engine, "a", RunPhase.RUNNING)
    began = time.clock_gettime(time.CLOCK_BOOTTIME)
    set_clock(2 * 86400)
    await asyncio.sleep(0.5)
    set_clock(-4 * 86400)
    ended = await reach(engine, "a", RunPhase.ENDED)
    took = time.clock_gettime(time.CLOCK_BOOTTIME) - began
    assert ended.started is not None
    assert ended.ended is not None
    assert ended.ended_mark is not None
    return {
        "ending": ended.ending,
        "recorded_seconds": (ended.ended - ended.started) / 1e6,
        "took_seconds": took,
        "mark_is_of_this_boot": ended.ended_mark[0] == boot_id(),
    }


def set_clock(seconds: int) -> None:
    time.clock_settime(time.CLOCK_REALTIME, time.time() + seconds)


async def before_restart(engine: LocalEngine) -> dict[str, object]:
    await engine.start([start("a", "sleep", "600"), start("b", "sh", "-c", "exit 3")])
    await reach(engine, "b", RunPhase.ENDED)
    phase = (await reach(engine, "a", RunPhase.RUNNING)).phase
    os.sync()
    return {"a": phase, "boot": boot_id()}


async def after_restart(engine: LocalEngine) -> dict[str, object]:
    runs = {run.run: run for run in (await engine.observe()).runs}
    lost = await reach(engine, "a", RunPhase.ENDED)
    again = await finish(engine, start("c", "true"))
    return {
        "a": [lost.ending, lost.detail],
        "b": [runs["b"].ending, runs["b"].exit_code],
        "c": again.ending,
        "boot": boot_id(),
    }


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


async def quotas(_: LocalEngine) -> dict[str, object]:
    """What the kernel bounds where the file system has quotas."""
    engine = disk_scenes.disk_engine()
    programs = {"write": disk_scenes.WRITE, "in-flight": disk_scenes.IN_FLIGHT, "many": disk_scenes.MANY}
    told: dict[str, object] = {"limits": (await engine.inventory()).facts["guest"].disk_limits}
    for name, program in programs.items():
        told[name] = await outcome(engine, name, program, disk_scenes.DISK_MIB)
    told["leave"] = await outcome(engine, "leave", disk_scenes.LEAVE, disk_scenes.DISK_MIB)
    told["projects"] = disk_scenes.projects_in_use()
    await discard(engine, "write", "in-flight", "many")
    told["person"] = await outcome(engine, "person", disk_scenes.WRITE, 2 * disk_scenes.PERSON_MIB)
    told["projects_after"] = disk_scenes.projects_in_use()
    await discard(engine, "leave", "person")
    told["projects_left"] = disk_scenes.projects_in_use()
    return told


async def no_quotas(_: LocalEngine) -> dict[str, object]:
    """The same disk without them: what is too much is found by looking, at the latest at the end."""
    engine = disk_scenes.disk_engine()
    return {
        "limits": (await engine.inventory()).facts["guest"].disk_limits,
        "write": await outcome(engine, "write", disk_scenes.WRITE, disk_scenes.DISK_MIB),
    }


async def outcome(engine: LocalEngine, name: str, program: str, disk_mib: int) -> list[object]:
    run = await finish(engine, start(name, "python3", "-c", program, disk_mib=disk_mib))
    return [run.ending, run.detail, (await engine.logs(name, 0, 1000)).data.decode().strip()]


async def discard(engine: LocalEngine, *names: str) -> None:
    await engine.forget(names)
    await engine.discard(names)


SCENES = {
    scene.__name__: scene for scene in (limits, clock, before_restart, after_restart, quotas, no_quotas)
}


def be_a_service() -> None:
    """As systemd does for a unit with Delegate=yes: a group of our own with all controllers."""
    Path("/sys/fs/cgroup/cgroup.subtree_control").write_text("+cpu +memory +pids +io")
    OWN_GROUP.mkdir()
    (OWN_GROUP / "cgroup.procs").write_text("0")


async def play(name: str) -> None:
    told = await SCENES[name](new_engine())
    print("TOLD", json.dumps(told), flush=True)


if __name__ == "__main__":
    if os.geteuid() == 0:
        be_a_service()
    asyncio.run(play(sys.argv[1]))
