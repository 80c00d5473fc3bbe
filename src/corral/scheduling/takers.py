"""What consolidate, reclaim and preempt share: the turns of the takers, and who may be taken from at all."""

from collections.abc import Callable, Iterable

from corral.core.plans import Action, SearchResult
from corral.scheduling.cycle import Cycle
from corral.scheduling.order import Order
from corral.scheduling.work import WorkState

Attempt = Callable[[WorkState], SearchResult | None]


def take_turns(cycle: Cycle, action: Action, takers: Iterable[WorkState], attempt: Attempt) -> None:
    """Each taker once, in the normal order, which is evaluated anew after every success."""
    ready = [work for work in takers if cycle.now >= work.delay_until]
    order = Order(cycle.tree, ready, across=cycle.pool.priority_across_queues)
    while (work := order.pop()) is not None:
        if work.chunk() is None or work.evicted_slots:
            continue
        ended = attempt(work)
        if ended is not None:
            cycle.searches.setdefault(work, {})[action] = ended


def victims_of_any_queue(cycle: Cycle, taker: WorkState) -> list[WorkState]:
    """Workloads with something that could be taken, whoever takes it."""
    return [
        work
        for work in cycle.works
        if work is not taker
        and not work.stuck
        and any(leaf.active and leaf.preemptible for leaf in work.leaves)
    ]


def ran_long_enough(cycle: Cycle, work: WorkState, minimum_seconds: int) -> bool:
    """Minimum run times protect what runs; what this cycle placed has not begun."""
    return work.running_since is None or cycle.now - work.running_since >= minimum_seconds
