"""The objects of the API, as frozen dataclasses. Times are aware and in UTC; ids sort by time.

Written by tools/sdk_models.py from the API's description; not edited by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from corral_sdk._events import Event
from corral_sdk._workload_states import WorkloadStates

__all__ = [
    "Acted",
    "Arrival",
    "Arrivals",
    "AttemptView",
    "AuditAction",
    "AuditEntry",
    "Capacity",
    "ChangedQueues",
    "Checklist",
    "ChecklistItem",
    "ClusterChange",
    "ClusterHistory",
    "CreatedInvitation",
    "CreatedJoinCode",
    "CreatedToken",
    "CreatedUser",
    "Device",
    "Event",
    "Flavor",
    "FlavorGpu",
    "FlavorLack",
    "FlavorPlace",
    "Flavors",
    "Gpu",
    "Health",
    "Held",
    "Help",
    "Host",
    "ImportResult",
    "ImportedRow",
    "Invitation",
    "InvitationPreview",
    "JoinCode",
    "JoinPreview",
    "Log",
    "LoginLink",
    "LoginOptions",
    "MachineFacts",
    "MachineGpu",
    "MailSettings",
    "MailTested",
    "Node",
    "OpenSession",
    "Organisation",
    "OrganisationName",
    "PermissionInfo",
    "PermissionsHere",
    "Pool",
    "PoolTopology",
    "Position",
    "Preview",
    "Provider",
    "Queue",
    "QueueEffect",
    "QueueHistory",
    "QueuePerson",
    "QueuePool",
    "QueueQuota",
    "QueueShare",
    "QueueWarning",
    "Queues",
    "Reason",
    "Refused",
    "RegistrationSettings",
    "ReplicaPreview",
    "ReplicaView",
    "ReportedMetric",
    "ReportedMetrics",
    "ReportedPoint",
    "Resources",
    "Revoked",
    "Role",
    "RoleGrant",
    "Runtime",
    "RuntimePreset",
    "RuntimeUse",
    "Runtimes",
    "SampleAnswer",
    "SamplePoint",
    "SampleSeries",
    "Secret",
    "Session",
    "SignedUp",
    "Someone",
    "SshKey",
    "System",
    "Ticket",
    "Token",
    "TransitionView",
    "TroubleView",
    "Upload",
    "UsageRecord",
    "UsageRecords",
    "UsageSum",
    "UsageSums",
    "User",
    "UserSummary",
    "UserWithRole",
    "Verdict",
    "Waiting",
    "Workload",
    "WorkloadDetail",
    "WorkloadSummary",
    "Zone",
    "ZoneVerdict",
]


@dataclass(frozen=True, kw_only=True)
class Acted:
    """What became of each; one that was refused does not hold up the others."""

    changed: tuple[str, ...]
    """Ids of those that the action changed, children among them."""
    unchanged: tuple[str, ...]
    """Ids of those that were as asked already."""
    refused: tuple[Refused, ...]


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """A workload: when it came, what it asked for, and how long it ran."""

    workload_id: str
    kind: str
    zone_id: str
    queue_id: str
    user_id: str
    organisation_id: str
    submitted_at: datetime
    started_at: datetime | None
    """Its first attempt."""
    ended_at: datetime | None
    state: str
    """That it is in, or ended in."""
    attempts: int
    run_us: int
    """Microseconds of its closed attempts."""
    priority: int
    preemptible: bool
    replicas: int
    flavor: str
    """Its name; empty for numbers."""
    request: Mapping[str, Any]
    """What one replica asked for."""
    time_limit_seconds: int | None


@dataclass(frozen=True, kw_only=True)
class Arrivals:
    items: tuple[Arrival, ...]
    """In the order in which they were submitted."""
    next_after: str | None
    """Give it as `after` to read on; null: that was all."""


@dataclass(frozen=True, kw_only=True)
class AttemptView:
    number: int
    opened_at: datetime
    closed_at: datetime | None
    reason: Reason | None
    replicas: tuple[ReplicaView, ...]


@dataclass(frozen=True, kw_only=True)
class AuditAction:
    key: str
    description: str


@dataclass(frozen=True, kw_only=True)
class AuditEntry:
    """Who did what to what, from where, and how it ended."""

    id: str
    """Sorts by time."""
    at: datetime
    """When, in UTC."""
    actor_id: str
    """The user; empty for Corral itself and for visitors."""
    actor_name: str
    """The user's name at that time."""
    via: str
    """How they were signed in: session, token, local or system; after a colon, which one."""
    action: str
    """One of `GET /audit/actions`."""
    object_kind: str
    """The kind of object."""
    object_id: str
    object_name: str
    """Its name at that time."""
    organisation_id: str
    """The organisation it belonged to."""
    result: str
    """One of: `done`, `refused`."""
    reason: str | None
    """Why it was refused."""
    before: Mapping[str, Any] | None
    """The values that changed, as they were; secrets masked."""
    after: Mapping[str, Any] | None
    """The same values afterwards; secrets masked."""
    address: str
    """Where the request came from."""
    request_id: str
    """The request's id in the server's log."""


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """What nodes have that are there, with their healthy devices."""

    gpu_milli: int
    """1000 for each GPU."""
    cpu_milli: int
    memory_mib: int


