"""How many decisions the scheduler makes per CPU second: whole plans of large clusters.

One snapshot with much pending work goes in, one plan of the action `allocate` comes out; a decision is a
workload that was placed or refused with its reason. Everything between the snapshot's values and the plan's
values is counted, reading JSON is not; the least of three runs. `benchmarks.victims` measures the actions
that take from others. The cases "quiet" and "one-change" are an engine that keeps its state while 100,000
workloads run: a full cycle that finds nothing to do, and one after a workload ended and another arrived.
"crowd" and "crowd-bare" are one that keeps it while 10,000 wait in a hundred queues for a full cluster, with
the reasons of each and without. Each case runs in a process of its own, so its peak of memory is its own.
"""

from __future__ import annotations

import cProfile
import pstats
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from benchmarks import openb, report
from benchmarks.policies import request_of
from corral.core.devices import Device, DeviceUse
from corral.core.mixes import ONE_ARRIVAL, ClassCount, Mix, WorkClass
from corral.core.nodes import Node
from corral.core.plans import Action
from corral.core.queues import Queue, Quota
from corral.core.resources import WHOLE_DEVICE_MILLI, Resource
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, ReplicaState, Request, Workload
from corral.scheduling.live.mix_learning import learn
from corral.scheduling.placing.arrival_mix import work_class
from corral.scheduling.planning.planner_state import PlannerState, schedule
from corral.scheduling.validate.snapshot import Snapshot

NOW = 1_000_000
RUNS = 3
TEAMS = 8
QUIET, ONE_CHANGE = "quiet", "one-change"
CROWD, CROWD_BARE = "crowd", "crowd-bare"
KEPT = (QUIET, ONE_CHANGE, CROWD, CROWD_BARE)
LARGE_NODES = 10_000
LARGE_GPUS = 8
LARGE_PENDING = 30_000
CROWD_NODES = 100
DEPARTMENTS = 10
CROWD_PENDING = 10_000
GPU_MIB = 81_920


def main() -> None:
    arguments = report.parser("decisions", __doc__ or "")
    arguments.add_argument(
        "--traces", type=Path, required=True, metavar="DIR", help="folder of the openb lists"
    )
    arguments.add_argument("--cases", default=",".join((*CASES, *KEPT)), help="cases, joined by commas")
    arguments.add_argument("--profile", action="store_true", help="show where the time goes instead")
    options = arguments.parse_args()
    names = [name.strip() for name in options.cases.split(",")]
    for name in names:
        if name not in (*CASES, *KEPT):
            sys.exit(f"--cases: {name!r} is unknown; known are {', '.join((*CASES, *KEPT))}")
    if options.profile:
        for name in names:
            _profile(name, options.traces)
        return
    rows = []
    for name in names:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
            rows.append(alone.submit(measure, name, options.traces).result())
    report.show("decisions", rows, options.json)


def measure(name: str, traces: Path) -> report.Row:
    if name in (CROWD, CROWD_BARE):
        return measure_crowd(name)
    if name in KEPT:
        return measure_kept(name)
    snapshot = CASES[name](traces)
    before = _peak_mib()
    spent = []
    for _ in range(RUNS):
        started = time.process_time()
        plan = schedule(snapshot, actions=[Action.ALLOCATE])
        spent.append(time.process_time() - started)
    decided = len(snapshot.workloads)
    return _row(name, snapshot, len(plan.placements), min(spent), round(decided / min(spent)), before)


