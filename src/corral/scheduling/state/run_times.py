"""Run times: when work is expected to end, and when it will have left at the latest.

The two differ where a workload says more than one thing about itself: an estimate is the better guess, a
limit the better promise. What is learnt of a queue stands in for work that says nothing.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from corral.core.queues import Queue
from corral.core.workloads import Workload

if TYPE_CHECKING:
    from corral.scheduling.state.workload_state import WorkState


class Learnt(NamedTuple):
    """What is known of the run times of a queue: the typical one, and equally likely ones, growing.

    `limit_uses_milli` are equally likely parts of its limit that work used.
    """

    typical: int | None = None
    runtimes: tuple[int, ...] = ()
    limit_uses_milli: tuple[int, ...] = ()


class Expected(NamedTuple):
    """When something will probably end, and until when that is all that can be said."""

    at: int
    until: int


def end_after(workload: Workload, learnt: Learnt, began: int | None, now: int) -> Expected | None:
    """When a workload that runs since `began` will probably end; None where nothing is known."""
    limit, guess = workload.runtime_limit_seconds, workload.runtime_estimate_seconds
    if began is None:
        return None
    elapsed = now - began
    holds: int | None = None  # so long, where it is less than until the end
    if guess is not None:
        seconds = _still_ahead(guess, elapsed)
    elif limit is not None:
        use = _beyond(learnt.limit_uses_milli, elapsed * 1000 // limit, workload.name)
        seconds = limit if use is None else limit * use.value // 1000
        holds = None if use is None else -(-limit * use.first // 1000)
    elif (ahead := _beyond(learnt.runtimes, elapsed, workload.name)) is not None:
        seconds, holds = ahead
    elif learnt.typical is not None:
        seconds = _still_ahead(max((learnt.typical, *learnt.runtimes[-1:])), elapsed)
    else:
        return None
    end = max(now, began + (seconds if limit is None else min(seconds, limit)))
    return Expected(end, end if holds is None else min(end, began + holds))


def expected_end(work: "WorkState", now: int) -> Expected | None:
    """When a workload will probably end of which something runs; what this cycle placed begins now."""
    if not any(leaf.active for leaf in work.leaves):
        return None
    return end_after(work.workload, work.queue.learnt, _began(work, now), now)


def promised_end(work: "WorkState", now: int, *, again: bool = False) -> int | None:
    """By when a workload itself says that it will have left if it starts now; None if it says nothing.

    `again` says that what runs of it begins again.
    """
    began = now if again else _began(work, now)
    seconds = work.workload.runtime_limit_seconds or work.workload.runtime_estimate_seconds
    return None if began is None or seconds is None else max(now, began + seconds)


def latest_end(work: "WorkState", now: int, *, again: bool = False) -> int | None:
    """By when a workload will have left if it starts now, also going by what is typical of its queue."""
    promised = promised_end(work, now, again=again)
    began, typical = now if again else _began(work, now), work.queue.learnt.typical
    if promised is not None or began is None or typical is None:
        return promised
    return max(now, began + typical)


def learnt_of(queue: Queue, above: Learnt) -> Learnt:
    """What is known of a queue; what is not, as the one above it knows."""
    return Learnt(
        queue.typical_runtime_seconds or above.typical,
        queue.runtimes_seconds or above.runtimes,
        queue.limit_uses_milli or above.limit_uses_milli,
    )


def learnt_in(queue: Queue, by_name: Mapping[str, Queue]) -> Learnt:
    """What is known of a queue of a tree."""
    above = Learnt() if queue.parent is None else learnt_in(by_name[queue.parent], by_name)
    return learnt_of(queue, above)


def _began(work: "WorkState", now: int) -> int | None:
    runs = any(slot.base is not None and slot.active for slot in work.slots)
    return work.running_since if runs else now


class _Ahead(NamedTuple):
    """One of what is still possible, and the first of that."""

    value: int
    first: int


def _beyond(likely: Sequence[int], passed: int, name: str) -> _Ahead | None:
    """One of what is still possible; what has run long is expected to go on longer.

    Of many that run, some end soon and some late: each stands for another part, always the same by its name.
    If each stood for the middle, none would end soon, and estimates for what waits would be late.
    """
    first = bisect_right(likely, passed)
    if first == len(likely):
        return None
    chosen = first + (len(likely) - first) * (crc32(name.encode()) % 1000) // 1000
    return _Ahead(likely[chosen], likely[first])


def _still_ahead(seconds: int, elapsed: int) -> int:
    """What has run longer than expected is expected to take twice as long, and so on."""
    while seconds <= elapsed:
        seconds *= 2
    return seconds
