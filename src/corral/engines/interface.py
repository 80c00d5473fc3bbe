"""The engine interface: how work is carried out, whatever carries it out.

An engine is told what to start and whom to signal, and reports what is there. It decides nothing.

- Every call may be repeated: a second `start` of the same run, a second `signal`, a second `forget` change
  nothing. So a caller that does not know whether its last call arrived makes it again.
- What came of a call is told by `observe` only. A start that cannot be carried out is an ended run.
- A run that ended is told until the caller says `forget`: an ending is never missed, and what a run held is
  free only when its ending has been told.
- What reaches into a run (`logs`, `execute`, `dial`) is refused with a reason where it cannot be done.

Instants are microseconds since 1970 in UTC. (The simulated engine counts virtual time, in seconds unless it
is told otherwise.) What a run executes is in `tasks`, what it uses and says in `reports`.
"""

import socket
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

from corral.core.devices import DeviceUse
from corral.core.nodes import Node
from corral.core.steps import Step
from corral.engines.reports import Counters, LogChunk, Message, Usage
from corral.engines.sessions import Session, Terminal
from corral.engines.tasks import Task


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine can do beyond starting and ending runs. What it cannot do, it refuses with the reason.

    `messages`: runs can say something; `workspaces`: files are kept for a workload over its attempts.
    """

    messages: bool = True
    execute: bool = True
    dial: bool = True
    workspaces: bool = True


class RunPhase(StrEnum):
    """`leaving` was told to go and is still there."""

    STARTING = "starting"
    RUNNING = "running"
    LEAVING = "leaving"
    ENDED = "ended"


class Ending(StrEnum):
    """`suspended` is any end after a signal that was not the work's own; `lost` went with its node."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SUSPENDED = "suspended"
    REFUSED = "refused"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Start:
    """One replica of one attempt, where a plan put it. `run` names it for ever.

    All replicas of an attempt that one engine carries are started by one call: they share a network.
    """

    run: str
    workload: str
    replica: str
    attempt: int
    node: str
    devices: tuple[DeviceUse, ...] = ()
    task: Task | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """What an engine knows of a run: its phase, and the instant at which that began.

    `ready_since` says since when a running run has been ready (see `Task.readiness`); it is None while it is
    not, and when it leaves. What comes after `since` is said of ended runs, apart from `started`,
    `ready_since` and `notes`. `detail` says in words what happened, `explanation` only what the code, the
    signal and the two flags do not say. `exit_code` and `signal` exclude each other; neither is known of a
    run that was lost or refused. `started` and `ended` are when its processes began and were gone; between
    them it held what it was given. `ended_mark` is the same end on a clock that nobody can set: the boot, and
    its microseconds.
    `notes` say what is unusual about how it runs, such as "no sandbox".
    """

    run: str
    node: str
    phase: RunPhase
    since: int
    ending: Ending | None = None
    detail: str = ""
    exit_code: int | None = None
    signal: int | None = None
    out_of_memory: bool = False
    timed_out: bool = False
    said_done: bool = False
    started: int | None = None
    ended: int | None = None
    ended_mark: tuple[str, int] | None = None
    usage: Counters | None = None
    notes: tuple[str, ...] = ()
    ready_since: int | None = None
    explanation: str = ""


class Cursor(NamedTuple):
    """How far a reader has come. The epoch changes when an engine cannot know what was told before."""

    epoch: str
    sequence: int


