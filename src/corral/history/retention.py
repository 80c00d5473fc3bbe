"""Forgets history that is older than it is kept."""

from datetime import datetime

from sqlalchemy import ColumnElement, Table, delete, select

from corral.history.tables import arrival, queue_history
from corral.store.database import Transaction
from corral.zones.tables import cluster_history


def forget_before(transaction: Transaction, before: datetime, most: int) -> int:
    """Removes up to so many rows of each kind: what was replaced before then, and work that had ended."""
    h, c = queue_history, cluster_history
    count = _forget(transaction, h, (h.c.queue_id, h.c.pool_id, h.c.resource), before, most)
    count += _forget(transaction, c, (c.c.object_id,), before, most)
    old = select(arrival.c.workload_id).where(arrival.c.ended_at < before).order_by(arrival.c.workload_id)
    return count + transaction.run(delete(arrival).where(arrival.c.workload_id.in_(old.limit(most))))


def _forget(
    transaction: Transaction,
    table: Table,
    key: tuple[ColumnElement[str], ...],
    before: datetime,
    most: int,
) -> int:
    later = table.alias("later")
    same = [column == later.c[column.key or ""] for column in key]
    replaced = select(later.c.sequence).where(*same, later.c.sequence > table.c.sequence, later.c.at < before)
    old = (
        select(table.c.sequence)
        .where(table.c.at < before, replaced.exists())
        .order_by(table.c.sequence)
        .limit(most)
    )
    return transaction.run(delete(table).where(table.c.sequence.in_(old)))
