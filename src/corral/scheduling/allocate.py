"""Allocate: place what is pending, in order, on what is idle or being released."""

from corral.core.plans import CAPACITY
from corral.scheduling.cycle import Cycle
from corral.scheduling.order import Order
from corral.scheduling.reserve import reserve


def allocate(cycle: Cycle) -> None:
    """Places chunk after chunk; a workload that does not fit is set aside with its reason."""
    order = Order(cycle.pending(), across=cycle.pool.priority_across_queues)
    while (work := order.pop()) is not None:
        chunk = work.chunk()
        assert chunk is not None
        reason = cycle.place(chunk)
        if reason is None:
            order.push(work)
        else:
            cycle.reasons[work] = reason
            if cycle.pool.reservations and reason.kind in CAPACITY:
                reserve(cycle, work)
