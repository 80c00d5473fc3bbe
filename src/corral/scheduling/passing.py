"""Passing: the turns of all who wait, where those who are known to fail are passed over at their turn.

The turns are those of `Order`. A queue comes to the first of whom nothing is known by passing all before it,
each at its own turn; what those ask for decides when. As nothing changes meanwhile, the queue's turn is where
the latest of them stands: one comparison for each amount that is asked for, however many wait. Among
siblings that holds exactly, so trees with levels keep to `Order`.
"""

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Mapping

from corral.core.plans import Action, SearchResult
from corral.core.resources import Amount
from corral.scheduling.cycle import Cycle
from corral.scheduling.kinds import Entry, Line, said_seconds
from corral.scheduling.order import QueueKey, WorkKey, queue_key, work_key
from corral.scheduling.tree import KINDS, QueueState
from corral.scheduling.work import WorkState

_ALL = -1  # every run time is known to fail
_NONE = 1 << 62

Rank = tuple[int, QueueKey]


class Row:
    """Those of one kind in one queue; the first `position` have had their turn."""

    __slots__ = (
        "amount",
        "end",
        "entries",
        "known_from",
        "live",
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
        self.live = 0  # the first of whom nothing is known is not before this
        self.known_from = _NONE  # who says to run at least so long is known to fail
        self.work = entries[0][1]
        chunk = next(chunk for _, work in entries if (chunk := work.chunk()) is not None)
        self.amount, self.pinned = chunk.amount, chunk.pinned
        self.result: SearchResult | None = None
        self.noted = 0

    def asks_as_much(self, other: "Row") -> bool:
        """In sum at least what the other asks for, of everything."""
        return all(
            self.amount[kind] >= other.amount[kind] and self.pinned[kind] >= other.pinned[kind]
            for kind in KINDS
        )

    def needs_as_much_room(self, other: "Row") -> bool:
        """Where this fits, the other fits."""
        own, theirs = self.work, other.work
        return len(own.slots) >= len(theirs.slots) and own.slots[0].request.covers(theirs.slots[0].request)


class _Turn:
    """Where a queue stands by the first of whom nothing is known."""

    __slots__ = ("entry", "leaf", "rank", "row", "stamp")

    def __init__(self, leaf: "_Leaf", rank: Rank, entry: Entry, row: Row | None) -> None:
        self.leaf = leaf
        self.rank = rank
        self.entry = entry
        self.row = row
        self.stamp = leaf.queue.stamp


class _Leaf:
    """The turns of one leaf queue."""

    def __init__(
        self, queue: QueueState, rows: list[Row], others: list[Entry], absent: set[WorkState], *, across: bool
    ) -> None:
        self.queue = queue
        self.rows = rows
        self.others = others
        heapq.heapify(others)
        self._absent = absent
        self._across = across
        self._keys: dict[Amount, QueueKey] = {}
        self._keys_at = -1
        self._turn: _Turn | None = None
        self._looked = False

    def turn(self) -> _Turn | None:
        """None if nobody is left of whom nothing is known."""
        turn = self._turn
        if not self._looked or (turn is not None and turn.stamp != self.queue.stamp):
            turn = self._turn = self._next()
            self._looked = True
        return turn

    def look_again(self) -> None:
        self._looked = False

    def _next(self) -> _Turn | None:
        entry: Entry | None = self.others[0] if self.others else None
        from_row: Row | None = None
        first: list[tuple[Entry, Row]] = []  # of each row who comes next, known to fail or not
        for row in self.rows:
            if (ahead := self._ahead(row)) is None:
                continue
            first.append((ahead, row))
            live = ahead if row.known_from == _NONE else self._live(row)
            if live is not None and (entry is None or live < entry):
                entry, from_row = live, row
        if entry is None:
            return None
        ranks = {
            (self._rank_of(ahead[1]), row.amount)
            for ahead, row in first
            if ahead < entry and row is not from_row
        }
        chunk = entry[1].chunk()
        assert chunk is not None
        ranks.add((self._rank_of(entry[1]), chunk.amount))
        return _Turn(self, max((rank, self._key(amount)) for rank, amount in ranks), entry, from_row)

    def _rank_of(self, work: WorkState) -> int:
        return -work.priority if self._across else 0

    def _ahead(self, row: Row) -> Entry | None:
        entries, position = row.entries, row.position
        while position < row.end and entries[position][1] in self._absent:
            position += 1
        row.position = position
        return entries[position] if position < row.end else None

    def _live(self, row: Row) -> Entry | None:
        if row.known_from == _ALL:
            return None
        number = max(row.live, row.position)
        while number < row.end and not self._is_live(row, row.entries[number][1]):
            number += 1
        row.live = number
        return row.entries[number] if number < row.end else None

    def _is_live(self, row: Row, work: WorkState) -> bool:
        seconds = said_seconds(work)
        return seconds is not None and seconds < row.known_from and work not in self._absent

    def _key(self, amount: Amount) -> QueueKey:
        if self._keys_at != self.queue.stamp:
            self._keys.clear()
            self._keys_at = self.queue.stamp
        key = self._keys.get(amount)
        if key is None:
            key = self._keys[amount] = queue_key(self.queue, self.queue.allocated, amount)
        return key

    def pass_to(self, key: WorkKey, *, with_it: bool) -> None:
        """All before `key` have had their turn."""
        find = bisect_right if with_it else bisect_left
        for row in self.rows:
            if row.position < row.end and row.entries[row.position][0] <= key:
                row.position = find(row.entries, key, row.position, row.end, key=_key_of)
        self.look_again()

    def pass_below(self, bound: Rank, allocated: list[int]) -> None:
        """Those have had their turn who stand before `bound`, and nobody beyond it before them."""
        queue = self.queue
        stops = [
            ahead[0]
            for row in self.rows
            if (ahead := self._ahead(row)) is not None
            and (self._rank_of(ahead[1]), queue_key(queue, allocated, row.amount)) > bound
        ]
        if self.others:
            stops.append(self.others[0][0])
        if stops:
            self.pass_to(min(stops), with_it=False)
        else:
            for row in self.rows:
                row.position = row.end
            self.look_again()


def passing(cycle: Cycle, action: Action = Action.ALLOCATE, *, preemptible: bool = False) -> "Passing | None":
    """The turns of an action; None for trees with levels. With `preemptible`, of nobody else."""
    if any(root.children for root in cycle.tree.roots):
        return None
    now, takes = cycle.now, action is not Action.ALLOCATE

    def ready(work: WorkState) -> bool:
        return (not takes or now >= work.delay_until) and (not preemptible or work.preemptible)

    def note(work: WorkState, ended: SearchResult) -> None:
        cycle.searches.setdefault(work, {}).setdefault(action, ended)

    moved = cycle.board.moved()
    return Passing(
        cycle.roster.lines.of,
        {work for work in moved if work.evicted_slots or work.chunk() is None},
        across=cycle.pool.priority_across_queues,
        ready=ready,
        note=note if takes and cycle.noting else None,
    )


class Passing:
    """Hands out those of whom nothing is known yet, in the normal order."""

    def __init__(
        self,
        lines: Mapping[QueueState, Line],
        absent: set[WorkState],
        *,
        across: bool,
        ready: Callable[[WorkState], bool],
        note: Callable[[WorkState, SearchResult], None] | None = None,
    ) -> None:
        """Without those `absent` and those that are not `ready`; `note` is told what became of the others."""
        self._note = note
        self._absent = absent
        self._leaves: dict[QueueState, _Leaf] = {}
        for queue, line in lines.items():
            rows = [
                Row(entries, end)
                for entries in line.kinds.values()
                if (end := _ready(entries, absent, ready))
            ]
            others = [
                (work_key(work), work)
                for work in line.others
                if work not in absent and work.chunk() is not None and ready(work)
            ]
            if rows or others:
                self._leaves[queue] = _Leaf(queue, rows, others, absent, across=across)
        self._last: _Turn | None = None
        self._bound: Rank | None = None
        self._before: list[tuple[_Leaf, list[int]]] = []

    def pop(self) -> WorkState | None:
        """The next one of whom nothing is known, which leaves the order."""
        turns = [turn for leaf in self._leaves.values() if (turn := leaf.turn()) is not None]
        if not turns:
            return None
        turn = min(turns, key=_rank_of)
        self._last = turn
        self._bound = turn.rank if self._bound is None else max(self._bound, turn.rank)
        self._before = [(leaf, list(leaf.queue.allocated)) for leaf in self._leaves.values()]
        if turn.row is None:
            heapq.heappop(turn.leaf.others)
        turn.leaf.pass_to(turn.entry[0], with_it=True)
        return turn.entry[1]

    def push(self, work: WorkState) -> None:
        """It queues again, unless nothing more of it could be placed."""
        if work.chunk() is not None:
            leaf = self._leaves[work.queue]
            heapq.heappush(leaf.others, (work_key(work), work))
            leaf.look_again()

    def know(
        self,
        fails_too: Callable[[Row, Row], bool],
        *,
        everywhere: bool,
        seconds: int | None = None,
        result: SearchResult | None = None,
    ) -> None:
        """The last one failed, and with it every kind that `fails_too` says, of its queue or `everywhere`.

        With `seconds`, only of those who say to run at least so long.
        """
        last = self._last
        assert last is not None
        if last.row is None:
            return
        known_from = _ALL if seconds is None else seconds
        for leaf in self._leaves.values() if everywhere else (last.leaf,):
            for row in leaf.rows:
                if known_from < row.known_from and fails_too(row, last.row):
                    row.known_from = known_from
                    row.result, row.noted = result, row.position
                    leaf.look_again()

    def forget(self) -> None:
        """The last one succeeded: what was known holds no longer, for those who did not have their turn."""
        last, bound = self._last, self._bound
        assert last is not None
        assert bound is not None
        for leaf, allocated in self._before:
            if leaf is not last.leaf:
                leaf.pass_below(bound, allocated)
            for row in leaf.rows:
                self._tell(row, row.position)
                row.known_from, row.live = _NONE, 0
            leaf.look_again()
        self._bound = None

    def close(self) -> None:
        """All others have had their turn and failed."""
        for leaf in self._leaves.values():
            for row in leaf.rows:
                self._tell(row, row.end)

    def _tell(self, row: Row, until: int) -> None:
        if self._note is None or row.result is None or row.known_from == _NONE:
            return
        for _, work in row.entries[row.noted : until]:
            if work not in self._absent:
                self._note(work, row.result)


def _ready(entries: list[Entry], absent: Container[WorkState], ready: Callable[[WorkState], bool]) -> int:
    """How many of a kind are ready: the oldest come first. 0 if all of those are absent."""
    end = len(entries)
    while end and not ready(entries[end - 1][1]):
        end -= 1
    return end if any(work not in absent for _, work in entries[:end]) else 0


def _key_of(entry: Entry) -> WorkKey:
    return entry[0]


def _rank_of(turn: _Turn) -> Rank:
    return turn.rank
