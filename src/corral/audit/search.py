"""Finds audit entries, newest first, each search a handful of index ranges that the database merges.

Time is part of an entry's id, so a span of time is a range of ids. A search without a result, with several
actions or by someone who reads several organisations is one range for each combination; the database walks
all of them backwards at once and stops when the page is full.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import islice, product
from typing import Any

from sqlalchemy import BindParameter, Row, Select, bindparam, or_, select, union_all

from corral.api.callers import Caller
from corral.audit.record import Result
from corral.audit.tables import audit_entry, audit_posting
from corral.core.ids import Kind, first_id_at
from corral.core.permissions import Permission
from corral.core.refusals import NotFound
from corral.core.scopes import ancestors
from corral.store.database import Transaction

FindPath = Callable[[Transaction, str], str | None]
"""Where an organisation is in the tree today, or None if it is gone; `corral.identity` provides it."""

# What an answer shows comes first, in the order of its model: rows become answers without looking at names.
_COLUMNS = (*(c for c in audit_entry.c if c.name != "organisation_path"), audit_entry.c.organisation_path)
_RESULTS: tuple[Result, ...] = ("done", "refused")
_FIRST, _AFTER_LAST = Kind.AUDIT.value, chr(ord(Kind.AUDIT.value) + 1)
# SQLite merges two by two, so a row of the last range passes through all the merges; more are merged here.
_RANGES_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Filters:
    """What to look for; what is None or empty does not narrow the search."""

    actor_id: str | None = None
    actions: tuple[str, ...] = ()
    object_id: str | None = None
    organisation_id: str | None = None
    result: Result | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Span:
    """Ids from `first` on, up to but without `end`."""

    first: str
    end: str


def search(
    transaction: Transaction,
    caller: Caller,
    filters: Filters,
    find_path: FindPath,
    *,
    before: str | None = None,
    limit: int,
) -> Sequence[Row[Any]]:
    """The newest entries that the caller may read and the filters let through, older than `before`."""
    scopes = list(searched_scopes(transaction, caller, filters.organisation_id, find_path))
    span = _span(filters, before)
    if not scopes or span.first >= span.end:
        return []
    if filters.object_id is not None:
        return transaction.rows(_of_object(filters.object_id, scopes, filters, span, limit))
    results = (filters.result,) if filters.result else _RESULTS
    ranges = list(product(scopes, results, dict.fromkeys(filters.actions) or (None,)))
    found: dict[str, Row[Any]] = {}
    for start in range(0, len(ranges), _RANGES_AT_ONCE):
        group = ranges[start : start + _RANGES_AT_ONCE]
        found |= {row.id: row for row in _newest(transaction, group, filters.actor_id, span, limit)}
    return [found[entry_id] for entry_id in sorted(found, reverse=True)[:limit]]


def find_entry(transaction: Transaction, caller: Caller, entry_id: str, find_path: FindPath) -> Row[Any]:
    """The entry, if it was recorded in an organisation that the caller may read today."""
    row = transaction.first(select(*_COLUMNS).where(audit_entry.c.id == entry_id))
    if row is not None and _may_read(transaction, caller, row.organisation_path, find_path):
        return row
    raise NotFound(
        f"There is no audit entry {entry_id}, or you may not read it.",
        "Check the id; entries of other organisations are not shown.",
    )


def _may_read(transaction: Transaction, caller: Caller, recorded_path: str, find_path: FindPath) -> bool:
    places = ancestors(recorded_path)
    readable = {ancestors(scope)[-1] for scope in caller.scopes(Permission.AUDIT_READ)}
    if not readable.isdisjoint(places):
        return True
    # An organisation that moved takes its history along.
    paths = (find_path(transaction, place) for place in reversed(places))
    return any(path is not None and caller.may(Permission.AUDIT_READ, path) for path in paths)


def searched_scopes(
    transaction: Transaction, caller: Caller, organisation_id: str | None, find_path: FindPath
) -> dict[str, str]:
    """The organisations whose postings are searched, each with the path it is read by."""
    if organisation_id is None:
        return {ancestors(path)[-1]: path for path in caller.scopes(Permission.AUDIT_READ)}
    path = find_path(transaction, organisation_id) or _path_of_gone(transaction, organisation_id, find_path)
    if path is None or not caller.may(Permission.AUDIT_READ, path):
        raise NotFound(
            f"There is no organisation {organisation_id}, or you may not read its audit log.",
            "Check the id, or leave the organisation out to search all that you may read.",
        )
    return {organisation_id: path}


def _path_of_gone(transaction: Transaction, organisation_id: str, find_path: FindPath) -> str | None:
    """A deleted organisation is read by whoever reads the closest one above it that is still there."""
    span = _Span(_FIRST, _AFTER_LAST)
    ranges = [(organisation_id, result, None) for result in _RESULTS]
    for row in _newest(transaction, ranges, None, span, 1):
        places = ancestors(row.organisation_path)
        above = places[: places.index(organisation_id)]
        paths = (find_path(transaction, place) for place in reversed(above))
        return next((path for path in paths if path is not None), None)
    return None


def _span(filters: Filters, before: str | None) -> _Span:
    first = first_id_at(Kind.AUDIT, filters.since) if filters.since else _FIRST
    end = first_id_at(Kind.AUDIT, filters.until) if filters.until else _AFTER_LAST
    return _Span(first, min(end, before) if before else end)


_Range = tuple[str, Result, str | None]


def _newest(
    transaction: Transaction, ranges: Sequence[_Range], actor_id: str | None, span: _Span, limit: int
) -> Iterator[Row[Any]]:
    """The newest `limit` distinct entries of the ranges, in no particular order."""
    return islice(_distinct(transaction, ranges, actor_id, span, limit), limit)


def _distinct(
    transaction: Transaction, ranges: Sequence[_Range], actor_id: str | None, span: _Span, limit: int
) -> Iterator[Row[Any]]:
    with_action = ranges[0][2] is not None
    postgresql = transaction.is_postgresql
    statement = _newest_in_ranges(len(ranges), actor_id is not None, with_action, postgresql)
    parameters: dict[str, Any] = {"actor": actor_id, "first": span.first, "limit": limit}
    for index, (scope, result, action) in enumerate(ranges):
        parameters |= {f"scope_{index}": scope, f"result_{index}": result, f"action_{index}": action}
    end = span.end
    while True:
        rows = transaction.rows(statement, parameters | {"end": end})
        # An entry is in two scopes of one caller when an organisation moved from one to the other.
        distinct = {row.id: row for row in rows}
        for entry_id in sorted(distinct, reverse=True):
            yield distinct[entry_id]
        if len(rows) < limit:
            return
        end = min(distinct)


@lru_cache(maxsize=128)
def _newest_in_ranges(ranges: int, with_actor: bool, with_action: bool, postgresql: bool) -> Select[Any]:
    p = audit_posting.c
    limit: BindParameter[int] = bindparam("limit")
    selects = []
    for index in range(ranges):
        found = select(p.entry_id).where(
            p.scope_id == bindparam(f"scope_{index}"),
            p.result == bindparam(f"result_{index}"),
            p.entry_id >= bindparam("first"),
            p.entry_id < bindparam("end"),
        )
        if with_actor:
            found = found.where(p.actor_id == bindparam("actor"))
        if with_action:
            found = found.where(p.action == bindparam(f"action_{index}"))
        if postgresql or ranges == 1:
            # PostgreSQL merges what is in order already; SQLite finds the order of the ranges by itself
            # and would sort what is limited.
            found = found.order_by(p.entry_id.desc()).limit(limit)
        selects.append(found)
    if ranges == 1:
        page = selects[0].subquery("page")
    else:
        merged = union_all(*selects)
        page = merged.order_by(merged.selected_columns.entry_id.desc()).limit(limit).subquery("page")
    return select(*_COLUMNS).select_from(page.join(audit_entry, audit_entry.c.id == page.c.entry_id))


def _of_object(
    object_id: str, scopes: Sequence[str], filters: Filters, span: _Span, limit: int
) -> Select[Any]:
    """One object's history is short enough to be walked: who, what and scope are checked on the way."""
    e = audit_entry.c
    found = select(*_COLUMNS).where(e.object_id == object_id, e.id >= span.first, e.id < span.end)
    found = found.where(or_(*(e.organisation_path.contains(f"/{scope}/") for scope in scopes)))
    if filters.actor_id is not None:
        found = found.where(e.actor_id == filters.actor_id)
    if filters.actions:
        found = found.where(e.action.in_(filters.actions))
    if filters.result:
        found = found.where(e.result == filters.result)
    return found.order_by(e.id.desc()).limit(limit)
