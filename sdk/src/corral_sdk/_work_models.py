"""Workloads as the API tells of them; reached through `corral_sdk.models`."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

__all__ = [
    "Acted",
    "AttemptView",
    "Gpu",
    "Held",
    "Help",
    "Log",
    "Position",
    "Reason",
    "Refused",
    "ReplicaView",
    "Resources",
    "Someone",
    "TransitionView",
    "TroubleView",
    "Verdict",
    "Waiting",
    "Workload",
    "WorkloadDetail",
    "WorkloadSummary",
]


@dataclass(frozen=True)
class Reason:
    """Why a workload is in its state: the kind, the sentence, and the facts it is made of."""

    why: str
    sentence: str
    facts: Any


@dataclass(frozen=True)
class Someone:
    id: str
    name: str


@dataclass(frozen=True)
class Gpu:
    """`count` whole GPUs; with a size, slices of that size on as many different ones."""

    count: int
    memory_mib: int | None
    fraction_milli: int | None
    profile: str | None
    compute_percent: int
    models: tuple[str, ...]


@dataclass(frozen=True)
class Resources:
    """What one replica needs."""

    cpu_milli: int
    memory_mib: int
    gpu: Gpu | None


@dataclass(frozen=True)
class Position:
    number: int
    of: int


@dataclass(frozen=True)
class Waiting:
    """Why waiting work has no place yet, by the last plan; and when it will probably have one."""

    kind: str
    sentence: str
    facts: Any
    in_queue: Position | None
    starts_at: datetime | None
    at: datetime | None


@dataclass(frozen=True)
class Workload:
    """One workload as lists show it."""

    id: str
    kind: str
    name: str
    state: str
    wanted: str
    reason: Reason
    waits: Waiting | None
    organisation: Someone
    user: Someone
    zone_id: str
    zone_name: str
    zone_reason: str | None
    queue_id: str
    flavor: str | None
    resources: Resources
    replicas: int
    priority: int
    preemptible: bool
    attempt: int
    nodes: tuple[str, ...]
    damaged: bool
    simulated: bool
    created_at: datetime
    waiting_since: datetime | None
    not_before: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    exit_code: int | None
    generation: int

    @property
    def is_over(self) -> bool:
        return self.state in ("stopped", "succeeded", "failed", "deleted")


@dataclass(frozen=True)
class Held:
    device: str
    memory_mib: int | None
    compute_percent: int
    profile: str | None


@dataclass(frozen=True)
class ReplicaView:
    number: int
    node: str
    devices: tuple[Held, ...]
    phase: str
    end: str | None
    exit_code: int | None
    signal: int | None
    detail: str
    said_done: bool
    started_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True)
class AttemptView:
    number: int
    opened_at: datetime
    closed_at: datetime | None
    reason: Reason | None
    replicas: tuple[ReplicaView, ...]


@dataclass(frozen=True)
class TransitionView:
    number: int
    at: datetime
    attempt: int
    state: str
    reason: Reason


@dataclass(frozen=True)
class TroubleView:
    """Something that Corral cannot do with a workload now; it tries again."""

    step: str
    sentence: str
    detail: str
    since: datetime


@dataclass(frozen=True)
class WorkloadDetail(Workload):
    """One workload with its document and everything that happened to it."""

    spec: Any
    transitions: tuple[TransitionView, ...]
    attempts: tuple[AttemptView, ...]
    may_change: bool
    troubles: tuple[TroubleView, ...] = ()


@dataclass(frozen=True)
class WorkloadSummary:
    """How many there are in each state that has any, and since when the oldest queued one waits."""

    states: Any
    waits_since: datetime | None


@dataclass(frozen=True)
class Refused:
    id: str
    detail: str
    remedy: str


@dataclass(frozen=True)
class Acted:
    """What became of each of many; one that was refused does not hold up the others."""

    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    refused: tuple[Refused, ...]


@dataclass(frozen=True)
class Help:
    """One change that would let it run."""

    kind: str
    sentence: str
    facts: Any


@dataclass(frozen=True)
class ZoneVerdict:
    """What one zone would make of new work."""

    zone_id: str
    zone_name: str
    result: str
    sentence: str
    nodes: tuple[str, ...]
    reason: Any
    lack: Any
    takes_from: tuple[str, ...]
    starts_at: datetime | None


@dataclass(frozen=True)
class Verdict:
    """What becomes of work: it fits now, it waits, or it can never run."""

    result: str
    sentence: str
    nodes: tuple[str, ...]
    details: tuple[str, ...]
    reason: Any
    lack: Any
    in_queue: Position | None
    in_pool: Position | None
    starts_at: datetime | None
    error_seconds: int | None
    no_estimate: str | None
    expectation: str | None
    helps: tuple[Help, ...]
    takes_from: tuple[str, ...]
    takes_by: str | None
    zone_id: str | None
    zone_name: str | None
    zone_reason: str | None
    zones: tuple[ZoneVerdict, ...]
    at: datetime


@dataclass(frozen=True)
class Log:
    """A part of what a replica wrote, from `offset` to `next`; `ended` says that nothing comes after it."""

    attempt: int
    replica: int
    offset: int
    next: int
    dropped: int
    ended: bool
    text: str
