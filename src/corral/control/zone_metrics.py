"""What Prometheus is told of all zones, counted when it asks."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import case, func, select

from corral.core.resources import RESOURCES, WHOLE_DEVICE_MILLI
from corral.store.database import AnyRow, Database, Transaction
from corral.usage.exposition import StateCount, Stock
from corral.workloads.states import WAITING, State, Wanted
from corral.workloads.tables import allocation, workload
from corral.zones.tables import device, node, pool, zone


@dataclass(slots=True)
class Counted:
    """The last count. Prometheus's page is made without waiting, so `renew` comes before it."""

    stocks: tuple[Stock, ...] = ()
    states: tuple[StateCount, ...] = ()

    async def renew(self, database: Database) -> None:
        self.stocks, self.states = await database.scan(count)


def count(transaction: Transaction) -> tuple[tuple[Stock, ...], tuple[StateCount, ...]]:
    """What is there and taken per pool and resource, and how many workloads are in each state."""
    pools = {row.id: (row.zone, row.name) for row in transaction.rows(_POOLS)}
    totals: Counter[tuple[str, str]] = Counter()
    allocated: Counter[tuple[str, str]] = Counter()
    for row in transaction.rows(_NODES):
        totals[row.pool_id, "cpu_milli"] += row.cpu_milli
        totals[row.pool_id, "memory_mib"] += row.memory_mib
    for row in transaction.rows(_DEVICES):
        totals[row.pool_id, "gpu_milli"] += row.devices * WHOLE_DEVICE_MILLI
    for row in transaction.rows(_ALLOCATED):
        for resource in RESOURCES:
            allocated[row.pool_id, resource.value] += getattr(row, resource.value)
    stocks = tuple(
        Stock(
            *pools[pool_id],
            resource.value,
            totals[pool_id, resource.value],
            allocated[pool_id, resource.value],
        )
        for pool_id in sorted(pools)
        for resource in RESOURCES
    )
    return stocks, tuple(_state(row, transaction.now) for row in transaction.rows(_STATES))


def _state(row: AnyRow, now: datetime) -> StateCount:
    waits = row.state in WAITING and row.since is not None
    seconds = max(0, int((now - row.since).total_seconds())) if waits else 0
    return StateCount(row.zone, row.state, row.workloads, seconds)


_POOLS = select(pool.c.id, pool.c.name, zone.c.name.label("zone")).join(zone, zone.c.id == pool.c.zone_id)
_READY = node.c.state == "ready"
_NODES = select(node.c.pool_id, node.c.cpu_milli, node.c.memory_mib).where(_READY)
_DEVICES = (
    select(node.c.pool_id, func.count().label("devices"))
    .join_from(device, node, node.c.id == device.c.node_id)
    .where(_READY, device.c.health == "healthy")
    .group_by(node.c.pool_id)
)
_ALLOCATED = select(
    node.c.pool_id, allocation.c.cpu_milli, allocation.c.memory_mib, allocation.c.gpu_milli
).join_from(allocation, node, (node.c.zone_id == allocation.c.zone_id) & (node.c.name == allocation.c.node))
_STATES = (
    select(
        zone.c.name.label("zone"),
        workload.c.state,
        func.count().label("workloads"),
        # Who was suspended by a person waits for that person, not for a place.
        func.min(case((workload.c.wanted == Wanted.RUN, workload.c.waiting_since))).label("since"),
    )
    .join_from(workload, zone, zone.c.id == workload.c.zone_id)
    .where(workload.c.state != State.DELETED)
    .group_by(zone.c.name, workload.c.state)
    .order_by(zone.c.name, workload.c.state)
)
