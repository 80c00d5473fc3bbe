"""Why a workload waits, where it stands, and what would let it run."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from corral.core.changes import Change
from corral.core.plans import Action, Reason, Reservation, SearchResult


@dataclass(frozen=True, slots=True)
class Position:
    """The number in an order, beginning with 1, and how many wait there."""

    number: int
    of: int


class NoEstimate(StrEnum):
    """Why there is no estimate: it waits for work without a known end, or too many wait before it.

    `passed`: it was to start before now. `uncertain`: the last estimates were wrong by more than its wait.
    """

    UNKNOWN_ENDS = "unknown_ends"
    TOO_FAR_BACK = "too_far_back"
    PASSED = "passed"
    UNCERTAIN = "uncertain"


@dataclass(frozen=True, slots=True)
class Estimate:
    """When a workload will probably start, or why nobody can say."""

    starts_at: int | None
    without: NoEstimate | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Each of `changes` helps by itself; they were tried, and none is listed that was not seen to help."""

    workload: str
    queue: str
    waiting: int
    reason: Reason
    searches: Mapping[Action, SearchResult]
    in_queue: Position | None
    in_pool: Position | None
    estimate: Estimate | None
    reserved: tuple[Reservation, ...]
    changes: tuple[Change, ...]
