"""What consolidate, reclaim and preempt share: the turns of the takers."""

from collections.abc import Callable, Iterable

from corral.core.plans import Action, SearchResult
from corral.scheduling.cycle import Cycle
from corral.scheduling.order import Order
from corral.scheduling.work import WorkState

Attempt = Callable[[WorkState], SearchResult | None]


def take_turns(cycle: Cycle, action: Action, takers: Iterable[WorkState], attempt: Attempt) -> None:
    """Each taker once, in the normal order, which is evaluated anew after every success."""
    ready = [work for work in takers if cycle.now >= work.delay_until]
    order = Order(ready, across=cycle.pool.priority_across_queues)
    while (work := order.pop()) is not None:
        if work.chunk() is None or work.evicted_slots:
            continue
        ended = attempt(work)
        if ended is not None:
            cycle.searches.setdefault(work, {})[action] = ended
