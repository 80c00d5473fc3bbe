"""Wait classes: waiting work of one leaf queue that asks for the same.

Members differ in age, name and run time alone, so what is known of one holds for all. The lists survive
between cycles: of thousands that wait, a cycle looks at one of each class.
"""

from bisect import bisect_left
from typing import NamedTuple

from corral.scheduling.ordering.queue_order import WorkKey, work_key
from corral.scheduling.state.queue_tree import QueueState
from corral.scheduling.state.workload_state import WorkState

Entry = tuple[WorkKey, WorkState]


class WaitClass(NamedTuple):
    """`request` is the number of its class. `timed` work says itself how long it takes at most."""

    priority: int
    request: int
    replicas: int
    preemptible: bool
    timed: bool


class WaitList:
    """Who waits in one leaf queue: those of each kind in the normal order, and those like no other."""

    __slots__ = ("classes", "others")

    def __init__(self) -> None:
        self.classes: dict[WaitClass, list[Entry]] = {}
        self.others: dict[WorkState, None] = {}


class WaitLists:
    """The wait lists of all leaf queues. New work is sorted in when somebody reads: many at once."""

    def __init__(self) -> None:
        self._wait_lists: dict[QueueState, WaitList] = {}
        self._new: dict[WorkState, None] = {}

    def add(self, work: WorkState) -> None:
        self._new[work] = None

    def remove(self, work: WorkState) -> None:
        """Takes out one that was added, as it was then."""
        if work in self._new:
            del self._new[work]
            return
        wait_list = self._wait_lists[work.queue]
        if work in wait_list.others:
            del wait_list.others[work]
            return
        wait_class = wait_class_of(work)
        assert wait_class is not None
        entries = wait_list.classes[wait_class]
        del entries[bisect_left(entries, (work_key(work), work))]
        if not entries:
            del wait_list.classes[wait_class]

    def current(self) -> dict[QueueState, WaitList]:
        """The wait list of each leaf queue."""
        changed: dict[tuple[QueueState, WaitClass], list[Entry]] = {}
        for work in self._new:
            wait_list = self._wait_lists.get(work.queue)
            if wait_list is None:
                wait_list = self._wait_lists[work.queue] = WaitList()
            wait_class = wait_class_of(work)
            if wait_class is None:
                wait_list.others[work] = None
                continue
            entries = wait_list.classes.get(wait_class)
            if entries is None:
                entries = wait_list.classes[wait_class] = []
            entries.append(((-work.priority, 0, work.created, work.name), work))
            changed[work.queue, wait_class] = entries
        for entries in changed.values():
            entries.sort()
        self._new.clear()
        return self._wait_lists


def wait_class_of(work: WorkState) -> WaitClass | None:
    """The kind of a workload of which nothing runs yet and everything starts together; None for others."""
    workload, slots, count = work.workload, work.slots, len(work.slots)
    request, group = slots[0].request, slots[0].group
    if len(work.leaves) != 1 or work.groups[0] is not group or group.minimum != count:
        return None
    # Neighbours may tie it to others, now or later.
    if workload.labels or request.affinity or work.bond is not None:
        return None
    if workload.preemption_delay_seconds:
        return None
    for slot in slots:
        if slot.base is not None or slot.succeeded or slot.request is not request:
            return None
    timed = (workload.runtime_limit_seconds or workload.runtime_estimate_seconds) is not None
    return WaitClass(work.priority, request.index, count, group.preemptible, timed)


def declared_seconds(work: WorkState) -> int | None:
    """How long it runs at most, as it says itself."""
    return work.workload.runtime_limit_seconds or work.workload.runtime_estimate_seconds