@dataclass(frozen=True, kw_only=True)
class ChangedQueues:
    dry_run: bool
    items: tuple[Queue, ...]
    """The changed queues, after the change."""
    warnings: tuple[QueueWarning, ...]
    """All warnings that you may see, after the change."""
    effects: tuple[QueueEffect, ...]
    """Queues that you may see whose fair share changes."""


@dataclass(frozen=True, kw_only=True)
class Checklist:
    items: tuple[ChecklistItem, ...]
    done: int
    total: int


@dataclass(frozen=True, kw_only=True)
class ChecklistItem:
    key: str
    """One of: `password`, `organisation`, `people`, `second_administrator`, `mail`."""
    done: bool
    count: int | None = None
    """The number it depends on, if any."""


@dataclass(frozen=True, kw_only=True)
class ClusterChange:
    """A node, a pool or what a queue is entitled to, before and after a change."""

    sequence: int
    at: datetime
    kind: str
    """One of: `node`, `pool`, `queue`."""
    object_id: str
    before: Mapping[str, Any] | None
    """null: it was not there, or not recorded yet."""
    after: Mapping[str, Any] | None
    """null: it is gone."""


@dataclass(frozen=True, kw_only=True)
class ClusterHistory:
    items: tuple[ClusterChange, ...]
    """In order of their sequence."""
    next_after: int
    """Give it as `after` to read on, now or later."""
    more: bool


@dataclass(frozen=True, kw_only=True)
class CreatedInvitation:
    invitation: Invitation
    role_expires_at: datetime | None = None
    """When the role ends: no later than the authority of whoever gives it."""
    notice: str | None = None
    """Why it ends at a time that nobody asked for; null otherwise."""
    secret: str
    url: str
    """Shown once; works without a mail server."""
    mail_problem: str | None = None
    """Why no mail was sent, if one was wanted."""


@dataclass(frozen=True, kw_only=True)
class JoinCode:
    id: str
    code: str | None
    """Null unless you could give its role there: whoever has the code gets the role."""
    organisation_id: str
    organisation_name: str
    role_id: str
    role_name: str
    seats: int
    seats_taken: int
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, kw_only=True)
class CreatedJoinCode(JoinCode):
    role_expires_at: datetime | None
    """When the role ends: no later than the authority of whoever gives it."""
    notice: str | None
    """Why it ends at a time that nobody asked for; null otherwise."""


@dataclass(frozen=True, kw_only=True)
class CreatedToken:
    token: Token
    secret: str
    """Shown once."""


@dataclass(frozen=True, kw_only=True)
class CreatedUser:
    user: User
    login_link: LoginLink
    """Hand it to them; they choose a password when they use it."""
    notice: str | None = None
    """Why it ends at a time that nobody asked for; null otherwise."""


@dataclass(frozen=True, kw_only=True)
class Device:
    id: str
    node_id: str
    node_name: str
    pool_id: str
    pool_name: str
    index: int
    """The number by which programs on the node know it."""
    vendor: str
    model: str
    memory_mib: int
    mode: str
    """What it may be used for: any, whole, shared or mig."""
    health: str
    """One of: `healthy`, `faulty`, `offline`."""
    simulated: bool
    """It schedules and meters; code computes on the CPU."""
    facts: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Flavor:
    id: str
    name: str
    description: str
    cpu_milli: int
    memory_mib: int
    gpu: FlavorGpu | None
    kinds: tuple[str, ...]
    """For which kinds of work it is offered; empty: for all."""
    enabled: bool
    preset: bool
    """Corral created it for the first machine it found; it can be edited like any other."""
    organisations: tuple[FlavorPlace, ...]
    """Organisations that may use it, with everything below them; as far as you may see."""
    may_change: bool
    lack: FlavorLack | None
    """Why work with it can never run: it fits on no node, lost and cordoned ones counted. null: it fits."""
    created_at: datetime
    generation: int


@dataclass(frozen=True, kw_only=True)
class FlavorGpu:
    """`count` whole GPUs, or as many slices on different ones: by memory, fraction or MIG profile."""

    count: int = 1
    memory_mib: int | None = None
    fraction_milli: int | None = None
    compute_percent: int = 0
    profile: str | None = None
    models: tuple[str, ...] = ()
    """Empty: any."""
    mode: str | None = None
    """Left out: whole, mig with a profile, else vgpu. One of: `whole`, `vgpu`, `shared`, `mig`."""


@dataclass(frozen=True, kw_only=True)
class FlavorLack:
    """What a flavor asks for that no node has."""

    kind: str
    asked: int
    most: int
    """The most that one node has."""
    names: tuple[str, ...]
    """Models, the MIG profile or taints, where they decide."""
    restricted: bool = False
    """Whether taints keep it away from other nodes."""
    sentence: str


