"""The engine interface: the part that scheduling needs.

An engine is told what to start and whom to signal, and reports what is there. It decides nothing.

- Every call may be repeated: a second `start` of the same run, a second `signal`, a second `forget` change
  nothing. So a caller that does not know whether its last call arrived makes it again.
- What came of a call is told by `observe` only. A start that cannot be carried out is an ended run.
- A run that ended is told until the caller says `forget`: an ending is never missed, and what a run held is
  free only when its ending has been told.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from corral.core.devices import DeviceUse
from corral.core.nodes import Node


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
    """One replica of one attempt, where a plan put it. `run` names it for ever."""

    run: str
    workload: str
    replica: str
    attempt: int
    node: str
    devices: tuple[DeviceUse, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """What an engine knows of a run: its phase, and the instant at which that began."""

    run: str
    node: str
    phase: RunPhase
    since: int
    ending: Ending | None = None
    detail: str = ""


class Cursor(NamedTuple):
    """How far a reader has come. The epoch changes when an engine cannot know what was told before."""

    epoch: str
    sequence: int


@dataclass(frozen=True, slots=True)
class Observation:
    """With `complete`, `runs` is everything that is there; else every change after the cursor, in order."""

    cursor: Cursor
    complete: bool
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Inventory:
    """The nodes that work can be started on. `revision` grows with every change of them."""

    revision: int
    nodes: tuple[Node, ...]


class Engine(Protocol):
    async def inventory(self) -> Inventory:
        """The nodes that are there now."""

    async def observe(self, after: Cursor | None = None) -> Observation:
        """What changed after `after`; everything without one, or with one that is no longer known.

        A cursor that is handed in confirms that what came before it has been read.
        """

    async def start(self, starts: Sequence[Start]) -> None:
        """Starts runs; a name that was started before is left alone, also when it has ended."""

    async def signal(self, runs: Iterable[str], grace_seconds: int) -> None:
        """Tells runs to save and go; what is still there after the grace is ended.

        The first signal counts: another one does not prolong the grace.
        """

    async def forget(self, runs: Iterable[str]) -> None:
        """The endings of these runs are recorded; those that have not ended stay."""
