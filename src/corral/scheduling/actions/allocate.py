"""Allocate: place what is pending, in order, on what is idle or being released."""

from corral.core.plans import CAPACITY, Reason, ReasonKind
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.cycle.skipping import SkippingOrder, skipping_order
from corral.scheduling.ordering.class_cursor import ClassCursor
from corral.scheduling.ordering.wait_classes import declared_seconds
from corral.scheduling.state.guards import HoldGuard
from corral.scheduling.state.workload_state import WorkState
from corral.scheduling.timing.reservations import may_reserve, reserve


def allocate(cycle: Cycle) -> None:
    """Places chunk after chunk; a workload that does not fit is set aside with its reason."""
    order = skipping_order(cycle)
    while (work := order.pop()) is not None:
        chunk = work.chunk()
        assert chunk is not None
        reason = cycle.place(chunk)
        if reason is None:
            order.push(work)
            continue
        if cycle.pool.reservations and reason.kind in CAPACITY:
            reserve(cycle, work)
        _note_failure(cycle, order, work, reason)


def _note_failure(cycle: Cycle, order: SkippingOrder, work: WorkState, reason: Reason) -> None:
    """Who asks for no less than one that failed fails too: while placing, there is only ever less room."""
    if reason.kind in CAPACITY:
        # Each that fails may still get a time of its own.
        if not may_reserve(cycle):
            order.mark_failing(ClassCursor.needs_as_much_room, everywhere=True)
    elif reason.kind is ReasonKind.KEPT_BY_FIXED_QUEUES:
        # When those have taken what is theirs, it is room that is missing, and a time may be given for that.
        if not may_reserve(cycle):
            order.mark_failing(ClassCursor.asks_as_much, everywhere=False)
    elif reason.kind not in (ReasonKind.RESERVED, ReasonKind.HELD):
        order.mark_failing(ClassCursor.asks_as_much, everywhere=False)
    elif cycle.blocked_by_guard and not any(isinstance(guard, HoldGuard) for guard in cycle.guards):
        # Who stays longer stays on no less of what is kept.
        seconds = declared_seconds(work)
        order.mark_failing(_stays_as_long, everywhere=seconds is not None, seconds=seconds)


def _stays_as_long(cursor: ClassCursor, other: ClassCursor) -> bool:
    """Needs as much room, and is judged by the same: its own word, or what is typical of its queue."""
    judged_alike = (declared_seconds(cursor.work) is None) is (declared_seconds(other.work) is None)
    return judged_alike and cursor.needs_as_much_room(other)
