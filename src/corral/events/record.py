"""Writes the journal of changes, inside the transaction that makes them."""

from sqlalchemy import func, insert, select

from corral.events.tables import event
from corral.store.database import Transaction

TOPIC = "events"
# Any constant: it names the lock under which PostgreSQL hands out event ids in the order of their commits.
_APPEND_LOCK = 7_240_113


def publish(
    transaction: Transaction,
    kind: str,
    object_id: str,
    generation: int,
    *,
    scope: str | None = None,
    user_id: str | None = None,
) -> None:
    """Tells whoever may see `kind` on `scope`, and the person `user_id` it is about, to look again."""
    if transaction.is_postgresql:
        # Ids are drawn before the commit; without the lock a reader could pass 7 before 6 is visible.
        transaction.run(select(func.pg_advisory_xact_lock(_APPEND_LOCK)))
    transaction.run(
        insert(event).values(
            at=transaction.now,
            kind=kind,
            object_id=object_id,
            generation=generation,
            scope=scope,
            user_id=user_id,
        )
    )
    transaction.hint(TOPIC)
