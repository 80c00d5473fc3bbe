"""Kinds: work of one leaf queue that asks for the same and differs in age, name and run time alone.

What is known of one holds for all of its kind. The lines are kept between cycles: of thousands that wait, a
cycle looks at one of each kind.
"""

from bisect import bisect_left, insort
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
    """The lines of all leaf queues."""

    def __init__(self) -> None:
        self.of: dict[QueueState, Line] = {}

    def add(self, work: WorkState) -> None:
        line = self.of.setdefault(work.queue, Line())
        kind = kind_of(work)
        if kind is None:
            line.others[work] = None
        else:
            insort(line.kinds.setdefault(kind, []), (work_key(work), work))

    def remove(self, work: WorkState) -> None:
        """Takes out one that was added, as it was then."""
        line = self.of[work.queue]
        if work in line.others:
            del line.others[work]
            return
        kind = kind_of(work)
        assert kind is not None
        entries = line.kinds[kind]
        del entries[bisect_left(entries, (work_key(work), work))]
        if not entries:
            del line.kinds[kind]


def kind_of(work: WorkState) -> Kind | None:
    """The kind of a workload of which nothing runs yet and everything starts together; None for others."""
    workload, first = work.workload, work.slots[0]
    group = first.group
    simple = (
        len(work.leaves) == 1
        and work.groups[0] is group
        and group.minimum == len(work.slots)
        and work.bond is None
        and not workload.preemption_delay_seconds
        # Neighbours may tie it to others, now or later.
        and not workload.labels
        and not first.request.request.affinity
        and all(
            slot.base is None and not slot.succeeded and slot.request is first.request for slot in work.slots
        )
    )
    if not simple:
        return None
    timed = said_seconds(work) is not None
    return Kind(work.priority, first.request.index, len(work.slots), group.preemptible, timed)


def said_seconds(work: WorkState) -> int | None:
    """How long it runs at most, as it says itself."""
    return work.workload.runtime_limit_seconds or work.workload.runtime_estimate_seconds
