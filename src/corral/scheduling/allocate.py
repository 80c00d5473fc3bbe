"""Allocate: place what is pending, in order, on what is idle or being released."""

from corral.scheduling.cycle import Cycle
from corral.scheduling.order import Order


def allocate(cycle: Cycle) -> None:
    """Places chunk after chunk; a workload that does not fit is set aside with its reason."""
    order = Order(cycle.tree, cycle.pending(), across=cycle.pool.priority_across_queues)
    while (work := order.pop()) is not None:
        chunk = work.chunk()
        assert chunk is not None
        reason = cycle.place(chunk)
        if reason is None:
            order.push(work)
        else:
            cycle.reasons[work] = reason
