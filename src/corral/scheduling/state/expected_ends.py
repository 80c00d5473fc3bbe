"""Expected ends of running work, soonest first, kept between cycles.

An expected end is valid until a time that is known with it; only those whose time has come, and those that
changed, are computed again.
"""

import heapq
from bisect import bisect_left, insort
from collections.abc import Iterable
from itertools import count

from corral.scheduling.state.run_times import expected_end
from corral.scheduling.state.workload_state import WorkState

# Beyond so many at once sorting all costs less than putting each in its place.
_FEW = 32

End = tuple[int, str, WorkState]


class ExpectedEnds:
    """Follows workloads that come, change and go; lists which are expected to end, and when."""

    def __init__(self, works: Iterable[WorkState]) -> None:
        self._line: list[End] = []
        self._of: dict[WorkState, End] = {}
        self._due: list[tuple[int, int, WorkState]] = []
        self._numbers = count()
        self._new: dict[WorkState, None] = dict.fromkeys(works)
        self._now: int | None = None

    def is_ahead_of(self, now: int) -> bool:
        """Whether time has gone back: what is known goes forward only."""
        return self._now is not None and now < self._now

    def add(self, work: WorkState) -> None:
        """One that is new, or of which something else is known now."""
        self._new[work] = None

    def drop(self, work: WorkState) -> None:
        self._new.pop(work, None)
        self._remove(work)

    def at(self, now: int, moved: set[WorkState]) -> list[End]:
        """The ends as of `now`, without those that a cycle has `moved`."""
        self._now = now
        while self._due and self._due[0][0] <= now:
            work = heapq.heappop(self._due)[2]
            if work in self._of:
                self._new[work] = None
        self._ask([work for work in self._new if work not in moved], now)
        line = self._line.copy()
        for work in moved:
            if (end := self._of.get(work)) is not None:
                del line[bisect_left(line, end)]
        return line

    def _ask(self, works: list[WorkState], now: int) -> None:
        few = len(works) <= _FEW
        for work in works:
            del self._new[work]
            if few:
                self._remove(work)
        if not few:
            pending = set(works)
            self._line = [end for end in self._line if end[2] not in pending]
        for work in works:
            self._of.pop(work, None)
            expected = expected_end(work, now)
            if expected is None:
                continue
            end = self._of[work] = expected.at, work.name, work
            heapq.heappush(self._due, (expected.until, next(self._numbers), work))
            if few:
                insort(self._line, end, key=_place)
            else:
                self._line.append(end)
        if not few:
            self._line.sort(key=_place)

    def _remove(self, work: WorkState) -> None:
        end = self._of.pop(work, None)
        if end is not None:
            del self._line[bisect_left(self._line, end)]


def _place(end: End) -> tuple[int, str]:
    return end[:2]
