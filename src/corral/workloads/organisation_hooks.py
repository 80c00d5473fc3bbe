"""What organisations hear of workloads: what keeps one of them from being deleted, and what goes with it."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import func, select, update

from corral.identity.lookups import Organisation
from corral.queues.service import find_queue
from corral.store.database import Transaction
from corral.workloads import service
from corral.workloads.ownership import NOTHING_OWNED, Owned
from corral.workloads.states import OVER
from corral.workloads.tables import workload


@dataclass(frozen=True, slots=True)
class WorkloadOrganisationHooks:
    """Work that is not over keeps its organisation; what is over is deleted with it, unless others need it.

    What is left of deleted work until its files are gone and its records are forgotten stands with the
    organisation above. The ledger keeps where it was, and the name.
    """

    owned: Owned = NOTHING_OWNED

    def created(self, transaction: Transaction, node: Organisation) -> None: ...

    def moved(self, transaction: Transaction, node: Organisation) -> None: ...

    def contents(self, transaction: Transaction, node: Organisation) -> Mapping[str, int]:
        count = transaction.scalar(
            select(func.count()).where(
                workload.c.organisation_id == node.id, workload.c.state.not_in(sorted(OVER))
            )
        )
        return {"workloads that are not over": count} if count else {}

    def deleted(self, transaction: Transaction, node: Organisation) -> None:
        here = workload.c.organisation_id == node.id
        assert node.parent_id is not None, "the root is never deleted"
        past = transaction.rows(select(workload.c.id).where(here, self.owned.not_needed()))
        service.delete_old(transaction, [workload_id for (workload_id,) in past])
        above = find_queue(transaction, node.parent_id)
        transaction.run(update(workload).where(here).values(organisation_id=node.parent_id, queue_id=above))
