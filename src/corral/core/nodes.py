"""Nodes and the pools they belong to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from corral.core.devices import Device
from corral.core.resources import WHOLE_DEVICE_MILLI

# The tightest level of every topology; it needs no label.
NODE_LEVEL = "node"

# Taints that say how a node is, not what it is for: no work tolerates them.
CORDONED = "corral.cordoned"
LOST = "corral.lost"
CONDITIONS = frozenset({CORDONED, LOST})


class Arrangement(StrEnum):
    """Packing fills a node before the next one; spreading takes the emptiest."""

    PACKING = "packing"
    SPREADING = "spreading"


@dataclass(frozen=True, slots=True)
class DeviceLink:
    """How fast two devices of a node talk; devices without a link count 0."""

    one: str
    other: str
    score: int


@dataclass(frozen=True, slots=True)
class Node:
    """A machine. Work runs on a tainted node only if it tolerates every taint.

    `data` and `images` name what is kept on the node already: work that wants it starts sooner there.
    """

    name: str
    cpu_milli: int
    memory_mib: int
    pods: int = 110
    devices: tuple[Device, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    links: tuple[DeviceLink, ...] = ()


@dataclass(frozen=True, slots=True)
class Topology:
    """How near nodes are to each other: keys of node labels, the widest level first, each node last of all.

    A domain of a level are the nodes that agree in its label and in all wider ones. A node that lacks one
    of these labels is in no domain of that level.
    """

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pool:
    """The nodes that carry `labels`; every node is in exactly one pool.

    `unit_gpu_milli` is the grain in which surplus GPUs are divided: 1000 for whole GPUs, 1 where
    slices are common. With `priority_across_queues` work preempts lower priorities of every queue.
    `reservations` is how many of the first waiting workloads get a time that later work may not push back.
    """

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    arrangement: Arrangement = Arrangement.PACKING
    unit_gpu_milli: int = WHOLE_DEVICE_MILLI
    priority_across_queues: bool = False
    topologies: tuple[Topology, ...] = ()
    reservations: int = 0