@dataclass(frozen=True, kw_only=True)
class FlavorPlace:
    id: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Flavors:
    items: tuple[Flavor, ...]
    """Without GPUs first, the smaller before the larger; what fits on no node last."""
    kinds: tuple[str, ...]
    """The kinds of work that a flavor can be offered for."""


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """`count` whole GPUs; with a size, slices of that size on as many different ones."""

    count: int = 1
    memory_mib: int | None = None
    """The slice's memory."""
    fraction_milli: int | None = None
    """The slice as part of a GPU."""
    profile: str | None = None
    """A MIG profile."""
    compute_percent: int = 0
    """Of a slice; 0 is unlimited."""
    models: tuple[str, ...] = ()
    """Any of these; empty for all."""


@dataclass(frozen=True, kw_only=True)
class Health:
    status: str = "ok"


@dataclass(frozen=True, kw_only=True)
class Held:
    device: str
    memory_mib: int | None = None
    """Of a slice; null for a whole device."""
    compute_percent: int = 0
    profile: str | None = None


@dataclass(frozen=True, kw_only=True)
class Help:
    """One change that would let it run, tried before it is said."""

    kind: str
    sentence: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Host:
    """A machine on which a Corral of this database runs."""

    id: str
    """The identity of its data directory, and of its zone."""
    name: str
    url: str
    """Where other hosts reach it; empty: nowhere."""
    version: str
    state: str
    """`silent`: its Corral has not been heard of for 90 s. One of: `up`, `silent`."""
    started_at: datetime
    seen_at: datetime
    """When its Corral was last heard of."""


@dataclass(frozen=True, kw_only=True)
class ImportResult:
    dry_run: bool
    rows: tuple[ImportedRow, ...]
    created: int
    added: int
    errors: int
    role_expires_at: datetime | None = None
    """When the role ends: no later than the authority of whoever gives it."""
    notice: str | None = None
    """Why it ends at a time that nobody asked for; null otherwise."""


@dataclass(frozen=True, kw_only=True)
class ImportedRow:
    line: int
    name: str
    display_name: str
    mail: str | None
    result: str
    """create: a new account; add: the person exists and joins; unchanged: already there. One of: `create`,
    `add`, `unchanged`, `error`."""
    problems: tuple[str, ...]
    login_link: LoginLink | None = None


@dataclass(frozen=True, kw_only=True)
class Invitation:
    id: str
    organisation_id: str
    organisation_name: str
    role_id: str
    role_name: str
    mail: str | None
    invited_by: str
    created_at: datetime
    expires_at: datetime
    mailed_at: datetime | None
    """When the mail server accepted it; null if no mail was sent."""


@dataclass(frozen=True, kw_only=True)
class InvitationPreview:
    organisation_name: str
    role_name: str
    role_key: str | None
    """Of a preset role; null for custom roles."""
    invited_by: str
    mail: str | None
    expires_at: datetime
    role_expires_at: datetime | None
    """When the role ends: no later than the authority of whoever gives it."""


@dataclass(frozen=True, kw_only=True)
class JoinPreview:
    organisation_name: str
    role_name: str
    role_key: str | None
    """Of a preset role; null for custom roles."""
    seats_left: int
    expires_at: datetime
    role_expires_at: datetime | None
    """When the role ends: no later than the authority of whoever gives it."""


@dataclass(frozen=True, kw_only=True)
class Log:
    """A part of what a replica wrote. `next` is where to read on."""

    attempt: int
    """Of which it is; 0 when there was none yet."""
    replica: int
    offset: int
    """Where the text begins, in bytes since the replica's first."""
    next: int
    """Give it as `after` to read on."""
    dropped: int
    """Bytes after `after` that are no longer kept."""
    ended: bool
    """Nothing will come after `next`."""
    text: str
    """Secret values are starred; bytes that are no UTF-8 are replaced."""


@dataclass(frozen=True, kw_only=True)
class LoginLink:
    """Opens the console once, without a password. The secret goes behind `/login#once=`."""

    secret: str
    url: str
    expires_at: datetime


@dataclass(frozen=True, kw_only=True)
class LoginOptions:
    organisation_name: str
    version: str
    providers: tuple[Provider, ...]
    sign_up: bool


@dataclass(frozen=True, kw_only=True)
class MachineFacts:
    host_name: str
    operating_system: str
    architecture: str
    cpu_model: str
    cpu_count: int
    memory_mib: int
    gpus: tuple[MachineGpu, ...]
    gpus_simulated: bool
    """No GPU was found: GPUs of this machine are simulated."""
    gpu_driver: str | None
    gpu_note: str | None
    """A message from the driver, if there is one."""


@dataclass(frozen=True, kw_only=True)
class MachineGpu:
    vendor: str
    model: str
    memory_mib: int
    uuid: str


@dataclass(frozen=True, kw_only=True)
class MailSettings:
    host: str | None
    """Null: no mail server; no mail is sent."""
    port: int
    encryption: str
    """One of: `starttls`, `tls`, `none`."""
    user_name: str | None
    password_set: bool
    """Whether a password is stored; it is never returned."""
    sender: str | None
    """The address mail comes from."""
    tested_at: datetime | None
    """When the mail server last accepted a test mail."""
    generation: int


