"""Victim order: the normal order from its end, one chunk at a time.

A queue is compared by what it would hold after the victims already taken and its next one. In a queue
the lowest priority goes first, then what is above its minimum, then the youngest.
"""

import heapq
from collections.abc import Iterable, Iterator

from corral.scheduling.order import Head, key_of, queue_key
from corral.scheduling.tree import QueueState, Tree
from corral.scheduling.work import Chunk, Slot, WorkState

_VictimKey = tuple[int, bool, int, int]


class VictimOrder:
    """Hands out the chunks of `works` that would be lost first."""

    def __init__(self, tree: Tree, works: Iterable[WorkState], *, across: bool = False) -> None:
        self._roots = tree.roots
        self._across = across
        self._taken: set[Slot] = set()
        self._gone: dict[QueueState, list[int]] = {}
        self._heaps: dict[QueueState, list[tuple[_VictimKey, Chunk]]] = {}
        self._alive: dict[QueueState, int] = {}
        self._heads: dict[QueueState, Head] = {}
        ranked = sorted(works, key=lambda work: work.name, reverse=True)
        self._ranks = {work: rank for rank, work in enumerate(ranked)}
        for work in ranked:
            self._queue(work)

    def __iter__(self) -> Iterator[Chunk]:
        while (chunk := self._next()) is not None:
            yield chunk

    def _queue(self, work: WorkState) -> None:
        chunk = work.victim_chunk(self._taken)
        if chunk is None:
            return
        held = sum(slot.active and slot not in self._taken for slot in work.slots)
        whole = len(chunk.slots) == held
        key = work.priority, whole, -work.created, self._ranks[work]
        heapq.heappush(self._heaps.setdefault(work.queue, []), (key, chunk))
        for queue in work.queue.path:
            self._alive[queue] = self._alive.get(queue, 0) + 1
            self._heads.pop(queue, None)

    def _next(self) -> Chunk | None:
        heads = [self._head(queue) for queue in self._roots if self._alive.get(queue)]
        if not heads:
            return None
        leaf = max(heads, key=key_of)[1]
        _, chunk = heapq.heappop(self._heaps[leaf])
        for queue in leaf.path:
            gone = self._gone.setdefault(queue, [0, 0, 0])
            for kind, amount in enumerate(chunk.amount):
                gone[kind] += amount
            self._alive[queue] -= 1
            self._heads.pop(queue, None)
        self._taken.update(chunk.slots)
        self._queue(chunk.work)
        return chunk

    def _head(self, queue: QueueState) -> Head:
        known = self._heads.get(queue)
        if known is not None:
            return known
        leaf = queue
        if queue.children:
            heads = (self._head(child) for child in queue.children if self._alive.get(child))
            leaf = max(heads, key=key_of)[1]
        chunk = self._heaps[leaf][0][1]
        gone = self._gone.get(queue, (0, 0, 0))
        left = [queue.allocated[kind] - gone[kind] - chunk.amount[kind] for kind in range(3)]
        # Whether it is over its share is judged as it stands, how far by what it would have left.
        standing, after = queue_key(queue, queue.allocated), queue_key(queue, left)
        rank = -chunk.work.priority if self._across else 0
        made = (rank, (*standing[:2], *after[2:])), leaf
        self._heads[queue] = made
        return made
