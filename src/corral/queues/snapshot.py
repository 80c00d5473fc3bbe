"""The queue tree of a zone as the scheduler sees it.

Queues are named by their ids, pools by theirs. An organisation's queue is below that of the organisation
above; people's queues are leaves below their organisation's, beside those of the organisations below it.
"""

from sqlalchemy import select

from corral.core.queues import Queue, QueuePolicy, Quota
from corral.core.resources import RESOURCES, Resource
from corral.identity.tables import organisation
from corral.queues.rules import USUAL_QUOTA
from corral.queues.tables import queue, queue_quota
from corral.store.database import AnyRow, Transaction
from corral.zones.tables import pool

Quotas = dict[str, dict[Resource, Quota]]


def queues(transaction: Transaction, zone_id: str) -> tuple[Queue, ...]:
    """All queues with their quotas in the pools of the zone, parents first."""
    pools = transaction.rows(select(pool.c.id).where(pool.c.zone_id == zone_id).order_by(pool.c.id))
    return queues_in(transaction, [pool_id for (pool_id,) in pools])


def queues_in(transaction: Transaction, pool_ids: list[str]) -> tuple[Queue, ...]:
    """All queues with their quotas in these pools, parents first."""
    rows = transaction.rows(
        select(queue, organisation.c.parent_id, organisation.c.path)
        .join(organisation, organisation.c.id == queue.c.organisation_id)
        .order_by(organisation.c.path, queue.c.user_id.is_not(None), queue.c.id)
    )
    own = {row.organisation_id: row.id for row in rows if row.user_id is None}
    stored = stored_quotas(transaction, pool_ids)
    return tuple(_queue(row, own, pool_ids, stored.get(row.id, {})) for row in rows)


def stored_quotas(transaction: Transaction, pool_ids: list[str]) -> dict[str, Quotas]:
    """What was set, by queue, pool and resource."""
    found: dict[str, Quotas] = {}
    for row in transaction.rows(select(queue_quota).where(queue_quota.c.pool_id.in_(pool_ids))):
        quota = Quota(row.guarantee, row.limit, row.weight)
        found.setdefault(row.queue_id, {}).setdefault(row.pool_id, {})[Resource(row.resource)] = quota
    return found


def _queue(row: AnyRow, own: dict[str, str], pools: list[str], stored: Quotas) -> Queue:
    is_root = row.user_id is None and row.parent_id is None
    parent = own.get(row.parent_id) if row.user_id is None else own[row.organisation_id]
    quotas = {
        pool_id: stored.get(pool_id, {})
        if is_root
        else {resource: stored.get(pool_id, {}).get(resource, USUAL_QUOTA) for resource in RESOURCES}
        for pool_id in pools
    }
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