@dataclass(frozen=True, kw_only=True)
class MailTested:
    to: str
    tested_at: datetime


@dataclass(frozen=True, kw_only=True)
class Node:
    id: str
    zone_id: str
    zone_name: str
    pool_id: str
    pool_name: str
    name: str
    state: str
    """One of: `ready`, `lost`."""
    cordoned: bool
    """It gets no new work; what runs there stays."""
    cpu_milli: int
    memory_mib: int
    disk_mib: int | None
    pods: int
    """How many replicas fit at most."""
    labels: Mapping[str, str]
    taints: tuple[str, ...]
    simulated: bool
    """Some of its devices are simulated."""
    devices: tuple[Device, ...]
    facts: Mapping[str, Any]
    seen_at: datetime | None
    """Of a lost node: until when it was reported."""
    created_at: datetime
    generation: int


@dataclass(frozen=True, kw_only=True)
class OpenSession:
    id: str
    current: bool
    address: str
    user_agent: str
    provider: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime


@dataclass(frozen=True, kw_only=True)
class Organisation:
    id: str
    parent_id: str | None
    """Null for the root, and where you may not see the parent."""
    name: str
    path: tuple[str, ...]
    """Ids from the outermost visible organisation down to this one."""
    people_count: int
    """People who belong to it directly."""
    created_at: datetime
    generation: int


@dataclass(frozen=True, kw_only=True)
class OrganisationName:
    id: str
    name: str


@dataclass(frozen=True, kw_only=True)
class PermissionInfo:
    permission: str
    """One of: `organisations.read`, `organisations.manage`, `people.read`, `people.invite`,
    `people.manage`, `roles.read`, `roles.manage`, `roles.grant`, `audit.read`, `usage.read`,
    `settings.read`, `settings.manage`, `system.read`, `zones.read`, `zones.manage`, `queues.read`,
    `queues.manage`, `flavors.read`, `flavors.manage`, `workloads.run`, `workloads.read`,
    `workloads.manage`."""
    description: str


@dataclass(frozen=True, kw_only=True)
class PermissionsHere:
    organisation_id: str
    permissions: tuple[str, ...]
    """One of: `organisations.read`, `organisations.manage`, `people.read`, `people.invite`,
    `people.manage`, `roles.read`, `roles.manage`, `roles.grant`, `audit.read`, `usage.read`,
    `settings.read`, `settings.manage`, `system.read`, `zones.read`, `zones.manage`, `queues.read`,
    `queues.manage`, `flavors.read`, `flavors.manage`, `workloads.run`, `workloads.read`,
    `workloads.manage`."""
    ends: Mapping[str, datetime]
    """Ends of permissions that you hold for a limited time; roles that you give end then, too."""


@dataclass(frozen=True, kw_only=True)
class Pool:
    id: str
    zone_id: str
    zone_name: str
    name: str
    labels: Mapping[str, str]
    """Nodes that carry all of them are in it; {}: all that are left."""
    arrangement: str
    """One of: `packing`, `spreading`."""
    unit_gpu_milli: int
    """The grain in which surplus GPUs are divided."""
    priority_across_queues: bool
    """Work preempts lower priorities of every queue, not only of its own."""
    reservations: int
    """How many of the first that wait get a time nobody may push back."""
    topologies: tuple[PoolTopology, ...]
    least_strength: str
    """Isolation that slices here need at least. One of: `none`, `hook`, `driver`, `kernel`, `hardware`."""
    most_grace_seconds: int
    """What one workload may ask for at most."""
    most_retries: int
    """What one workload may ask for at most."""
    most_replicas: int
    """What one workload may ask for at most."""
    most_hold_seconds: int
    """What one workload may ask for at most."""
    nodes_count: int
    simulated: bool
    """Some of its devices are simulated: they compute nothing."""
    capacity: Capacity
    created_at: datetime
    generation: int


@dataclass(frozen=True, kw_only=True)
class PoolTopology:
    """How near nodes are to each other: keys of node labels, the widest level first."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Position:
    number: int
    of: int


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What every replica will execute."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    """The same for all replicas; secrets are masked."""
    replicas: tuple[ReplicaPreview, ...]
    """What differs from one replica to the next."""
    set_at_start: tuple[str, ...]
    """Variables whose values are known only where it runs."""


@dataclass(frozen=True, kw_only=True)
class Provider:
    key: str
    kind: str
    """One of: `form`, `redirect`."""


@dataclass(frozen=True, kw_only=True)
class Queue:
    id: str
    parent_id: str | None
    """Null for the root, and where you may not see the queue above."""
    name: str
    """Of the organisation, or of the person."""
    organisation_id: str
    organisation_name: str
    person: QueuePerson | None
    """Whose work it is; null: the organisation's own queue."""
    priority: int
    """Surplus goes to the highest first."""
    policy: str
    """fixed: neither borrows nor lends; elastic: does both. One of: `fixed`, `elastic`."""
    reclaim_min_runtime_seconds: int | None
    """null: inherited from the queue above."""
    preempt_min_runtime_seconds: int | None
    """null: inherited from the queue above."""
    custom_numbers: bool | None
    """Work may ask for custom amounts instead of a flavor; null: inherited."""
    colour: int
    """1 to 8: its colour on every page."""
    quotas: tuple[QueueQuota, ...]
    may_change: bool
    """Whether you may change its quotas and policies."""
    created_at: datetime
    generation: int


