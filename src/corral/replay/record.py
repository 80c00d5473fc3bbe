"""What a replay writes down while it runs: one row per job, and every change of what is held and wanted."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from corral.core.explanations import Estimate
from corral.core.nodes import Node
from corral.core.plans import Action
from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.replay.jobs import Job


@dataclass(frozen=True, slots=True)
class JobRecord:
    """`first_start` and `ended` are None where that never came; `estimate` where nobody was asked."""

    job: Job
    first_start: int | None
    ended: int | None
    waited_seconds: int
    lost_seconds: int
    evictions: int
    estimate: Estimate | None = None


class Changes:
    """Steps of several quantities over time, kept as columns: instant, which one, by how much."""

    __slots__ = ("amounts", "keys", "times")

    def __init__(self) -> None:
        self.times = array("q")
        self.keys = array("q")
        self.amounts = array("q")

    def add(self, time: int, key: int, amount: int) -> None:
        self.times.append(time)
        self.keys.append(key)
        self.amounts.append(amount)


class Fragments:
    """How much of what is idle stands on nodes that are partly used, over time."""

    def __init__(self, nodes: Sequence[Node], now: int) -> None:
        self._size = {node.name: WHOLE_DEVICE_MILLI * len(node.devices) for node in nodes}
        self._used = dict.fromkeys(self._size, 0)
        self._idle = sum(self._size.values())
        self._broken = 0
        self._now = now
        self.idle_milli_seconds = 0
        self.broken_milli_seconds = 0

    def pass_time(self, now: int) -> None:
        self.idle_milli_seconds += self._idle * (now - self._now)
        self.broken_milli_seconds += self._broken * (now - self._now)
        self._now = now

    def use(self, now: int, node: str, milli: int) -> None:
        self.pass_time(now)
        before = self._fragment(node)
        self._used[node] += milli
        self._idle -= milli
        self._broken += self._fragment(node) - before

    def set_node(self, now: int, name: str, devices: int) -> None:
        """A node came or went (`devices` 0); what it held has been given back before."""
        self.pass_time(now)
        self._idle += WHOLE_DEVICE_MILLI * devices - self._size[name]
        self._size[name] = WHOLE_DEVICE_MILLI * devices

    def _fragment(self, node: str) -> int:
        used = self._used[node]
        return self._size[node] - used if used else 0


@dataclass(slots=True)
class Recording:
    """Everything that came of one replay. Keys of changes are numbers of queues."""

    queues: tuple[str, ...]
    began: int
    capacity_milli: int
    fragments: Fragments
    jobs: list[JobRecord] = field(default_factory=list)
    held: Changes = field(default_factory=Changes)
    waiting: Changes = field(default_factory=Changes)
    capacity: Changes = field(default_factory=Changes)
    ended: int = 0
    cycles: int = 0
    plan_cpu_seconds: float = 0.0
    refused_starts: int = 0
    lost_runs: int = 0
    stuck_releases: int = 0
    evictions_by: dict[Action, int] = field(default_factory=dict)