@dataclass(frozen=True, slots=True)
class Foreign:
    """Something that is there and that the engine cannot account for: it is shown, and left alone."""

    name: str
    detail: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """What the engine cannot do now, in words; it tries again by itself.

    It is that of one workload, and everybody's without one.
    """

    step: Step
    detail: str
    workload: str | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """With `complete`, `runs` is everything that is there; else every change after the cursor, in order.

    `troubles` are all that there are now.
    """

    cursor: Cursor
    complete: bool
    runs: tuple[Run, ...]
    foreign: tuple[Foreign, ...] = ()
    troubles: tuple[Trouble, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """What is known of a device beyond what placing needs. A simulated one computes nothing.

    A faulty one is still there, and gets no new work.
    """

    vendor: str = ""
    uuid: str = ""
    simulated: bool = False
    numa: int | None = None
    faulty: bool = False


@dataclass(frozen=True, slots=True)
class NumaFacts:
    """A group of processors with memory of their own."""

    index: int
    cpus: str
    memory_mib: int


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What is known of a node beyond what placing needs.

    `isolation` says in words how runs are kept apart there, `disk_limits` who keeps them (the kernel, or
    somebody who looks), `notes` what is missing or unusual.
    """

    operating_system: str = ""
    architecture: str = ""
    cpu_model: str = ""
    disk_mib: int = 0
    numa: tuple[NumaFacts, ...] = ()
    devices: Mapping[str, DeviceFacts] = field(default_factory=dict)
    isolation: str = ""
    disk_limits: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Inventory:
    """The nodes that work can be started on. `revision` grows with every change of them.

    `facts` are by the name of the node; an engine may know none.
    """

    revision: int
    nodes: tuple[Node, ...]
    facts: Mapping[str, NodeFacts] = field(default_factory=dict)


class Reach(Protocol):
    """What reaches into runs: any process that can may do it, whoever drives the zone."""

    async def logs(self, run: str, after: int, limit: int) -> LogChunk:
        """At most `limit` bytes of output from offset `after` on, as far as it is kept."""

    def follow(self, run: str, after: int) -> AsyncIterator[LogChunk]:
        """The output from `after` on as it comes, until the run has ended."""

    async def execute(self, run: str, command: Sequence[str], terminal: Terminal | None = None) -> Session:
        """Starts a command inside a run, under its limits; with a terminal if a size is given."""

    async def dial(self, run: str, port: int) -> socket.socket:
        """A connected socket to a port on which something inside the run listens. It does not block."""


class Engine(Reach, Protocol):
    @property
    def capabilities(self) -> Capabilities:
        """They stay the same as long as the engine is open."""

    @property
    def clock_domain(self) -> str | None:
        """Names the clock of `ended_mark`s, if it is not that of the boot of this machine."""

    async def inventory(self) -> Inventory:
        """The nodes that are there now."""

    async def observe(self, after: Cursor | None = None) -> Observation:
        """What changed after `after`; everything without one, or with one that is no longer known.

        A cursor that is handed in confirms that what came before it has been read.
        """

    async def wait(self, after: Cursor | None, seconds: float) -> None:
        """Returns when `observe(after)` may have something to tell, and after `seconds` at the latest."""

    async def start(self, starts: Sequence[Start]) -> None:
        """Starts runs; a name that was started before is left alone, also when it has ended."""

    async def signal(self, runs: Iterable[str], grace_seconds: int) -> None:
        """Tells runs to save and go; what is still there after the grace is ended.

        The first signal counts: another one does not prolong the grace.
        """

    async def kill(self, runs: Iterable[str]) -> None:
        """Ends runs at once, also those that are leaving. They end as after a signal."""

    async def forget(self, runs: Iterable[str]) -> None:
        """The endings of these runs are recorded; those that have not ended stay.

        What a run said goes with its ending; its output stays readable until its workload is discarded.
        """

    async def discard(self, workloads: Iterable[str]) -> None:
        """Nobody needs these workloads any more: their workspaces and output go.

        One of which a run has not been forgotten is left alone.
        """

    async def forget_person(self, owner: str) -> None:
        """This person is gone: what is kept for them over all their work, such as a home, goes.

        Refused while a run of theirs has not been forgotten, where something is kept.
        """

    async def usage(self, runs: Iterable[str] | None = None) -> Usage:
        """What these runs (all without a choice) have used until now, and the nodes and devices."""

    async def messages(
        self, after: Mapping[str, int], limit: int = 1000, runs: Collection[str] | None = None
    ) -> tuple[Message, ...]:
        """What runs said through their sockets, each run's in order, beginning after the number given for it.

        Of all runs, or of those that are chosen. A message is told until its run is forgotten or so much was
        said after it that it is dropped.
        """
