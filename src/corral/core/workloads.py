"""Workloads: replica groups with a minimum, the replicas in them, and what each asks for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from corral.core.devices import DeviceUse
from corral.core.nodes import NODE_LEVEL

DEFAULT_STALE_GRACE_SECONDS = 60


class ReplicaState(StrEnum):
    """`stuck` is a release that is overdue: what it holds is promised to nobody."""

    PENDING = "pending"
    RUNNING = "running"
    RELEASING = "releasing"
    STUCK = "stuck"
    SUCCEEDED = "succeeded"


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """`count` whole devices, or as many slices on different devices, by memory, fraction or MIG profile."""

    count: int = 1
    memory_mib: int | None = None
    fraction_milli: int | None = None
    compute_percent: int = 0
    models: tuple[str, ...] = ()
    profile: str | None = None


class AffinityKind(StrEnum):
    """Near replicas of certain workloads, or away from them."""

    TOGETHER = "together"
    APART = "apart"


@dataclass(frozen=True, slots=True)
class Affinity:
    """To workloads that carry all `labels`, or without labels to the workload's own other replicas.

    It is about one domain of a `level` of a `topology`; that of single nodes needs no topology. What is not
    `required` is preferred, by its `weight`.
    """

    kind: AffinityKind
    labels: Mapping[str, str] = field(default_factory=dict)
    level: str = NODE_LEVEL
    topology: str | None = None
    required: bool = True
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Request:
    """What one replica needs, and where it may run. No `nodes` means any.

    Nodes that have the `data` and `images` already are preferred.
    """

    cpu_milli: int = 0
    memory_mib: int = 0
    devices: DeviceRequest | None = None
    node_labels: Mapping[str, str] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()
    tolerates: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    affinity: tuple[Affinity, ...] = ()


@dataclass(frozen=True, slots=True)
class TopologyRequest:
    """All members are in one domain of the `required` level, if possible of the tighter `preferred` one."""

    topology: str
    required: str | None = None
    preferred: str | None = None


@dataclass(frozen=True, slots=True)
class Replica:
    """`request` replaces that of the group where a replica differs."""

    name: str
    state: ReplicaState = ReplicaState.PENDING
    node: str | None = None
    devices: tuple[DeviceUse, ...] = ()
    request: Request | None = None


@dataclass(frozen=True, slots=True)
class ReplicaGroup:
    """Replicas of which at least `minimum` run together, or groups of which at least `minimum` do.

    Without a minimum all are needed. A group has either replicas or groups.
    """

    name: str
    minimum: int | None = None
    request: Request = field(default_factory=Request)
    replicas: tuple[Replica, ...] = ()
    groups: tuple["ReplicaGroup", ...] = ()
    preemptible: bool = True
    topology: TopologyRequest | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """Runs in one of `pools` (all of them when empty), charged to a leaf of the queue tree.

    It counts as wanted in the first of its pools that could ever take it, and with `pool_patience_seconds`
    in the next one each time it has waited that long since `waiting_since` (left out: since it was created).
    With `restart_together` no member goes on while another one moves: all start again.

    `stale_since` is when a running gang fell below its minimum; `stale_grace_seconds` None means
    it is never evicted for that. After its run-time limit it is ended; an estimate binds nobody. Affinity
    of others finds it by its `labels`.
    """

    name: str
    queue: str
    groups: tuple[ReplicaGroup, ...]
    priority: int = 0
    created: int = 0
    pools: tuple[str, ...] = ()
    running_since: int | None = None
    preemption_delay_seconds: int = 0
    stale_since: int | None = None
    stale_grace_seconds: int | None = DEFAULT_STALE_GRACE_SECONDS
    topology: TopologyRequest | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    waiting_since: int | None = None
    pool_patience_seconds: int | None = None
    restart_together: bool = False
    runtime_limit_seconds: int | None = None
    runtime_estimate_seconds: int | None = None
