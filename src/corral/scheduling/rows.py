"""Rows: those of one kind in one leaf queue, and the line of a leaf in which those known to fail are passed.

A line comes to the first of whom nothing is known by passing all before it, each at its own turn. As long as
nothing changes, whoever asks for the same as one that was passed in its leaf is passed at once: at every
level of the tree all others stand behind it. So a line takes a turn for each amount, however many ask for it.
"""

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from corral.core.plans import SearchResult
from corral.core.resources import Amount
from corral.scheduling.kinds import Entry, said_seconds
from corral.scheduling.order import WorkKey, work_key
from corral.scheduling.tree import KINDS
from corral.scheduling.work import WorkState

# Who says to run at least so long is known to fail.
EVERYONE = -1
NOBODY = 1 << 62
_FIRST: tuple[WorkKey, bool] = (-(1 << 62), 0, 0, ""), False
_LAST: tuple[WorkKey, bool] = (1 << 62, 0, 0, ""), True


class Row:
    """Those of one kind; the first `position` have had their turn, those from `end` on have none."""

    __slots__ = (
        "amount",
        "end",
        "entries",
        "known_from",
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
        self.next = 0  # who of them is in line
        self.known_from = NOBODY
        self.result: SearchResult | None = None  # how it ended for those who are known to fail
        self.noted = 0  # up to here that was written down, or they were tried themselves
        self.work = entries[0][1]
        chunk = next(chunk for _, work in entries if (chunk := work.chunk()) is not None)
        self.amount, self.pinned = chunk.amount, chunk.pinned

    def asks_as_much(self, other: "Row") -> bool:
        """In sum at least what the other asks for, of everything."""
        return all(
            self.amount[kind] >= other.amount[kind] and self.pinned[kind] >= other.pinned[kind]
            for kind in KINDS
        )

    def needs_as_much_room(self, other: "Row") -> bool:
        """Where this fits, the other fits."""
        own, theirs = self.work.slots, other.work.slots
        return len(own) >= len(theirs) and own[0].request.covers(theirs[0].request)

    def knows(self, work: WorkState) -> bool:
        """Whether one of them is known to fail."""
        if self.known_from == NOBODY:
            return False
        seconds = said_seconds(work)
        return seconds is None or seconds >= self.known_from


class KnowingLine:
    """Who waits in one leaf queue, in the normal order: one of each row at a time."""

    def __init__(
        self, rows: list[Row], others: Iterable[Entry], absent: set[WorkState], *, across: bool
    ) -> None:
        """`others` are like no one else. Where work is compared `across` queues, so is its priority."""
        self.rows = rows
        self.came: Row | None = None  # the row of the one that came last
        self._absent = absent
        self._across = across
        self._last: WorkState | None = None
        # Up to here all have had their turn, with True the one who stands there too; see `_turn`.
        self._since: tuple[WorkKey, bool] = _FIRST
        self._came_at = _FIRST
        self._is_past = True  # whether those behind the one that came last who are passed have been
        self._has_stale = False  # whether some are in line who stand elsewhere now
        self._passed: set[tuple[int, Amount]] = set()
        self._passing: list[Row] = []  # of which some are passed who have no turn of their own
        self._period = 0
        # The next one of every row, by its number there, and all others.
        self._heap: list[tuple[Entry, int, Row | None]] = [(entry, 0, None) for entry in others]
        heapq.heapify(self._heap)
        for row in rows:
            self._await(row, 0)

    def __bool__(self) -> bool:
        return bool(self._heap)

    def first(self) -> WorkState:
        return self._heap[0][0][1]

    def pop(self) -> WorkState:
        """The first one has its turn; `advance` comes before the next."""
        (key, work), number, row = heapq.heappop(self._heap)
        self._came_at, self._is_past = (key, True), False
        self._last, self.came = work, row
        if row is not None:
            self._await(row, number + 1)
        return work

    def advance(self, period: int, *, alone: bool) -> None:
        """The last one had its turn. In a new `period`, something was placed since this line moved.

        Nobody stands between those of a line that is `alone`.
        """
        if self._period != period:
            self._period = period
            if self._passed and not alone:
                self._start_anew()
        row = self.came
        if row is not None and row.known_from != NOBODY and self.last_is_known():
            self._passed.add(self._standing(row))
        if self._passed or self._has_stale:
            self._skip()
        self._is_past = True

    def last_is_known(self) -> bool:
        """Whether the one that came last is known to fail."""
        row = self.came
        if row is None or row.known_from == NOBODY:
            return False
        return self._last is not None and row.knows(self._last)

    def push(self, work: WorkState) -> None:
        """It comes again, for more."""
        self._since = self._turn()
        heapq.heappush(self._heap, ((work_key(work), work), 0, None))

    def forget(self) -> None:
        """Of nobody anything is known."""
        for row in self.rows:
            row.known_from = NOBODY
        self._start_anew()

    def know(self, row: Row, known_from: int, result: SearchResult | None) -> None:
        """Those of a row who say to run at least so long fail."""
        self._catch_up(row)
        row.known_from, row.result, row.noted = known_from, result, row.position

    def told(self, row: Row) -> list[WorkState]:
        """Those of a row who were known to fail and had their turn since this was asked last."""
        self._catch_up(row)
        known = row.entries[row.noted : row.position]
        row.noted = row.position
        return [work for _, work in known if work not in self._absent]

    def _start_anew(self) -> None:
        """Everyone who is still to come has a turn of its own again, until it is passed."""
        self._passed.clear()
        passing, self._passing = self._passing, []
        self._has_stale = self._has_stale or bool(passing)
        for row in passing:
            self._catch_up(row)
        for row in passing:
            self._await(row, row.position)

    def _turn(self) -> tuple[WorkKey, bool]:
        """Up to where all have had their turn: those before the first, once the last one had it."""
        if not self._is_past:
            return max(self._since, self._came_at)
        at = (self._heap[0][0][0], False) if self._heap else _LAST
        return max(self._since, self._came_at, at)

    def _catch_up(self, row: Row) -> None:
        """Finds out who of a row had its turn or was passed."""
        key, itself = self._turn()
        find = bisect_right if itself else bisect_left
        row.position = find(row.entries, key, row.position, row.end, key=_key_of)

    def _skip(self) -> None:
        """Passes those at the head who ask for what was passed, and those who are in line elsewhere now."""
        heap = self._heap
        while heap:
            (_, work), number, row = heap[0]
            if row is None:
                return
            if row.next == number:
                if not row.knows(work) or self._standing(row) not in self._passed:
                    return
                self._await(row, number)
            heapq.heappop(heap)

    def _await(self, row: Row, number: int) -> None:
        """The next one of a row who has a turn of its own is put in line."""
        entries, end, absent = row.entries, row.end, self._absent
        passes = row.known_from != NOBODY and self._standing(row) in self._passed
        if passes:
            self._passing.append(row)
            if row.known_from == EVERYONE:
                number = end
        while number < end:
            work = entries[number][1]
            if work not in absent and not (passes and row.knows(work)):
                break
            number += 1
        row.next = number
        if number < end:
            heapq.heappush(self._heap, (entries[number], number, row))

    def _standing(self, row: Row) -> tuple[int, Amount]:
        """Who stands alike has the same turn."""
        return row.work.priority if self._across else 0, row.amount


def _key_of(entry: Entry) -> WorkKey:
    return entry[0]
