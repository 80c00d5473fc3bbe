"""Scenarios: small clusters in a few lines of YAML, in whole GPUs, with what must come of them.

    nodes: {n0: 8}                      GPUs of each node, or {gpus, cpu, memory_mib, model, labels, taints};
                                        `mode`, `gpu_mib` of all devices or a list; `cut: [3g.40gb@0]`;
                                        `links: [[0, 1, 9]]` between devices
    queues: {team: {guarantee: 4, limit: 6, weight: 1, priority: 0, parent: dept, policy: fixed}}
    workloads:
      job: {queue: team, gpus: 2, replicas: 3, min: 2, priority: 5, age: 60, at: [n0, n0], preemptible: false}
    topologies: {net: [zone, rack]}     levels as label keys; `in: a/r1` gives a node its labels
    pools: [fast, slow]                 several pools; a node is in the one that its `pool` names
    rounds: 2                           how many cycles it may take
    actions: [allocate]                 all of them when left out
    mix: [{gpus: 1, milli: 700, cpu: 4, models: [A], times: 10}]        what usually arrives
    then: {job: [n0, n0]}               the nodes it runs on in the end, or how many replicas run
    evicts: {job: reclaim for owner}    who goes in the first cycle, by which rule, for whom (", moves"); all
    searches: {job: {reclaim: impossible}}      how the searches of a workload ended in the first cycle
    trials: 100                         how many sets of victims are tried for one taker
    reserved: {job: 60}                 in how many seconds a workload is to start, for all that have a time
    starts: {job: 60}                   in how many seconds it is estimated to start, or why nobody can say
    kept_for: {job: other}              for whom the place is kept that a workload cannot have
    holds: {lab: {at: 60, until: 90, queue: team, places: [n0, n1/2], devices: 4}}   in seconds from now
    helps: {job: [if it were preemptible]}   what is said to help it, all of it
    uses: {job: [n0/1 1g.10gb@6]}       the devices it holds in the end: whole, `n0/1 500` MiB, or an instance

`at` lists where replicas run; `n0/1` names the device, `n0/1@6` the start of a MIG instance; `~n0` is one
that is releasing, `!n0` one that is stuck.
`limit`, `estimate` and `ran` of a workload are seconds; `typical` is the typical run time of a queue.
`tags` are a workload's labels; `affinity: [{apart: {app: db}, level: rack, weight: 2}]` is preferred with a
weight, else required; `{apart: {}}` is about its own replicas.
A workload or group asks with `required: rack` and `preferred: node` for a domain of the only topology.
Every queue has a guarantee of 0 GPUs unless it says otherwise; CPU is not divided unless it says so.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from corral.core.devices import Device, DeviceMode, DeviceUse
from corral.core.holds import HeldPlace, Hold
from corral.core.mig import A100_80GB, MigInstance
from corral.core.mixes import ONE_ARRIVAL, ClassCount, Mix, WorkClass
from corral.core.nodes import Arrangement, DeviceLink, Node, Pool, Topology
from corral.core.plans import ALL_ACTIONS, Action
from corral.core.queues import Queue, QueuePolicy, Quota
from corral.core.resources import Resource
from corral.core.workloads import (
    Affinity,
    AffinityKind,
    DeviceRequest,
    Replica,
    ReplicaGroup,
    ReplicaState,
    Request,
    TopologyRequest,
    Workload,
)
from corral.scheduling.state.config import Config
from corral.scheduling.validate.snapshot import Snapshot

NOW = 1_000_000
DEVICE_MIB = 1000
FOLDER = Path(__file__).parent / "scenarios"
Spec = dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    name: str
    snapshot: Snapshot
    config: Config
    actions: tuple[Action, ...]
    rounds: int
    then: dict[str, list[str] | int]
    reasons: dict[str, str]
    evicts: dict[str, str] | None
    searches: dict[str, dict[str, str]]
    reserved: dict[str, int] | None
    kept_for: dict[str, str]
    starts: dict[str, int | str]
    helps: dict[str, list[str]]
    uses: dict[str, list[str]]


@cache
def load_scenarios() -> tuple[Scenario, ...]:
    found = []
    for file in sorted(FOLDER.glob("*.yaml")):
        # The parser in C: all files are read by every worker of a test run.
        for name, spec in yaml.load(file.read_text(), Loader=yaml.CSafeLoader).items():
            found.append(read_scenario(f"{file.stem}: {name}", spec))
    return tuple(found)


def read_scenario(name: str, spec: Spec) -> Scenario:
    unknown = set(spec) - {
        "nodes", "queues", "workloads", "pool", "history", "rounds", "actions", "then", "reasons",
        "topologies", "mix", "reserved", "kept_for", "helps", "holds", "uses", "starts",
        "evicts", "searches", "trials", "pools",
    }  # fmt: skip
    assert not unknown, f"{name}: unknown {unknown}"
    topologies = tuple(Topology(key, tuple(levels)) for key, levels in spec.get("topologies", {}).items())
    nodes = tuple(_node(key, value, topologies) for key, value in spec["nodes"].items())
    names = spec.get("pools", ["default"])
    queues = tuple(
        _queue(key, value, index, names) for index, (key, value) in enumerate(spec["queues"].items())
    )
    seats = _Seats(nodes)
    workloads = tuple(_workload(key, value, seats) for key, value in spec["workloads"].items())
    return Scenario(
        name,
        Snapshot(
            NOW,
            nodes,
            queues,
            workloads,
            pools=tuple(_pool(name, spec.get("pool", {}), topologies) for name in names),
            mix=_mix(spec),
            holds=tuple(_hold(key, value) for key, value in spec.get("holds", {}).items()),
        ),
        Config(
            history_milli=round(spec.get("history", 0) * 1000),
            search_trials=spec.get("trials", Config().search_trials),
        ),
        tuple(Action(action) for action in spec.get("actions", ALL_ACTIONS)),
        spec.get("rounds", 1),
        spec["then"],
        spec.get("reasons", {}),
        spec.get("evicts"),
        spec.get("searches", {}),
        spec.get("reserved"),
        spec.get("kept_for", {}),
        spec.get("starts", {}),
        spec.get("helps", {}),
        spec.get("uses", {}),
    )


def _mix(spec: Spec) -> dict[str, Mix]:
    if "mix" not in spec:
        return {}
    counts = tuple(
        ClassCount(
            WorkClass(
                each.get("cpu", 0) * 1000,
                0,
                each["gpus"],
                each.get("milli", 1000),
                models=tuple(each.get("models", ())),
            ),
            each.get("times", 1) * ONE_ARRIVAL,
        )
        for each in spec["mix"]
    )
    return {"default": Mix(counts, len(counts))}


def _pool(name: str, spec: Spec, topologies: tuple[Topology, ...]) -> Pool:
    return Pool(
        name,
        labels={} if name == "default" else {"pool": name},
        arrangement=Arrangement(spec.get("arrangement", "packing")),
        unit_gpu_milli=spec.get("unit", 1000),
        priority_across_queues=spec.get("priority_across_queues", False),
        topologies=topologies,
        reservations=spec.get("reservations", 0),
    )


def _node(name: str, spec: Spec | int, topologies: tuple[Topology, ...] = ()) -> Node:
    known = {"gpus": spec} if isinstance(spec, int) else spec
    labels = dict(known.get("labels", {}))
    if "pool" in known:
        labels["pool"] = known["pool"]
    if "in" in known:
        labels.update(zip(topologies[0].levels, known["in"].split("/"), strict=False))
    devices = tuple(_device(f"{name}/{index}", index, known) for index in range(known["gpus"]))
    return Node(
        name,
        cpu_milli=known.get("cpu", 1000) * 1000,
        memory_mib=known.get("memory_mib", 1_000_000),
        pods=known.get("pods", 110),
        devices=devices,
        labels=labels,
        taints=tuple(known.get("taints", ())),
        data=tuple(known.get("data", ())),
        images=tuple(known.get("images", ())),
        links=tuple(
            DeviceLink(f"{name}/{one}", f"{name}/{other}", score)
            for one, other, score in known.get("links", ())
        ),
    )


def _device(name: str, index: int, spec: Spec) -> Device:
    def own(key: str, usual: Any) -> Any:
        value = spec.get(key, usual)
        return value[index] if isinstance(value, list) and key != "cut" else value

    cut = spec.get("cut")
    instances = None
    if cut is not None:
        parted = [each.split("@") for each in cut]
        instances = tuple(MigInstance(profile, int(start)) for profile, start in parted)
    mode = DeviceMode(own("mode", "any"))
    geometry = A100_80GB if mode is DeviceMode.MIG or own("mig", False) else None
    return Device(name, own("gpu_mib", DEVICE_MIB), own("model", ""), mode, geometry, instances)


def _queue(name: str, spec: Spec | None, created: int, pools: list[str]) -> Queue:
    known = spec or {}
    quotas = {
        Resource.GPU_MILLI: Quota(
            _gpus(known.get("guarantee", 0)),
            _gpus(known.get("limit", -1)),
            known.get("weight", 1),
            round(known.get("usage", 0) * 1_000_000),
        )
    }
    if "cpu_guarantee" in known or "cpu_limit" in known:
        quotas[Resource.CPU_MILLI] = Quota(
            _gpus(known.get("cpu_guarantee", -1)), _gpus(known.get("cpu_limit", -1))
        )
    return Queue(
        name,
        known.get("parent"),
        known.get("priority", 0),
        created,
        QueuePolicy(known.get("policy", "elastic")),
        dict.fromkeys(pools, quotas),
        known.get("reclaim_min_runtime"),
        known.get("preempt_min_runtime"),
        known.get("typical"),
    )


def _gpus(number: float) -> int:
    return -1 if number == -1 else round(number * 1000)


def _hold(name: str, spec: Spec) -> Hold:
    places = []
    for place in spec.get("places", ()):
        node, _, device = place.partition("/")
        device, _, mib = device.partition(":")
        uses = (DeviceUse(f"{node}/{device}", int(mib) if mib else None),) if device else ()
        places.append(HeldPlace(node, uses))
    return Hold(
        name,
        NOW + spec["at"],
        NOW + spec["until"] if "until" in spec else None,
        spec.get("queue"),
        spec.get("workload"),
        tuple(places),
        "default" if "devices" in spec else None,
        spec.get("devices", 0),
    )


class _Seats:
    """Deals devices to running replicas that do not name theirs."""

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self.free = {node.name: [device.id for device in node.devices] for node in nodes}

    def deal(self, node: str, count: int) -> list[str]:
        return [self.free[node].pop(0) for _ in range(count)]


def _workload(name: str, spec: Spec, seats: _Seats) -> Workload:
    specs = spec.get("groups", {"main": {}})
    spec = dict(spec)
    topology = _topology(spec) if len(specs) > 1 else None
    groups = tuple(_group(f"{name}-{key}", {**spec, **value}, seats) for key, value in specs.items())
    return Workload(
        name,
        spec["queue"],
        groups,
        priority=spec.get("priority", 0),
        created=NOW - spec.get("age", 0),
        running_since=NOW - spec["ran"] if "ran" in spec else None,
        preemption_delay_seconds=spec.get("delay", 0),
        stale_since=NOW - spec["stale"] if "stale" in spec else None,
        stale_grace_seconds=spec.get("grace", 60),
        topology=topology,
        labels=spec.get("tags", {}),
        pools=tuple(spec.get("pools", ())),
        pool_patience_seconds=spec.get("patience"),
        restart_together=spec.get("restart_together", False),
        runtime_limit_seconds=spec.get("limit"),
        runtime_estimate_seconds=spec.get("estimate"),
    )


def _topology(spec: Spec) -> TopologyRequest | None:
    """Taken out of the spec: what is asked of a whole is not asked of each of its parts."""
    required, preferred = spec.pop("required", None), spec.pop("preferred", None)
    name = spec.pop("topology", "net")
    return TopologyRequest(name, required, preferred) if required or preferred else None


def _group(name: str, spec: Spec, seats: _Seats) -> ReplicaGroup:
    topology = _topology(spec)
    if "nested" in spec:
        below = tuple(_group(f"{name}-{key}", {**spec, "nested": None, **value}, seats)
                      for key, value in spec["nested"].items()) if spec["nested"] else ()  # fmt: skip
        if below:
            return ReplicaGroup(
                name,
                spec.get("min_groups"),
                groups=below,
                preemptible=spec.get("preemptible", True),
                topology=topology,
            )
    request = _request(spec)
    spots = spec.get("at", [])
    count = max(spec.get("replicas", 1), len(spots))
    replicas = tuple(
        _replica(f"{name}-{index}", spots[index] if index < len(spots) else None, spec, request, seats)
        for index in range(count)
    )
    minimum = spec.get("min", count)
    return ReplicaGroup(
        name, minimum, request, replicas, preemptible=spec.get("preemptible", True), topology=topology
    )


def _request(spec: Spec) -> Request:
    devices = None
    models = tuple(spec.get("models", ()))
    if "profile" in spec:
        devices = DeviceRequest(spec.get("slices", 1), profile=spec["profile"], models=models)
    elif "fraction" in spec:
        devices = DeviceRequest(
            spec.get("slices", 1), fraction_milli=round(spec["fraction"] * 1000), models=models
        )
    elif "mib" in spec:
        devices = DeviceRequest(spec.get("slices", 1), memory_mib=spec["mib"], models=models)
    elif spec.get("gpus", 0):
        devices = DeviceRequest(spec["gpus"], models=models)
    return Request(
        cpu_milli=spec.get("cpu", 0) * 1000,
        memory_mib=spec.get("memory_mib", 0),
        devices=devices,
        node_labels=spec.get("labels", {}),
        nodes=tuple(spec.get("nodes", ())),
        tolerates=tuple(spec.get("tolerates", ())),
        data=tuple(spec.get("data", ())),
        images=tuple(spec.get("images", ())),
        affinity=tuple(_affinity(each) for each in spec.get("affinity", ())),
    )


def _affinity(spec: Spec) -> Affinity:
    kind = AffinityKind.APART if "apart" in spec else AffinityKind.TOGETHER
    level = spec.get("level", "node")
    return Affinity(
        kind,
        spec[kind],
        level,
        None if level == "node" else "net",
        required="weight" not in spec,
        weight=spec.get("weight", 1),
    )


def _replica(name: str, spot: str | None, spec: Spec, request: Request, seats: _Seats) -> Replica:
    if spot is None:
        return Replica(name)
    if spot == "done":
        return Replica(name, ReplicaState.SUCCEEDED)
    state = {"~": ReplicaState.RELEASING, "!": ReplicaState.STUCK}.get(spot[0], ReplicaState.RUNNING)
    place = spot.lstrip("~!")
    node, _, device = place.partition("/")
    wanted = request.devices
    if wanted is None:
        return Replica(name, state, node)
    if wanted.profile is not None:
        number, _, start = device.partition("@")
        return Replica(
            name, state, node, (DeviceUse(f"{node}/{number}", profile=wanted.profile, start=int(start)),)
        )
    if wanted.fraction_milli is None and wanted.memory_mib is None:
        uses = tuple(DeviceUse(each) for each in seats.deal(node, wanted.count))
        return Replica(name, state, node, uses)
    if f"{node}/{device}" in seats.free[node]:
        seats.free[node].remove(f"{node}/{device}")
    mib = wanted.memory_mib or DEVICE_MIB * (wanted.fraction_milli or 0) // 1000
    return Replica(
        name, state, node, (DeviceUse(f"{node}/{device}", mib, (wanted.fraction_milli or 0) // 10),)
    )
