"""Homes of people whose account was deleted: removed where they are, once no work of theirs is left there."""

from sqlalchemy import delete, exists, or_, select

from corral.store.database import Transaction
from corral.workloads.states import State
from corral.workloads.tables import departure, workload


def departed(transaction: Transaction, zone_id: str) -> list[str]:
    """Those of whom the zone has no work any more whose files are not gone."""
    files = workload.c.state != State.DELETED, workload.c.discarded_at.is_(None)
    has_work = exists().where(
        workload.c.user_id == departure.c.user_id, workload.c.zone_id == zone_id, or_(*files)
    )
    rows = transaction.rows(select(departure.c.user_id).where(departure.c.zone_id == zone_id, ~has_work))
    return sorted(row.user_id for row in rows)


def note_gone(transaction: Transaction, zone_id: str, user_id: str) -> None:
    """The home is gone; the account's row stays as the tombstone."""
    c = departure.c
    transaction.run(delete(departure).where(c.zone_id == zone_id, c.user_id == user_id))
