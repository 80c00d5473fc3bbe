"""The order in which an action visits waiting work; work that is known to fail is skipped at its turn.

The turns are those of `Order`: a skipped workload still has one, and what it asks for decides when. How a
wait list skips thousands in a few turns is in `ordering.class_cursor`.
"""

from collections.abc import Callable, Container, Mapping

from corral.core.plans import Action, SearchResult
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.ordering.class_cursor import EVERYONE, NOBODY, ClassCursor, SkippingWaitList
from corral.scheduling.ordering.queue_order import Order, work_key
from corral.scheduling.ordering.wait_classes import Entry
from corral.scheduling.state.queue_tree import QueueState
from corral.scheduling.state.workload_state import WorkState

_FEW = 64


def skipping_order(
    cycle: Cycle, action: Action = Action.ALLOCATE, *, preemptible: bool = False
) -> "SkippingOrder":
    """The turns of an action. With `preemptible`, of nobody else."""
    now, takes, across = cycle.now, action is not Action.ALLOCATE, cycle.pool.priority_across_queues

    def ready(work: WorkState) -> bool:
        return (not takes or now >= work.delay_until) and (not preemptible or work.preemptible)

    def note(work: WorkState, ended: SearchResult) -> None:
        cycle.searches.setdefault(work, {}).setdefault(action, ended)

    absent = {work for work in cycle.board.moved() if work.evicted_slots or work.chunk() is None}
    wait_lists = {}
    for queue, wait_list in cycle.workload_index.wait_lists.current().items():
        cursors = [
            ClassCursor(entries, end)
            for entries in wait_list.classes.values()
            if (end := _ready(entries, absent, ready))
        ]
        others = [
            (work_key(work), work)
            for work in wait_list.others
            if work not in absent and work.chunk() is not None and ready(work)
        ]
        if cursors or others:
            wait_lists[queue] = SkippingWaitList(cursors, others, absent, across=across)
    return SkippingOrder(wait_lists, across=across, note=note if takes and cycle.recording_searches else None)


class SkippingOrder(Order):
    """Hands out workloads of which nothing is known yet, in the normal order."""

    def __init__(
        self,
        wait_lists: Mapping[QueueState, SkippingWaitList],
        *,
        across: bool,
        note: Callable[[WorkState, SearchResult], None] | None = None,
    ) -> None:
        """`note` gets the result of the skipped workloads."""
        super().__init__(wait_lists, across=across)
        self._wait_lists = wait_lists
        self._note = note
        self._last: QueueState | None = None
        self._period = 0  # counts the successes

    def pop(self) -> WorkState | None:
        """The next one of whom nothing is known, which leaves the order."""
        while True:
            if self._last is not None:
                self._wait_lists[self._last].advance(self._period, alone=len(self._waits) == 1)
                self._moved(self._last)
            self._last = self._leaf_below(None)
            if self._last is None:
                return None
            wait_list = self._wait_lists[self._last]
            work = wait_list.pop()
            if not wait_list.last_is_failing():
                return work

    def push(self, work: WorkState) -> None:
        """It was placed, and queues again, unless nothing more of it could be placed."""
        self._period += 1
        super().push(work)

    def mark_failing(
        self,
        fails_too: Callable[[ClassCursor, ClassCursor], bool],
        *,
        everywhere: bool,
        seconds: int | None = None,
        result: SearchResult | None = None,
    ) -> None:
        """The last one failed, and with it every kind that `fails_too` says, of its queue or `everywhere`.

        With `seconds`, only of those who say to run at least so long.
        """
        assert self._last is not None
        home = self._wait_lists[self._last]
        failed = home.came
        if failed is None:
            return
        failing_from = EVERYONE if seconds is None else seconds
        for wait_list in self._wait_lists.values() if everywhere else (home,):
            # Where kinds are many, comparing them costs more than it saves.
            for cursor in (
                wait_list.cursors if len(wait_list.cursors) <= _FEW else [failed] if wait_list is home else []
            ):
                if failing_from < cursor.failing_from and fails_too(cursor, failed):
                    wait_list.mark_failing(cursor, failing_from, result)

    def forget_failures(self) -> None:
        """The last one succeeded: what was known holds no longer, for those who did not have their turn."""
        self._period += 1
        self.close()
        for wait_list in self._wait_lists.values():
            wait_list.forget_failures()

    def close(self) -> None:
        """Records the result of the skipped workloads."""
        for wait_list in self._wait_lists.values():
            for cursor in wait_list.cursors:
                if cursor.failing_from != NOBODY:
                    self._record_skipped(wait_list, cursor)

    def _record_skipped(self, wait_list: SkippingWaitList, cursor: ClassCursor) -> None:
        if self._note is not None and cursor.result is not None:
            for work in wait_list.newly_skipped(cursor):
                self._note(work, cursor.result)


def _ready(entries: list[Entry], absent: Container[WorkState], ready: Callable[[WorkState], bool]) -> int:
    """How many of a kind are ready: the oldest come first. 0 if all of those are absent."""
    end = len(entries)
    while end and not ready(entries[end - 1][1]):
        end -= 1
    if not end or entries[0][1] not in absent:
        return end
    return end if any(work not in absent for _, work in entries[:end]) else 0