@dataclass(frozen=True, kw_only=True)
class QueueEffect:
    """A fair share that changes: queues above theirs may have to give some back, those below get it."""

    queue_id: str
    queue_name: str
    pool_id: str
    resource: str
    """One of: `gpu_milli`, `cpu_milli`, `memory_mib`."""
    used: int
    wanted: int
    fair_before: int
    fair_after: int


@dataclass(frozen=True, kw_only=True)
class QueueHistory:
    items: tuple[QueueShare, ...]
    """In order of their sequence."""
    next_after: int
    """Give it as `after` to read on, now or later."""
    more: bool


@dataclass(frozen=True, kw_only=True)
class QueuePerson:
    id: str
    name: str
    display_name: str


@dataclass(frozen=True, kw_only=True)
class QueuePool:
    """A pool with quotas."""

    id: str
    name: str
    zone_id: str
    zone_name: str
    capacity: Capacity
    simulated: bool


@dataclass(frozen=True, kw_only=True)
class QueueQuota:
    """Of one resource in one pool. A limit of -1 is none; a guarantee of -1 is everything."""

    pool_id: str
    resource: str
    """One of: `gpu_milli`, `cpu_milli`, `memory_mib`."""
    guarantee: int
    """Reclaimed on demand; -1: everything."""
    limit: int
    """An upper bound; -1: no limit."""
    weight: int
    """Its weight among its siblings when surplus is divided."""
    used: int | None
    """What its work and everything below it holds now; null: unknown."""
    wanted: int | None
    """What its work waits for; null: unknown."""
    fair_share: int | None
    """Its fair share of the pool by current use and demand; null: unknown."""


@dataclass(frozen=True, kw_only=True)
class QueueShare:
    """A queue's share of one resource of a pool, from `at` on until the next one."""

    sequence: int
    at: datetime
    zone_id: str
    pool_id: str
    queue_id: str
    resource: str
    """One of: `gpu_milli`, `cpu_milli`, `memory_mib`."""
    guarantee: int
    """As the scheduler has it."""
    fair_share: int
    allocated: int
    """To its work and all below it."""
    wanted: int
    """What that waits for."""
    lent: int
    """Of its guarantee, to siblings that hold more than theirs."""
    borrowed: int
    """What it holds beyond its guarantee."""


@dataclass(frozen=True, kw_only=True)
class QueueWarning:
    """Guarantees exceed capacity: not all of them can be kept at the same time."""

    kind: str
    """One of: `above_capacity`, `above_guarantee`, `above_limit`."""
    queue_id: str
    queue_name: str
    pool_id: str
    pool_name: str
    resource: str
    """One of: `gpu_milli`, `cpu_milli`, `memory_mib`."""
    promised: int
    available: int
    detail: str


@dataclass(frozen=True, kw_only=True)
class Queues:
    items: tuple[Queue, ...]
    """Parents before those below them, organisations before people."""
    pools: tuple[QueuePool, ...]
    warnings: tuple[QueueWarning, ...]


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why a workload is in its state: the kind, the sentence, and the facts it is made of."""

    why: str
    sentence: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Refused:
    id: str
    detail: str
    remedy: str


@dataclass(frozen=True, kw_only=True)
class RegistrationSettings:
    sign_up: bool
    """Whether people may sign up; they wait for approval."""
    organisation_id: str
    """The organisation that people who sign up join."""
    generation: int


@dataclass(frozen=True, kw_only=True)
class ReplicaPreview:
    number: int
    environment: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
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
    ready_at: datetime | None
    """Since when it has been ready; null while it is not."""
    ended_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class ReportedMetric:
    """What one replica reported under one name in one attempt."""

    name: str
    attempt: int
    replica: int
    reports: int
    """How many there were."""
    last_step: int
    last_at: datetime
    last_value: float | None
    lowest: float | None
    """Of all reports."""
    highest: float | None
    """Of all reports."""
    points: tuple[ReportedPoint, ...]


@dataclass(frozen=True, kw_only=True)
class ReportedMetrics:
    items: tuple[ReportedMetric, ...]
    """By name, attempt and replica."""
    dropped: int
    """Values that were not taken: no number, too many names, or beyond its owner's bounds."""


@dataclass(frozen=True, kw_only=True)
class ReportedPoint:
    """One report, or several in a row where there are more than asked for. What is no number is null."""

    step: int
    at: datetime
    lowest: float | None
    mean: float | None
    highest: float | None


