"""What queues are entitled to, as values over time."""

import json

from sqlalchemy import select

from corral.queues.tables import queue, queue_quota
from corral.store.database import Transaction
from corral.store.schema import JsonObject, any_of
from corral.zones import history
from corral.zones.history import HistoryKind
from corral.zones.tables import cluster_history


def note_queues(transaction: Transaction, *queue_ids: str) -> None:
    """Those that are gone are noted as gone."""
    ids = {"ids": json.dumps(queue_ids)}
    quotas: dict[str, JsonObject] = {}
    for row in transaction.rows(_QUOTAS, ids):
        of_pool = quotas.setdefault(row.queue_id, {}).setdefault(row.pool_id, {})
        of_pool[row.resource] = {"guarantee": row.guarantee, "limit": row.limit, "weight": row.weight}
    found = {
        row.id: {
            "organisation_id": row.organisation_id,
            "user_id": row.user_id,
            "priority": row.priority,
            "policy": row.policy,
            "quotas": quotas.get(row.id, {}),
        }
        for row in transaction.rows(_QUEUES, ids)
    }
    history.note(transaction, HistoryKind.QUEUE, {name: found.get(name) for name in queue_ids})


def note_unrecorded(transaction: Transaction) -> None:
    """What was there before history was kept."""
    recorded = select(cluster_history.c.object_id).where(cluster_history.c.object_id == queue.c.id)
    ids = [one for (one,) in transaction.rows(select(queue.c.id).where(~recorded.exists()))]
    if ids:
        note_queues(transaction, *ids)


_QUEUES = select(queue).where(any_of(queue.c.id, "ids"))
_QUOTAS = select(queue_quota).where(any_of(queue_quota.c.queue_id, "ids"))
