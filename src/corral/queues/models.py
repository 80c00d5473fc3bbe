"""What the API takes and gives about queues and flavors."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints, ValidationInfo

from corral.api.amounts import AmountsAsWritten, GpusAsWritten, from_text, read_gpus
from corral.api.models import Change, Id, Input, Instant, Output, Text
from corral.core import quantities
from corral.core.queues import QueuePolicy
from corral.core.resources import UNLIMITED, WHOLE_DEVICE_MILLI, Resource
from corral.queues.rules import Shortfall
from corral.zones.models import Capacity

MOST_CHANGES = 500
MOST = 2**53  # what a console can count exactly
MOST_SECONDS = 366 * 24 * 3600
NO_BOUND = frozenset({"all", "none"})
Quantity = Annotated[int, Field(ge=UNLIMITED, le=MOST)]
Weight = Annotated[int, Field(ge=0, le=1_000_000)]
Seconds = Annotated[int, Field(ge=0, le=MOST_SECONDS), from_text(quantities.seconds)]
QueuePriority = Annotated[int, Field(ge=-1000, le=1000)]


class QueuePerson(Output):
    id: str
    name: str
    display_name: str


class QueueQuota(Output):
    """Of one resource in one pool. A limit of -1 is none; a guarantee of -1 is everything."""

    pool_id: str
    resource: Resource
    guarantee: int = Field(description="Reclaimed on demand; -1: everything.", examples=[2000])
    limit: int = Field(description="An upper bound; -1: no limit.", examples=[-1])
    weight: int = Field(description="Its weight among its siblings when surplus is divided.", examples=[1])
    used: int | None = Field(description="What its work and everything below it holds now; null: unknown.")
    wanted: int | None = Field(description="What its work waits for; null: unknown.")
    fair_share: int | None = Field(
        description="Its fair share of the pool by current use and demand; null: unknown.",
        examples=[3500],
    )


class Queue(Output):
    id: str = Field(examples=["q01k9x3v7qzt8m2c4w6d0ef"])
    parent_id: str | None = Field(description="Null for the root, and where you may not see the queue above.")
    name: str = Field(description="Of the organisation, or of the person.", examples=["Vision Lab"])
    organisation_id: str
    organisation_name: str
    person: QueuePerson | None = Field(description="Whose work it is; null: the organisation's own queue.")
    priority: int = Field(description="Surplus goes to the highest first.")
    policy: QueuePolicy = Field(description="fixed: neither borrows nor lends; elastic: does both.")
    reclaim_min_runtime_seconds: int | None = Field(description="null: inherited from the queue above.")
    preempt_min_runtime_seconds: int | None = Field(description="null: inherited from the queue above.")
    custom_numbers: bool | None = Field(
        description="Work may ask for custom amounts instead of a flavor; null: inherited."
    )
    colour: int = Field(description="1 to 8: its colour on every page.")
    quotas: list[QueueQuota]
    may_change: bool = Field(description="Whether you may change its quotas and policies.")
    created_at: Instant
    generation: int


class QueuePool(Output):
    """A pool with quotas."""

    id: str
    name: str
    zone_id: str
    zone_name: str
    capacity: Capacity
    simulated: bool


class QueueWarning(Output):
    """Guarantees exceed capacity: not all of them can be kept at the same time."""

    kind: Shortfall
    queue_id: str
    queue_name: str
    pool_id: str
    pool_name: str
    resource: Resource
    promised: int = Field(examples=[10000])
    available: int = Field(examples=[8000])
    detail: str = Field(
        examples=["The queues below Vision Lab are guaranteed 10 GPUs, but it has 8 in the pool default."]
    )


class Queues(Output):
    items: list[Queue] = Field(description="Parents before those below them, organisations before people.")
    pools: list[QueuePool]
    warnings: list[QueueWarning]


class NewQueue(Input):
    organisation_id: Id
    user_id: Id


def _bound(value: object, info: ValidationInfo) -> object:
    """Text in the unit that people use for the resource; what is wrong with that is said of itself."""
    resource = info.data.get("resource")
    if not isinstance(value, str) or resource is None:
        return value
    return UNLIMITED if value in NO_BOUND else quantities.amount(value, resource)


Bound = Annotated[Quantity, BeforeValidator(_bound, json_schema_input_type=int | str)]


class QuotaChange(Input):
    """Fields that are left out stay unchanged."""

    pool_id: Id
    resource: Resource
    guarantee: Bound | None = Field(
        None,
        description="In the unit of the resource, or text: GPUs or cores (2, 0.5), memory (16Gi); `all`.",
        examples=[2000, "2"],
    )
    limit: Bound | None = Field(None, description="The same; `none` for no limit.", examples=[-1, "none"])
    weight: Weight | None = None


class QueueChange(Change):
    priority: QueuePriority | None = None
    policy: QueuePolicy | None = None
    reclaim_min_runtime_seconds: Seconds | None = None
    preempt_min_runtime_seconds: Seconds | None = None
    custom_numbers: bool | None = None
    quotas: list[QuotaChange] = Field(default_factory=list, max_length=200)


class OneQueueChange(QueueChange):
    """A change of one queue among several."""

    queue_id: Id
    generation: int | None = Field(None, ge=1, description="The generation that you read; left out: any.")


class QueueChanges(Input):
    changes: list[OneQueueChange] = Field(min_length=1, max_length=MOST_CHANGES)
    dry_run: bool = Field(False, description="Only report the effects and problems of the change.")


class QueueEffect(Output):
    """A fair share that changes: queues above theirs may have to give some back, those below get it."""

    queue_id: str
    queue_name: str
    pool_id: str
    resource: Resource
    used: int
    wanted: int
    fair_before: int
    fair_after: int


class ChangedQueues(Output):
    dry_run: bool
    items: list[Queue] = Field(description="The changed queues, after the change.")
    warnings: list[QueueWarning] = Field(description="All warnings that you may see, after the change.")
    effects: list[QueueEffect] = Field(description="Queues that you may see whose fair share changes.")


FlavorName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=60, pattern=r"^[a-z0-9]+(?:[.-][a-z0-9]+)*$"),
    Field(description="Lower-case letters, digits, single . - between them.", examples=["gpu-8g"]),
]
Mode = Literal["whole", "vgpu", "shared", "mig"]
CpuMilli = Annotated[int, Field(strict=True, ge=1, le=10_000_000, examples=[4000])]
MemoryMib = Annotated[int, Field(strict=True, ge=1, le=1_000_000_000, examples=[16384])]
Model = Annotated[str, StringConstraints(min_length=1, max_length=120)]
Places = Annotated[list[Id], Field(max_length=200)]


KindName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,19}$"), Field(examples=["training"])]


class FlavorGpu(GpusAsWritten):
    """`count` whole GPUs, or as many slices on different ones: by memory, fraction or MIG profile."""

    count: int = Field(1, ge=1, le=1024)
    memory_mib: MemoryMib | None = Field(None, examples=[8192])
    fraction_milli: int | None = Field(None, strict=True, ge=1, le=WHOLE_DEVICE_MILLI, examples=[None])
    compute_percent: int = Field(0, ge=0, le=100)
    profile: Annotated[str, StringConstraints(min_length=1, max_length=40)] | None = Field(
        None, examples=[None]
    )
    models: list[Model] = Field(default_factory=list, max_length=50, description="Empty: any.", examples=[[]])
    mode: Mode | None = Field(None, description="Left out: whole, mig with a profile, else vgpu.")


FlavorGpuAsWritten = Annotated[
    FlavorGpu | None, BeforeValidator(read_gpus, json_schema_input_type=FlavorGpu | int | float | str | None)
]


class FlavorPlace(Output):
    id: str
    name: str


class FlavorLack(Output):
    """What a flavor asks for that no node has."""

    kind: str = Field(examples=["devices"])
    asked: int = Field(examples=[6])
    most: int = Field(description="The most that one node has.", examples=[4])
    names: list[str] = Field(description="Models, the MIG profile or taints, where they decide.")
    restricted: bool = Field(False, description="Whether taints keep it away from other nodes.")
    sentence: str = Field(
        examples=["Fits on no node: it asks for 6 GPUs on one node, and the largest node has 4."]
    )


class Flavor(Output):
    id: str = Field(examples=["f01k9x3v7qzt8m2c4w6d0ef"])
    name: str = Field(examples=["gpu-8g"])
    description: str
    cpu_milli: int
    memory_mib: int
    gpu: FlavorGpu | None
    kinds: list[str] = Field(description="For which kinds of work it is offered; empty: for all.")
    enabled: bool
    preset: bool = Field(
        description="Corral created it for the first machine it found; it can be edited like any other."
    )
    organisations: list[FlavorPlace] = Field(
        description="Organisations that may use it, with everything below them; as far as you may see."
    )
    may_change: bool
    lack: FlavorLack | None = Field(
        description="Why work with it can never run: it fits on no node, lost and cordoned ones counted."
        " null: it fits."
    )
    created_at: Instant
    generation: int


class Flavors(Output):
    items: list[Flavor] = Field(
        description="Without GPUs first, the smaller before the larger; what fits on no node last."
    )
    kinds: list[str] = Field(
        description="The kinds of work that a flavor can be offered for.", examples=[["training", "runtime"]]
    )


class NewFlavor(AmountsAsWritten):
    name: FlavorName
    description: Text = ""
    cpu_milli: CpuMilli
    memory_mib: MemoryMib
    gpu: FlavorGpuAsWritten = Field(None, examples=["8Gi"])
    organisation_ids: Places = Field(
        min_length=1, description="Organisations that may use it, with everything below them."
    )
    kinds: list[KindName] = Field(
        [], max_length=20, description="For which kinds of work it is offered; empty: for all."
    )
    enabled: bool = True


class FlavorChange(Change, AmountsAsWritten):
    name: FlavorName | None = None
    description: Text | None = None
    cpu_milli: CpuMilli | None = None
    memory_mib: MemoryMib | None = None
    gpu: FlavorGpuAsWritten = Field(None, description="null: no GPU.")
    organisation_ids: Places | None = None
    kinds: list[KindName] | None = Field(None, max_length=20, description="Empty: all kinds.")
    enabled: bool | None = None
