"""What the API takes and gives about zones, pools, nodes and devices."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from corral.api.models import Change, Id, Input, Instant, Name, Output, storable
from corral.api.pages import MOST
from corral.core.nodes import NODE_LEVEL, Arrangement
from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.core.text import hidden_character
from corral.zones.rules import (
    LONGEST_GRACE_SECONDS,
    LONGEST_HOLD_SECONDS,
    MOST_REPLICAS,
    MOST_RETRIES,
    USUAL_CAPS,
    USUAL_GRACE_SECONDS,
    DeviceHealth,
    ZoneKind,
    ZoneState,
)

OWN_LABELS = "corral."
MOST_LABELS = 20
Strength = Literal["none", "hook", "driver", "kernel", "hardware"]
LabelText = Annotated[str, StringConstraints(min_length=1, max_length=120), AfterValidator(storable)]


def _all_visible(texts: Iterable[str]) -> None:
    """Of what is given; what is stored is shown as it is."""
    for text in texts:
        if (hidden := hidden_character(text)) is not None:
            raise ValueError(f"it has {hidden}, which is invisible or changes how text is displayed")


def _not_ours(labels: Mapping[str, str]) -> Mapping[str, str]:
    reserved = sorted(key for key in labels if key.startswith(OWN_LABELS))
    if reserved:
        raise ValueError(f"labels that begin with {OWN_LABELS} are Corral's own")
    _all_visible(text for label in labels.items() for text in label)
    return labels


Labels = Annotated[
    dict[LabelText, LabelText],
    Field(max_length=MOST_LABELS, examples=[{"gpu": "h100"}]),
    AfterValidator(_not_ours),
]


class PoolTopology(Input):
    """How near nodes are to each other: keys of node labels, the widest level first."""

    name: LabelText
    levels: list[LabelText] = Field(min_length=1, max_length=8, examples=[["block", "rack"]])


def _levels_once(topologies: list[PoolTopology]) -> list[PoolTopology]:
    names = [one.name for one in topologies]
    if len(set(names)) != len(names):
        raise ValueError("a topology is named twice")
    _all_visible(text for one in topologies for text in (one.name, *one.levels))
    for one in topologies:
        if len(set(one.levels)) != len(one.levels) or NODE_LEVEL in one.levels:
            raise ValueError(f"levels are named once, and {NODE_LEVEL} is always the last one")
    return topologies


Topologies = Annotated[list[PoolTopology], Field(max_length=8), AfterValidator(_levels_once)]
Unit = Annotated[int, Field(ge=1, le=WHOLE_DEVICE_MILLI)]
Reservations = Annotated[int, Field(ge=0, le=1000)]
MostGrace = Annotated[int, Field(ge=USUAL_GRACE_SECONDS, le=LONGEST_GRACE_SECONDS)]
MostRetries = Annotated[int, Field(ge=0, le=MOST_RETRIES)]
MostReplicas = Annotated[int, Field(ge=1, le=MOST_REPLICAS)]
MostHold = Annotated[int, Field(ge=0, le=LONGEST_HOLD_SECONDS)]


class Capacity(Output):
    """What nodes have that are there, with their healthy devices."""

    gpu_milli: int = Field(description="1000 for each GPU.", examples=[8000])
    cpu_milli: int = Field(examples=[64000])
    memory_mib: int = Field(examples=[524288])


class Pool(Output):
    id: str = Field(examples=["p01k9x3v7qzt8m2c4w6d0ef"])
    zone_id: str
    zone_name: str
    name: str = Field(examples=["dgx"])
    labels: dict[str, str] = Field(
        description="Nodes that carry all of them are in it; {}: all that are left."
    )
    arrangement: Arrangement
    unit_gpu_milli: int = Field(description="The grain in which surplus GPUs are divided.")
    priority_across_queues: bool = Field(
        description="Work preempts lower priorities of every queue, not only of its own."
    )
    reservations: int = Field(description="How many of the first that wait get a time nobody may push back.")
    topologies: list[PoolTopology]
    least_strength: Strength = Field(description="Isolation that slices here need at least.")
    most_grace_seconds: int = Field(description="What one workload may ask for at most.", examples=[600])
    most_retries: int = Field(description="What one workload may ask for at most.", examples=[10])
    most_replicas: int = Field(description="What one workload may ask for at most.", examples=[256])
    most_hold_seconds: int = Field(description="What one workload may ask for at most.", examples=[600])
    nodes_count: int
    simulated: bool = Field(description="Some of its devices are simulated: they compute nothing.")
    capacity: Capacity
    created_at: Instant
    generation: int


class Pools(Output):
    items: list[Pool] = Field(description="By zone, the oldest first.")


class NewPool(Input):
    zone_id: Id
    name: Name
    labels: Labels
    arrangement: Arrangement = Arrangement.PACKING
    unit_gpu_milli: Unit = WHOLE_DEVICE_MILLI
    priority_across_queues: bool = False
    reservations: Reservations = 0
    topologies: Topologies = Field(default_factory=list)
    least_strength: Strength = "none"
    most_grace_seconds: MostGrace = USUAL_CAPS.grace_seconds
    most_retries: MostRetries = USUAL_CAPS.retries
    most_replicas: MostReplicas = USUAL_CAPS.replicas
    most_hold_seconds: MostHold = USUAL_CAPS.hold_seconds


class PoolChange(Change):
    name: Name | None = None
    labels: Labels | None = Field(None, description="Moves the nodes that carry them into it.")
    arrangement: Arrangement | None = None
    unit_gpu_milli: Unit | None = None
    priority_across_queues: bool | None = None
    reservations: Reservations | None = None
    topologies: Topologies | None = None
    least_strength: Strength | None = None
    most_grace_seconds: MostGrace | None = Field(None, description="Holds for new work.")
    most_retries: MostRetries | None = Field(None, description="Holds for new work.")
    most_replicas: MostReplicas | None = Field(None, description="Holds for new work.")
    most_hold_seconds: MostHold | None = Field(None, description="Holds for new work.")


class Zone(Output):
    id: str = Field(examples=["z01k9x3v7qzt8m2c4w6d0ef"])
    name: str = Field(examples=["local"])
    kind: ZoneKind = Field(description="`local` is a machine, `simulated` computes nothing.")
    state: ZoneState = Field(
        description="`ready`, `starting` (not seen yet) or `unreachable` (no process drives it).",
        examples=["ready"],
    )
    driven_by: str | None = Field(description="The host whose Corral drives it.", examples=["gpu-1"])
    last_driven_by: str | None = Field(
        description="The same of the last one that did; None if nobody ever did.", examples=["gpu-1"]
    )
    since: Instant | None = Field(description="Since when it is driven, or since when nobody drives it.")
    identity: str | None = Field(description="Of what is behind it; another machine is another zone.")
    nodes: str | None = Field(description="Of a simulated zone: its nodes.", examples=["4x8xH100-80GB"])
    simulated: bool
    seen_at: Instant | None = Field(description="When what its engine reports last changed.")
    pools_count: int
    nodes_count: int
    created_at: Instant
    generation: int


class Zones(Output):
    items: list[Zone]


class NewZone(Input):
    """A simulated zone. Machines and clusters become zones by themselves, when their Corral starts."""

    name: Name
    kind: Literal["simulated"] = "simulated"
    nodes: Annotated[str, StringConstraints(min_length=1, max_length=2000), AfterValidator(storable)] = Field(
        description="Groups of nodes: how many, with how many GPUs each, of which model.",
        examples=["4x8xH100-80GB,2x4xL4-24GB"],
    )


class Device(Output):
    id: str = Field(examples=["GPU-5d8e7f12"])
    node_id: str
    node_name: str
    pool_id: str
    pool_name: str
    index: int = Field(description="The number by which programs on the node know it.")
    vendor: str = Field(examples=["NVIDIA"])
    model: str = Field(examples=["H100-80GB"])
    memory_mib: int = Field(examples=[81920])
    mode: str = Field(description="What it may be used for: any, whole, shared or mig.")
    health: DeviceHealth
    simulated: bool = Field(description="It schedules and meters; code computes on the CPU.")
    facts: dict[str, Any]


class Node(Output):
    id: str = Field(examples=["n01k9x3v7qzt8m2c4w6d0ef"])
    zone_id: str
    zone_name: str
    pool_id: str
    pool_name: str
    name: str = Field(examples=["dgx-01"])
    state: Literal["ready", "lost"]
    cordoned: bool = Field(description="It gets no new work; what runs there stays.")
    cpu_milli: int
    memory_mib: int
    disk_mib: int | None
    pods: int = Field(description="How many replicas fit at most.")
    labels: dict[str, str]
    taints: list[str]
    simulated: bool = Field(description="Some of its devices are simulated.")
    devices: list[Device]
    facts: dict[str, Any]
    seen_at: Instant | None = Field(description="Of a lost node: until when it was reported.")
    created_at: Instant
    generation: int


class NodeChange(Change):
    cordoned: bool | None = None


class NodeQuery(Input):
    """All filters must match."""

    zone: Id | None = None
    pool: Id | None = None
    cursor: str | None = Field(
        None, max_length=600, description="`next_cursor` of the previous page; leave it out for the first."
    )
    limit: int = Field(50, ge=1, le=MOST, description="How many items at most.")
