"""Recorded decisions of another scheduler, run through ours: how often do the two agree?

    python -m benchmarks.conformance --cases DIR

DIR holds recorded cases (`cases.json.xz`) and the program that compares (`match.py`), which also runs
alone: `python3 match.py cases.json.xz --scheduler benchmarks.conformance:factory`.
"""

from __future__ import annotations

import importlib.util
import json
import lzma
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.report import parser, show
from corral.core.devices import Device, DeviceUse
from corral.core.nodes import Node, Pool, Topology
from corral.core.plans import Action
from corral.core.queues import Queue, Quota
from corral.core.resources import Resource
from corral.core.workloads import (
    DeviceRequest,
    Replica,
    ReplicaGroup,
    ReplicaState,
    Request,
    TopologyRequest,
    Workload,
)
from corral.scheduling.planning.planner_state import schedule
from corral.scheduling.state.config import Config
from corral.scheduling.validate.snapshot import Snapshot

MIB = 1 << 20
NOW = 1_000_000_000
ACTIONS = {
    "allocate": Action.ALLOCATE,
    "consolidation": Action.CONSOLIDATE,
    "reclaim": Action.RECLAIM,
    "preempt": Action.PREEMPT,
    "stalegangeviction": Action.EVICT_STALE_GANGS,
}
STATES = {
    "Pending": ReplicaState.PENDING,
    "Pipelined": ReplicaState.PENDING,
    "Running": ReplicaState.RUNNING,
    "Binding": ReplicaState.RUNNING,
    "Bound": ReplicaState.RUNNING,
    "Allocated": ReplicaState.RUNNING,
    "Releasing": ReplicaState.RELEASING,
    "StuckInReleasing": ReplicaState.STUCK,
    "Succeeded": ReplicaState.SUCCEEDED,
}
# What is gone, or held back by someone else: it is not scheduled.
GONE = {"Failed", "Deleted", "Unknown", "Gated"}
DEFAULT_SET = "default"
HOLDING = {ReplicaState.RUNNING, ReplicaState.RELEASING, ReplicaState.STUCK}
Json = dict[str, Any]


class Adapter:
    """Speaks the protocol of the recorded cases."""

    def schedule(self, cluster: Json, actions: list[str]) -> dict[str, Json]:
        plan = schedule(snapshot_of(cluster), Config(), [ACTIONS[action] for action in actions])
        changes: dict[str, Json] = {}
        for eviction in plan.evictions:
            changes[eviction.replica] = {"status": "Releasing", "node": eviction.node}
        for status, entries in (("Binding", plan.placements), ("Pipelined", plan.promises)):
            for entry in entries:
                shared = [use.device for use in entry.devices if use.memory_mib is not None]
                changes[entry.replica] = {"status": status, "node": entry.node, "gpu_groups": shared}
        return changes


def factory() -> Adapter:
    return Adapter()


def snapshot_of(cluster: Json) -> Snapshot:
    """The recorded cluster in our words: all queues elastic, one pool, whole GPUs as the unit."""
    seats = _Seats(cluster)
    return Snapshot(
        now=NOW,
        nodes=tuple(_node(name, node) for name, node in cluster["nodes"].items()),
        queues=tuple(_queue(queue) for queue in cluster["queues"]),
        workloads=tuple(_workload(job, seats) for job in cluster["jobs"]),
        pools=(Pool("default", topologies=_topologies(cluster.get("topologies") or [])),),
    )


def _topologies(recorded: list[Json] | dict[str, Any]) -> tuple[Topology, ...]:
    """By name, each a list of label keys, bare or as objects that name one."""
    if isinstance(recorded, dict):
        recorded = [{"name": name, "levels": levels} for name, levels in recorded.items()]
    return tuple(
        Topology(each["name"], tuple(_label_key(level) for level in each["levels"])) for each in recorded
    )


def _label_key(level: str | Json) -> str:
    return level if isinstance(level, str) else str(next(iter(level.values())))


def _topology_request(spec: Json) -> TopologyRequest | None:
    asked = spec.get("topology_constraint") or spec.get("topology")
    if not asked or not asked.get("topology"):
        return None
    required = asked.get("required_level") or asked.get("required")
    preferred = asked.get("preferred_level") or asked.get("preferred")
    return (
        TopologyRequest(asked["topology"], required or None, preferred or None)
        if required or preferred
        else None
    )


