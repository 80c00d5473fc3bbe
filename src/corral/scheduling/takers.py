"""What consolidate, reclaim and preempt share: the turns of the takers."""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from corral.core.plans import Action, SearchResult
from corral.scheduling.cycle import Cycle
from corral.scheduling.passing import Passing, passing
from corral.scheduling.rows import Row
from corral.scheduling.victims import Candidates
from corral.scheduling.work import Chunk, WorkState


class Reach(Enum):
    """Of whom else a failure tells, until somebody succeeds."""

    ITSELF = 0
    QUEUE = 1  # those of its queue who ask for no less
    POOL = 2  # all who ask for no less
    PRIORITY = 3  # those of its queue whose priority is no higher


class Failed(NamedTuple):
    """How an attempt ended."""

    result: SearchResult
    reach: Reach = Reach.ITSELF


Attempt = Callable[[WorkState], Failed | None]


def take_turns(cycle: Cycle, action: Action, attempt: Attempt, *, preemptible: bool = False) -> None:
    """Each taker once, in the normal order, which is evaluated anew after every success."""
    order = passing(cycle, action, preemptible=preemptible)
    while (work := order.pop()) is not None:
        if work.chunk() is None or work.evicted_slots:
            continue
        failed = attempt(work)
        if failed is not None:
            cycle.searches.setdefault(work, {})[action] = failed.result
        _learn(cycle, order, failed)
    order.close()


def barred(cycle: Cycle, chunk: Chunk, candidates: Candidates) -> Failed | None:
    """What no search can change: the taker may not have more, or there is nobody to take from."""
    if cycle.guarantee_refusal(chunk) is not None:
        return Failed(SearchResult.NOT_ALLOWED, Reach.QUEUE)
    if not candidates.exist():
        return Failed(SearchResult.IMPOSSIBLE, Reach.QUEUE)
    return None


def _learn(cycle: Cycle, order: Passing, failed: Failed | None) -> None:
    if failed is None:
        order.forget()
        return
    if failed.reach is Reach.ITSELF:
        return
    if cycle.noting and failed.result is not SearchResult.NOT_ALLOWED:
        # Who asks for more fails too, but perhaps by another rule, and that is said.
        order.know(_is_alike, everywhere=False, result=failed.result)
    elif failed.reach is Reach.PRIORITY:
        order.know(_is_no_higher, everywhere=False, result=failed.result)
    else:
        order.know(Row.asks_as_much, everywhere=failed.reach is Reach.POOL, result=failed.result)


def _is_alike(row: Row, other: Row) -> bool:
    same = (row.amount, row.pinned) == (other.amount, other.pinned)
    return same and _is_no_higher(row, other)


def _is_no_higher(row: Row, other: Row) -> bool:
    return row.work.priority <= other.work.priority
