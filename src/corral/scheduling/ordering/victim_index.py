"""Per leaf queue, who waits and what could be evicted first, in order, kept between takers.

A failed rehearsal leaves the board as it was, so the indexes stay true; `changed` reports what a success
changed. Without them every taker would sort every workload again.
"""

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterable

from corral.core.plans import Action, SearchResult
from corral.core.resources import Amount
from corral.scheduling.ordering.queue_order import WorkKey, work_key
from corral.scheduling.ordering.workload_index import WorkloadIndex
from corral.scheduling.state.queue_tree import QueueState
from corral.scheduling.state.workload_state import Chunk, WorkState

VictimKey = tuple[int, bool, int, int]
Waiting = tuple[WorkKey, WorkState]
Giving = tuple[VictimKey, Chunk]


class VictimIndex:
    """Of the workloads of one pool."""

    def __init__(self, workload_index: WorkloadIndex) -> None:
        self._workload_index = workload_index
        self._waiting: dict[QueueState, list[Waiting]] | None = None
        self._giving: dict[QueueState, list[Giving]] = {}
        self._waiting_keys: dict[WorkState, WorkKey] = {}
        self._giving_keys: dict[WorkState, VictimKey] = {}
        self._ranks: dict[WorkState, int] = {}
        # What is known of searches that failed, until something changes.
        self.failed: dict[Hashable, SearchResult] = {}
        self.walks: dict[tuple[Action, QueueState], tuple[int, list[Amount]]] = {}
        self.youngest: dict[QueueState, int] = {}
        self.none_below: dict[QueueState, int] = {}  # priorities below which nobody could give anything
        self.found: dict[QueueState, WorkState] = {}  # one who could when it was last asked

    def waiting(self) -> dict[QueueState, list[Waiting]]:
        """By leaf queue the workloads with a next chunk, in the normal order."""
        if self._waiting is None:
            self._waiting = {}
            for work in self._workload_index.pending():
                key = self._waiting_keys[work] = work_key(work)
                self._waiting.setdefault(work.queue, []).append((key, work))
            for entries in self._waiting.values():
                entries.sort()
        return self._waiting

    def giving(self, leaf: QueueState) -> list[Giving]:
        """The first victim chunk of each workload, whoever takes it, in victim order."""
        cached = self._giving.get(leaf)
        if cached is None:
            cached = self._giving[leaf] = []
            by_name = sorted(self._workload_index.in_queue(leaf), key=lambda work: work.name, reverse=True)
            for rank, work in enumerate(by_name):
                self._ranks[work] = rank
                if (entry := self._first_victim(work)) is not None:
                    cached.append(entry)
            cached.sort(key=_key_of)
        return cached

    def victim_key(self, chunk: Chunk, active: int) -> VictimKey:
        """Lowest priority first, then what is above its minimum, then the youngest, then the last name."""
        work = chunk.work
        return work.priority, len(chunk.slots) == active, -work.created, self._ranks[work]

    def changed(self, works: Iterable[WorkState]) -> None:
        """Something of these workloads was placed or taken for good."""
        self.failed.clear()
        self.walks.clear()
        self.youngest.clear()
        self.none_below.clear()
        for work in works:
            if self._waiting is not None:
                self._move(self._waiting.setdefault(work.queue, []), work)
            giving = self._giving.get(work.queue)
            if giving is not None:
                key = self._giving_keys.pop(work, None)
                if key is not None:
                    del giving[bisect_left(giving, key, key=_key_of)]
                if (entry := self._first_victim(work)) is not None:
                    insort(giving, entry, key=_key_of)

    def _move(self, waiting: list[Waiting], work: WorkState) -> None:
        key = self._waiting_keys.pop(work, None)
        if key is not None:
            del waiting[bisect_left(waiting, (key, work))]
        if work.chunk() is not None:
            key = self._waiting_keys[work] = work_key(work)
            insort(waiting, (key, work))

    def _first_victim(self, work: WorkState) -> Giving | None:
        chunk = None if work.stuck else work.victim_chunk(set())
        if chunk is None:
            return None
        key = self._giving_keys[work] = self.victim_key(chunk, sum(leaf.active for leaf in work.leaves))
        return key, chunk


def _key_of(entry: Giving) -> VictimKey:
    return entry[0]