def _node(name: str, node: Json) -> Node:
    devices = tuple(
        Device(device_id(name, index), max(1, node["gpu_memory_mib"])) for index in range(node["gpus"])
    )
    memory = node["memory_bytes"] // MIB
    return Node(name, node["cpu_milli"], memory, node["max_pods"], devices, node.get("labels") or {})


def device_id(node: str, index: int) -> str:
    return f"{node}-gpu{index}"


def _queue(queue: Json) -> Queue:
    """A resource that the record leaves out is not divided."""
    scales = {
        "gpu": (Resource.GPU_MILLI, 1000),
        "cpu_milli": (Resource.CPU_MILLI, 1),
        "memory_mb": (Resource.MEMORY_MIB, 1_000_000 / MIB),
    }
    quotas = {
        resource: Quota(
            _scaled(queue[key]["quota"], scale),
            _scaled(queue[key]["limit"], scale),
            # Recorded weights may be fractions; only their proportions count.
            round(queue[key]["over_quota_weight"] * 1000),
        )
        for key, (resource, scale) in scales.items()
        if key in queue
    }
    return Queue(
        queue["name"],
        queue.get("parent"),
        queue["priority"],
        queue["created_index"],
        quotas={"default": quotas},
        reclaim_min_runtime_seconds=_seconds(queue.get("reclaim_min_runtime_s")),
        preempt_min_runtime_seconds=_seconds(queue.get("preempt_min_runtime_s")),
    )


def _scaled(number: float, scale: float) -> int:
    return -1 if number < 0 else round(number * scale)


def _seconds(number: float | None) -> int | None:
    return None if number is None else int(number)


def _workload(job: Json, seats: _Seats) -> Workload:
    tasks: dict[str, list[Json]] = {}
    for task in job["tasks"]:
        tasks.setdefault(task.get("subgroup") or DEFAULT_SET, []).append(task)
    minimum = job.get("min_available", 1)
    spec = job.get("subgroups") or {"pod_sets": [{"name": DEFAULT_SET, "min_available": minimum}]}
    stale = job.get("stale_for_s")
    ran = job.get("running_for_s")
    created = NOW - round(job["created_minutes_ago"] * 60)
    return Workload(
        name=job["name"],
        queue=job["queue"],
        groups=(_group(spec, tasks, job["preemptible"], seats),),
        priority=job["priority"],
        created=created,
        running_since=None if ran is None else NOW - int(ran),
        preemption_delay_seconds=int(job.get("preemption_delay_s") or 0),
        stale_since=NOW - int(stale or 0),
        stale_grace_seconds=0,
        topology=_topology_request(job),
    )


def _group(spec: Json, tasks: dict[str, list[Json]], preemptible: bool, seats: _Seats) -> ReplicaGroup:
    """Groups and sets of tasks side by side, as far as there are tasks in them."""
    below = [_group(group, tasks, preemptible, seats) for group in spec.get("groups") or ()]
    for leaf in spec.get("pod_sets") or ():
        members = [task for task in tasks.get(leaf["name"], []) if task["state"] not in GONE]
        if members:
            replicas = tuple(_replica(task, seats) for task in members)
            missing = max(0, leaf["min_available"] - len(replicas))
            below.append(
                ReplicaGroup(
                    leaf["name"],
                    leaf["min_available"],
                    replicas=(*replicas, *(_absent(members[0]["name"], index) for index in range(missing))),
                    preemptible=preemptible,
                    topology=_topology_request(leaf),
                )
            )
    minimum = spec.get("min_available")
    return ReplicaGroup(
        spec.get("name") or DEFAULT_SET,
        None if minimum is None else min(minimum, len(below)),
        groups=tuple(below),
        preemptible=preemptible,
        topology=_topology_request(spec),
    )


def _absent(beside: str, index: int) -> Replica:
    """A member that a gang needs and the record lacks: it fits nowhere, so the gang is never whole."""
    return Replica(f"{beside}/absent-{index}", request=Request(node_labels={"absent": "absent"}))


