"""The journal of a zone: every change that scheduling can see, in the order of the commits.

It says what to look at again, not what it became: whoever reads it reads the tables. The planner and its
probes keep themselves up to date by it.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import func, insert, select

from corral.events.record import in_order_of_commits
from corral.store.database import Transaction
from corral.zones.tables import zone, zone_journal


class JournalKind(StrEnum):
    NODE = "node"
    POOL = "pool"
    QUEUE = "queue"
    HOLD = "hold"
    WORKLOAD = "workload"


@dataclass(frozen=True, slots=True)
class JournalEntry:
    sequence: int
    at: datetime
    kind: JournalKind
    object_id: str


def topic(zone_id: str) -> str:
    """Whoever listens to it is woken by every new entry of the zone."""
    return f"zone.{zone_id}"


def append(transaction: Transaction, zone_id: str, kind: JournalKind, *object_ids: str) -> None:
    """Adds an entry for each object, inside the transaction that changes it."""
    if not object_ids:
        return
    in_order_of_commits(transaction)
    transaction.run(
        insert(zone_journal),
        [
            {"zone_id": zone_id, "at": transaction.now, "kind": kind, "object_id": object_id}
            for object_id in object_ids
        ],
    )
    transaction.hint(topic(zone_id))


def append_everywhere(transaction: Transaction, kind: JournalKind, *object_ids: str) -> None:
    """Adds entries to the journal of every zone: queues are in all of them."""
    for (zone_id,) in transaction.rows(select(zone.c.id).order_by(zone.c.id)):
        append(transaction, zone_id, kind, *object_ids)


def latest(transaction: Transaction, zone_id: str) -> int:
    """The sequence of the newest entry, 0 without any. Read with the tables, it says where to read on."""
    found = transaction.scalar(
        select(func.max(zone_journal.c.sequence)).where(zone_journal.c.zone_id == zone_id)
    )
    return found or 0


def read_after(
    transaction: Transaction, zone_id: str, sequence: int, limit: int = 1000
) -> tuple[JournalEntry, ...]:
    """The next entries after `sequence`, oldest first. Sequences of one zone have gaps."""
    rows = transaction.rows(
        select(zone_journal.c.sequence, zone_journal.c.at, zone_journal.c.kind, zone_journal.c.object_id)
        .where(zone_journal.c.zone_id == zone_id, zone_journal.c.sequence > sequence)
        .order_by(zone_journal.c.sequence)
        .limit(limit)
    )
    return tuple(JournalEntry(row.sequence, row.at, JournalKind(row.kind), row.object_id) for row in rows)
