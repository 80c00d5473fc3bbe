"""Run times: when work is expected to end, and when it will have left at the latest.

The two differ where a workload says more than one thing about itself: an estimate is the better guess, a
limit the better promise. What is learnt of a queue stands in for work that says nothing.
"""

from corral.scheduling.work import WorkState


def expected_end(work: WorkState, now: int) -> int | None:
    """When an active workload will probably end; None where nothing is known."""
    began = _began(work, now)
    spec = work.workload
    limit, guess = spec.runtime_limit_seconds, spec.runtime_estimate_seconds
    if guess is None and limit is None:
        guess = work.queue.typical_runtime
    if began is None or (guess is None and limit is None):
        return None
    seconds = limit if guess is None else _still_ahead(guess, now - began)
    assert seconds is not None
    return max(now, began + (seconds if limit is None else min(seconds, limit)))


def latest_end(work: WorkState, now: int) -> int | None:
    """By when a workload will have left if it starts now; None where nothing is known."""
    began = _began(work, now)
    spec = work.workload
    seconds = spec.runtime_limit_seconds or spec.runtime_estimate_seconds or work.queue.typical_runtime
    return None if began is None or seconds is None else max(now, began + seconds)


def _began(work: WorkState, now: int) -> int | None:
    runs = any(slot.base is not None and slot.active for slot in work.slots)
    return work.running_since if runs else now


def _still_ahead(seconds: int, elapsed: int) -> int:
    """What has run longer than expected is expected to take twice as long, and so on."""
    while seconds <= elapsed:
        seconds *= 2
    return seconds
