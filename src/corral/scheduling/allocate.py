"""Allocate: place what is pending, in order, on what is idle or being released."""

from corral.core.plans import CAPACITY, Reason, ReasonKind
from corral.scheduling.cycle import Cycle
from corral.scheduling.guards import Held
from corral.scheduling.kinds import said_seconds
from corral.scheduling.passing import Passing, passing
from corral.scheduling.reserve import may_reserve, reserve
from corral.scheduling.rows import Row
from corral.scheduling.work import WorkState


def allocate(cycle: Cycle) -> None:
    """Places chunk after chunk; a workload that does not fit is set aside with its reason."""
    order = passing(cycle)
    while (work := order.pop()) is not None:
        chunk = work.chunk()
        assert chunk is not None
        reason = cycle.place(chunk)
        if reason is None:
            order.push(work)
            continue
        if cycle.pool.reservations and reason.kind in CAPACITY:
            reserve(cycle, work)
        _learn(cycle, order, work, reason)


def _learn(cycle: Cycle, order: Passing, work: WorkState, reason: Reason) -> None:
    """Who asks for no less than one that failed fails too: while placing, there is only ever less room."""
    if reason.kind in CAPACITY:
        # Each that fails may still get a time of its own.
        if not may_reserve(cycle):
            order.know(Row.needs_as_much_room, everywhere=True)
    elif reason.kind is ReasonKind.KEPT_BY_FIXED_QUEUES:
        # When those have taken what is theirs, it is room that is missing, and a time may be given for that.
        if not may_reserve(cycle):
            order.know(Row.asks_as_much, everywhere=False)
    elif reason.kind not in (ReasonKind.RESERVED, ReasonKind.HELD):
        order.know(Row.asks_as_much, everywhere=False)
    elif cycle.under_cover and not any(isinstance(guard, Held) for guard in cycle.guards):
        # Who stays longer stays on no less of what is kept.
        seconds = said_seconds(work)
        order.know(_stays_as_long, everywhere=seconds is not None, seconds=seconds)


def _stays_as_long(row: Row, other: Row) -> bool:
    """Needs as much room, and is judged by the same: its own word, or what is typical of its queue."""
    judged_alike = (said_seconds(row.work) is None) is (said_seconds(other.work) is None)
    return judged_alike and row.needs_as_much_room(other)
