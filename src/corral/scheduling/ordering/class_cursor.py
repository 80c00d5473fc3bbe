"""Cursors over wait classes, and the wait list of a leaf queue that skips members known to fail.

The list reaches the first workload of which nothing is known by skipping all before it, each at its own turn.
While nothing changes, a workload that asks for the same as a skipped one of its leaf is skipped at once: at
every level of the tree all others stand behind it. So a list takes one turn for each amount.
"""

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from corral.core.plans import SearchResult
from corral.core.resources import Amount
from corral.scheduling.ordering.queue_order import WorkKey, work_key
from corral.scheduling.ordering.wait_classes import Entry, declared_seconds
from corral.scheduling.state.queue_tree import KINDS
from corral.scheduling.state.workload_state import WorkState

# Who says to run at least so long is known to fail.
EVERYONE = -1
NOBODY = 1 << 62
_FIRST: tuple[WorkKey, bool] = (-(1 << 62), 0, 0, ""), False
_LAST: tuple[WorkKey, bool] = (1 << 62, 0, 0, ""), True


class ClassCursor:
    """The members of one wait class; the first `position` had their turn, those from `end` on get none."""

    __slots__ = (
        "amount",
        "end",
        "entries",
        "failing_from",
        "next",
        "noted",
        "pinned",
        "position",
        "result",
        "work",
    )

    def __init__(self, entries: list[Entry], end: int) -> None:
        self.entries = entries
        self.end = end
        self.position = 0
        self.next = 0  # the one that is in the heap
        self.failing_from = NOBODY
        self.result: SearchResult | None = None  # how it ended for those who are known to fail
        self.noted = 0  # up to here that was written down, or they were tried themselves
        self.work = entries[0][1]
        chunk = next(chunk for _, work in entries if (chunk := work.chunk()) is not None)
        self.amount, self.pinned = chunk.amount, chunk.pinned

    def asks_as_much(self, other: "ClassCursor") -> bool:
        """In sum at least what the other asks for, of everything."""
        return all(
            self.amount[kind] >= other.amount[kind] and self.pinned[kind] >= other.pinned[kind]
            for kind in KINDS
        )

    def needs_as_much_room(self, other: "ClassCursor") -> bool:
        """Where this fits, the other fits."""
        own, theirs = self.work.slots, other.work.slots
        return len(own) >= len(theirs) and own[0].request.covers(theirs[0].request)

    def is_failing(self, work: WorkState) -> bool:
        """Whether one of them is known to fail."""
        if self.failing_from == NOBODY:
            return False
        seconds = declared_seconds(work)
        return seconds is None or seconds >= self.failing_from