def _replica(task: Json, seats: _Seats) -> Replica:
    state = STATES[task["state"]]
    holds = state in HOLDING
    return Replica(
        task["name"],
        state,
        task["node"] if holds else None,
        seats.of_task.get(task["name"], ()) if holds else (),
        _request(task),
    )


def _request(task: Json) -> Request:
    asked = task["request"]
    fraction, memory = asked.get("gpu_fraction"), asked.get("gpu_memory_mib")
    devices = None
    if fraction or memory:
        count = int(asked.get("gpu_count") or 1)
        devices = DeviceRequest(count, memory or None, None if memory else round(fraction * 1000))
    elif asked.get("gpus"):
        devices = DeviceRequest(int(asked["gpus"]))
    return Request(
        cpu_milli=int(asked.get("cpu_milli") or 0),
        memory_mib=-(-int(asked.get("memory_bytes") or 0) // MIB),
        devices=devices,
        nodes=tuple(task.get("required_nodes") or ()),
    )


class _Seats:
    """Which devices the running tasks hold: recorded labels name shared ones, the rest is dealt in order."""

    def __init__(self, cluster: Json) -> None:
        self.of_task: dict[str, tuple[DeviceUse, ...]] = {}
        by_node: dict[str, list[Json]] = {}
        for job in cluster["jobs"]:
            for task in job["tasks"]:
                if STATES.get(task["state"]) in HOLDING and task["node"]:
                    by_node.setdefault(task["node"], []).append(task)
        for name, tasks in by_node.items():
            self._deal(name, cluster["nodes"][name], tasks)

    def _deal(self, name: str, node: Json, tasks: list[Json]) -> None:
        free = [device_id(name, index) for index in range(node["gpus"])]
        shared: dict[str, str] = {}
        sharing = [task for task in tasks if _is_shared(task)]
        for label in sorted({label for task in sharing for label in _labels(task)}):
            shared[label] = label if label in free else ""
            if label in free:
                free.remove(label)
        for label, device in shared.items():
            if not device:
                shared[label] = free.pop(0)
        for task in sharing:
            request = _request(task).devices
            assert request is not None
            mib = request.memory_mib or max(1, node["gpu_memory_mib"] * (request.fraction_milli or 0) // 1000)
            compute = (request.fraction_milli or 0) // 10
            labels = _labels(task) or [None] * request.count
            self.of_task[task["name"]] = tuple(
                DeviceUse(shared[label] if label else free.pop(0), mib, compute) for label in labels
            )
        for task in tasks:
            if not _is_shared(task):
                count = int(task["request"].get("gpus") or 0)
                self.of_task[task["name"]] = tuple(DeviceUse(free.pop(0)) for _ in range(count))


def _labels(task: Json) -> list[str]:
    return task.get("gpu_groups") or []


def _is_shared(task: Json) -> bool:
    return bool(task["request"].get("gpu_fraction") or task["request"].get("gpu_memory_mib"))


def _load_match(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("match", folder / "match.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    options = parser("conformance", "Agreement with recorded scheduling decisions.")
    options.add_argument("--cases", type=Path, required=True, metavar="DIR", help="folder of the cases")
    options.add_argument("--verbose", action="store_true", help="name the cases that differ")
    chosen = options.parse_args()
    match = _load_match(chosen.cases)
    with lzma.open(chosen.cases / "cases.json.xz", "rt") as file:
        scenarios = json.load(file)["scenarios"]
    rows = []
    for lenient in (True, False):
        match.LENIENT = lenient
        started = time.process_time()
        failed = {}
        for scenario in scenarios:
            if errors := match.run(scenario, factory()):
                failed[scenario["id"]] = errors
        if chosen.verbose:
            for name, errors in failed.items():
                print(name, *errors[:4], sep="\n    ")
        rows.append(
            {
                "compared": "statuses" if lenient else "statuses and nodes",
                "cases": len(scenarios),
                "agree": len(scenarios) - len(failed),
                "percent": 100 * (len(scenarios) - len(failed)) / len(scenarios),
                "cpu_seconds": time.process_time() - started,
            }
        )
    show("conformance", rows, chosen.json)


if __name__ == "__main__":
    main()
