"""Who may see and change which workloads: one's own, and those of scopes one may read."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, false, or_, select

from corral.api.callers import Caller, lacking
from corral.core.permissions import OWN_WORK, Permission
from corral.core.refusals import NotFound
from corral.identity.lookups import in_subtrees
from corral.identity.tables import organisation, user
from corral.store.database import AnyRow, Transaction
from corral.workloads.rows import WorkloadRow
from corral.workloads.tables import workload
from corral.zones.tables import zone

_MOST_AT_ONCE = 500
_WIDTH = len(WorkloadRow._fields)
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


class VisibleWorkload(NamedTuple):
    """A workload's row, the path of its organisation, and the names around it."""

    row: WorkloadRow
    path: str
    organisation_name: str
    owner_name: str
    zone_name: str


def visible_workload(row: AnyRow) -> VisibleWorkload:
    """Of a row of `ROWS`; a page adds its keys behind them."""
    return VisibleWorkload(WorkloadRow._make(row[:_WIDTH]), *row[_WIDTH : _WIDTH + 4])


def find(transaction: Transaction, caller: Caller, workload_id: str) -> VisibleWorkload:
    """Refuses as if it did not exist where the caller may not see it."""
    row = transaction.first(ROWS.where(workload.c.id == workload_id, visible(caller)))
    if row is None:
        raise missing(workload_id)
    return visible_workload(row)


def missing(workload_id: str) -> NotFound:
    return NotFound(
        f"There is no workload {workload_id} that you may see.",
        "List the workloads (corral ps --all) to find its id.",
    )


def find_many(
    transaction: Transaction, caller: Caller, workload_ids: Iterable[str]
) -> dict[str, VisibleWorkload]:
    wanted = sorted(set(workload_ids))
    found: dict[str, VisibleWorkload] = {}
    for start in range(0, len(wanted), _MOST_AT_ONCE):
        some = wanted[start : start + _MOST_AT_ONCE]
        rows = transaction.rows(ROWS.where(workload.c.id.in_(some), visible(caller)))
        found |= {row.id: visible_workload(row) for row in rows}
    return found


def visible(caller: Caller) -> ColumnElement[bool]:
    """One's own, and those of organisations whose work the caller may see."""
    scopes = caller.scopes(Permission.WORKLOADS_READ)
    mine = workload.c.user_id == caller.user_id if caller.in_scope(*OWN_WORK) else false()
    return or_(mine, in_subtrees(scopes)) if scopes else mine


def may_change(caller: Caller, found: VisibleWorkload) -> bool:
    if found.row.user_id == caller.user_id and caller.may(Permission.WORKLOADS_RUN, found.path):
        return True
    return caller.may(Permission.WORKLOADS_MANAGE, found.path)


def require_change(caller: Caller, found: VisibleWorkload) -> None:
    if not may_change(caller, found):
        own = found.row.user_id == caller.user_id
        lacks = Permission.WORKLOADS_RUN if own else Permission.WORKLOADS_MANAGE
        raise lacking(lacks, found.organisation_name)