@dataclass(frozen=True, kw_only=True)
class Resources:
    """What one replica needs, as people write it (`cpu: 0.5`, `memory: 4Gi`, `gpu: 2` or `gpu: 8Gi`), or
    in the unit of the field (`cpu_milli: 500`, `memory_mib: 4096`)."""

    cpu_milli: int
    """A number, or text with a unit."""
    memory_mib: int
    """A number, or text with a unit."""
    gpu: Gpu | None = None
    """2 for whole ones, 8Gi for a slice, or all there is to say."""


@dataclass(frozen=True, kw_only=True)
class Revoked:
    revoked: int


@dataclass(frozen=True, kw_only=True)
class Role:
    id: str
    key: str | None
    """Of a preset (`user`); null for custom roles."""
    organisation_id: str
    """It can be given on this organisation and below."""
    organisation_name: str
    name: str
    description: str
    permissions: tuple[str, ...]
    """One of: `organisations.read`, `organisations.manage`, `people.read`, `people.invite`,
    `people.manage`, `roles.read`, `roles.manage`, `roles.grant`, `audit.read`, `usage.read`,
    `settings.read`, `settings.manage`, `system.read`, `zones.read`, `zones.manage`, `queues.read`,
    `queues.manage`, `flavors.read`, `flavors.manage`, `workloads.run`, `workloads.read`,
    `workloads.manage`."""
    people_count: int
    created_at: datetime
    generation: int


@dataclass(frozen=True, kw_only=True)
class RoleGrant:
    grant_id: str
    role_id: str
    role_name: str
    role_key: str | None
    organisation_id: str
    organisation_name: str
    expires_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """One version of a Python environment."""

    id: str
    name: str
    version: int
    requirements: tuple[str, ...]
    state: str
    """One of: `defined`, `building`, `ready`, `failed`."""
    workload_id: str | None
    """The work that builds or has built it."""
    zone: str | None
    """The zone in which it is built; null before that."""
    created_at: datetime
    used_at: datetime
    used_by: tuple[RuntimeUse, ...]
    """It cannot be deleted while there is such work."""


@dataclass(frozen=True, kw_only=True)
class RuntimePreset:
    """What can be made by its name alone."""

    name: str
    about: str
    requirements: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class RuntimeUse:
    """Work that is not over and was submitted with the runtime."""

    id: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Runtimes:
    items: tuple[Runtime, ...]
    presets: tuple[RuntimePreset, ...]


@dataclass(frozen=True, kw_only=True)
class SampleAnswer:
    """Series of one subject."""

    step_seconds: int
    """How long one point stands for; usually that far apart they are."""
    items: tuple[SampleSeries, ...]


@dataclass(frozen=True, kw_only=True)
class SamplePoint:
    at: datetime
    """When the step begins, in UTC."""
    lowest: int
    mean: float
    highest: int


@dataclass(frozen=True, kw_only=True)
class SampleSeries:
    metric: str
    """The unit is in its name. One of: `cpu_milli`, `memory_bytes`, `disk_bytes`, `read_bytes_per_second`,
    `written_bytes_per_second`, `received_bytes_per_second`, `sent_bytes_per_second`,
    `gpu_busy_percent`, `gpu_memory_mib`, `temperature_celsius`, `power_milliwatts`."""
    points: tuple[SamplePoint, ...]
    """Steps without any sample are left out."""


@dataclass(frozen=True, kw_only=True)
class Secret:
    """Everything of a secret but its value."""

    name: str
    created_at: datetime
    changed_at: datetime


@dataclass(frozen=True, kw_only=True)
class Session:
    user: User
    via: str
    """One of: `session`, `token`, `local`."""
    csrf_token: str | None
    """Send it as X-CSRF-Token with every change; null for tokens."""
    must_change_password: bool
    current_password_needed: bool
    """Whether a new password needs the current one; not after a login link, for instance."""
    permissions: tuple[PermissionsHere, ...]
    """Your permissions by organisation; they hold below it, too."""
    expires_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class SignedUp:
    state: str = "pending"


@dataclass(frozen=True, kw_only=True)
class Someone:
    id: str
    name: str


@dataclass(frozen=True, kw_only=True)
class SshKey:
    id: str
    title: str
    kind: str
    fingerprint: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class System:
    version: str
    database: str
    """One of: `sqlite`, `postgresql`."""
    started_at: datetime
    machine: MachineFacts


@dataclass(frozen=True, kw_only=True)
class Ticket:
    """Post `ticket` as a form to `action`: it opens the app, once, within a minute."""

    ticket: str
    action: str
    """On the host name of the app."""
    url: str
    """Where the app is, for whoever is inside."""


@dataclass(frozen=True, kw_only=True)
class Token:
    id: str
    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    local: bool
    """Created at start for the command on Corral's own machine."""


@dataclass(frozen=True, kw_only=True)
class TransitionView:
    number: int
    at: datetime
    attempt: int
    state: str
    """One of: `queued`, `infeasible`, `starting`, `running`, `suspending`, `suspended`, `stopping`,
    `stopped`, `succeeded`, `failed`, `deleted`."""
    reason: Reason


