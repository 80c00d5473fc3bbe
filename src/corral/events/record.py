"""Writes the journal of changes, inside the transaction that makes them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import func, insert, select

from corral.events.tables import event
from corral.store.database import Transaction

TOPIC = "events"
# Any constant: it names the lock under which PostgreSQL hands out the numbers of journals.
_APPEND_LOCK = 7_240_113


_INSERT = insert(event)


@dataclass(frozen=True, slots=True)
class Change:
    """An object with its new generation, where it belongs and whom it is about."""

    object_id: str
    generation: int
    scope: str | None = None
    user_id: str | None = None


def publish(
    transaction: Transaction,
    kind: str,
    object_id: str,
    generation: int,
    *,
    scope: str | None = None,
    user_id: str | None = None,
) -> None:
    """Publishes a change to everyone who may see `kind` on `scope`, and to the person it is about."""
    publish_all(transaction, kind, [Change(object_id, generation, scope, user_id)])


def publish_all(transaction: Transaction, kind: str, changes: Sequence[Change]) -> None:
    """Publishes changes of many objects, in one statement."""
    if not changes:
        return
    in_order_of_commits(transaction)
    transaction.run(_INSERT, [{"at": transaction.now, "kind": kind, **asdict(each)} for each in changes])
    transaction.hint(TOPIC)


def in_order_of_commits(transaction: Transaction) -> None:
    """From here on, numbers that the database hands out grow in the order in which writes are committed.

    One lock for every journal: two that were taken in different orders would wait for each other.
    """
    if transaction.is_postgresql:
        # Numbers are drawn before the commit; without the lock a reader could pass 7 before 6 is visible.
        transaction.run(select(func.pg_advisory_xact_lock(_APPEND_LOCK)))
