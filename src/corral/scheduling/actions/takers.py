"""What consolidate, reclaim and preempt share: visiting the takers in order."""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from corral.core.plans import Action, SearchResult
from corral.scheduling.actions.victim_order import Candidates
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.cycle.skipping import SkippingOrder, skipping_order
from corral.scheduling.ordering.class_cursor import ClassCursor
from corral.scheduling.state.workload_state import Chunk, WorkState


class FailureScope(Enum):
    """Of whom else a failure tells, until somebody succeeds."""

    ITSELF = 0
    QUEUE = 1  # those of its queue who ask for no less
    POOL = 2  # all who ask for no less
    PRIORITY = 3  # those of its queue whose priority is no higher


class Failed(NamedTuple):
    """How an attempt ended."""

    result: SearchResult
    reach: FailureScope = FailureScope.ITSELF


Attempt = Callable[[WorkState], Failed | None]


def visit_takers(cycle: Cycle, action: Action, attempt: Attempt, *, preemptible: bool = False) -> None:
    """Each taker once, in the normal order, which is evaluated anew after every success."""
    order = skipping_order(cycle, action, preemptible=preemptible)
    while (work := order.pop()) is not None:
        if work.chunk() is None or work.evicted_slots:
            continue
        failed = attempt(work)
        if failed is not None:
            cycle.searches.setdefault(work, {})[action] = failed.result
        _note_failure(cycle, order, failed)
    order.close()


def refusal_before_search(cycle: Cycle, chunk: Chunk, candidates: Candidates) -> Failed | None:
    """What no search can change: the taker may not have more, or there is nobody to take from."""
    if cycle.guarantee_refusal(chunk) is not None:
        return Failed(SearchResult.NOT_ALLOWED, FailureScope.QUEUE)
    if not candidates.exist():
        return Failed(SearchResult.IMPOSSIBLE, FailureScope.QUEUE)
    return None


def _note_failure(cycle: Cycle, order: SkippingOrder, failed: Failed | None) -> None:
    if failed is None:
        order.forget_failures()
        return
    if failed.reach is FailureScope.ITSELF:
        return
    if cycle.recording_searches and failed.result is not SearchResult.NOT_ALLOWED:
        # Who asks for more fails too, but perhaps by another rule, and that is said.
        order.mark_failing(_is_alike, everywhere=False, result=failed.result)
    elif failed.reach is FailureScope.PRIORITY:
        order.mark_failing(_is_no_higher, everywhere=False, result=failed.result)
    else:
        order.mark_failing(
            ClassCursor.asks_as_much, everywhere=failed.reach is FailureScope.POOL, result=failed.result
        )


def _is_alike(cursor: ClassCursor, other: ClassCursor) -> bool:
    same = (cursor.amount, cursor.pinned) == (other.amount, other.pinned)
    return same and _is_no_higher(cursor, other)


def _is_no_higher(cursor: ClassCursor, other: ClassCursor) -> bool:
    return cursor.work.priority <= other.work.priority
