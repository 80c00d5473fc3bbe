"""What the API takes and gives about workloads."""

from typing import Any, Literal

from pydantic import Field

from corral.api.models import Id, Input, Instant, Output
from corral.core.steps import Step
from corral.workloads.reasons import StateReason
from corral.workloads.spec import Resources
from corral.workloads.states import State, Wanted

MOST_AT_ONCE = 2000


class Reason(Output):
    """Why a workload is in its state: the kind, the sentence, and the facts it is made of."""

    why: str = Field(examples=["placed"])
    sentence: str = Field(examples=["Placed on gpu-1."])
    facts: dict[str, Any]

    @classmethod
    def of(cls, stored: dict[str, Any]) -> "Reason":
        because = StateReason.from_dict(stored)
        return cls(why=because.why, sentence=because.sentence(), facts=dict(because.facts))

    @classmethod
    def readable(cls, stored: Any) -> "Reason | None":
        """None where it is damaged."""
        try:
            return cls.of(stored)
        except (TypeError, ValueError, KeyError, AttributeError):
            return None


class Someone(Output):
    id: str
    name: str


class Position(Output):
    number: int
    of: int


class Waiting(Output):
    """Why waiting work has no place yet, by the last plan; and when it will probably have one."""

    kind: str = Field(
        examples=["no_room"],
        description="A rule of the scheduler; or `not_planned`, `pause`, `promised`.",
    )
    sentence: str = Field(examples=["No node has room for it."])
    facts: dict[str, Any] = Field(description="What the sentence is made of.")
    in_queue: Position | None = Field(description="Its turn among what waits in the same queue.")
    starts_at: Instant | None = Field(
        description="When it will probably start, where a place is kept for it."
    )
    at: Instant | None = Field(description="Since when this is why.")


class Workload(Output):
    """One workload as lists show it."""

    id: str
    kind: str
    name: str
    state: State
    wanted: Wanted
    reason: Reason
    waits: Waiting | None = Field(description="Of work that waits for its turn: why, and for how long.")
    organisation: Someone
    user: Someone
    parent_id: str | None = Field(None, description="The work that it was created for.")
    zone_id: str
    zone_name: str = Field(examples=["local"])
    zone_reason: str | None = Field(
        None,
        description="Why it is there: `named`, `only`, `fits`, `earliest`, `possible`, `first` or `moved`.",
    )
    queue_id: str
    flavor: str | None
    resources: Resources
    replicas: int
    priority: int
    preemptible: bool
    attempt: int = Field(description="The number of the last attempt; 0 before the first.")
    nodes: list[str] = Field(description="Where it is now.")
    ready_replicas: int = Field(0, description="How many of its replicas are ready now.")
    ready_at: Instant | None = Field(None, description="Since when all of its replicas have been ready.")
    held_until: Instant | None = Field(
        None, description="Of work that waits for its restart: until when its place is kept."
    )
    damaged: bool = Field(
        False,
        description="Its document cannot be read, so what it asks for is unknown; `reason` says so.",
    )
    simulated: bool = Field(
        description="The GPUs it holds are simulated: they schedule and meter; its code computes on the CPU."
    )
    created_at: Instant
    waiting_since: Instant | None = Field(description="Of work that waits.")
    not_before: Instant | None = Field(description="The end of the pause after a failed attempt.")
    started_at: Instant | None = Field(description="When the last attempt got its place.")
    ended_at: Instant | None
    exit_code: int | None
    generation: int


class WorkloadSummary(Output):
    """How many there are in each state that has any."""

    states: dict[State, int] = Field(examples=[{"running": 3, "queued": 1}])
    waits_since: Instant | None = Field(description="Since when the oldest queued one waits.")


class Held(Output):
    device: str
    memory_mib: int | None = Field(None, description="Of a slice; null for a whole device.")
    compute_percent: int = 0
    profile: str | None = None


class ReplicaView(Output):
    number: int
    node: str
    devices: list[Held]
    phase: str
    end: str | None
    exit_code: int | None
    signal: int | None
    detail: str
    said_done: bool
    started_at: Instant | None
    ready_at: Instant | None = Field(description="Since when it has been ready; null while it is not.")
    ended_at: Instant | None


class AttemptView(Output):
    number: int
    opened_at: Instant
    closed_at: Instant | None
    reason: Reason | None
    replicas: list[ReplicaView]


class TransitionView(Output):
    number: int
    at: Instant
    attempt: int
    state: State
    reason: Reason


class TroubleView(Output):
    """Something that Corral cannot do with a workload now; it tries again, and others do not wait for it."""

    step: Step
    sentence: str = Field(examples=["Its files could not be removed yet: Permission denied."])
    detail: str
    since: Instant


class WorkloadDetail(Workload):
    """One workload with its document and everything that happened to it."""

    spec: dict[str, Any]
    transitions: list[TransitionView]
    attempts: list[AttemptView]
    troubles: list[TroubleView] = Field(description="What Corral could not do with it, and tries again.")
    may_change: bool = Field(description="Whether you may stop, suspend, resume and delete it.")


Action = Literal["stop", "suspend", "resume", "delete"]


class ActOn(Input):
    """One action on many workloads."""

    action: Action
    ids: list[Id] = Field(min_length=1, max_length=MOST_AT_ONCE)


class Refused(Output):
    id: str
    detail: str
    remedy: str


class Acted(Output):
    """What became of each; one that was refused does not hold up the others."""

    changed: list[str] = Field(description="Ids of those that the action changed, children among them.")
    unchanged: list[str] = Field(description="Ids of those that were as asked already.")
    refused: list[Refused]
