"""Rows of pools, nodes and devices as typed values; their fields are the tables' columns in order.

Tuples, because a large zone has many thousands. A column that names a state is text here: what it means is
decided where it is read.
"""

from datetime import datetime
from typing import Any, NamedTuple


class PoolRow(NamedTuple):
    id: str
    zone_id: str
    name: str
    labels: dict[str, str]
    arrangement: str
    unit_gpu_milli: int
    priority_across_queues: bool
    reservations: int
    topologies: list[dict[str, Any]]
    least_strength: str
    created_at: datetime
    generation: int
    most_grace_seconds: int
    most_retries: int
    most_replicas: int
    most_hold_seconds: int


class NodeRow(NamedTuple):
    id: str
    zone_id: str
    name: str
    pool_id: str
    cpu_milli: int
    memory_mib: int
    disk_mib: int | None
    pods: int
    labels: dict[str, str]
    taints: list[str]
    data: list[str]
    images: list[str]
    links: list[dict[str, Any]]
    cordoned: bool
    simulated: bool
    state: str
    seen_at: datetime
    facts: dict[str, Any]
    created_at: datetime
    revision: int


class DeviceRow(NamedTuple):
    node_id: str
    id: str
    index: int  # type: ignore[assignment]  # tuples have a method of that name, which nobody calls here
    vendor: str
    model: str
    memory_mib: int
    mode: str
    geometry: dict[str, Any] | None
    instances: list[dict[str, Any]] | None
    health: str
    simulated: bool
    facts: dict[str, Any]
