"""How long the journal of changes is kept."""

from datetime import timedelta

from sqlalchemy import delete, func, select

from corral.events.tables import event
from corral.store.database import Transaction

KEPT = timedelta(days=7)


def forget_old_events(transaction: Transaction, most: int) -> int:
    """Removes events older than 7 days. The newest stays, so that the journal always knows its place."""
    newest = select(func.max(event.c.id)).scalar_subquery()
    old = (
        select(event.c.id)
        .where(event.c.at < transaction.now - KEPT, event.c.id < newest)
        .order_by(event.c.id)
        .limit(most)
    )
    return transaction.run(delete(event).where(event.c.id.in_(old)))
