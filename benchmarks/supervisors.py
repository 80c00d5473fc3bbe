"""What a run on this machine costs: time to start, CPU from start to end, memory of its supervisor.

    uv run python -m benchmarks.supervisors [--rounds 50] [--idle 20]

CPU is that of everything: this process, supervisors, sandboxes. It is counted by a control group of version 1
or 2, so this runs as root. Beside it, in the same run: bubblewrap with the same arguments and nothing else
is in `benchmarks.sandbox`, a plain process is here.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from corral.engines.interface import RunPhase, Start
from corral.engines.local import locks
from corral.engines.local.engine import LocalEngine
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


async def reach(engine: LocalEngine, run: str, phase: RunPhase) -> None:
    order = list(RunPhase)
    async with asyncio.timeout(LIMIT_SECONDS):
        while True:
            observed = await engine.observe()
            found = {each.run: each.phase for each in observed.runs}
            if order.index(found[run]) >= order.index(phase):
                return
            await engine.wait(observed.cursor, 1)


async def one_after_the_other(engine: LocalEngine, cpu: Cpu, rounds: int) -> None:
    starts, whole = [], []
    before = cpu.seconds()
    for number in range(rounds):
        name = f"w{number}"
        began = time.perf_counter()
        await engine.start([start_of(name, "true")])
        starts.append(time.perf_counter() - began)
        await reach(engine, name, RunPhase.ENDED)
        whole.append(time.perf_counter() - began)
        await engine.forget([name])
    used = (cpu.seconds() - before) / rounds
    print(f"start to running      p50 {_ms(starts)}   p99 {_ms(starts, 99)}")
    print(f"start to end told     p50 {_ms(whole)}   p99 {_ms(whole, 99)}")
    print(f"CPU of a whole run    {used * 1000:.1f} ms")


async def all_at_once(engine: LocalEngine, cpu: Cpu, rounds: int) -> None:
    names = [f"all{number}" for number in range(rounds)]
    before, began = cpu.seconds(), time.perf_counter()
    await engine.start([start_of(name, "true") for name in names])
    for name in names:
        await reach(engine, name, RunPhase.ENDED)
    seconds, used = time.perf_counter() - began, cpu.seconds() - before
    await engine.forget(names)
    print(f"{rounds} at once            {seconds:.2f} s, {used / rounds * 1000:.1f} ms of CPU each")


def plain_processes(cpu: Cpu, rounds: int) -> None:
    before, began = cpu.seconds(), time.perf_counter()
    for _ in range(rounds):
        subprocess.run(["true"], check=True)
    print(
        f"plain processes       {(time.perf_counter() - began) / rounds * 1000:.1f} ms, "
        f"{(cpu.seconds() - before) / rounds * 1000:.1f} ms of CPU each"
    )


async def idle(engine: LocalEngine, cpu: Cpu, data: Path, count: int) -> None:
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
        await reach(engine, name, RunPhase.ENDED)
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
        await engine.start([start_of("first", "true")])  # starts the nursery
        await reach(engine, "first", RunPhase.ENDED)
        plain_processes(cpu, rounds)
        await one_after_the_other(engine, cpu, rounds)
        await all_at_once(engine, cpu, rounds)
        await idle(engine, cpu, directory / "data", idle_count)
        await engine.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--idle", type=int, default=20)
    options = parser.parse_args()
    asyncio.run(main(options.rounds, options.idle))