def measure_kept(name: str) -> report.Row:
    """A full cycle of an engine that has planned before: the least of several, since all are alike."""
    snapshot = quiet_snapshot()
    before = _peak_mib()
    engine = PlannerState(snapshot)
    plan = engine.plan(NOW)
    if not plan.is_empty or plan.unplaced:
        raise AssertionError("the quiet cluster is not quiet")
    spent = []
    placed = 0
    for number in range(1, 6):
        running = snapshot.workloads[number * 10_001]
        started = time.process_time()
        if name == ONE_CHANGE:
            engine.drop_workload(running.name)
            pending = replace(running.groups[0], replicas=(Replica("0"),))
            engine.set_workload(replace(running, name=f"new{number}", groups=(pending,)))
        plan = engine.plan(NOW + number)
        spent.append(time.process_time() - started)
        placed += len(plan.placements)
        if name == ONE_CHANGE:
            engine.drop_workload(f"new{number}")
            engine.set_workload(running)
    return _row(name, snapshot, placed, min(spent), None, before)


def measure_crowd(name: str) -> report.Row:
    """A full cycle in which nobody of many can start."""
    snapshot = crowd_snapshot()
    before = _peak_mib()
    engine = PlannerState(snapshot)
    waiting = len(engine.plan(NOW).unplaced)
    if waiting != CROWD_PENDING:
        raise AssertionError(f"{waiting} of the crowd wait, not {CROWD_PENDING}")
    spent = []
    for _ in range(5):
        started = time.process_time()
        engine.plan(NOW, reasons=name == CROWD)
        spent.append(time.process_time() - started)
    return _row(name, snapshot, 0, min(spent), None, before)


def _row(
    name: str, snapshot: Snapshot, placed: int, spent: float, rate: int | None, before: int
) -> report.Row:
    return {
        "case": name,
        "nodes": len(snapshot.nodes),
        "workloads": len(snapshot.workloads),
        "placed": placed,
        "cpu_milliseconds": round(1000 * spent, 1),
        "decisions_per_cpu_second": rate,
        "snapshot_mib": before,
        "peak_mib": _peak_mib(),
    }


def _profile(name: str, traces: Path) -> None:
    made = {QUIET: quiet_snapshot, ONE_CHANGE: quiet_snapshot}.get(name, crowd_snapshot)
    snapshot = made() if name in KEPT else CASES[name](traces)
    with cProfile.Profile(time.process_time) as profile:
        schedule(snapshot, actions=[Action.ALLOCATE])
    print(name)
    pstats.Stats(profile).sort_stats("tottime").print_stats(25)


def _peak_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def openb_snapshot(traces: Path) -> Snapshot:
    """The 1,213 GPU nodes of openb, and the tasks of its default list, all pending."""
    folder = openb.find_folder(traces)
    return _snapshot(openb.snapshot_nodes(folder), openb.read_tasks(folder, "default"))


def learnt(made: Callable[[Path], Snapshot], traces: Path) -> Snapshot:
    """The same, with a mix as if work like the pending had arrived before."""
    snapshot = made(traces)
    counts = Counter(work_class(group.request) for each in snapshot.workloads for group in each.groups)
    mix = Mix(tuple(sorted(ClassCount(work, ONE_ARRIVAL * n) for work, n in counts.items())), counts.total())
    told = replace(snapshot, mix={"default": mix})
    return replace(told, mix={"default": learn(told, "default")})


def large_snapshot(_: Path) -> Snapshot:
    """10,000 nodes with 8 GPUs, pending: one-GPU work, slices of it, and work on all 8."""
    nodes = tuple(
        Node(
            f"n{index:05d}",
            cpu_milli=128_000,
            memory_mib=1_048_576,
            devices=tuple(Device(f"g{number}", GPU_MIB, "H100") for number in range(LARGE_GPUS)),
        )
        for index in range(LARGE_NODES)
    )
    return _snapshot(nodes, list(_mixed_work(LARGE_PENDING)))


def quiet_snapshot() -> Snapshot:
    """The large cluster with 100,000 running workloads: on each node six on a GPU, four on half of one."""
    snapshot = large_snapshot(Path())
    workloads = tuple(
        _running(f"{node.name}-{number}-{part}", node, device, half=number >= 6)
        for node in snapshot.nodes
        for number, device in enumerate(node.devices)
        for part in range(1 if number < 6 else 2)
    )
    return replace(snapshot, workloads=workloads)