@dataclass(frozen=True, kw_only=True)
class TroubleView:
    """Something that Corral cannot do with a workload now; it tries again, and others do not wait for it."""

    step: str
    """One of: `plan`, `explain`, `start`, `signal`, `record`, `hear`, `report`, `forget`, `discard`,
    `purge`, `follow`, `adopt`, `output`, `measure`."""
    sentence: str
    detail: str
    since: datetime


@dataclass(frozen=True, kw_only=True)
class Upload:
    id: str
    sha256: str
    size_bytes: int
    unpacked_bytes: int
    entries: int
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class UsageRecord:
    """How much of one resource was held in a stretch of time within one hour, and what it was at the
    grant.

    What is null is not known: it was granted before that was written down.
    """

    sequence: int
    """Grows in the order in which records are posted."""
    posted_at: datetime
    """Never before that of the record before."""
    allocation_id: str
    workload_id: str
    attempt: int
    replica: int
    user_id: str
    organisation_id: str
    organisation_path: str
    """Ids from the root to the organisation, at the grant."""
    queue_id: str
    zone_id: str
    zone_name: str | None
    pool_id: str | None
    pool_name: str | None
    node: str
    kind: str | None
    """Of the workload."""
    flavor: str | None
    """Its name; empty for numbers."""
    device_model: str | None
    """Empty without devices."""
    mode: str | None
    """whole, vgpu, shared or mig; empty without devices."""
    preemptible: bool | None
    resource: str
    model: str
    """Of the device; empty for what has none."""
    amount: int
    outcome: str
    """One of: `used`, `lost`."""
    started_at: datetime
    ended_at: datetime
    duration_us: int
    """Microseconds; negative where it takes back an earlier record of the same stretch."""


@dataclass(frozen=True, kw_only=True)
class UsageRecords:
    items: tuple[UsageRecord, ...]
    """In order of their sequence."""
    next_after: int
    """Give it as `after` to read on, now or later. It moves on past what you may not see."""
    more: bool
    """Whether there are records after `next_after` already."""


@dataclass(frozen=True, kw_only=True)
class UsageSum:
    """How much of one resource was held, in one period."""

    since: datetime
    """When the period begins, in UTC."""
    owner: str
    """Id of what `by` tells apart, or its word (flavor, kind, model, mode, preemptible); empty for all,
    for none, and where it is not known."""
    owner_name: str
    """Name of the person, organisation, zone or pool; empty for others."""
    resource: str
    """gpu_milli (a thousandth of a GPU), cpu_milli (of a core) or memory_mib."""
    model: str
    """The device's model; empty for what has none."""
    outcome: str
    """lost: work that an eviction undid, charged to nobody. One of: `used`, `lost`."""
    amount_seconds: int
    """The amount times the seconds it was held, rounded down: one GPU for an hour is 3600000."""


@dataclass(frozen=True, kw_only=True)
class UsageSums:
    since: datetime
    until: datetime
    items: tuple[UsageSum, ...]


@dataclass(frozen=True, kw_only=True)
class User:
    id: str
    name: str
    display_name: str
    mail: str | None
    state: str
    """One of: `active`, `disabled`, `pending`."""
    priority: int
    """1 to 5; 5 is the highest."""
    language: str | None
    """One of: `en`, `zh-TW`, `zh-CN`."""
    theme: str | None
    """One of: `light`, `dark`, `system`."""
    created_at: datetime
    last_seen_at: datetime | None
    generation: int
    organisations: tuple[OrganisationName, ...]
    """Their organisations, as far as you may see them."""
    roles: tuple[RoleGrant, ...]
    """Roles on organisations that you may see."""


@dataclass(frozen=True, kw_only=True)
class UserSummary:
    people: int
    pending: int
    disabled: int
    with_more_than_user_role: int
    open_invitations: int
    open_join_codes: int


@dataclass(frozen=True, kw_only=True)
class UserWithRole(User):
    """The person, with the role that was given."""

    expires_at: datetime | None
    """When the role ends: no later than the authority of whoever gives it."""
    notice: str | None
    """Why it ends at a time that nobody asked for; null otherwise."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Fits now on some nodes; waits, and until when; or can never run."""

    result: str
    """One of: `fits`, `waits`, `never`."""
    sentence: str
    nodes: tuple[str, ...]
    """Where it would start now."""
    details: tuple[str, ...]
    reason: Mapping[str, Any] | None
    """The rule that stopped it, with its numbers."""
    lack: Mapping[str, Any] | None = field(default_factory=dict)
    """Of work that can never run for want of room: what it asks for, and what there is."""
    in_queue: Position | None = None
    in_pool: Position | None = None
    starts_at: datetime | None = None
    """When it will probably start."""
    error_seconds: int | None = None
    """By how much such estimates were usually wrong; null while too few are known."""
    no_estimate: str | None = None
    """Why nobody can say: `unknown_ends`, `too_far_back`, `passed`, `uncertain`."""
    expectation: str | None = None
    """One of these two in words."""
    helps: tuple[Help, ...]
    takes_from: tuple[str, ...]
    """Names of work that is suspended for it."""
    takes_by: str | None = None
    """Why it may: `guarantee`, `surplus` (what its queue reclaims), `preempt`, `consolidate`."""
    zone_id: str | None = None
    """Of new work: where it would go."""
    zone_name: str | None = None
    zone_reason: str | None = None
    """Why there: `named`, `only`, `fits`, `earliest`, `possible` or `first`."""
    zones: tuple[ZoneVerdict, ...] = ()
    """Of new work: what every zone says that it may go to."""
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """Why waiting work has no place yet, by the last plan; and when it will probably have one."""

    kind: str
    """A rule of the scheduler; or `not_planned`, `pause`, `promised`."""
    sentence: str
    facts: Mapping[str, Any]
    """What the sentence is made of."""
    in_queue: Position | None
    """Its turn among what waits in the same queue."""
    starts_at: datetime | None
    """When it will probably start, where a place is kept for it."""
    at: datetime | None
    """Since when this is why."""


