"""What a caller may see of the history, a page at a time, in the order in which it was recorded."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, false, func, or_, select

from corral.api.callers import Caller
from corral.core.permissions import Permission
from corral.core.scopes import is_root, subtree_end
from corral.history.tables import arrival, queue_history
from corral.queues.forest import read_forest
from corral.store.database import AnyRow, Transaction
from corral.zones.history import HistoryKind
from corral.zones.tables import cluster_history

# A page looks at no more than so many rows, whoever asks.
LONGEST_STRETCH = 50_000


@dataclass(frozen=True, slots=True)
class Span:
    """What is None does not narrow it."""

    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class HistoryPage:
    rows: tuple[AnyRow, ...]
    next_after: int
    more: bool


def read_queue_history(
    transaction: Transaction,
    caller: Caller,
    span: Span,
    queue_id: str | None,
    pool_id: str | None,
    after: int,
    limit: int,
) -> HistoryPage:
    """Of the queues that the caller may see; whoever may read queues at the root sees those that are gone."""
    h = queue_history.c
    conditions = _seen_queues(transaction, caller, h.queue_id)
    conditions += [h.queue_id == queue_id] if queue_id is not None else []
    conditions += [h.pool_id == pool_id] if pool_id is not None else []
    return _page(transaction, select(queue_history), h, [*conditions, *_within(h.at, span)], after, limit)


def read_cluster_history(
    transaction: Transaction,
    caller: Caller,
    span: Span,
    kind: HistoryKind | None,
    object_id: str | None,
    after: int,
    limit: int,
) -> HistoryPage:
    """Nodes and pools with `zones.read`; queues as far as the caller may see them."""
    h = cluster_history.c
    queues = [h.kind == HistoryKind.QUEUE, *_seen_queues(transaction, caller, h.object_id)]
    seen = [h.kind != HistoryKind.QUEUE] if caller.scopes(Permission.ZONES_READ) else [false()]
    is_queue = queues[0]
    for one in queues[1:]:
        is_queue = is_queue & one
    conditions: list[ColumnElement[bool]] = [or_(*seen, is_queue)]
    conditions += [h.kind == kind] if kind is not None else []
    conditions += [h.object_id == object_id] if object_id is not None else []
    return _page(transaction, select(cluster_history), h, [*conditions, *_within(h.at, span)], after, limit)


def read_arrivals(
    transaction: Transaction, caller: Caller, span: Span, after: str, limit: int
) -> tuple[AnyRow, ...]:
    """One's own, and those of others where the caller may read usage; in the order of submission."""
    c = arrival.c
    conditions = [c.workload_id > after, *_within(c.submitted_at, span)]
    paths = caller.scopes(Permission.USAGE_READ)
    if not any(is_root(path) for path in paths):
        below = [(c.organisation_path >= path) & (c.organisation_path < subtree_end(path)) for path in paths]
        conditions.append(or_(c.user_id == caller.user_id, *below))
    statement = select(arrival).where(*conditions).order_by(c.workload_id).limit(limit)
    return tuple(transaction.rows(statement))


def _seen_queues(
    transaction: Transaction, caller: Caller, column: ColumnElement[str]
) -> list[ColumnElement[bool]]:
    paths = caller.scopes(Permission.QUEUES_READ)
    if any(is_root(path) for path in paths):
        return []
    if not paths:
        return [false()]
    return [column.in_(sorted(read_forest(transaction, caller, None).visible))]


def _within(column: ColumnElement[Any], span: Span) -> list[ColumnElement[bool]]:
    found = [column >= span.since] if span.since is not None else []
    return [*found, *([column < span.until] if span.until is not None else [])]


def _page(
    transaction: Transaction,
    statement: Select[Any],
    columns: Any,
    conditions: Sequence[ColumnElement[bool]],
    after: int,
    limit: int,
) -> HistoryPage:
    head: int = transaction.scalar(select(func.max(columns.sequence))) or 0
    until = min(head, after + LONGEST_STRETCH)
    here = columns.sequence > after, columns.sequence <= until
    found = statement.where(*here, *conditions).order_by(columns.sequence).limit(limit)
    rows = tuple(transaction.rows(found))
    reached = rows[-1].sequence if len(rows) == limit else max(after, until)
    return HistoryPage(rows, reached, reached < head)