class SkippingWaitList:
    """Who waits in one leaf queue, in the normal order: one of each row at a time."""

    def __init__(
        self, cursors: list[ClassCursor], others: Iterable[Entry], absent: set[WorkState], *, across: bool
    ) -> None:
        """`others` are like no one else. Where work is compared `across` queues, so is its priority."""
        self.cursors = cursors
        self.came: ClassCursor | None = None  # the row of the one that came last
        self._absent = absent
        self._across = across
        self._last: WorkState | None = None
        # Up to here all have had their turn, with True the one who stands there too; see `_turn`.
        self._since: tuple[WorkKey, bool] = _FIRST
        self._came_at = _FIRST
        self._is_caught_up = True  # whether those behind the one that came last who are passed have been
        self._has_stale = False  # whether the heap has entries that moved since
        self._skipped: set[tuple[int, Amount]] = set()
        self._skipping: list[ClassCursor] = []  # of which some are passed who have no turn of their own
        self._period = 0
        # The next one of every row, by its number there, and all others.
        self._heap: list[tuple[Entry, int, ClassCursor | None]] = [(entry, 0, None) for entry in others]
        heapq.heapify(self._heap)
        for cursor in cursors:
            self._await(cursor, 0)

    def __bool__(self) -> bool:
        return bool(self._heap)

    def first(self) -> WorkState:
        return self._heap[0][0][1]

    def pop(self) -> WorkState:
        """The first one has its turn; `advance` comes before the next."""
        (key, work), number, cursor = heapq.heappop(self._heap)
        self._came_at, self._is_caught_up = (key, True), False
        self._last, self.came = work, cursor
        if cursor is not None:
            self._await(cursor, number + 1)
        return work

    def advance(self, period: int, *, alone: bool) -> None:
        """The last one had its turn. In a new `period`, something was placed since this line moved.

        Nobody stands between those of a line that is `alone`.
        """
        if self._period != period:
            self._period = period
            if self._skipped and not alone:
                self._restart()
        cursor = self.came
        if cursor is not None and cursor.failing_from != NOBODY and self.last_is_failing():
            self._skipped.add(self._standing(cursor))
        if self._skipped or self._has_stale:
            self._skip()
        self._is_caught_up = True

    def last_is_failing(self) -> bool:
        """Whether the one that came last is known to fail."""
        cursor = self.came
        if cursor is None or cursor.failing_from == NOBODY:
            return False
        return self._last is not None and cursor.is_failing(self._last)

    def push(self, work: WorkState) -> None:
        """It comes again, for more."""
        self._since = self._turn()
        heapq.heappush(self._heap, ((work_key(work), work), 0, None))

    def forget_failures(self) -> None:
        """Of nobody anything is known."""
        for cursor in self.cursors:
            cursor.failing_from = NOBODY
        self._restart()

    def mark_failing(self, cursor: ClassCursor, failing_from: int, result: SearchResult | None) -> None:
        """Those of a row who say to run at least so long fail."""
        self._catch_up(cursor)
        cursor.failing_from, cursor.result, cursor.noted = failing_from, result, cursor.position

    def newly_skipped(self, cursor: ClassCursor) -> list[WorkState]:
        """Those of a row who were known to fail and had their turn since this was asked last."""
        self._catch_up(cursor)
        passed = cursor.entries[cursor.noted : cursor.position]
        cursor.noted = cursor.position
        return [work for _, work in passed if work not in self._absent]

    def _restart(self) -> None:
        """Everyone who is still to come has a turn of its own again, until it is passed."""
        self._skipped.clear()
        skipping_order, self._skipping = self._skipping, []
        self._has_stale = self._has_stale or bool(skipping_order)
        for cursor in skipping_order:
            self._catch_up(cursor)
        for cursor in skipping_order:
            self._await(cursor, cursor.position)

    def _turn(self) -> tuple[WorkKey, bool]:
        """Up to where all have had their turn: those before the first, once the last one had it."""
        if not self._is_caught_up:
            return max(self._since, self._came_at)
        at = (self._heap[0][0][0], False) if self._heap else _LAST
        return max(self._since, self._came_at, at)

    def _catch_up(self, cursor: ClassCursor) -> None:
        """Finds out who of a row had its turn or was passed."""
        key, itself = self._turn()
        find = bisect_right if itself else bisect_left
        cursor.position = find(cursor.entries, key, cursor.position, cursor.end, key=_key_of)

    def _skip(self) -> None:
        """Skips entries at the head that ask for a skipped amount, or that moved since."""
        heap = self._heap
        while heap:
            (_, work), number, cursor = heap[0]
            if cursor is None:
                return
            if cursor.next == number:
                if not cursor.is_failing(work) or self._standing(cursor) not in self._skipped:
                    return
                self._await(cursor, number)
            heapq.heappop(heap)

    def _await(self, cursor: ClassCursor, number: int) -> None:
        """Puts the next one of a class that has a turn of its own into the heap."""
        entries, end, absent = cursor.entries, cursor.end, self._absent
        passes = cursor.failing_from != NOBODY and self._standing(cursor) in self._skipped
        if passes:
            self._skipping.append(cursor)
            if cursor.failing_from == EVERYONE:
                number = end
        while number < end:
            work = entries[number][1]
            if work not in absent and not (passes and cursor.is_failing(work)):
                break
            number += 1
        cursor.next = number
        if number < end:
            heapq.heappush(self._heap, (entries[number], number, cursor))

    def _standing(self, cursor: ClassCursor) -> tuple[int, Amount]:
        """Who stands alike has the same turn."""
        return cursor.work.priority if self._across else 0, cursor.amount


def _key_of(entry: Entry) -> WorkKey:
    return entry[0]
