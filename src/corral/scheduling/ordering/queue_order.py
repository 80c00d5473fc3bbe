"""Order: whose turn it is. Queues are compared level by level, each by its next chunk; then workloads.

Keys are tuples of integers, smaller comes first. A share is the exact integer `(a << 96) // b`: different
fractions of quantities below 2**47 differ there, equal ones do not.
"""

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from corral.core.resources import NOTHING, Amount
from corral.scheduling.state.fair_shares import INFINITE
from corral.scheduling.state.queue_tree import QueueState
from corral.scheduling.state.workload_state import WorkState

_SHIFT = 96
_ENDLESS = 1 << 200

Head = tuple[tuple[int, "QueueKey"], "QueueState"]
QueueKey = tuple[bool, bool, int, bool, int, int, tuple[int, ...], int, str]
WorkKey = tuple[int, int, int, str]
Entry = tuple[WorkKey, WorkState]


def queue_key(queue: QueueState, allocated: Sequence[int], chunk: Amount = NOTHING) -> QueueKey:
    """Where a queue stands that holds `allocated` and would get `chunk` next."""
    fair, guarantee, allocatable = queue.fair, queue.guarantee, queue.allocatable
    over, outside, nothing = queue.ever_over, False, bool(queue.divided)
    with_chunk = without = 0
    for kind in queue.divided:
        used, bound = allocated[kind], allocatable[kind]
        wanted = used + chunk[kind]
        if used <= fair[kind]:
            over = False
        if wanted > guarantee[kind]:
            outside = True
        if bound:
            nothing = False
        # Without bound the share is 0.
        if bound < INFINITE:
            with_chunk = max(with_chunk, _share(wanted, bound))
            without = max(without, _share(used, bound))
    return (
        over,
        outside,
        -queue.priority,
        nothing,
        with_chunk,
        without,
        queue.sizes,
        queue.created,
        queue.name,
    )


def victim_key(queue: QueueState, left: Sequence[int]) -> QueueKey:
    """Where a queue stands as a victim: its share is what would be `left`, all else is as it stands."""
    standing, after = queue_key(queue, queue.allocated), queue_key(queue, left)
    return (*standing[:2], *after[2:5], *standing[5:])


def key_of(head: Head) -> tuple[int, QueueKey]:
    return head[0]


def work_key(work: WorkState) -> WorkKey:
    return -work.priority, work.level(), work.created, work.name


def _share(used: int, bound: int) -> int:
    if not bound:
        return _ENDLESS if used else 0
    return (used << _SHIFT) // bound


class WaitQueue(Protocol):
    """Who waits in one leaf queue, in the normal order."""

    def __bool__(self) -> bool: ...
    def first(self) -> WorkState: ...
    def pop(self) -> WorkState: ...
    def push(self, work: WorkState) -> None: ...


class _SortedWaitQueue:
    """Most are there from the beginning, so they are sorted once."""

    def __init__(self, entries: list[Entry]) -> None:
        entries.sort()
        self._entries = entries
        self._next = 0

    def __bool__(self) -> bool:
        return self._next < len(self._entries)

    def first(self) -> WorkState:
        return self._entries[self._next][1]

    def pop(self) -> WorkState:
        self._next += 1
        return self._entries[self._next - 1][1]

    def push(self, work: WorkState) -> None:
        insort(self._entries, (work_key(work), work), lo=self._next)


class Order:
    """The turns of a set of workloads; evaluated anew after every change of the board."""

    def __init__(self, wait_queues: Mapping[QueueState, WaitQueue], *, across: bool = False) -> None:
        """With `across`, the priority of workloads counts before everything about their queues."""
        self._across = across
        self._wait_queues = dict(wait_queues)
        # Below each queue, those in which work waits, and in how many leaves: of many queues few have any.
        self._alive: dict[QueueState | None, dict[QueueState, int]] = {}
        self._waits: set[QueueState] = set()
        self._heads: dict[QueueState, tuple[int, Head]] = {}
        for leaf in self._wait_queues:
            self._moved(leaf)

    def pop(self) -> WorkState | None:
        """The workload whose turn it is, which leaves the order."""
        leaf = self._leaf_below(None)
        if leaf is None:
            return None
        work = self._wait_queues[leaf].pop()
        self._moved(leaf)
        return work

    def push(self, work: WorkState) -> None:
        """It queues again, unless nothing more of it could be placed."""
        if work.chunk() is not None:
            if work.queue not in self._wait_queues:
                self._wait_queues[work.queue] = _SortedWaitQueue([])
            self._wait_queues[work.queue].push(work)
            self._moved(work.queue)

    def _moved(self, leaf: QueueState) -> None:
        """Another one may be first in a line, or nobody."""
        waits = bool(self._wait_queues[leaf])
        change = waits - (leaf in self._waits)
        for queue in leaf.path:
            self._heads.pop(queue, None)
            if change:
                alive = self._alive.setdefault(queue.parent, {})
                alive[queue] = alive.get(queue, 0) + change
                if not alive[queue]:
                    del alive[queue]
        if change:
            self._waits ^= {leaf}

    def _leaf_below(self, parent: QueueState | None) -> QueueState | None:
        """The leaf whose turn it is; siblings are compared only where several wait."""
        waiting = self._alive.get(parent)
        if not waiting:
            return None
        if len(waiting) == 1:
            (only,) = waiting
            return self._leaf_below(only) if only.children else only
        heads, best = self._heads, None
        for queue in waiting:
            cached = heads.get(queue)
            head = cached[1] if cached is not None and cached[0] == queue.stamp else self._head(queue)
            if best is None or head[0] < best[0]:
                best = head
        assert best is not None
        return best[1]

    def _head(self, queue: QueueState) -> Head:
        """The key of a queue by its best chunk, and the leaf that has it."""
        head = self._heads.get(queue)
        if head is not None and head[0] == queue.stamp:
            return head[1]
        leaf = self._leaf_below(queue) if queue.children else queue
        assert leaf is not None
        work = self._wait_queues[leaf].first()
        chunk = work.chunk()
        assert chunk is not None
        rank = -work.priority if self._across else 0
        made = (rank, queue_key(queue, queue.allocated, chunk.amount)), leaf
        self._heads[queue] = queue.stamp, made
        return made


def order_of(
    works: Iterable[WorkState], *, across: bool = False, keys: Mapping[WorkState, WorkKey] | None = None
) -> Order:
    """The turns of those of the workloads that could get more; all with `keys` can, and these are theirs."""
    keys_by_queue = keys or {}
    entries: dict[QueueState, list[Entry]] = {}
    for work in works:
        key = keys_by_queue.get(work)
        if key is None:
            if work.chunk() is None:
                continue
            key = work_key(work)
        entries.setdefault(work.queue, []).append((key, work))
    return Order({leaf: _SortedWaitQueue(waiting) for leaf, waiting in entries.items()}, across=across)
