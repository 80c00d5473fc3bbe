"""Work that keeps a pool or an account from being deleted, and what becomes of past work."""

from collections.abc import Mapping

from sqlalchemy import func, insert, literal, select, update

from corral.queues.service import find_queue
from corral.store.database import Transaction
from corral.store.schema import Instant
from corral.workloads import service
from corral.workloads.documents import DamagedDocumentError, Document, StoredDocument
from corral.workloads.states import OVER
from corral.workloads.tables import departure, workload
from corral.zones.tables import zone

_LIVE = workload.c.state.not_in(sorted(OVER))


class WorkOfPools:
    """Work that is not over and may go to the pool by its name."""

    def in_the_way(self, transaction: Transaction, zone_id: str, pool_id: str) -> Mapping[str, int]:
        stored = select(workload.c.spec, workload.c.spec_version).where(workload.c.zone_id == zone_id, _LIVE)
        count = sum(_names(StoredDocument(*row), pool_id) for row in transaction.rows(stored))
        return {"workloads that name it and are not over": count} if count else {}

    def delete(self, transaction: Transaction, pool_id: str) -> None: ...


def _names(stored: StoredDocument, pool_id: str) -> bool:
    try:
        return pool_id in stored.read(Document).pool_ids
    except DamagedDocumentError:
        return False  # it is never placed anywhere


class WorkOfPeople:
    """Work that is not over keeps the account. Past work is deleted with it; the ledger keeps its usage."""

    def in_the_way(self, transaction: Transaction, user_id: str) -> Mapping[str, int]:
        count = transaction.scalar(select(func.count()).where(workload.c.user_id == user_id, _LIVE))
        return {"workloads that are not over": count} if count else {}

    def delete(self, transaction: Transaction, user_id: str) -> None:
        theirs = workload.c.user_id == user_id
        past = transaction.rows(select(workload.c.id, workload.c.organisation_id).where(theirs))
        service.delete_old(transaction, [row.id for row in past])
        for organisation_id in {row.organisation_id for row in past}:
            stays = find_queue(transaction, organisation_id)
            here = workload.c.organisation_id == organisation_id
            transaction.run(update(workload).where(theirs, here).values(queue_id=stays))
        # Their homes go when the engines have removed the files of that work.
        zones = select(zone.c.id, literal(user_id), literal(transaction.now, Instant))
        transaction.run(insert(departure).from_select(["zone_id", "user_id", "since"], zones))
