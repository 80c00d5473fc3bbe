"""The shares of queues in the pools of a zone, recorded when they change."""

from sqlalchemy import func, insert, select

from corral.core.resources import NOTHING, RESOURCES, UNLIMITED, Amount, Resource
from corral.events.record import in_order_of_commits
from corral.history.rules import Share, lent_and_borrowed
from corral.history.tables import queue_history
from corral.queues.fair import fair_shares
from corral.queues.snapshot import queues as sized_queues
from corral.queues.snapshot import queues_in
from corral.queues.use import Use, with_those_below
from corral.store.database import Transaction
from corral.workloads.use import use_of_queues
from corral.zones.pools import list_pools

Key = tuple[str, str, Resource]
"""Queue, pool, resource."""
Shares = dict[Key, Share]


def read_shares(transaction: Transaction, zone_id: str) -> Shares:
    """As they are now; what is nothing in every way is left out."""
    pools = list_pools(transaction, zone_id).items
    raw = queues_in(transaction, [pool.id for pool in pools])
    sized = {queue.name: queue for queue in sized_queues(transaction, zone_id)}
    use = with_those_below(raw, use_of_queues(transaction))
    fair = fair_shares(raw, use, pools)
    parents = {queue.name: queue.parent for queue in raw}
    found: Shares = {}
    for pool in pools:
        size = Amount(pool.capacity.gpu_milli, pool.capacity.cpu_milli, pool.capacity.memory_mib)
        for index, resource in enumerate(RESOURCES):
            shares = {}
            for name, queue in sized.items():
                quota = queue.quotas[pool.id][resource]
                own = use.get((name, pool.id), Use())
                shares[name] = Share(
                    size[index] if quota.guarantee == UNLIMITED else quota.guarantee,
                    fair.get((name, pool.id), NOTHING)[index],
                    own.held[index],
                    (own.wanted or NOTHING)[index],
                )
            for name, share in lent_and_borrowed(shares, parents).items():
                if share != Share():
                    found[name, pool.id, resource] = share
    return found


def last_recorded(transaction: Transaction, zone_id: str) -> Shares:
    newest = (
        select(func.max(_h.sequence))
        .where(_h.zone_id == zone_id)
        .group_by(_h.queue_id, _h.pool_id, _h.resource)
    )
    rows = transaction.rows(select(queue_history).where(_h.sequence.in_(newest)))
    return {
        (row.queue_id, row.pool_id, Resource(row.resource)): Share(
            row.guarantee, row.fair_share, row.allocated, row.wanted, row.lent, row.borrowed
        )
        for row in rows
    }


def record_shares(transaction: Transaction, zone_id: str) -> int:
    """Writes what differs from what was recorded last; what is gone becomes nothing. Returns how much."""
    now, before = read_shares(transaction, zone_id), last_recorded(transaction, zone_id)
    rows = [
        {
            "at": transaction.now,
            "zone_id": zone_id,
            "queue_id": queue_id,
            "pool_id": pool_id,
            "resource": resource,
            "guarantee": share.guarantee,
            "fair_share": share.fair_share,
            "allocated": share.allocated,
            "wanted": share.wanted,
            "lent": share.lent,
            "borrowed": share.borrowed,
        }
        for key in sorted(now.keys() | before.keys())
        for queue_id, pool_id, resource in [key]
        for share in [now.get(key, Share())]
        if share != before.get(key, Share())
    ]
    if rows:
        in_order_of_commits(transaction)
        transaction.run(insert(queue_history), rows)
    return len(rows)


_h = queue_history.c
