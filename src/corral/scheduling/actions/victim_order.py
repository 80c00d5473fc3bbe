"""Victim order: the normal order from its end, one chunk at a time.

A queue is compared by what it would hold after the chunks already chosen and without all of the next victim.
In a queue the lowest priority goes first, then what is above its minimum, then the youngest.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence

from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.ordering.queue_order import Head, key_of, victim_key
from corral.scheduling.ordering.victim_index import Giving
from corral.scheduling.state.queue_tree import QueueState, QueueTree
from corral.scheduling.state.request_classes import RequestClass
from corral.scheduling.state.slots import SettledReplica, Slot, Spot
from corral.scheduling.state.workload_state import Chunk, WorkState

Holding = Sequence[tuple[RequestClass, Spot]]
_AT_ANY_TIME: Mapping[QueueState, int] = {}


class Candidates:
    """Who could lose something to one taker.

    Workloads of `leaves`; with `below`, only lower priorities; with `began_by`, of what began later than
    that in its queue only replicas above its minimum. What this cycle placed has not begun.
    """

    def __init__(
        self,
        cycle: Cycle,
        taker: WorkState,
        leaves: Iterable[QueueState],
        began_by: Mapping[QueueState, int] = _AT_ANY_TIME,
        *,
        below: int | None = None,
    ) -> None:
        self.victim_index = cycle.victim_index
        self.leaves = list(leaves)
        self._cycle = cycle
        self._taker = taker
        self._began_by = began_by
        self._below = below

    def exist(self) -> bool:
        """Whether there may be any."""
        return any(self._exist_in(leaf) for leaf in self.leaves)

    def _exist_in(self, leaf: QueueState) -> bool:
        """The last one that was found there is asked first; that there is none is remembered too."""
        none_below = self.victim_index.none_below.get(leaf)
        if none_below is not None and self._below is not None and self._below <= none_below:
            return False
        last = self.victim_index.found.get(leaf)
        if last is not None and self._is_one(last) and last.may_give:
            return True
        for work in self.awake(leaf):
            if work.may_give:
                self.victim_index.found[leaf] = work
                return True
        if next(self.settled(leaf), None) is not None:
            return True
        if self._below is not None:
            self.victim_index.none_below[leaf] = self._below
        return False

    def in_order(self, leaf: QueueState) -> Iterator[Giving]:
        """The first victim chunk of each, in victim order."""
        for entry in self.victim_index.giving(leaf):
            work = entry[1].work
            if self._below is not None and work.priority >= self._below:
                return
            if self._may_lose(work):
                yield entry

    def keeps_minimum(self, work: WorkState) -> bool:
        """Whether it has not yet run for as long as it may."""
        latest = self._began_by.get(work.queue)
        return latest is not None and work.running_since is not None and work.running_since > latest

    def awake(self, leaf: QueueState) -> Iterator[WorkState]:
        """Workloads with slots, in any order; some may have nothing to evict."""
        for work in self._cycle.may_give(leaf):
            if self._is_one(work):
                yield work

    def settled(self, leaf: QueueState) -> Iterator[SettledReplica]:
        """Settled workloads, in any order."""
        below, latest = self._below, self._began_by.get(leaf)
        for rest in self._cycle.settled(leaf):
            workload = rest.workload
            if rest.preemptible and (below is None or workload.priority < below):
                since = workload.running_since
                if latest is None or since is None or since <= latest:
                    yield rest

    def holdings(self, leaf: QueueState) -> Iterator[Holding]:
        """What could be evicted of each workload with slots, in any order."""
        for work in self.awake(leaf):
            yield [
                (slot.request, slot.spot)
                for slot in work.slots
                if slot.spot is not None and slot.group.preemptible
            ]

    def _is_one(self, work: WorkState) -> bool:
        return (self._below is None or work.priority < self._below) and self._may_lose(work)

    def _may_lose(self, work: WorkState) -> bool:
        if work is self._taker or work.stuck:
            return False
        return not self._began_by or not self.keeps_minimum(work) or work.has_surplus()


class VictimOrder:
    """Hands out the chunks of the candidates that would be lost first."""

    def __init__(self, tree: QueueTree, candidates: Candidates, *, across: bool = False) -> None:
        self._roots = tree.roots
        self._across = across
        self._candidates = candidates
        self._victim_index = candidates.victim_index
        self._chosen: set[Slot] = set()
        self._begun: set[WorkState] = set()
        self._gone: dict[QueueState, list[int]] = {}
        self._untouched = {leaf: candidates.in_order(leaf) for leaf in candidates.leaves}
        self._heaps: dict[QueueState, list[Giving]] = {}  # the next untouched workload, and those begun
        self._alive: dict[QueueState, int] = {}  # how many leaves at or below a queue have something left
        self._heads: dict[QueueState, Head] = {}
        for leaf, entries in self._untouched.items():
            first = next(entries, None)
            if first is not None:
                self._heaps[leaf] = [first]
                for queue in leaf.path:
                    self._alive[queue] = self._alive.get(queue, 0) + 1

    def __iter__(self) -> Iterator[Chunk]:
        while (leaf := self._turn()) is not None:
            yield self._pop(leaf)

    def _turn(self) -> QueueState | None:
        """The leaf that loses next."""
        if len(self._heaps) == 1:
            return next(iter(self._heaps))
        heads = [self._head(queue) for queue in self._roots if self._alive.get(queue)]
        return max(heads, key=key_of)[1] if heads else None

    def _pop(self, leaf: QueueState) -> Chunk:
        heap = self._heaps[leaf]
        (_, whole, _, _), chunk = heapq.heappop(heap)
        work = chunk.work
        if work not in self._begun:
            self._begun.add(work)
            if (fresh := next(self._untouched[leaf], None)) is not None:
                heapq.heappush(heap, fresh)
        self._chosen.update(chunk.slots)
        if not whole and (more := work.victim_chunk(self._chosen)) is not None:
            active = sum(slot.active and slot not in self._chosen for slot in work.slots)
            if len(more.slots) < active or not self._candidates.keeps_minimum(work):
                heapq.heappush(heap, (self._victim_index.victim_key(more, active), more))
        for queue in leaf.path:
            gone = self._gone.setdefault(queue, [0, 0, 0])
            for kind, amount in enumerate(chunk.amount):
                gone[kind] += amount
            self._heads.pop(queue, None)
            if not heap:
                self._alive[queue] -= 1
        if not heap:
            del self._heaps[leaf]
        return chunk

    def _head(self, queue: QueueState) -> Head:
        head = self._heads.get(queue)
        if head is not None:
            return head
        leaf = queue
        if queue.children:
            heads = (self._head(child) for child in queue.children if self._alive.get(child))
            leaf = max(heads, key=key_of)[1]
        (_, whole, _, _), chunk = self._heaps[leaf][0]
        amount = chunk.amount if whole else chunk.work.charge_without(self._chosen)
        gone = self._gone.get(queue, (0, 0, 0))
        left = [queue.allocated[kind] - gone[kind] - amount[kind] for kind in range(3)]
        rank = -chunk.work.priority if self._across else 0
        made = (rank, victim_key(queue, left)), leaf
        self._heads[queue] = made
        return made
