"""Names for the ids that plans speak of, as far as a caller may know them.

Of work that the caller may not see, only that there is some.
"""

from collections.abc import Collection
from dataclasses import replace

from sqlalchemy import select

from corral.api.callers import Caller
from corral.core.changes import Change, RaiseBounds, UsePool, Wait
from corral.core.plans import Reason
from corral.identity.tables import organisation, user
from corral.queues.tables import queue
from corral.store.database import Transaction
from corral.workloads.visibility import find_many
from corral.zones.tables import pool

OTHERS = "other work"


class Names:
    """Names for ids, as far as a caller may know them."""

    def __init__(
        self,
        transaction: Transaction,
        caller: Caller,
        workloads: Collection[str],
        queues: Collection[str],
        pools: Collection[str] = (),
    ) -> None:
        self._workloads = {
            one: found.row.name for one, found in find_many(transaction, caller, workloads).items()
        }
        self._queues = _queues(transaction, queues) if queues else {}
        self._pools = _pools(transaction, pools) if pools else {}

    def workload(self, identifier: str) -> str:
        name: str | None = self._workloads.get(identifier)
        return name or OTHERS

    def queue(self, identifier: str) -> str:
        return self._queues.get(identifier) or "your new queue"

    def reason(self, reason: Reason) -> Reason:
        kept_for = reason.kept_for
        if kept_for is not None:
            kept_for = self._queues.get(kept_for) or self.workload(kept_for)
        named = None if reason.queue is None else self.queue(reason.queue)
        return replace(reason, queue=named, kept_for=kept_for)

    def change(self, change: Change) -> Change:
        match change:
            case Wait():
                return replace(change, workload=self.workload(change.workload))
            case UsePool():
                return replace(change, pool=self._pools.get(change.pool, change.pool))
            case RaiseBounds():
                raises = tuple(replace(each, queue=self.queue(each.queue)) for each in change.raises)
                return replace(change, pool=self._pools.get(change.pool, change.pool), raises=raises)
            case _:
                return change


def _queues(transaction: Transaction, identifiers: Collection[str]) -> dict[str, str]:
    rows = transaction.rows(
        select(queue.c.id, organisation.c.name, user.c.display_name.label("person"))
        .join(organisation, organisation.c.id == queue.c.organisation_id)
        .outerjoin(user, user.c.id == queue.c.user_id)
        .where(queue.c.id.in_(sorted(identifiers)))
    )
    return {row.id: row.person or row.name for row in rows}


def _pools(transaction: Transaction, identifiers: Collection[str]) -> dict[str, str]:
    rows = transaction.rows(select(pool.c.id, pool.c.name).where(pool.c.id.in_(sorted(identifiers))))
    return {row.id: row.name for row in rows}
