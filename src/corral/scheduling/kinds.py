"""Kinds: work of one leaf queue that asks for the same and differs in age, name and run time alone.

What is known of one holds for all of its kind. The lines are kept between cycles: of thousands that wait, a
cycle looks at one of each kind.
"""

from bisect import bisect_left
from typing import NamedTuple

from corral.scheduling.order import WorkKey, work_key
from corral.scheduling.tree import QueueState
from corral.scheduling.work import WorkState

Entry = tuple[WorkKey, WorkState]


class Kind(NamedTuple):
    """`request` is the number of its class. `timed` work says itself how long it takes at most."""

    priority: int
    request: int
    replicas: int
    preemptible: bool
    timed: bool


class Line:
    """Who waits in one leaf queue: those of each kind in the normal order, and those like no other."""

    __slots__ = ("kinds", "others")

    def __init__(self) -> None:
        self.kinds: dict[Kind, list[Entry]] = {}
        self.others: dict[WorkState, None] = {}


class Lines:
    """The lines of all leaf queues. Who comes is put in line when somebody looks: many are sorted at once."""

    def __init__(self) -> None:
        self._lines: dict[QueueState, Line] = {}
        self._new: dict[WorkState, None] = {}

    def add(self, work: WorkState) -> None:
        self._new[work] = None

    def remove(self, work: WorkState) -> None:
        """Takes out one that was added, as it was then."""
        if work in self._new:
            del self._new[work]
            return
        line = self._lines[work.queue]
        if work in line.others:
            del line.others[work]
            return
        kind = kind_of(work)
        assert kind is not None
        entries = line.kinds[kind]
        del entries[bisect_left(entries, (work_key(work), work))]
        if not entries:
            del line.kinds[kind]

    def look(self) -> dict[QueueState, Line]:
        """The line of each leaf queue."""
        changed: dict[tuple[QueueState, Kind], list[Entry]] = {}
        for work in self._new:
            line = self._lines.get(work.queue)
            if line is None:
                line = self._lines[work.queue] = Line()
            kind = kind_of(work)
            if kind is None:
                line.others[work] = None
                continue
            entries = line.kinds.get(kind)
            if entries is None:
                entries = line.kinds[kind] = []
            entries.append(((-work.priority, 0, work.created, work.name), work))
            changed[work.queue, kind] = entries
        for entries in changed.values():
            entries.sort()
        self._new.clear()
        return self._lines


def kind_of(work: WorkState) -> Kind | None:
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
    return Kind(work.priority, request.index, count, group.preemptible, timed)


def said_seconds(work: WorkState) -> int | None:
    """How long it runs at most, as it says itself."""
    return work.workload.runtime_limit_seconds or work.workload.runtime_estimate_seconds
