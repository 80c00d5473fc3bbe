"""What one cycle of the scheduler decided, and why."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from corral.core.devices import DeviceUse
from corral.core.resources import Resource


class Action(StrEnum):
    ALLOCATE = "allocate"
    CONSOLIDATE = "consolidate"
    RECLAIM = "reclaim"
    PREEMPT = "preempt"
    EVICT_STALE_GANGS = "evict_stale_gangs"


ALL_ACTIONS = tuple(Action)


@dataclass(frozen=True, slots=True)
class Placement:
    """A replica that starts now."""

    workload: str
    replica: str
    node: str
    devices: tuple[DeviceUse, ...] = ()


@dataclass(frozen=True, slots=True)
class Promise:
    """A replica that starts when what it waits for is released."""

    workload: str
    replica: str
    node: str
    devices: tuple[DeviceUse, ...] = ()


@dataclass(frozen=True, slots=True)
class Reservation:
    """Where and when a replica is expected to start; what cannot leave by then does not start there."""

    workload: str
    replica: str
    node: str
    at: int
    devices: tuple[DeviceUse, ...] = ()


class Entitlement(StrEnum):
    """What a queue reclaims: capacity inside its guarantee, or its fair share of the surplus."""

    GUARANTEE = "guarantee"
    SURPLUS = "surplus"


@dataclass(frozen=True, slots=True)
class Eviction:
    """A running replica that must go. `for_workload` takes its place; with `moves` it has a promise.

    `entitlement` says what the taker's queue reclaims, where the rule is `reclaim`.
    """

    workload: str
    replica: str
    node: str
    rule: Action
    for_workload: str | None = None
    moves: bool = False
    entitlement: Entitlement | None = None


class ReasonKind(StrEnum):
    """Which rule stopped a workload."""

    LIMIT = "limit"
    OVER_GUARANTEE = "over_guarantee"
    KEPT_BY_FIXED_QUEUES = "kept_by_fixed_queues"
    NO_ROOM = "no_room"
    NO_DOMAIN = "no_domain"
    RESERVED = "reserved"
    HELD = "held"
    MEMBERS_LEAVING = "members_leaving"
    NOT_TRIED = "not_tried"


CAPACITY = frozenset({ReasonKind.NO_ROOM, ReasonKind.NO_DOMAIN})


@dataclass(frozen=True, slots=True)
class Reason:
    """Why nothing more of a workload runs, with the numbers that decided.

    For bounds: `used` + `asked` would pass `bound` of `resource`, at `queue` if it is that of a queue.
    For `no_room`: `asked` replicas were to start together, `used` of them found a place, and
    `failed_checks` says on how many nodes the next one failed which check. For `no_domain`: no one of the
    `bound` domains of the required `level` has room for more than `used` of `asked`. For `reserved` and
    `held`: there is room, but it is kept from `at` on, for the workload or queue `kept_for`, or with a `hold`
    for nobody, and the workload is not known to have left by then. For `members_leaving`: `asked` replicas
    wait until the others of their gang have left. For `not_tried`: it would fit, but the actions that were
    asked for did not place it.
    """

    kind: ReasonKind
    used: int
    asked: int
    bound: int = 0
    queue: str | None = None
    resource: Resource | None = None
    failed_checks: Mapping[str, int] = field(default_factory=dict)
    level: str | None = None
    kept_for: str | None = None
    hold: str | None = None
    at: int | None = None


class SearchResult(StrEnum):
    """How the search for work to take from ended."""

    NOT_ALLOWED = "not_allowed"
    IMPOSSIBLE = "impossible"
    OUT_OF_BUDGET = "out_of_budget"


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A workload with replicas that wait: `waiting` of them, because of `reason`."""

    workload: str
    queue: str
    waiting: int
    reason: Reason
    searches: Mapping[Action, SearchResult] = field(default_factory=dict)


class LackKind(StrEnum):
    """The resource that no node has enough of, or that all nodes together do not have."""

    NODES = "nodes"
    LABELS = "labels"
    TAINTS = "taints"
    MODELS = "models"
    PROFILE = "profile"
    SHARED = "shared"
    SLICE_MIB = "slice_mib"
    DEVICES = "devices"
    USABLE_DEVICES = "usable_devices"
    CPU_MILLI = "cpu_milli"
    MEMORY_MIB = "memory_mib"
    COMBINED = "combined"
    REPLICAS = "replicas"


@dataclass(frozen=True, slots=True)
class Lack:
    """The arithmetic: it asks for `asked`, and the largest node has `most`.

    For `replicas`: so many start together, and there is room for `most` of them at once. For
    `usable_devices`: the largest node has more devices, but only `most` in the mode and size of the request.
    `names` are the models, the profile, the taints, or the labels and nodes that the request names. Without
    numbers: `nodes` (there is none), `shared` (no device takes slices), `combined` (each quantity is
    somewhere, but no node has all of them). `restricted`: other nodes are there, and their taints or labels
    keep it away.
    """

    kind: LackKind
    asked: int = 0
    most: int = 0
    names: tuple[str, ...] = ()
    restricted: bool = False


@dataclass(frozen=True, slots=True)
class Infeasible:
    """A workload that would not run even on an empty cluster. `lack` says which resource is too small."""

    workload: str
    reason: Reason
    lack: Lack | None = None


@dataclass(frozen=True, slots=True)
class DroppedClaim:
    """A promise or reservation of the last cycle that is not renewed, with what became of the replica."""

    workload: str
    replica: str
    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """`infeasible` leaves the line, `feasible` comes back to it: names of work that was out of it."""

    placements: tuple[Placement, ...] = ()
    promises: tuple[Promise, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    unplaced: tuple[Unplaced, ...] = ()
    dropped_claims: tuple[DroppedClaim, ...] = ()
    infeasible: tuple[Infeasible, ...] = ()
    feasible: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing starts, moves or ends."""
        return not (self.placements or self.promises or self.evictions)
