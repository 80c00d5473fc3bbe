"""Records the history of a zone: now and then, and only when its journal says that something changed.

It is no part of planning. It reads on from a bookmark in the journal that is moved in the same transaction,
so a recorder that dies is continued by whoever leads next, and nothing is recorded twice.
"""

from sqlalchemy import delete, func, insert, select

from corral.history.arrivals import record_arrivals
from corral.history.shares import record_shares
from corral.history.tables import history_bookmark
from corral.queues import history as queue_changes
from corral.store.database import Transaction
from corral.workloads.tables import workload
from corral.zones import history as cluster_changes
from corral.zones import journal
from corral.zones.journal import JournalKind
from corral.zones.tables import zone_journal

# Journal entries that are read in one transaction; the rest follows in the next turn.
MOST_ENTRIES = 5000


def is_due(transaction: Transaction, zone_id: str) -> bool:
    """Whether the journal has moved since it was read last."""
    return _bookmark(transaction, zone_id) != journal.latest(transaction, zone_id)


def record(transaction: Transaction, zone_id: str) -> int:
    """Everything since the bookmark; all that is there if there is none, or the journal was cut behind it."""
    bookmark = _bookmark(transaction, zone_id)
    oldest = transaction.scalar(
        select(func.min(zone_journal.c.sequence)).where(zone_journal.c.zone_id == zone_id)
    )
    if bookmark is None or (oldest is not None and bookmark < oldest):
        return _record_all(transaction, zone_id)
    entries = journal.read_after(transaction, zone_id, bookmark, MOST_ENTRIES)
    if not entries:
        return 0
    changed = {entry.object_id for entry in entries if entry.kind is JournalKind.WORKLOAD}
    written = record_arrivals(transaction, sorted(changed)) + record_shares(transaction, zone_id)
    _move(transaction, zone_id, entries[-1].sequence)
    return written


def _record_all(transaction: Transaction, zone_id: str) -> int:
    cluster_changes.note_unrecorded(transaction, zone_id)
    queue_changes.note_unrecorded(transaction)
    work = transaction.rows(
        select(workload.c.id).where(workload.c.zone_id == zone_id).order_by(workload.c.id)
    )
    written = record_arrivals(transaction, [one for (one,) in work]) + record_shares(transaction, zone_id)
    _move(transaction, zone_id, journal.latest(transaction, zone_id))
    return written


def _bookmark(transaction: Transaction, zone_id: str) -> int | None:
    found: int | None = transaction.scalar(
        select(history_bookmark.c.sequence).where(history_bookmark.c.zone_id == zone_id)
    )
    return found


def _move(transaction: Transaction, zone_id: str, sequence: int) -> None:
    transaction.run(delete(history_bookmark).where(history_bookmark.c.zone_id == zone_id))
    transaction.run(insert(history_bookmark).values(zone_id=zone_id, sequence=sequence))
