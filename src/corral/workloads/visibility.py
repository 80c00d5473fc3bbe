"""Who may see and change which workloads: one's own, and those of scopes one may read."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, Select, false, or_, select

from corral.api.callers import Caller, lacking
from corral.core.permissions import OWN_WORK, Permission
from corral.core.refusals import NotFound
from corral.identity.lookups import in_subtrees
from corral.identity.tables import organisation, user
from corral.store.database import AnyRow, Transaction
from corral.workloads.tables import workload
from corral.zones.tables import zone

_MOST_AT_ONCE = 500
ROWS: Select[Any] = (
    select(
        workload,
        organisation.c.path,
        organisation.c.name.label("organisation_name"),
        user.c.display_name.label("owner_name"),
        zone.c.name.label("zone_name"),
    )
    .join(organisation, organisation.c.id == workload.c.organisation_id)
    .join(user, user.c.id == workload.c.user_id)
    .join(zone, zone.c.id == workload.c.zone_id)
)


def find(transaction: Transaction, caller: Caller, workload_id: str) -> AnyRow:
    """The workload's row with `path` and the names around it, if the caller may see it."""
    row = transaction.first(ROWS.where(workload.c.id == workload_id, visible(caller)))
    if row is None:
        raise missing(workload_id)
    return row


def missing(workload_id: str) -> NotFound:
    return NotFound(
        f"There is no workload {workload_id} that you may see.",
        "List the workloads (corral ps --all) to find its id.",
    )


def find_many(transaction: Transaction, caller: Caller, workload_ids: Iterable[str]) -> dict[str, AnyRow]:
    wanted = sorted(set(workload_ids))
    found: dict[str, AnyRow] = {}
    for start in range(0, len(wanted), _MOST_AT_ONCE):
        some = wanted[start : start + _MOST_AT_ONCE]
        rows = transaction.rows(ROWS.where(workload.c.id.in_(some), visible(caller)))
        found |= {row.id: row for row in rows}
    return found


def visible(caller: Caller) -> ColumnElement[bool]:
    """One's own, and those of organisations whose work the caller may see."""
    scopes = caller.scopes(Permission.WORKLOADS_READ)
    mine = workload.c.user_id == caller.user_id if caller.in_scope(*OWN_WORK) else false()
    return or_(mine, in_subtrees(scopes)) if scopes else mine


def may_change(caller: Caller, row: AnyRow) -> bool:
    if row.user_id == caller.user_id and caller.may(Permission.WORKLOADS_RUN, row.path):
        return True
    return caller.may(Permission.WORKLOADS_MANAGE, row.path)


def require_change(caller: Caller, row: AnyRow) -> None:
    if not may_change(caller, row):
        own = row.user_id == caller.user_id
        raise lacking(Permission.WORKLOADS_RUN if own else Permission.WORKLOADS_MANAGE, row.organisation_name)
