"""What it costs to take from others, and to find out that nothing can be taken.

    python -m benchmarks.victims [--json FILE] [--parts a,b,c]

n nodes with eight GPUs each, full of one-GPU work of a queue over its guarantee. CPU seconds of
`schedule()`, the best of some runs; `plain` is a cycle on the same snapshot that only allocates, most of
which is reading the snapshot; `kept_ms` is a whole cycle of an engine that already has it. `go` is the figure
of the best-known scheduler written in Go.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from benchmarks.report import parser, show
from corral.core.devices import Device, DeviceUse
from corral.core.nodes import Node
from corral.core.plans import Action, Plan
from corral.core.queues import Queue, Quota
from corral.core.resources import Resource
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, ReplicaState, Request, Workload
from corral.scheduling.planning.planner_state import PlannerState, schedule
from corral.scheduling.validate.snapshot import Snapshot

NOW = 1_000_000
GPUS = 8
GANG = 10
DEVICE_MIB = 81_920
CPU_MILLI = 64_000
RUNS = 5
ENOUGH_SECONDS = 2.0


@dataclass(frozen=True)
class Trial:
    """`answer` is how many replicas must get a place: a benchmark of wrong answers is worth nothing."""

    part: str
    what: str
    build: Callable[[int], Snapshot]
    sizes: tuple[int, ...]
    answer: Callable[[int], int]
    go: dict[int, float]


def main() -> None:
    options = parser("victims", "CPU time of taking from others.")
    options.add_argument("--parts", default="a,b,c", help="which parts to run")
    chosen = options.parse_args()
    wanted = chosen.parts.split(",")
    show("victims", [row for trial in TRIALS if trial.part in wanted for row in _measure(trial)], chosen.json)


def _measure(trial: Trial) -> Iterator[dict[str, object]]:
    for size in trial.sizes:
        snapshot = trial.build(size)
        plain, _ = _best(partial(schedule, snapshot, actions=[Action.ALLOCATE]))
        seconds, plan = _best(partial(schedule, snapshot))
        engine = PlannerState(snapshot)
        engine.plan(snapshot.now)
        kept, _ = _best(partial(engine.plan, snapshot.now))
        waiting = {each.name for each in snapshot.workloads if each.running_since is None}
        placed = sum(each.workload in waiting for each in (*plan.placements, *plan.promises))
        if placed != trial.answer(size):
            raise SystemExit(f"{trial.what}, {size} nodes: {placed} placed, expected {trial.answer(size)}")
        go = trial.go.get(size)
        yield {
            "part": f"({trial.part}) {trial.what}",
            "nodes": size,
            "running": len(snapshot.workloads) - len(waiting),
            "placed": placed,
            "evicted": len(plan.evictions),
            "cpu_seconds": round(seconds, 4),
            "plain": round(plain, 4),
            "kept_ms": round(1000 * kept, 1),
            "go": go,
            "times_less": None if go is None else round(go / seconds, 1),
        }


def _best(make: Callable[[], Plan]) -> tuple[float, Plan]:
    best, spent = float("inf"), 0.0
    for _ in range(RUNS):
        started = time.process_time()
        plan = make()
        seconds = time.process_time() - started
        best = min(best, seconds)
        spent += seconds
        if spent > ENOUGH_SECONDS:
            break
    return best, plan


def many_owners(size: int) -> Snapshot:
    """(a) As many one-GPU workloads as there are GPUs, each of which takes one back."""
    return _snapshot(size, _hogs(size), [_pending(f"owner-{index:05}", 1, 1) for index in range(GPUS * size)])


def large_gang(size: int) -> Snapshot:
    """(b) One gang of one-GPU replicas on nine tenths of the cluster."""
    return _snapshot(size, _hogs(size), [_pending("gang", GPUS * size * 9 // 10, 1)])


def large_gang_of_whole_nodes(size: int) -> Snapshot:
    return _snapshot(size, _hogs(size), [_pending("gang", size * 9 // 10, GPUS)])


def pinned_everywhere(size: int) -> Snapshot:
    """(c) One GPU of every node runs work that nobody may take."""
    return _snapshot(size, _hogs(size, pinned=range(size)), [_pending("gang", GANG, GPUS)], pinned=size)


def one_node_short(size: int) -> Snapshot:
    """(c) Nine nodes could be emptied, where ten are needed."""
    pinned = range(GANG - 1, size)
    return _snapshot(size, _hogs(size, pinned=pinned), [_pending("gang", GANG, GPUS)], pinned=len(pinned))


def one_gpu_short(size: int) -> Snapshot:
    """(c) Every node could be emptied, but one GPU more than its owner may lose is needed."""
    kept = GPUS * size - GANG * GPUS + 1
    return _snapshot(size, _hogs(size), [_pending("gang", GANG, GPUS)], hog_guarantee=kept)


def idle_without_cpu(size: int) -> Snapshot:
    """(c) A GPU is idle on every node, but what would have to move finds no CPU anywhere else."""
    hogs = [
        _running(f"hog-{node:04}-{index}", node, index, cpu_milli=CPU_MILLI // (GPUS - 1))
        for node in range(size)
        for index in range(GPUS - 1)
    ]
    return _snapshot(size, hogs, [_pending("gang", GANG, GPUS, queue="hog", cpu_milli=0)])


def many_gangs_without_cpu(size: int) -> Snapshot:
    """(c) The same for as many gangs as there are nodes: equal ones are not searched for twice."""
    alone = idle_without_cpu(size)
    gangs = [_pending(f"gang-{index:04}", GANG, GPUS, queue="hog", cpu_milli=0) for index in range(size)]
    return replace(alone, workloads=(*alone.workloads[:-1], *gangs))


def _snapshot(
    size: int, running: list[Workload], pending: list[Workload], *, hog_guarantee: int = 0, pinned: int = 0
) -> Snapshot:
    queues = (
        Queue("department", quotas=_quota(-1)),
        Queue("hog", "department", created=1, quotas=_quota(1000 * hog_guarantee)),
        Queue("owner", "department", created=2, quotas=_quota(1000 * GPUS * size)),
        Queue("pinned", "department", created=3, quotas=_quota(1000 * pinned)),
    )
    nodes = tuple(
        Node(
            f"n{node:04}",
            CPU_MILLI,
            512_000,
            devices=tuple(Device(_device(node, index), DEVICE_MIB) for index in range(GPUS)),
        )
        for node in range(size)
    )
    return Snapshot(NOW, nodes, queues, (*running, *pending))


def _quota(gpu_milli: int) -> dict[str, dict[Resource, Quota]]:
    return {"default": {Resource.GPU_MILLI: Quota(gpu_milli)}}


def _device(node: int, index: int) -> str:
    return f"n{node:04}-{index}"


def _hogs(size: int, pinned: Iterable[int] = ()) -> list[Workload]:
    """One workload on every GPU, ages strewn over the nodes; on `pinned` nodes the first may not be taken."""
    held = set(pinned)
    return [
        _running(f"hog-{node:04}-{index}", node, index, pinned=node in held and index == 0)
        for node in range(size)
        for index in range(GPUS)
    ]


def _running(name: str, node: int, index: int, *, cpu_milli: int = 1000, pinned: bool = False) -> Workload:
    replica = Replica(name, ReplicaState.RUNNING, f"n{node:04}", (DeviceUse(_device(node, index)),))
    request = Request(cpu_milli, 1000, DeviceRequest(1))
    age = 3600 + (node * 7919 + index * 104_729) % 9973
    group = ReplicaGroup("main", 1, request, (replica,), preemptible=not pinned)
    queue = "pinned" if pinned else "hog"
    return Workload(name, queue, (group,), created=NOW - age, running_since=NOW - age)


def _pending(name: str, replicas: int, gpus: int, queue: str = "owner", cpu_milli: int = 1000) -> Workload:
    members = tuple(Replica(f"{name}-{index:05}") for index in range(replicas))
    request = Request(cpu_milli, 1000, DeviceRequest(gpus))
    return Workload(name, queue, (ReplicaGroup("main", replicas, request, members),), created=NOW - 60)


FEW_TO_MANY = (10, 50, 100, 200, 500, 1000)
GO_NO = {10: 0.1, 50: 4.1, 100: 21.0, 200: 100.0}
TRIALS = (
    Trial("a", "8n owners", many_owners, (100, 200, 500), lambda size: GPUS * size, {100: 3.6, 200: 17.0}),
    Trial(
        "b",
        "gang of 7.2n, 1 GPU each",
        large_gang,
        (100, 500, 1000),
        lambda size: GPUS * size * 9 // 10,
        {100: 0.7, 500: 8.9, 1000: 36.0},
    ),
    Trial(
        "b",
        "gang of 0.9n, 8 GPUs each",
        large_gang_of_whole_nodes,
        (100, 500, 1000),
        lambda size: size * 9 // 10,
        {100: 0.7, 500: 8.9, 1000: 36.0},
    ),
    Trial("c", "a pinned GPU on every node", pinned_everywhere, FEW_TO_MANY, lambda _: 0, GO_NO),
    Trial("c", "one node short", one_node_short, FEW_TO_MANY, lambda _: 0, GO_NO),
    Trial("c", "one GPU short of the guarantee", one_gpu_short, FEW_TO_MANY, lambda _: 0, GO_NO),
    Trial("c", "idle GPUs without CPU", idle_without_cpu, FEW_TO_MANY, lambda _: 0, GO_NO),
    Trial("c", "n gangs, idle GPUs without CPU", many_gangs_without_cpu, (100, 500, 1000), lambda _: 0, {}),
)


if __name__ == "__main__":
    main()
