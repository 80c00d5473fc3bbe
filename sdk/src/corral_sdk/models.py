"""The objects of the API, as frozen dataclasses. Times are aware and in UTC; ids sort by time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from corral_sdk._ground_models import (
    Capacity,
    ChangedQueues,
    Device,
    Flavor,
    FlavorGpu,
    FlavorLack,
    FlavorPlace,
    Node,
    Pool,
    PoolTopology,
    Queue,
    QueueEffect,
    QueuePerson,
    QueuePool,
    QueueQuota,
    Queues,
    QueueWarning,
    Zone,
)
from corral_sdk._training_models import (
    Preview,
    ReplicaPreview,
    Runtime,
    RuntimePreset,
    Runtimes,
    RuntimeUse,
    Secret,
    Upload,
)
from corral_sdk._work_models import (
    Acted,
    AttemptView,
    Gpu,
    Held,
    Help,
    Log,
    Position,
    Reason,
    Refused,
    ReplicaView,
    Resources,
    Someone,
    TransitionView,
    TroubleView,
    Verdict,
    Waiting,
    Workload,
    WorkloadDetail,
    WorkloadSummary,
    ZoneVerdict,
)

__all__ = [
    "Acted",
    "AttemptView",
    "AuditAction",
    "AuditEntry",
    "Capacity",
    "ChangedQueues",
    "Checklist",
    "ChecklistItem",
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
    "Gpu",
    "Held",
    "Help",
    "ImportResult",
    "ImportedRow",
    "Invitation",
    "JoinCode",
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
    "QueuePerson",
    "QueuePool",
    "QueueQuota",
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
    "Someone",
    "SshKey",
    "System",
    "Token",
    "TransitionView",
    "TroubleView",
    "Upload",
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


@dataclass(frozen=True)
class OrganisationName:
    id: str
    name: str


@dataclass(frozen=True)
class RoleGrant:
    """A role someone holds, where, and until when."""

    grant_id: str
    role_id: str
    role_name: str
    role_key: str | None
    organisation_id: str
    organisation_name: str
    expires_at: datetime | None


@dataclass(frozen=True)
class User:
    id: str
    name: str
    display_name: str
    mail: str | None
    state: str
    priority: int
    language: str | None
    theme: str | None
    created_at: datetime
    last_seen_at: datetime | None
    generation: int
    organisations: tuple[OrganisationName, ...]
    roles: tuple[RoleGrant, ...]


@dataclass(frozen=True)
class UserWithRole(User):
    """The person with the role that was given; `notice` says why it ends at a time that nobody asked for."""

    expires_at: datetime | None = None
    notice: str | None = None


@dataclass(frozen=True)
class PermissionsHere:
    """What one may do on an organisation and below; `ends` has those that one holds for a time."""

    organisation_id: str
    permissions: tuple[str, ...]
    ends: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True)
class Session:
    """Who the caller is and what they may do where."""

    user: User
    csrf_token: str | None
    must_change_password: bool
    current_password_needed: bool
    permissions: tuple[PermissionsHere, ...]
    expires_at: datetime | None
    via: str


@dataclass(frozen=True)
class Provider:
    key: str
    kind: str


@dataclass(frozen=True)
class LoginOptions:
    organisation_name: str
    version: str
    providers: tuple[Provider, ...]
    sign_up: bool


@dataclass(frozen=True)
class OpenSession:
    """A browser or command that is signed in."""

    id: str
    current: bool
    address: str
    user_agent: str
    provider: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime


@dataclass(frozen=True)
class Token:
    id: str
    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    local: bool


@dataclass(frozen=True)
class CreatedToken:
    """A new token with its secret, which is shown this once."""

    token: Token
    secret: str


@dataclass(frozen=True)
class SshKey:
    id: str
    title: str
    kind: str
    fingerprint: str
    created_at: datetime


@dataclass(frozen=True)
class Organisation:
    """A node of the tree; `path` holds the ids from the root to it."""

    id: str
    parent_id: str | None
    name: str
    path: tuple[str, ...]
    people_count: int
    created_at: datetime
    generation: int


@dataclass(frozen=True)
class LoginLink:
    """Opens the console once, without a password."""

    secret: str
    url: str
    expires_at: datetime


@dataclass(frozen=True)
class CreatedUser:
    user: User
    login_link: LoginLink
    notice: str | None = None


@dataclass(frozen=True)
class ImportedRow:
    line: int
    name: str
    display_name: str
    mail: str | None
    result: str
    problems: tuple[str, ...]
    login_link: LoginLink | None = None


@dataclass(frozen=True)
class ImportResult:
    dry_run: bool
    rows: tuple[ImportedRow, ...]
    created: int
    added: int
    errors: int
    role_expires_at: datetime | None = None
    notice: str | None = None


@dataclass(frozen=True)
class PermissionInfo:
    permission: str
    description: str


@dataclass(frozen=True)
class Role:
    id: str
    key: str | None
    organisation_id: str
    organisation_name: str
    name: str
    description: str
    permissions: tuple[str, ...]
    people_count: int
    created_at: datetime
    generation: int


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class CreatedInvitation:
    """A new invitation with its link, which is shown this once; `mail_problem` says why no mail went out."""

    invitation: Invitation
    secret: str
    url: str
    mail_problem: str | None
    role_expires_at: datetime | None = None
    notice: str | None = None


@dataclass(frozen=True)
class JoinCode:
    """`code` is None for those who could not give its role: who has the code has the role."""

    id: str
    code: str | None
    organisation_id: str
    organisation_name: str
    role_id: str
    role_name: str
    seats: int
    seats_taken: int
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True)
class CreatedJoinCode(JoinCode):
    role_expires_at: datetime | None = None
    notice: str | None = None


@dataclass(frozen=True)
class AuditEntry:
    id: str
    at: datetime
    actor_id: str
    actor_name: str
    via: str
    action: str
    object_kind: str
    object_id: str
    object_name: str
    organisation_id: str
    result: str
    reason: str | None
    before: Any
    after: Any
    address: str
    request_id: str


@dataclass(frozen=True)
class AuditAction:
    key: str
    description: str


@dataclass(frozen=True)
class MailSettings:
    """The outgoing mail server; without a host nothing is sent. The password is never shown."""

    host: str | None
    port: int
    encryption: str
    user_name: str | None
    password_set: bool
    sender: str | None
    tested_at: datetime | None
    generation: int


@dataclass(frozen=True)
class MailTested:
    to: str
    tested_at: datetime


@dataclass(frozen=True)
class RegistrationSettings:
    """Whether people may sign up, and where those who do belong."""

    sign_up: bool
    organisation_id: str
    generation: int


@dataclass(frozen=True)
class ChecklistItem:
    key: str
    done: bool
    count: int | None


@dataclass(frozen=True)
class Checklist:
    items: tuple[ChecklistItem, ...]
    done: int
    total: int


@dataclass(frozen=True)
class UserSummary:
    people: int
    pending: int
    disabled: int
    with_more_than_user_role: int
    open_invitations: int
    open_join_codes: int


@dataclass(frozen=True)
class MachineGpu:
    vendor: str
    model: str
    memory_mib: int
    uuid: str


@dataclass(frozen=True)
class MachineFacts:
    host_name: str
    operating_system: str
    architecture: str
    cpu_count: int
    cpu_model: str
    memory_mib: int
    gpus: tuple[MachineGpu, ...]
    gpus_simulated: bool
    gpu_driver: str | None
    gpu_note: str | None


@dataclass(frozen=True)
class System:
    version: str
    database: str
    started_at: datetime
    machine: MachineFacts


@dataclass(frozen=True)
class Event:
    """Something changed; `kind` "reset" means that events were missed and all is to be read again."""

    id: str
    kind: str
    object_id: str = ""
    generation: int | None = None
    scope: str | None = None


@dataclass(frozen=True)
class UsageSum:
    """How much of one resource was held in one period: the amount times the seconds."""

    since: datetime
    owner: str
    owner_name: str
    resource: str
    model: str
    outcome: str
    amount_seconds: int


@dataclass(frozen=True)
class UsageSums:
    since: datetime
    until: datetime
    items: tuple[UsageSum, ...]


@dataclass(frozen=True)
class SamplePoint:
    at: datetime
    lowest: int
    mean: float
    highest: int


@dataclass(frozen=True)
class SampleSeries:
    """One metric over time; its unit is in its name."""

    metric: str
    points: tuple[SamplePoint, ...]


@dataclass(frozen=True)
class SampleAnswer:
    """Series of one subject; each point stands for `step_seconds`."""

    step_seconds: int
    items: tuple[SampleSeries, ...]


@dataclass(frozen=True)
class ReportedPoint:
    """One report, or several in a row where there were more than asked for."""

    step: int
    at: datetime
    lowest: float | None
    mean: float | None
    highest: float | None


@dataclass(frozen=True)
class ReportedMetric:
    """What one replica reported under one name in one attempt."""

    name: str
    attempt: int
    replica: int
    reports: int
    last_step: int
    last_at: datetime
    last_value: float | None
    lowest: float | None
    highest: float | None
    points: tuple[ReportedPoint, ...]


@dataclass(frozen=True)
class ReportedMetrics:
    items: tuple[ReportedMetric, ...]
    dropped: int