def crowd_snapshot() -> Snapshot:
    """A cluster that one queue fills with its guarantee, and work of six kinds in many others."""
    nodes = large_snapshot(Path()).nodes[:CROWD_NODES]
    everything = {"default": {Resource.GPU_MILLI: Quota(WHOLE_DEVICE_MILLI * LARGE_GPUS * CROWD_NODES)}}
    nothing = {"default": {Resource.GPU_MILLI: Quota(0)}}
    departments = [f"department{number}" for number in range(DEPARTMENTS)]
    leaves = [f"{name}-{number}" for number in range(DEPARTMENTS) for name in departments]
    queues = (
        Queue("all"),
        Queue("owner", "all", quotas=everything),
        *(Queue(name, "all", quotas=nothing) for name in departments),
        *(Queue(name, name.split("-")[0], quotas=nothing) for name in leaves),
    )
    running = tuple(
        replace(_running(f"{node.name}-{device.id}", node, device, half=False), queue="owner")
        for node in nodes
        for device in node.devices
    )
    waiting = tuple(
        Workload(
            f"w{number:05d}",
            leaves[number % len(leaves)],
            (
                ReplicaGroup(
                    "main",
                    request=Request(1000, 1000, DeviceRequest(1 + number % 2)),
                    replicas=tuple(Replica(f"{index}") for index in range(1 + number % 3)),
                ),
            ),
            created=NOW - 60 - number % 977,
        )
        for number in range(CROWD_PENDING)
    )
    return Snapshot(NOW, nodes, queues, (*running, *waiting))


def _running(name: str, node: Node, device: Device, *, half: bool) -> Workload:
    request = Request(4000, 16_384, DeviceRequest(fraction_milli=500 if half else None))
    use = DeviceUse(device.id, device.memory_mib // 2, 50) if half else DeviceUse(device.id)
    replica = Replica("0", ReplicaState.RUNNING, node.name, (use,))
    group = ReplicaGroup("main", request=request, replicas=(replica,))
    return Workload(
        name, f"team{int(node.name[1:]) % TEAMS}", (group,), created=NOW - 1000, running_since=NOW - 1000
    )


def _mixed_work(count: int) -> Iterator[WorkClass]:
    drawn = random.Random(4)
    for _ in range(count):
        kind = drawn.random()
        cpu = drawn.choice((2000, 4000, 6000, 8000))
        if kind < 0.5:
            yield WorkClass(cpu, cpu * 8, gpus=1, gpu_milli=WHOLE_DEVICE_MILLI)
        elif kind < 0.85:
            yield WorkClass(cpu, cpu * 4, gpus=1, gpu_milli=drawn.choice((125, 250, 500)))
        else:
            yield WorkClass(96_000, 786_432, gpus=LARGE_GPUS, gpu_milli=WHOLE_DEVICE_MILLI)


def _snapshot(nodes: tuple[Node, ...], works: Sequence[WorkClass]) -> Snapshot:
    share = WHOLE_DEVICE_MILLI * sum(len(node.devices) for node in nodes) // TEAMS
    queues = (
        Queue("all"),
        *(
            Queue(f"team{number}", "all", quotas={"default": {Resource.GPU_MILLI: Quota(guarantee=share)}})
            for number in range(TEAMS)
        ),
    )
    workloads = tuple(
        Workload(
            f"w{number:05d}",
            f"team{number % TEAMS}",
            (ReplicaGroup("main", request=request_of(work), replicas=(Replica("0"),)),),
            created=NOW - len(works) + number,
        )
        for number, work in enumerate(works)
    )
    return Snapshot(NOW, nodes, queues, workloads)


CASES: dict[str, Callable[[Path], Snapshot]] = {
    "openb": openb_snapshot,
    "openb-learnt": partial(learnt, openb_snapshot),
    "large": large_snapshot,
    "large-learnt": partial(learnt, large_snapshot),
}

if __name__ == "__main__":
    main()
