"""How much work there is in which state, without listing it."""

from collections.abc import Sequence

from sqlalchemy import func, select

from corral.api.callers import Caller
from corral.api.models import Search
from corral.identity.tables import organisation, user
from corral.store.database import Transaction
from corral.workloads.models import WorkloadSummary
from corral.workloads.queries import chosen
from corral.workloads.states import State
from corral.workloads.tables import workload
from corral.workloads.visibility import visible


def summarise(
    transaction: Transaction,
    caller: Caller,
    *,
    kinds: Sequence[str] = (),
    user_id: str | None = None,
    organisation_id: str | None = None,
    parent_id: str | None = None,
    search: Search | None = None,
) -> WorkloadSummary:
    """Of what the same list would show; deleted work is not counted."""
    rows = transaction.rows(
        select(
            workload.c.state, func.count().label("number"), func.min(workload.c.waiting_since).label("since")
        )
        .join(organisation, organisation.c.id == workload.c.organisation_id)
        .join(user, user.c.id == workload.c.user_id)
        .where(
            visible(caller),
            workload.c.state != State.DELETED,
            *chosen(transaction, kinds, user_id, organisation_id, parent_id, search),
        )
        .group_by(workload.c.state)
    )
    queued = [row.since for row in rows if row.state == State.QUEUED]
    return WorkloadSummary(
        states={State(row.state): row.number for row in rows}, waits_since=queued[0] if queued else None
    )
