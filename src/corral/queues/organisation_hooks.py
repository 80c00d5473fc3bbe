"""Queues follow the organisation tree."""

from collections.abc import Mapping

from sqlalchemy import delete, select

from corral.identity.lookups import Organisation
from corral.queues.history import note_queues
from corral.queues.service import ensure_queue, queue_changed
from corral.queues.tables import flavor_organisation, queue, queue_quota
from corral.store.database import Transaction
from corral.zones import journal
from corral.zones.journal import JournalKind


class QueueOrganisationHooks:
    """An organisation's queue is made, moved and deleted with it; people's queues in it go along.

    Whoever keeps work in queues refuses a deletion by a follower of its own.
    """

    def created(self, transaction: Transaction, node: Organisation) -> None:
        ensure_queue(transaction, node.id)

    def moved(self, transaction: Transaction, node: Organisation) -> None:
        """Where a queue hangs is read from the tree: those who look at it must look again."""
        row = transaction.first(
            select(queue.c.id, queue.c.generation).where(
                queue.c.organisation_id == node.id, queue.c.user_id.is_(None)
            )
        )
        assert row is not None, "every organisation has a queue"
        queue_changed(transaction, row.id, row.generation, node.path, None)

    def contents(self, transaction: Transaction, node: Organisation) -> Mapping[str, int]:  # noqa: ARG002
        return {}

    def deleted(self, transaction: Transaction, node: Organisation) -> None:
        here = select(queue.c.id).where(queue.c.organisation_id == node.id)
        gone = [queue_id for (queue_id,) in transaction.rows(here)]
        transaction.run(delete(queue_quota).where(queue_quota.c.queue_id.in_(here)))
        transaction.run(delete(queue).where(queue.c.organisation_id == node.id))
        transaction.run(delete(flavor_organisation).where(flavor_organisation.c.organisation_id == node.id))
        journal.append_everywhere(transaction, JournalKind.QUEUE, *gone)
        note_queues(transaction, *gone)