@dataclass(frozen=True, kw_only=True)
class Workload(WorkloadStates):
    """One workload as lists show it."""

    id: str
    kind: str
    name: str
    state: str
    """One of: `queued`, `infeasible`, `starting`, `running`, `suspending`, `suspended`, `stopping`,
    `stopped`, `succeeded`, `failed`, `deleted`."""
    wanted: str
    """One of: `run`, `suspend`, `stop`."""
    reason: Reason
    waits: Waiting | None
    """Of work that waits for its turn: why, and for how long."""
    organisation: Someone
    user: Someone
    parent_id: str | None = None
    """The work that it was created for."""
    zone_id: str
    zone_name: str
    zone_reason: str | None = None
    """Why it is there: `named`, `only`, `fits`, `earliest`, `possible`, `first` or `moved`."""
    queue_id: str
    flavor: str | None
    resources: Resources
    replicas: int
    priority: int
    preemptible: bool
    attempt: int
    """The number of the last attempt; 0 before the first."""
    nodes: tuple[str, ...]
    """Where it is now."""
    ready_replicas: int = 0
    """How many of its replicas are ready now."""
    ready_at: datetime | None = None
    """Since when all of its replicas have been ready."""
    held_until: datetime | None = None
    """Of work that waits for its restart: until when its place is kept."""
    damaged: bool = False
    """Its document cannot be read, so what it asks for is unknown; `reason` says so."""
    simulated: bool
    """The GPUs it holds are simulated: they schedule and meter; its code computes on the CPU."""
    created_at: datetime
    waiting_since: datetime | None
    """Of work that waits."""
    not_before: datetime | None
    """The end of the pause after a failed attempt."""
    started_at: datetime | None
    """When the last attempt got its place."""
    ended_at: datetime | None
    exit_code: int | None
    generation: int


@dataclass(frozen=True, kw_only=True)
class WorkloadDetail(Workload):
    """One workload with its document and everything that happened to it."""

    spec: Mapping[str, Any]
    transitions: tuple[TransitionView, ...]
    attempts: tuple[AttemptView, ...]
    troubles: tuple[TroubleView, ...]
    """What Corral could not do with it, and tries again."""
    may_change: bool
    """Whether you may stop, suspend, resume and delete it."""


@dataclass(frozen=True, kw_only=True)
class WorkloadSummary:
    """How many there are in each state that has any."""

    states: Mapping[str, int]
    waits_since: datetime | None
    """Since when the oldest queued one waits."""


@dataclass(frozen=True, kw_only=True)
class Zone:
    id: str
    name: str
    kind: str
    """`local` is a machine, `simulated` computes nothing. One of: `local`, `simulated`, `kubernetes`."""
    state: str
    """`ready`, `starting` (not seen yet) or `unreachable` (no process drives it). One of: `ready`,
    `starting`, `unreachable`."""
    driven_by: str | None
    """The host whose Corral drives it."""
    last_driven_by: str | None
    """The same of the last one that did; None if nobody ever did."""
    since: datetime | None
    """Since when it is driven, or since when nobody drives it."""
    identity: str | None
    """Of what is behind it; another machine is another zone."""
    nodes: str | None
    """Of a simulated zone: its nodes."""
    simulated: bool
    seen_at: datetime | None
    """When what its engine reports last changed."""
    pools_count: int
    nodes_count: int
    created_at: datetime
    generation: int


@dataclass(frozen=True, kw_only=True)
class ZoneVerdict:
    """What one zone would make of it."""

    zone_id: str
    zone_name: str
    result: str
    """One of: `fits`, `waits`, `never`."""
    sentence: str
    nodes: tuple[str, ...]
    """Where it would start now."""
    reason: Mapping[str, Any] | None
    """The rule that stopped it, with its numbers."""
    lack: Mapping[str, Any] | None = field(default_factory=dict)
    """What it asks for, and what there is."""
    takes_from: tuple[str, ...]
    """Names of work that is suspended for it."""
    starts_at: datetime | None
