"""What goes with a pool or a person: quotas and people's queues."""

from collections.abc import Mapping

from sqlalchemy import delete, func, or_, select

from corral.queues.history import note_queues
from corral.queues.tables import queue, queue_quota
from corral.store.database import Transaction
from corral.zones import journal
from corral.zones.journal import JournalKind


class QuotasOfPools:
    """A pool in which a queue has a quota stays; rows that say what holds without them do not count."""

    def in_the_way(self, transaction: Transaction, zone_id: str, pool_id: str) -> Mapping[str, int]:  # noqa: ARG002
        q = queue_quota.c
        count = transaction.scalar(
            select(func.count(func.distinct(q.queue_id)))
            .join(queue, queue.c.id == q.queue_id)
            .where(q.pool_id == pool_id, or_(q.guarantee > 0, q.limit != -1, q.weight != 1))
        )
        return {"queues with quotas in it": count} if count else {}

    def delete(self, transaction: Transaction, pool_id: str) -> None:
        transaction.run(delete(queue_quota).where(queue_quota.c.pool_id == pool_id))


class QueuesOfPeople:
    """A person's queues go with the account. Work has moved to the organisation's queue before."""

    def in_the_way(self, transaction: Transaction, user_id: str) -> Mapping[str, int]:  # noqa: ARG002
        return {}

    def delete(self, transaction: Transaction, user_id: str) -> None:
        theirs = select(queue.c.id).where(queue.c.user_id == user_id)
        gone = [queue_id for (queue_id,) in transaction.rows(theirs)]
        transaction.run(delete(queue_quota).where(queue_quota.c.queue_id.in_(gone)))
        transaction.run(delete(queue).where(queue.c.user_id == user_id))
        journal.append_everywhere(transaction, JournalKind.QUEUE, *gone)
        note_queues(transaction, *gone)
