"""The world of a simulated zone: pure functions of rows and an instant, no input or output.

The phases of a run begin at `starts_at`, `runs_at`, `leaves_at` and `ends_at`, in this order; a phase that it
skips is at `NEVER`, and one that would last no time is not told. What is done to a run gives another row with
other instants. They are all at or after the instant of doing, so nothing that was told before changes.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from corral.engines.interface import Ending, Run, RunPhase, Start
from corral.engines.reports import Counters
from corral.engines.simulated_zone.tables import DETAIL_LENGTH
from corral.engines.tasks import Simulation, Task

SECOND = 1_000_000
NEVER = 1 << 62
START_SECONDS = 1
SIGKILL = 9
NOTES = ("simulated",)
_MIB = 1024 * 1024


class HeldDevice(NamedTuple):
    """What a run was given of a device, and what it uses of that."""

    device: str
    held_mib: int
    used_mib: int


class RunRow(NamedTuple):
    """A run as it is kept, in the order of its columns."""

    run: str
    workload: str
    replica: str
    attempt: int
    node: str
    owner: str
    devices: list[tuple[str, int, int]]
    cpu_milli: int
    memory_mib: int
    gpu_percent: int
    duration_us: int
    carried_us: int
    save_us: int
    starts_at: int
    runs_at: int
    leaves_at: int
    ends_at: int
    ending: str
    detail: str
    exit_code: int | None
    signal: int | None
    timed_out: bool


# What a run is at an instant


def run_at(row: RunRow, at: int, domain: str) -> Run:
    """The run at an instant that is not before its start. `domain` names the clock of the zone."""
    if row.ends_at <= at:
        return _ended(row, domain)
    if row.leaves_at <= at:
        return Run(row.run, row.node, RunPhase.LEAVING, row.leaves_at, started=row.runs_at, notes=NOTES)
    if row.runs_at <= at:
        return Run(
            row.run,
            row.node,
            RunPhase.RUNNING,
            row.runs_at,
            started=row.runs_at,
            notes=NOTES,
            ready_since=row.runs_at,
        )
    return Run(row.run, row.node, RunPhase.STARTING, row.starts_at, notes=NOTES)


def changes(rows: Iterable[RunRow], after: int, until: int, domain: str) -> tuple[Run, ...]:
    """Every phase that began after `after` and not after `until`, in order; at one instant, ends first."""
    found: list[tuple[int, bool, str, Run]] = []
    for row in rows:
        instants = {row.starts_at, row.runs_at, row.leaves_at, row.ends_at}
        found += [
            (at, at != row.ends_at, row.run, run_at(row, at, domain))
            for at in instants
            if after < at <= until
        ]
    found.sort(key=lambda one: one[:3])
    return tuple(one[3] for one in found)


def _ended(row: RunRow, domain: str) -> Run:
    return Run(
        row.run,
        row.node,
        RunPhase.ENDED,
        row.ends_at,
        Ending(row.ending),
        row.detail,
        exit_code=row.exit_code,
        signal=row.signal,
        timed_out=bool(row.timed_out),
        started=None if row.runs_at == NEVER else row.runs_at,
        ended=row.ends_at,
        ended_mark=(domain, row.ends_at),
        usage=counters(row, row.ends_at),
        notes=NOTES,
    )


# What is done to a run


def started(
    start: Start,
    task: Task,
    simulation: Simulation,
    at: int,
    *,
    start_seconds: int = START_SECONDS,
    device_mib: Mapping[str, int],
    carried_us: int = 0,
) -> RunRow:
    """A run that begins to start; `device_mib` is the memory of its node's devices."""
    wanted = simulation.duration_seconds
    duration_us = NEVER if wanted is None else min(NEVER, wanted * SECOND)
    runs_at = at + start_seconds * SECOND
    ends_at = min(NEVER, runs_at + max(0, duration_us - carried_us))
    ending, detail, exit_code = _own_end(simulation)
    timed_out = False
    if task.time_limit_seconds is not None and runs_at + task.time_limit_seconds * SECOND < ends_at:
        ends_at = runs_at + task.time_limit_seconds * SECOND
        ending, detail = Ending.FAILED, f"reached its time limit of {task.time_limit_seconds} s"
        exit_code, timed_out = None, True
    use = simulation.usage
    return RunRow(
        start.run,
        start.workload,
        start.replica,
        start.attempt,
        start.node,
        task.owner,
        _devices(start, use.gpu_memory_mib, device_mib),
        _up_to(task.cpu_milli, use.cpu_milli),
        _up_to(task.memory_mib, use.memory_mib),
        use.gpu_percent,
        duration_us,
        carried_us,
        simulation.save_seconds * SECOND,
        at,
        runs_at,
        NEVER,
        ends_at,
        ending,
        detail,
        exit_code,
        SIGKILL if timed_out else None,
        timed_out,
    )


