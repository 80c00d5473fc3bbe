"""Start estimates: when waiting work will probably start, by letting time pass on the board.

Running work leaves at its expected end; at every end waiting work is placed in the normal order, and what
starts ends in turn. Nothing arrives, and nobody evicts anybody. Afterwards the board is as before.
"""

import heapq
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from corral.core.explanations import Estimate, NoEstimate
from corral.core.plans import ALL_ACTIONS, CAPACITY, Action
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.ordering.queue_order import order_of, work_key
from corral.scheduling.ordering.wait_classes import wait_class_of
from corral.scheduling.placing.node_scores import When
from corral.scheduling.planning.planner_state import PlannerState
from corral.scheduling.state.expected_ends import End
from corral.scheduling.state.guards import HoldGuard, ReservationGuard
from corral.scheduling.state.run_times import end_after
from corral.scheduling.state.workload_state import WorkState
from corral.scheduling.timing.reservations import ends_of, find_start, release

# How many workloads are looked at, in their order, and how many ends are lived through.
MOST_WORKLOADS = 300
MOST_ENDS = 2000


def estimate_starts(
    planner: PlannerState, now: int, workloads: Collection[str], actions: Iterable[Action] = ALL_ACTIONS
) -> dict[str, Estimate]:
    """An estimate for each of `workloads` that still waits after one cycle."""
    found: dict[str, Estimate] = {}
    with planner.cycles_after(now, actions) as cycles:
        for cycle in cycles:
            works = (cycle.workload_index.find(name) for name in workloads)
            found.update(estimate(cycle, [work for work in works if work is not None]))
    return found


def estimate(cycle: Cycle, wanted: Collection[WorkState]) -> dict[str, Estimate]:
    """For those of `wanted` that wait below their minimum, in a cycle whose actions are done."""
    targets = {work for work in wanted if not work.satisfied and work.chunk() is not None}
    if not targets:
        return {}
    waiting = _waiting(cycle, targets)
    with _rehearsal(cycle):
        starts = _Simulation(cycle, waiting).starts(targets & set(waiting))
    return {
        work.name: _estimate(work, waiting, starts) for work in sorted(targets, key=lambda work: work.name)
    }


def _estimate(work: WorkState, waiting: list[WorkState], starts: dict[WorkState, int]) -> Estimate:
    if work in starts:
        return Estimate(starts[work])
    return Estimate(None, NoEstimate.UNKNOWN_ENDS if work in waiting else NoEstimate.TOO_FAR_BACK)


def _waiting(cycle: Cycle, targets: Collection[WorkState]) -> list[WorkState]:
    """Who waits, in order, as far as the last one asked about, and not farther than is affordable."""
    order = order_of(cycle.pending(), across=cycle.pool.priority_across_queues)
    waiting: list[WorkState] = []
    missing = set(targets)
    while missing and len(waiting) < MOST_WORKLOADS and (work := order.pop()) is not None:
        waiting.append(work)
        missing.discard(work)
    return waiting


@contextmanager
def _rehearsal(cycle: Cycle) -> Iterator[None]:
    """Time may pass in the cycle; then it is as before. Reservations are made anew on the way."""
    mark, now, guards = cycle.board.mark, cycle.now, cycle.guards
    cycle.guards = [guard for guard in guards if isinstance(guard, HoldGuard)]
    try:
        yield
    finally:
        cycle.board.undo(mark)
        cycle.now, cycle.guards = now, guards


class _Simulation:
    """Steps from one expected end to the next, with the work that waits."""

    def __init__(self, cycle: Cycle, waiting: list[WorkState]) -> None:
        self._cycle = cycle
        self._waiting = list(waiting)
        self._ends: list[End] = ends_of(cycle)
        self._holds = [guard for guard in cycle.guards if isinstance(guard, HoldGuard)]
        self._asks = {work: _asks(work) for work in waiting}
        self._keys = {work: work_key(work) for work in waiting if self._asks[work] is not None}
        self._starts: dict[WorkState, int] = {}
        self._reserved: dict[WorkState, ReservationGuard | None] = {}

    def starts(self, targets: Collection[WorkState]) -> dict[WorkState, int]:
        """Lives on until all who are asked about have started, or nothing more is known to end."""
        heapq.heapify(self._ends)
        missing = set(targets)
        for _ in range(MOST_ENDS):
            if not self._ends or not missing:
                break
            self._pass_to(self._ends[0][0])
            missing -= self._starts.keys()
        return self._starts

    def _pass_to(self, time: int) -> None:
        self._cycle.now = time
        gone = []
        while self._ends and self._ends[0][0] == time:
            gone.append(heapq.heappop(self._ends))
        release(self._cycle.board, gone)
        ended = {work for _, _, work in gone}
        self._waiting = [work for work in self._waiting if work not in ended]
        self._place(time)

    def _place(self, time: int) -> None:
        """What allocate does, among those in the line."""
        cycle = self._cycle
        self._holds = [hold for hold in self._holds if not hold.is_over(time)]
        cycle.guards = list(self._holds)
        reserved = 0
        # Who asks for the same as one that found no room finds none: there is only ever less of it here.
        failed: set[tuple[int, int] | None] = set()
        wanted = {asks for work in self._waiting if (asks := self._asks[work]) is None or work in self._keys}
        order = order_of(self._waiting, across=cycle.pool.priority_across_queues, keys=self._keys)
        while not wanted <= failed and (work := order.pop()) is not None:
            asks = self._asks[work]
            if asks in failed:
                continue
            chunk = work.chunk()
            assert chunk is not None
            reason = cycle.place(chunk, when=When.LATER)
            if reason is None:
                self._start(work, time)
                order.push(work)
                continue
            if asks is not None and reason.kind in CAPACITY and reserved >= cycle.pool.reservations:
                failed.add(asks)
            if reason.kind in CAPACITY and reserved < cycle.pool.reservations and not work.satisfied:
                reserved += 1
                # It stays as good as it was: what starts meanwhile does not push it back.
                if work not in self._reserved:
                    self._reserved[work] = find_start(cycle, chunk, sorted(self._ends), [])
                guard = self._reserved[work]
                if guard is not None:
                    cycle.guards.append(guard)

    def _start(self, work: WorkState, time: int) -> None:
        if work in self._starts:
            return
        self._starts[work] = time
        self._keys.pop(work, None)
        expected = end_after(work.workload, work.queue.learnt, time, time)
        if expected is not None:
            heapq.heappush(self._ends, (expected.at, work.name, work))


def _asks(work: WorkState) -> tuple[int, int] | None:
    """What it needs room for, where others may need exactly the same."""
    wait_class = wait_class_of(work)
    return None if wait_class is None else (wait_class.request, wait_class.replicas)
