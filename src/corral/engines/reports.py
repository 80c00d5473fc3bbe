"""What runs, nodes and devices report: output, messages, use. What an engine cannot know is None."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class LogChunk:
    """Output of a run. Offsets count every byte it ever wrote, also those that are no longer kept.

    `data` begins at `offset`, reading goes on at `next`. Of the bytes between what was asked for and `next`,
    `dropped` are not kept. `ended` says that nothing will come after `next`.
    """

    data: bytes
    offset: int
    next: int
    dropped: int = 0
    ended: bool = False


class MessageKind(StrEnum):
    """`done`: the work is finished, also if it is told to go before it has left."""

    REPORT = "report"
    CHECKPOINT = "checkpoint"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Message:
    """Something a run said. (run, number) names it for ever; numbers of a run grow, not by one."""

    run: str
    number: int
    kind: MessageKind
    at: int
    body: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Counters:
    """What a run has used since it started; `memory_bytes`, `processes` and what is on disk are as of now.

    So is what it uses of its devices, in sum: two that are busy all the time are 200 percent. Bytes of the
    network and of the workspace belong to all replicas of an attempt and are told with the first.
    """

    cpu_microseconds: int | None = None
    memory_bytes: int | None = None
    memory_peak_bytes: int | None = None
    processes: int | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None
    received_bytes: int | None = None
    sent_bytes: int | None = None
    disk_bytes: int | None = None
    gpu_memory_mib: int | None = None
    gpu_busy_percent: int | None = None


@dataclass(frozen=True, slots=True)
class NodeUse:
    """Counters of a node since it was started; memory and disk are what is in use now."""

    cpu_busy_microseconds: int
    cpu_total_microseconds: int
    memory_used_bytes: int
    memory_total_bytes: int
    disk_used_bytes: int
    disk_total_bytes: int
    read_bytes: int = 0
    written_bytes: int = 0
    received_bytes: int = 0
    sent_bytes: int = 0


@dataclass(frozen=True, slots=True)
class DeviceUsage:
    """What a device says of itself; of a simulated one, what the work on it is said to use."""

    node: str
    device: str
    simulated: bool = False
    busy_percent: int | None = None
    memory_used_mib: int | None = None
    memory_total_mib: int | None = None
    temperature_celsius: int | None = None
    power_milliwatts: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """One sample of everything, at one instant."""

    at: int
    runs: Mapping[str, Counters]
    nodes: Mapping[str, NodeUse] = field(default_factory=dict)
    devices: tuple[DeviceUsage, ...] = ()
