"""What a run on this machine costs: time to start, CPU from start to end, memory of its supervisor.

    uv run python -m benchmarks.supervisors [--rounds 50] [--idle 20]

CPU is that of everything: this process, supervisors, sandboxes. It is counted by a control group of version 1
or 2, so this runs as root. Beside it, in the same run: plain processes, and the same sandbox by hand.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.local import NOBODY, plain_sandbox
from corral.engines.interface import Cursor, RunPhase, Start
from corral.engines.local.engine import LocalEngine
from corral.engines.local.records import locks
from corral.engines.local.sandbox.bubblewrap import Mode, Sandbox, look_at_host
from corral.engines.tasks import Task

GROUP = f"corral-bench-{os.getpid()}"
LIMIT_SECONDS = 60


class Cpu:
    """Seconds of CPU of this process and everything that it starts, ended or not."""

    def __init__(self) -> None:
        version_1 = Path("/sys/fs/cgroup/cpuacct")
        root = version_1 if version_1.is_dir() else Path("/sys/fs/cgroup")
        self._group = root / GROUP
        self._group.mkdir()
        (self._group / "cgroup.procs").write_text("0")
        self._is_1 = root == version_1

    def seconds(self) -> float:
        if self._is_1:
            return int((self._group / "cpuacct.usage").read_text()) / 1e9
        return int((self._group / "cpu.stat").read_text().split()[1]) / 1e6


def start_of(name: str, *command: str, network: bool = False) -> Start:
    return Start(name, name, "0", 1, "here", (), Task("ada", command, name, network=network))


class Reader:
    """Follows the engine as the control loop does: everything once, then changes."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self._cursor: Cursor | None = None
        self._phases: dict[str, RunPhase] = {}

    async def reach(self, run: str, phase: RunPhase) -> None:
        order = list(RunPhase)
        async with asyncio.timeout(LIMIT_SECONDS):
            while run not in self._phases or order.index(self._phases[run]) < order.index(phase):
                await self._engine.wait(self._cursor, 1)
                observed = await self._engine.observe(self._cursor)
                self._cursor = observed.cursor
                self._phases |= {each.run: each.phase for each in observed.runs}


async def one_after_the_other(engine: LocalEngine, reader: Reader, cpu: Cpu, rounds: int) -> None:
    starts, whole = [], []
    before = cpu.seconds()
    for number in range(rounds):
        name = f"w{number}"
        began = time.perf_counter()
        await engine.start([start_of(name, "true")])
        starts.append(time.perf_counter() - began)
        await reader.reach(name, RunPhase.ENDED)
        whole.append(time.perf_counter() - began)
        await engine.forget([name])
    used = (cpu.seconds() - before) / rounds
    print(f"start to running      p50 {_ms(starts)}   p99 {_ms(starts, 99)}")
    print(f"start to end told     p50 {_ms(whole)}   p99 {_ms(whole, 99)}")
    print(f"CPU of a whole run    {used * 1000:.1f} ms")


async def all_at_once(engine: LocalEngine, reader: Reader, cpu: Cpu, rounds: int) -> None:
    names = [f"all{number}" for number in range(rounds)]
    before, began = cpu.seconds(), time.perf_counter()
    await engine.start([start_of(name, "true") for name in names])
    for name in names:
        await reader.reach(name, RunPhase.ENDED)
    seconds, used = time.perf_counter() - began, cpu.seconds() - before
    await engine.forget(names)
    print(f"{rounds} at once            {seconds:.2f} s, {used / rounds * 1000:.1f} ms of CPU each")


def by_hand(cpu: Cpu, rounds: int, name: str, command: Sequence[str]) -> None:
    before, began = cpu.seconds(), time.perf_counter()
    for _ in range(rounds):
        subprocess.run(command, check=True)
    print(
        f"{name}{(time.perf_counter() - began) / rounds * 1000:.1f} ms, "
        f"{(cpu.seconds() - before) / rounds * 1000:.1f} ms of CPU each"
    )


def same_sandbox(directory: Path) -> tuple[str, ...]:
    for place in (workspace := directory / "by-hand", shm := directory / "shm"):
        place.mkdir()
        os.chown(place, NOBODY, NOBODY)
    sandbox = Sandbox(Mode.ROOT, NOBODY, NOBODY, "bench", ("true",), str(workspace), str(shm))
    return plain_sandbox(look_at_host(), sandbox)


async def idle(engine: LocalEngine, reader: Reader, cpu: Cpu, data: Path, count: int) -> None:
    names = [f"idle{number}" for number in range(count)]
    await engine.start([start_of(name, "sleep", "600") for name in names])
    supervisors = [locks.holder(data / "run" / f"{name}-1") for name in names]
    print(f"PSS of a supervisor   {_pss_kib(supervisors) / 1024:.1f} MiB, {count} of them")
    before, began = cpu.seconds(), time.perf_counter()
    await asyncio.sleep(20)
    used = (cpu.seconds() - before) / (time.perf_counter() - began) / count
    print(f"CPU of an idle run    {used * 1000:.3f} ms each second")
    await engine.kill(names)
    for name in names:
        await reader.reach(name, RunPhase.ENDED)
    await engine.forget(names)


def _pss_kib(processes: list[int | None]) -> float:
    found = []
    for process in processes:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        found.append(int(next(line for line in lines if line.startswith("Pss:")).split()[1]))
    return statistics.mean(found)


def _ms(seconds: list[float], percent: int = 50) -> str:
    ordered = sorted(seconds)
    return f"{ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] * 1000:.1f} ms"


async def main(rounds: int, idle_count: int) -> None:
    cpu = Cpu()
    with tempfile.TemporaryDirectory(prefix="corral-") as name:
        directory = Path(name)
        directory.chmod(0o755)  # noqa: ASYNC240
        engine = LocalEngine(directory / "data", directory / "sockets", node="here")
        await engine.inventory()
        reader = Reader(engine)
        await engine.start([start_of("first", "true")])  # starts the forkserver
        await reader.reach("first", RunPhase.ENDED)
        by_hand(cpu, rounds, "plain processes       ", ["true"])
        by_hand(cpu, rounds, "same sandbox by hand  ", same_sandbox(directory))
        await one_after_the_other(engine, reader, cpu, rounds)
        await all_at_once(engine, reader, cpu, rounds)
        await idle(engine, reader, cpu, directory / "data", idle_count)
        await engine.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--idle", type=int, default=20)
    options = parser.parse_args()
    asyncio.run(main(options.rounds, options.idle))
