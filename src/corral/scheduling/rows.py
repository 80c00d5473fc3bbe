"""Rows: those of one kind in one leaf queue, what is known of them, and whose turn it is in the queue."""

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from corral.core.plans import SearchResult
from corral.scheduling.kinds import Entry, said_seconds
from corral.scheduling.order import QueueKey, WorkKey, queue_key, work_key
from corral.scheduling.tree import KINDS, QueueState
from corral.scheduling.work import WorkState

# Who says to run at least so long is known to fail.
EVERYONE = -1
NOBODY = 1 << 62

Rank = tuple[int, QueueKey]


class Row:
    """Those of one kind; the first `position` have had their turn, those from `end` on have none."""

    __slots__ = ("amount", "end", "entries", "known_from", "noted", "pinned", "position", "result", "work")

    def __init__(self, entries: list[Entry], end: int) -> None:
        self.entries = entries
        self.end = end
        self.position = 0
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


class LeafTurns:
    """The turns of one leaf queue."""

    def __init__(
        self, queue: QueueState, rows: list[Row], others: list[Entry], absent: set[WorkState], *, across: bool
    ) -> None:
        self.queue = queue
        self.rows = rows
        self._absent = absent
        self._across = across
        # The next one of every row of whom nothing is known, and all that are like no other.
        self._live: list[tuple[Entry, Row | None]] = [(entry, None) for entry in others]
        heapq.heapify(self._live)
        self._since: WorkKey | None = None  # the last one that had its turn
        self._rank: tuple[int, Rank] | None = None
        self._await_all()

    def first(self) -> tuple[Entry, Row | None] | None:
        """The next one of whom nothing is known."""
        live = self._live
        while live:
            entry, row = live[0]
            if row is None or self._is_live(row, entry[1]):
                return live[0]
            heapq.heappop(live)
            self._await(row, self._number_of(row, entry))
        return None

    def rank(self, entry: Entry) -> Rank:
        """Where the queue stands by its first one: behind all who come before it, known to fail or not."""
        if self._rank is None or self._rank[0] != self.queue.stamp:
            asked = {(self._class(row.work), row.amount) for row in self._known_before(entry[0])}
            chunk = entry[1].chunk()
            assert chunk is not None
            asked.add((self._class(entry[1]), chunk.amount))
            queue = self.queue
            ranks = ((rank, queue_key(queue, queue.allocated, amount)) for rank, amount in asked)
            self._rank = queue.stamp, max(ranks)
        return self._rank[1]

    def pop(self) -> WorkState:
        """Takes the first one out of the order; all before it have had their turn."""
        entry, row = heapq.heappop(self._live)
        self._since = entry[0] if self._since is None else max(self._since, entry[0])
        if row is not None:
            row.position = self._number_of(row, entry) + 1
            self._await(row, row.position)
        self._rank = None
        return entry[1]

    def push(self, work: WorkState) -> None:
        heapq.heappush(self._live, ((work_key(work), work), None))
        self._rank = None

    def know(self, row: Row, known_from: int, result: SearchResult | None) -> None:
        """Those of a row who say to run at least so long fail."""
        row.known_from, row.result, row.noted = known_from, result, row.position
        self._rank = None

    def pass_below(self, bound: Rank, allocated: list[int]) -> None:
        """Those have had their turn who stand before `bound`, and nobody beyond it before them."""
        known = [row for row in self.known() if row.position < row.end]
        stops = [
            row.entries[row.position][0]
            for row in known
            if (self._class(row.work), queue_key(self.queue, allocated, row.amount)) > bound
        ]
        if (first := self.first()) is not None:
            stops.append(first[0][0])
        for row in known:
            if stops:
                row.position = bisect_left(row.entries, min(stops), row.position, row.end, key=_key_of)
            else:
                row.position = row.end

    def known(self) -> list[Row]:
        """The rows of which something is known; those before `position` have all had their turn."""
        rows = [row for row in self.rows if row.known_from != NOBODY]
        for row in rows:
            self._catch_up(row)
        return rows

    def forget(self) -> None:
        """Of nobody anything is known."""
        for row in self.known():
            row.known_from = NOBODY
        self._live = [each for each in self._live if each[1] is None]
        heapq.heapify(self._live)
        self._await_all()
        self._rank = None

    def _known_before(self, key: WorkKey) -> Iterator[Row]:
        """Of those who are known to fail, the rows in which some come before `key`."""
        for row in self.known():
            if row.position < row.end and row.entries[row.position][0] < key:
                yield row

    def _catch_up(self, row: Row) -> None:
        entries = row.entries
        if self._since is not None and row.position < row.end and entries[row.position][0] <= self._since:
            row.position = bisect_right(entries, self._since, row.position, row.end, key=_key_of)
        while row.position < row.end and entries[row.position][1] in self._absent:
            row.position += 1

    def _await_all(self) -> None:
        for row in self.rows:
            self._await(row, row.position)

    def _await(self, row: Row, number: int) -> None:
        """The next one of a row of whom nothing is known gets its place in the order."""
        if row.known_from == EVERYONE:
            return
        while number < row.end and not self._is_live(row, row.entries[number][1]):
            number += 1
        if number < row.end:
            heapq.heappush(self._live, (row.entries[number], row))

    @staticmethod
    def _number_of(row: Row, entry: Entry) -> int:
        if row.position < row.end and row.entries[row.position] is entry:
            return row.position
        return bisect_left(row.entries, entry[0], 0, row.end, key=_key_of)

    def _is_live(self, row: Row, work: WorkState) -> bool:
        if row.known_from == EVERYONE or work in self._absent:
            return False
        if row.known_from == NOBODY:
            return True
        seconds = said_seconds(work)
        return seconds is not None and seconds < row.known_from

    def _class(self, work: WorkState) -> int:
        return -work.priority if self._across else 0


def _key_of(entry: Entry) -> WorkKey:
    return entry[0]
