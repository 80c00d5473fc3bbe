"""Run times: when work is expected to end, and when it will have left at the latest.

The two differ where a workload says more than one thing about itself: an estimate is the better guess, a
limit the better promise. What is learnt of a queue stands in for work that says nothing.
"""

from collections.abc import Mapping

from corral.core.queues import Queue
from corral.core.workloads import Workload
from corral.scheduling.work import WorkState


def end_after(workload: Workload, typical: int | None, began: int | None, now: int) -> int | None:
    """When a workload that runs since `began` will probably end; None where nothing is known."""
    limit, guess = workload.runtime_limit_seconds, workload.runtime_estimate_seconds
    if guess is None and limit is None:
        guess = typical
    if began is None:
        return None
    if guess is not None:
        seconds = _still_ahead(guess, now - began)
        return max(now, began + (seconds if limit is None else min(seconds, limit)))
    return None if limit is None else max(now, began + limit)


def expected_end(work: WorkState, now: int) -> int | None:
    """When an active workload will probably end; what this cycle placed begins now."""
    return end_after(work.workload, work.queue.typical_runtime, _began(work, now), now)


def promised_end(work: WorkState, now: int, *, again: bool = False) -> int | None:
    """By when a workload itself says that it will have left if it starts now; None if it says nothing.

    `again` says that what runs of it begins again.
    """
    began = now if again else _began(work, now)
    seconds = work.workload.runtime_limit_seconds or work.workload.runtime_estimate_seconds
    return None if began is None or seconds is None else max(now, began + seconds)


def latest_end(work: WorkState, now: int, *, again: bool = False) -> int | None:
    """By when a workload will have left if it starts now, also going by what is typical of its queue."""
    promised = promised_end(work, now, again=again)
    began, typical = now if again else _began(work, now), work.queue.typical_runtime
    if promised is not None or began is None or typical is None:
        return promised
    return max(now, began + typical)


def typical_runtime(queue: Queue, by_name: Mapping[str, Queue]) -> int | None:
    """What is typical of a queue, else of the nearest one above it that knows."""
    here: Queue | None = queue
    while here is not None:
        if here.typical_runtime_seconds is not None:
            return here.typical_runtime_seconds
        here = by_name[here.parent] if here.parent is not None else None
    return None


def _began(work: WorkState, now: int) -> int | None:
    runs = any(slot.base is not None and slot.active for slot in work.slots)
    return work.running_since if runs else now


def _still_ahead(seconds: int, elapsed: int) -> int:
    """What has run longer than expected is expected to take twice as long, and so on."""
    while seconds <= elapsed:
        seconds *= 2
    return seconds
