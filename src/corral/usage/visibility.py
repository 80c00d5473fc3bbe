"""Whose usage a caller sees: their own always, that of others where they may read usage."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, exists, false, or_, select

from corral.api.callers import Caller
from corral.core.permissions import Permission
from corral.core.scopes import is_root, subtree_end
from corral.identity.lookups import find_node, in_subtrees
from corral.identity.tables import organisation
from corral.store.database import Transaction
from corral.usage.tables import usage_allocation
from corral.zones.rules import ZoneKind
from corral.zones.tables import zone

_a = usage_allocation.c


@dataclass(frozen=True, slots=True)
class Whose:
    """What is None does not narrow it."""

    user_id: str | None = None
    organisation_id: str | None = None
    queue_id: str | None = None
    workload_id: str | None = None


EVERYONE = Whose()


def visible(transaction: Transaction, caller: Caller, whose: Whose) -> list[ColumnElement[bool]]:
    """Conditions on allocations."""
    found = [
        column == value
        for column, value in (
            (_a.user_id, whose.user_id),
            (_a.queue_id, whose.queue_id),
            (_a.workload_id, whose.workload_id),
        )
        if value is not None
    ]
    if whose.workload_id is None:
        # What is simulated was held by nobody: it counts on its own page, not in what people used.
        found.append(_a.zone_id.not_in(_SIMULATED))
    scopes = caller.scopes(Permission.USAGE_READ)
    is_own = whose.user_id == caller.user_id
    if whose.organisation_id is not None:
        permission = Permission.ORGANISATIONS_READ if is_own else Permission.USAGE_READ
        found.append(_at_or_below([find_node(transaction, caller, whose.organisation_id, permission).path]))
    elif not is_own and not any(is_root(path) for path in scopes):
        found.append(or_(_a.user_id == caller.user_id, _at_or_below(scopes)))
    return found


def _at_or_below(paths: Sequence[str]) -> ColumnElement[bool]:
    """Allocations of these organisations and all below, as the tree is now; gone ones where they were."""
    if not paths:
        return false()
    path = _a.organisation_path
    was_below = or_(*(and_(path >= one, path < subtree_end(one)) for one in paths))
    is_gone = ~exists(select(organisation.c.id).where(organisation.c.id == _a.organisation_id))
    return or_(
        _a.organisation_id.in_(select(organisation.c.id).where(in_subtrees(paths))), and_(was_below, is_gone)
    )


_SIMULATED = select(zone.c.id).where(zone.c.kind == ZoneKind.SIMULATED)
