"""Zones, pools, nodes, devices, queues and flavors, as frozen dataclasses; they are in `models`, too."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

__all__ = [
    "Capacity",
    "ChangedQueues",
    "Device",
    "Flavor",
    "FlavorGpu",
    "FlavorPlace",
    "Node",
    "Pool",
    "PoolTopology",
    "Queue",
    "QueueEffect",
    "QueuePerson",
    "QueuePool",
    "QueueQuota",
    "QueueWarning",
    "Queues",
    "Zone",
]


@dataclass(frozen=True)
class Zone:
    """A place with machines, driven by one engine."""

    id: str
    name: str
    kind: str
    state: str
    driven_by: str | None
    since: datetime | None
    identity: str | None
    nodes: str | None
    simulated: bool
    seen_at: datetime | None
    pools_count: int
    nodes_count: int
    created_at: datetime
    generation: int


@dataclass(frozen=True)
class Capacity:
    gpu_milli: int
    cpu_milli: int
    memory_mib: int


@dataclass(frozen=True)
class PoolTopology:
    """How near nodes are to each other: keys of node labels, the widest level first."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class Pool:
    id: str
    zone_id: str
    zone_name: str
    name: str
    labels: dict[str, str]
    arrangement: str
    unit_gpu_milli: int
    priority_across_queues: bool
    reservations: int
    topologies: tuple[PoolTopology, ...]
    least_strength: str
    most_grace_seconds: int
    most_retries: int
    most_replicas: int
    nodes_count: int
    simulated: bool
    capacity: Capacity
    created_at: datetime
    generation: int


@dataclass(frozen=True)
class Device:
    """A GPU of a node. A simulated one computes nothing."""

    id: str
    node_id: str
    node_name: str
    pool_id: str
    pool_name: str
    index: int
    vendor: str
    model: str
    memory_mib: int
    mode: str
    health: str
    simulated: bool
    facts: dict[str, Any]


@dataclass(frozen=True)
class Node:
    id: str
    zone_id: str
    zone_name: str
    pool_id: str
    pool_name: str
    name: str
    state: str
    cordoned: bool
    cpu_milli: int
    memory_mib: int
    disk_mib: int | None
    pods: int
    labels: dict[str, str]
    taints: tuple[str, ...]
    simulated: bool
    devices: tuple[Device, ...]
    facts: dict[str, Any]
    seen_at: datetime | None
    created_at: datetime
    generation: int


@dataclass(frozen=True)
class QueuePerson:
    id: str
    name: str
    display_name: str


@dataclass(frozen=True)
class QueueQuota:
    """Of one resource in one pool; -1 is everything as a guarantee and none as a limit."""

    pool_id: str
    resource: str
    guarantee: int
    limit: int
    weight: int
    used: int | None
    wanted: int | None
    fair_share: int | None


@dataclass(frozen=True)
class Queue:
    """Of an organisation, or of a person's work in one."""

    id: str
    parent_id: str | None
    name: str
    organisation_id: str
    organisation_name: str
    person: QueuePerson | None
    priority: int
    policy: str
    reclaim_min_runtime_seconds: int | None
    preempt_min_runtime_seconds: int | None
    custom_numbers: bool | None
    colour: int
    quotas: tuple[QueueQuota, ...]
    may_change: bool
    created_at: datetime
    generation: int


@dataclass(frozen=True)
class QueuePool:
    id: str
    name: str
    zone_id: str
    zone_name: str
    capacity: Capacity
    simulated: bool


@dataclass(frozen=True)
class QueueWarning:
    """More is promised than there is."""

    kind: str
    queue_id: str
    queue_name: str
    pool_id: str
    pool_name: str
    resource: str
    promised: int
    available: int
    detail: str


@dataclass(frozen=True)
class Queues:
    items: tuple[Queue, ...]
    pools: tuple[QueuePool, ...]
    warnings: tuple[QueueWarning, ...]


@dataclass(frozen=True)
class QueueEffect:
    """Another fair share: who holds more than it may have to give some back, who holds less gets it."""

    queue_id: str
    queue_name: str
    pool_id: str
    resource: str
    used: int
    wanted: int
    fair_before: int
    fair_after: int


@dataclass(frozen=True)
class ChangedQueues:
    dry_run: bool
    items: tuple[Queue, ...]
    warnings: tuple[QueueWarning, ...]
    effects: tuple[QueueEffect, ...]


@dataclass(frozen=True)
class FlavorGpu:
    """`count` whole GPUs, or as many slices on different ones: by memory, fraction or MIG profile."""

    count: int = 1
    memory_mib: int | None = None
    fraction_milli: int | None = None
    compute_percent: int = 0
    profile: str | None = None
    models: tuple[str, ...] = ()
    mode: str | None = None


@dataclass(frozen=True)
class FlavorPlace:
    id: str
    name: str


@dataclass(frozen=True)
class FlavorLack:
    """What a flavor asks for that no node has."""

    kind: str
    asked: int
    most: int
    names: tuple[str, ...]
    restricted: bool
    sentence: str


@dataclass(frozen=True)
class Flavor:
    """`lack` says why it fits on no node; None where it fits."""

    id: str
    name: str
    description: str
    cpu_milli: int
    memory_mib: int
    gpu: FlavorGpu | None
    enabled: bool
    preset: bool
    organisations: tuple[FlavorPlace, ...]
    may_change: bool
    lack: FlavorLack | None
    created_at: datetime
    generation: int
