"""The explanation of one waiting workload, made from a cycle that has run."""

from collections.abc import Iterable
from dataclasses import replace

from corral.core.explanations import Explanation, Position
from corral.core.plans import ALL_ACTIONS, Action
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.explaining.remedies import candidates_of, remedies
from corral.scheduling.explaining.start_estimates import estimate
from corral.scheduling.ordering.queue_order import order_of
from corral.scheduling.planning.plan_outcome import plan_of
from corral.scheduling.planning.planner_state import PlannerState
from corral.scheduling.state.config import Config
from corral.scheduling.state.workload_state import WorkState
from corral.scheduling.validate.snapshot import Snapshot


def explain_workload(
    snapshot: Snapshot, workload: str, config: Config | None = None, actions: Iterable[Action] = ALL_ACTIONS
) -> Explanation | None:
    """Why `workload` waits, where it stands and what would help; None if it does not wait."""
    return explain_waiting(PlannerState(snapshot, config), snapshot, workload, actions)


def explain_waiting(
    planner: PlannerState,
    snapshot: Snapshot,
    workload: str,
    actions: Iterable[Action] = ALL_ACTIONS,
) -> Explanation | None:
    """The same of a planner that has `snapshot` already."""
    chosen = tuple(actions)
    with planner.cycles_after(snapshot.now, chosen) as cycles:
        plan = plan_of(cycles, snapshot.claims)
        found = next((each for each in plan.unplaced if each.workload == workload), None)
        if found is None:
            return None
        cycle, work = next((each, state) for each in cycles if (state := each.workload_index.find(workload)))
        in_queue, in_pool = positions(cycle, work)
        explanation = Explanation(
            found.workload,
            found.queue,
            found.waiting,
            found.reason,
            found.searches,
            in_queue,
            in_pool,
            estimate(cycle, [work]).get(workload),
            tuple(each for each in plan.reservations if each.workload == workload),
            (),
        )
        candidates = candidates_of(snapshot, cycle, work)
    # After the cycle is closed, because this changes the planner.
    return replace(explanation, changes=remedies(planner, snapshot, workload, candidates, plan, chosen))


def positions(cycle: Cycle, work: WorkState) -> tuple[Position | None, Position | None]:
    """Where a workload stands in its queue and in its pool, in the order of the next cycle."""
    waiting = cycle.pending()
    if work not in waiting:
        return None, None
    order = order_of(waiting, across=cycle.pool.priority_across_queues)
    before = beside = 0
    while (turn := order.pop()) is not work:
        assert turn is not None
        before += 1
        beside += turn.queue is work.queue
    same = sum(each.queue is work.queue for each in waiting)
    return Position(beside + 1, same), Position(before + 1, len(waiting))
