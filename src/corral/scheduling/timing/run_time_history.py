"""Run-time history: what finished work says about the run times of its queue.

Whoever makes snapshots reports every end here and puts the statistics into the queues; the scheduler itself
does not learn. Only the newest ends of each queue count, so that the statistics follow recent work.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from corral.core.queues import Queue

# So many of the newest ends of a queue count.
NEWEST = 500
# Fewer say little about the next one.
_ENOUGH = 5
# The number of equally likely run times of a queue.
_LIKELY = 99
# Statistics are due again when this part of their data is new: 1/10.
_NEWS = 10

Span = tuple[int, int]
"""Of one run: how long it had run when it came into view, and when it left it."""


@dataclass(frozen=True, slots=True)
class RunTimeStatistics:
    """Run times of a queue's work; the fields are those of the queue."""

    queue: str
    typical_runtime_seconds: int | None = None
    runtimes_seconds: tuple[int, ...] = ()
    limit_uses_milli: tuple[int, ...] = ()

    def applied_to_queue(self, queue: Queue) -> Queue:
        return replace(
            queue,
            typical_runtime_seconds=self.typical_runtime_seconds,
            runtimes_seconds=self.runtimes_seconds,
            limit_uses_milli=self.limit_uses_milli,
        )


class _QueueEnds:
    """The newest ends of one queue: when and after how long, and the part of its limit if there was one."""

    def __init__(self) -> None:
        self.runs: deque[tuple[int, int]] = deque(maxlen=NEWEST)
        self.uses_milli: deque[int] = deque(maxlen=NEWEST)
        self.untold = 0


class RunTimeHistory:
    """Records every workload that ends, in the order of time; gives the statistics of its queue.

    `since` is when recording began, if earlier ends are missing.
    """

    def __init__(self, since: int | None = None) -> None:
        self._since = since
        self._of: dict[str, _QueueEnds] = {}
        self._due: set[str] = set()

    def ended(self, queues: Iterable[str], at: int, seconds: int, limit_seconds: int | None = None) -> None:
        """Work of the first of `queues` ended after so many seconds; it counts for those above too."""
        for queue in queues:
            ends = self._of.setdefault(queue, _QueueEnds())
            ends.runs.append((at, seconds))
            ends.untold += 1
            if limit_seconds:
                ends.uses_milli.append(min(1000, seconds * 1000 // limit_seconds))
            # With the first ends each is news.
            if len(ends.runs) >= _ENOUGH and ends.untold * _NEWS >= len(ends.runs):
                self._due.add(queue)

    @property
    def due(self) -> list[str]:
        """The queues with enough new data for new statistics."""
        return sorted(self._due)

    def statistics(self, queue: str, now: int, running_since: Iterable[int] = ()) -> RunTimeStatistics:
        """What is known of a queue; `running_since` of its work that did not end yet."""
        ends = self._of.get(queue)
        if ends is None or len(ends.runs) < _ENOUGH:
            return RunTimeStatistics(queue)
        ends.untold = 0
        self._due.discard(queue)
        began = self._since
        if len(ends.runs) == NEWEST:
            began = ends.runs[0][0]
        ended = [_span(at - seconds, at, began) for at, seconds in ends.runs]
        still = [_span(since, now, began) for since in running_since]
        uses = [(0, use) for use in ends.uses_milli]
        middle = sorted(seconds for _, seconds in ends.runs)[len(ends.runs) // 2]
        return RunTimeStatistics(queue, middle, likely(ended, still), likely(uses))

    def applied_to(
        self, queues: Iterable[Queue], now: int, running_since: Mapping[str, Iterable[int]]
    ) -> tuple[Queue, ...]:
        """The queues with what was learnt; `running_since` by queue."""
        return tuple(
            self.statistics(queue.name, now, running_since.get(queue.name, ())).applied_to_queue(queue)
            for queue in queues
        )


def likely(ended: Sequence[Span], still: Sequence[Span] = ()) -> tuple[int, ...]:
    """Equally likely run times, growing; none until enough are known.

    What is `still` under way will come to more than it has: who left out the long ones that did not end yet
    would expect too little. So at each end it is counted who had run as long and was in view then, as Kaplan
    and Meier do it; what is left beyond the last is put at twice that.
    """
    if len(ended) < _ENOUGH:
        return ()
    came = sorted(seen_at for seen_at, _ in (*ended, *still))
    left = sorted([*((reached, 0) for _, reached in ended), *((reached, 1) for _, reached in still)])
    found: list[int] = []
    lasting, here = 1.0, 0  # the part that runs longer; how many came into view before that
    for gone, (reached, unfinished) in enumerate(left):
        while here < len(came) and came[here] <= reached:
            here += 1
        # While few of many are in view, the end of one says little.
        if unfinished or (here < len(came) and here - gone < _ENOUGH):
            continue
        lasting *= 1 - 1 / (here - gone)
        while len(found) < _LIKELY and 1 - lasting >= (2 * len(found) + 1) / (2 * _LIKELY) - _TINY:
            found.append(reached)
    last, unfinished = left[-1]
    return (*found, *[last * 2 if unfinished else last] * (_LIKELY - len(found)))


def _span(since: int, until: int, began: int | None) -> Span:
    """Of a run from `since` until `until` what could be seen from `began` on."""
    return 0 if began is None else max(0, began - since), until - since


_TINY = 1e-9
