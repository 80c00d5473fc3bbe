"""The normal order of the few workloads of a rehearsal among all that wait.

Other pending work keeps its place in the order and is skipped at its turn: it can make its queue wait, so it
counts, but only as far as it stands before a participant.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping

from corral.scheduling.ordering.queue_order import Head, key_of, queue_key, work_key
from corral.scheduling.ordering.victim_index import Waiting
from corral.scheduling.state.queue_tree import QueueState, QueueTree
from corral.scheduling.state.workload_state import WorkState

_NOBODY: list[Waiting] = []


class RehearsalOrder:
    """Hands out the workloads that take part; evaluated anew after every change of the board."""

    def __init__(
        self,
        tree: QueueTree,
        waiting: Mapping[QueueState, list[Waiting]],
        taking_part: Iterable[WorkState],
        *,
        across: bool = False,
    ) -> None:
        """`waiting` is how it was before anything was taken."""
        self._roots = tree.roots
        self._waiting = waiting
        self._across = across
        self._heaps: dict[QueueState, list[Waiting]] = {}
        self._left: Counter[QueueState] = Counter()  # how many still have a turn below a root
        self._taking_part: set[WorkState] = set()
        for work in taking_part:
            if work.chunk() is not None:
                self._taking_part.add(work)
                self._heaps.setdefault(work.queue, []).append((work_key(work), work))
        for leaf, heap in self._heaps.items():
            heapq.heapify(heap)
            self._left[leaf.path[-1]] += len(heap)
        self._skipped: dict[QueueState, int] = {}
        self._heads: dict[QueueState, tuple[int, Head | None]] = {}

    def pop(self) -> WorkState | None:
        """The next one that takes part. Below a root where nobody does, skipping has no effect."""
        if len(self._heaps) == 1:
            # Whatever the queues do meanwhile, those of one leaf come in its own order.
            heap = next(iter(self._heaps.values()))
            return heapq.heappop(heap)[1] if heap else None
        while True:
            heads = [
                head for root in self._roots if self._left[root] and (head := self._head(root)) is not None
            ]
            if not heads:
                return None
            leaf = min(heads, key=key_of)[1]
            work = self._advance(leaf)
            if work is not None:
                self._left[leaf.path[-1]] -= 1
                return work

    def _first(self, leaf: QueueState) -> WorkState | None:
        """Who is next in a leaf, taking part or not."""
        heap = self._heaps.get(leaf)
        waiting = self._waiting.get(leaf, _NOBODY)
        number = self._skipped.get(leaf, 0)
        while number < len(waiting) and waiting[number][1] in self._taking_part:
            number += 1
        self._skipped[leaf] = number
        if number == len(waiting):
            return heap[0][1] if heap else None
        return min(heap[0], waiting[number])[1] if heap else waiting[number][1]

    def _advance(self, leaf: QueueState) -> WorkState | None:
        """Takes the first of a leaf out of the order; None if others were skipped."""
        work = self._first(leaf)
        assert work is not None
        for queue in leaf.path:
            self._heads.pop(queue, None)
        if work in self._taking_part:
            heap = self._heaps[leaf]
            heapq.heappop(heap)
            if not heap:
                del self._heaps[leaf]
            return work
        chunk = work.chunk()
        assert chunk is not None
        # Who asks for the same stands at the same place: skipped together.
        amount, priority = chunk.amount, work.priority
        while work is not None and work not in self._taking_part and work.priority == priority:
            chunk = work.chunk()
            if chunk is None or chunk.amount != amount:
                break
            self._skipped[leaf] += 1
            work = self._first(leaf)
        return None

    def _head(self, queue: QueueState) -> Head | None:
        """The key of a queue by its best chunk, and the leaf that has it."""
        head = self._heads.get(queue)
        if head is not None and head[0] == queue.stamp:
            return head[1]
        made = self._make_head(queue)
        self._heads[queue] = queue.stamp, made
        return made

    def _make_head(self, queue: QueueState) -> Head | None:
        leaf = queue
        if queue.children:
            heads = [head for child in queue.children if (head := self._head(child)) is not None]
            if not heads:
                return None
            leaf = min(heads, key=key_of)[1]
        work = self._first(leaf)
        if work is None:
            return None
        chunk = work.chunk()
        assert chunk is not None
        rank = -work.priority if self._across else 0
        return (rank, queue_key(queue, queue.allocated, chunk.amount)), leaf
