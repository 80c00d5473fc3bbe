"""Rows of workloads, replicas and allocations as typed values; their fields are the tables' columns in order.

Tuples, because they are made by the thousand in every turn of the loops. A column that names a state is text
here: what it means is decided where it is read, for one workload at a time.
"""

from datetime import datetime
from typing import Any, NamedTuple

from corral.core.devices import DeviceUse
from corral.store.database import AnyRow
from corral.workloads.documents import StoredDocument


class WorkloadRow(NamedTuple):
    id: str
    kind: str
    name: str
    organisation_id: str
    user_id: str
    parent_id: str | None
    zone_id: str
    queue_id: str
    spec: Any
    spec_version: int
    priority: int
    state: str
    wanted: str
    because: Any
    attempt: int
    fate: str | None
    fate_because: Any
    told: bool
    failures: int
    losses: int
    created_at: datetime
    waiting_since: datetime
    leaving_since: datetime | None
    not_before: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    exit_code: int | None
    discarded_at: datetime | None
    moved_at: datetime | None
    generation: int
    revision: int

    @property
    def stored(self) -> StoredDocument:
        return StoredDocument(self.spec, self.spec_version)


class ReplicaRow(NamedTuple):
    workload_id: str
    attempt: int
    number: int
    node: str
    devices: Any
    phase: str
    end: str | None
    said_done: bool
    exit_code: int | None
    signal: int | None
    detail: str
    started_at: datetime | None
    ended_at: datetime | None
    ready_at: datetime | None
    checkpoint_at: datetime | None
    used: Any

    @property
    def uses(self) -> tuple[DeviceUse, ...]:
        return device_uses(self.devices)


class AllocationRow(NamedTuple):
    workload_id: str
    attempt: int
    replica: int
    zone_id: str
    node: str
    devices: Any
    cpu_milli: int
    memory_mib: int
    gpu_milli: int
    granted_at: datetime
    held_until: datetime | None

    @property
    def uses(self) -> tuple[DeviceUse, ...]:
        return device_uses(self.devices)


def device_uses(stored: Any) -> tuple[DeviceUse, ...]:
    """What a replica holds on devices; raises `TypeError` where that makes no sense."""
    return tuple(DeviceUse(**use) for use in stored)


def workload_row(row: AnyRow) -> WorkloadRow:
    return WorkloadRow._make(row)
