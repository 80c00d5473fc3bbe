"""The queue tree of a zone as the scheduler sees it.

Queues are named by their ids, pools by theirs. An organisation's queue is below that of the organisation
above; people's queues are leaves below their organisation's, beside those of the organisations below it.
"""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import func, select

from corral.core.queues import Queue, QueuePolicy, Quota
from corral.core.resources import NOTHING, RESOURCES, WHOLE_DEVICE_MILLI, Amount, Resource
from corral.identity.tables import organisation
from corral.queues.rows import QueueRow, QuotaRow
from corral.queues.rules import USUAL_QUOTA, root_quota, whole_quota
from corral.queues.tables import queue, queue_quota
from corral.store.database import Transaction
from corral.store.piecewise import read_piecewise
from corral.zones.rules import DeviceHealth
from corral.zones.tables import device, node, pool

Quotas = dict[str, dict[Resource, Quota]]


def queues(transaction: Transaction, zone_id: str, *, whole: bool = False) -> tuple[Queue, ...]:
    """All queues with their quotas in the pools of the zone, parents first.

    What a guarantee of GPUs brings along is in them; that is how the scheduler needs it, not how it was set.
    `whole`: as it is when lost nodes and faulty devices are back.
    """
    there = capacities(transaction, zone_id, whole=whole)
    stored = stored_quotas(transaction, list(there))

    def sized(one: Queue) -> Queue:
        given = stored.get(one.name, {})
        decide = root_quota if one.parent is None else whole_quota
        quotas = {pool_id: decide(given.get(pool_id, {}), size) for pool_id, size in there.items()}
        return replace(one, quotas=quotas)

    return tuple(sized(one) for one in queues_in(transaction, list(there)))


def usual_quotas(transaction: Transaction, zone_id: str) -> Quotas:
    """What a queue has of which nothing was set, as the scheduler needs it."""
    # It is guaranteed nothing, however much there is: the nodes need not be summed up for that.
    pools = transaction.rows(select(pool.c.id).where(pool.c.zone_id == zone_id).order_by(pool.c.id))
    return {pool_id: whole_quota({}, NOTHING) for (pool_id,) in pools}


def capacities(transaction: Transaction, zone_id: str, *, whole: bool = False) -> dict[str, Amount]:
    """What the nodes that are ready have in sum, for every pool of the zone; `whole`: all nodes."""
    ready = [node.c.zone_id == zone_id]
    health = [DeviceHealth.HEALTHY]
    if whole:
        health.append(DeviceHealth.FAULTY)
    else:
        ready.append(node.c.state == "ready")
    gpus = {
        pool_id: count * WHOLE_DEVICE_MILLI
        for pool_id, count in transaction.rows(
            select(node.c.pool_id, func.count())
            .join(device, device.c.node_id == node.c.id)
            .where(*ready, device.c.health.in_(health))
            .group_by(node.c.pool_id)
        )
    }
    sums = {
        pool_id: Amount(gpus.get(pool_id, 0), int(cpu), int(memory))
        for pool_id, cpu, memory in transaction.rows(
            select(node.c.pool_id, func.sum(node.c.cpu_milli), func.sum(node.c.memory_mib))
            .where(*ready)
            .group_by(node.c.pool_id)
        )
    }
    pools = transaction.rows(select(pool.c.id).where(pool.c.zone_id == zone_id).order_by(pool.c.id))
    return {pool_id: sums.get(pool_id, NOTHING) for (pool_id,) in pools}


def queues_in(transaction: Transaction, pool_ids: list[str]) -> tuple[Queue, ...]:
    """All queues with their quotas in these pools, parents first."""
    rows = transaction.rows(
        select(organisation.c.parent_id, queue)
        .join(organisation, organisation.c.id == queue.c.organisation_id)
        .order_by(organisation.c.path, queue.c.user_id.is_not(None), queue.c.id)
    )
    above = [(parent_id, QueueRow._make(values)) for parent_id, *values in rows]
    own = {row.organisation_id: row.id for _, row in above if row.user_id is None}
    stored = stored_quotas(transaction, pool_ids)
    return tuple(_queue(row, parent, own, pool_ids, stored.get(row.id, {})) for parent, row in above)


def stored_quotas(transaction: Transaction, pool_ids: list[str]) -> dict[str, Quotas]:
    """What was set, by queue, pool and resource."""
    found: dict[str, Quotas] = {}
    of_pools = select(queue_quota).where(queue_quota.c.pool_id.in_(pool_ids))
    for row in map(QuotaRow._make, transaction.rows(of_pools)):
        resource, quota = _as_quota(row)
        found.setdefault(row.queue_id, {}).setdefault(row.pool_id, {})[resource] = quota
    return found


def damaged(transaction: Transaction) -> list[str]:
    """Queues whose rows or quotas cannot be read or make no sense, as words."""
    queue_ids = [one for (one,) in transaction.rows(select(queue.c.id).order_by(queue.c.id))]

    def values(some: Sequence[str]) -> list[object]:
        rows = transaction.rows(select(queue).where(queue.c.id.in_(some)))
        quotas = transaction.rows(select(queue_quota).where(queue_quota.c.queue_id.in_(some)))
        return [
            *(_as_queue(QueueRow._make(row), None, {}) for row in rows),
            *(_as_quota(QuotaRow._make(row)) for row in quotas),
        ]

    _, failed = read_piecewise(queue_ids, values)
    return [f"the queue {one}" for one in failed]


def _as_quota(row: QuotaRow) -> tuple[Resource, Quota]:
    """A quota of a row; its numbers are taken for what they are, so that a text among them is found."""
    numbers = (row.guarantee, row.limit, row.weight)
    if not all(isinstance(one, int) for one in numbers):
        raise ValueError("a quota is not a number")
    return Resource(row.resource), Quota(*numbers)


def _queue(
    row: QueueRow, organisation_above: str | None, own: dict[str, str], pools: list[str], stored: Quotas
) -> Queue:
    is_root = row.user_id is None and organisation_above is None
    parent = own.get(organisation_above or "") if row.user_id is None else own[row.organisation_id]
    quotas = {
        pool_id: stored.get(pool_id, {})
        if is_root
        else {resource: stored.get(pool_id, {}).get(resource, USUAL_QUOTA) for resource in RESOURCES}
        for pool_id in pools
    }
    return _as_queue(row, parent, quotas)


def _as_queue(row: QueueRow, parent: str | None, quotas: Quotas) -> Queue:
    return Queue(
        name=row.id,
        parent=parent,
        priority=row.priority,
        created=int(row.created_at.timestamp()),
        policy=QueuePolicy(row.policy),
        quotas=quotas,
        reclaim_min_runtime_seconds=row.reclaim_min_runtime_seconds,
        preempt_min_runtime_seconds=row.preempt_min_runtime_seconds,
    )
