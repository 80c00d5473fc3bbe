"""What is long over goes by itself: ended work, the records of deleted work, the journal. Never the ledger.

Ended work is deleted as a person would delete it, so that its output and files go and everybody is told. The
records of deleted work follow when their files have been gone for a while. Each is a chore of small steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog
from sqlalchemy import ColumnElement, Table, delete, func, select

from corral.control.chores import Chore
from corral.control.isolation import Apart
from corral.core.failures import in_words
from corral.core.steps import Step
from corral.history.retention import forget_before
from corral.store.database import Transaction
from corral.workloads import service
from corral.workloads.ownership import NOTHING_OWNED, Owned
from corral.workloads.states import OVER, State
from corral.workloads.tables import (
    attempt,
    claim,
    expectation,
    replica,
    transition,
    trouble,
    verdict,
    workload,
)
from corral.workloads.troubles import note_purge
from corral.zones.tables import zone_journal

log = structlog.get_logger(__name__)

child = workload.alias("child")
_child = select(child.c.id).where(child.c.parent_id == workload.c.id).correlate(workload)
# Those that refer to others come first.
_RECORDS: Sequence[Table] = (
    trouble,
    verdict,
    expectation,
    claim,
    transition,
    replica,
    attempt,
)


@dataclass(frozen=True, slots=True)
class Keeping:
    """How long; 0 days keep ended work until a person deletes it, and history for ever.

    `owned` is what other packages keep beside workloads.
    """

    ended_work_days: int = 365
    deleted_work_days: int = 30
    journal_days: int = 7
    history_days: int = 0
    owned: Owned = NOTHING_OWNED

    def chores(self) -> list[Chore]:
        ended: list[Chore] = [self.delete_ended_work] if self.ended_work_days else []
        history: list[Chore] = [self.forget_history] if self.history_days else []
        return [*ended, self.forget_deleted_work, self.forget_journal, *history]

    def delete_ended_work(self, transaction: Transaction, most: int) -> int:
        """With its output and files."""
        before = transaction.now - timedelta(days=self.ended_work_days)
        ids = _some(
            transaction,
            most,
            self.owned.not_needed(),
            workload.c.state.in_(sorted(OVER - {State.DELETED})),
            workload.c.ended_at < before,
            ~_child.where(child.c.state.not_in(sorted(OVER))).exists(),
        )
        return _each(transaction, ids, service.delete_old)

    def forget_deleted_work(self, transaction: Transaction, most: int) -> int:
        """All records of it but the ledger's and the audit log's. Children go before their parents."""
        before = transaction.now - timedelta(days=self.deleted_work_days)
        gone = workload.c.state == State.DELETED, workload.c.discarded_at < before, ~_child.exists()
        total = 0
        while ids := _some(transaction, most - total, self.owned.not_needed(), *gone):
            forgotten = _each(transaction, ids, self._forget)
            total += forgotten
            if not forgotten:
                break
        return total

    def forget_journal(self, transaction: Transaction, most: int) -> int:
        """Every reader is long past it. The newest stays, so that the journal always knows its place."""
        newest = select(func.max(zone_journal.c.sequence)).group_by(zone_journal.c.zone_id)
        old = (
            select(zone_journal.c.sequence)
            .where(
                zone_journal.c.at < transaction.now - timedelta(days=self.journal_days),
                zone_journal.c.sequence.not_in(newest),
            )
            .order_by(zone_journal.c.sequence)
            .limit(most)
        )
        return transaction.run(delete(zone_journal).where(zone_journal.c.sequence.in_(old)))

    def forget_history(self, transaction: Transaction, most: int) -> int:
        """The newest of each thing stays, so that its state is known at every later moment."""
        return forget_before(transaction, transaction.now - timedelta(days=self.history_days), most)

    def _forget(self, transaction: Transaction, ids: Sequence[str]) -> None:
        for table in (*self.owned.tables, *_RECORDS):
            transaction.run(delete(table).where(table.c.workload_id.in_(ids)))
        transaction.run(delete(workload).where(workload.c.id.in_(ids)))


def _each(
    transaction: Transaction, ids: Sequence[str], work: Callable[[Transaction, Sequence[str]], None]
) -> int:
    """All together; one by one if that fails, so that it fails only for those that it must."""
    together = Apart(careful=True)
    together.do(transaction, ("", Step.PURGE), work, ids)
    if not together.failed:
        return len(ids)
    apart = Apart(careful=True)
    for workload_id in ids:
        apart.do(transaction, (workload_id, Step.PURGE), work, [workload_id])
    for (workload_id, _), error in apart.failed.items():
        log.error("old work could not be removed; it is tried again", workload=workload_id, exc_info=error)
        note_purge(transaction, workload_id, in_words(error))
    return len(ids) - len(apart.failed)


def _some(transaction: Transaction, most: int, *conditions: ColumnElement[bool]) -> list[str]:
    chosen = select(workload.c.id).where(*conditions)
    return [one for (one,) in transaction.rows(chosen.order_by(workload.c.id).limit(most))]