def refused(start: Start, at: int, because: str) -> RunRow:
    """A start that cannot be carried out. It held nothing."""
    owner = "" if start.task is None else start.task.owner
    names = (start.run, start.workload, start.replica, start.attempt, start.node, owner)
    instants = (at, NEVER, NEVER, at)
    detail = because[:DETAIL_LENGTH]
    return RunRow(*names, [], 0, 0, 0, 0, 0, 0, *instants, Ending.REFUSED, detail, None, None, False)


def signalled(row: RunRow, at: int, grace_seconds: int) -> RunRow:
    """The first signal counts. What has not begun to run has nothing to save."""
    if row.ends_at <= at or row.leaves_at <= at:
        return row
    if row.runs_at > at:
        return _cut(row, at, "stopped before it ran")
    row = row._replace(leaves_at=at)
    grace_us = grace_seconds * SECOND
    if row.save_us <= grace_us:
        return _cut(row, at + row.save_us, "stopped when it was told to", exit_code=0)
    return _cut(row, at + grace_us, f"did not stop within its grace of {grace_seconds} s", signal=SIGKILL)


def killed(row: RunRow, at: int) -> RunRow:
    if row.ends_at <= at:
        return row
    return _cut(row, at, "killed", signal=SIGKILL)


def lost(row: RunRow, at: int, because: str) -> RunRow:
    if row.ends_at <= at:
        return row
    return _cut(row, at, because)._replace(ending=Ending.LOST)


def progress_us(row: RunRow) -> int:
    """How much of its work an ended run leaves done: a suspension saves, any other end loses what it did."""
    if row.ending != Ending.SUSPENDED or row.runs_at == NEVER:
        return row.carried_us
    return min(row.duration_us, row.carried_us + min(row.leaves_at, row.ends_at) - row.runs_at)


def _cut(
    row: RunRow, ends_at: int, detail: str, *, exit_code: int | None = None, signal: int | None = None
) -> RunRow:
    return row._replace(
        runs_at=row.runs_at if row.runs_at <= ends_at else NEVER,
        ends_at=ends_at,
        ending=Ending.SUSPENDED,
        detail=detail[:DETAIL_LENGTH],
        exit_code=exit_code,
        signal=signal,
        timed_out=False,
    )


def _own_end(simulation: Simulation) -> tuple[Ending, str, int | None]:
    if simulation.exit_code == 0:
        return Ending.SUCCEEDED, "", 0
    return Ending.FAILED, f"exit code {simulation.exit_code}", simulation.exit_code


def _devices(
    start: Start, wanted_mib: int | None, device_mib: Mapping[str, int]
) -> list[tuple[str, int, int]]:
    devices: list[tuple[str, int, int]] = []
    for use in start.devices:
        memory_mib = device_mib[use.device] if use.memory_mib is None else use.memory_mib
        devices.append(HeldDevice(use.device, memory_mib, _up_to(memory_mib, wanted_mib)))
    return devices


def _up_to(most: int, wanted: int | None) -> int:
    """As a limit would: nobody uses more than it was given."""
    return most if wanted is None else min(most, wanted)


# What runs hold and use


def held_mib(rows: Iterable[RunRow], at: int) -> dict[tuple[str, str], int]:
    """MiB of each device of each node that is not free: until the run that holds it has ended."""
    used: dict[tuple[str, str], int] = {}
    for row in rows:
        if row.ends_at > at:
            for device, mib, _ in row.devices:
                used[row.node, device] = used.get((row.node, device), 0) + mib
    return used


def cpu_us(row: RunRow, at: int) -> int:
    if row.runs_at >= at:
        return 0
    return (min(at, row.ends_at) - row.runs_at) * row.cpu_milli // 1000


def is_working(row: RunRow, at: int) -> bool:
    return row.runs_at <= at < row.ends_at


def counters(row: RunRow, at: int) -> Counters:
    if row.runs_at > at:
        return Counters(cpu_microseconds=0, memory_bytes=0, memory_peak_bytes=0, processes=0)
    memory = row.memory_mib * _MIB
    working = is_working(row, at)
    return Counters(
        cpu_microseconds=cpu_us(row, at),
        memory_bytes=memory if working else 0,
        memory_peak_bytes=memory,
        processes=1 if working else 0,
        gpu_memory_mib=sum(used for _, _, used in row.devices) * working if row.devices else None,
        gpu_busy_percent=row.gpu_percent * len(row.devices) * working if row.devices else None,
    )
