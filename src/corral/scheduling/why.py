"""Why: the explanation of one waiting workload, made from a cycle that has run."""

from collections.abc import Iterable
from dataclasses import replace

from corral.core.explanations import Explanation, Position
from corral.core.plans import ALL_ACTIONS, Action
from corral.scheduling.config import Config
from corral.scheduling.cycle import Cycle
from corral.scheduling.engine import Engine
from corral.scheduling.estimates import estimate
from corral.scheduling.order import order_of
from corral.scheduling.outcome import plan_of
from corral.scheduling.remedies import candidates_of, remedies
from corral.scheduling.snapshot import Snapshot
from corral.scheduling.work import WorkState


def why(
    snapshot: Snapshot, workload: str, config: Config | None = None, actions: Iterable[Action] = ALL_ACTIONS
) -> Explanation | None:
    """Why `workload` waits, where it stands and what would help; None if it does not wait."""
    return why_in(Engine(snapshot, config), snapshot, workload, actions)


def why_in(
    engine: Engine,
    snapshot: Snapshot,
    workload: str,
    actions: Iterable[Action] = ALL_ACTIONS,
) -> Explanation | None:
    """The same of an engine that knows `snapshot` already."""
    chosen = tuple(actions)
    with engine.played(snapshot.now, chosen) as cycles:
        plan = plan_of(cycles, snapshot.claims)
        found = next((each for each in plan.unplaced if each.workload == workload), None)
        if found is None:
            return None
        cycle, work = next((each, state) for each in cycles if (state := each.roster.find(workload)))
        in_queue, in_pool = positions(cycle, work)
        told = Explanation(
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
    # Tried when the cycle is closed: the engine is changed for that.
    return replace(told, changes=remedies(engine, snapshot, workload, candidates, plan, chosen))


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
