"""How long work ran that is over, for those who learn from it: the attempts in which it came to its end.

What was taken, lost or refused says nothing about how long it would have run. Work that a person stopped
counts: its place became free all the same.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Select, select

from corral.store.database import AnyRow, Transaction
from corral.store.schema import any_of
from corral.workloads.reasons import Because, Why
from corral.workloads.states import OVER
from corral.workloads.tables import attempt, workload

_BY_ITSELF = frozenset(
    {
        Why.ENDED_WELL,
        Why.SAID_DONE,
        Why.EXITED,
        Why.KILLED,
        Why.OUT_OF_MEMORY,
        Why.TIME_LIMIT,
        Why.ASKED_TO_STOP,
    }
)


@dataclass(frozen=True, slots=True)
class WorkEnd:
    queue: str
    at: int
    seconds: int
    limit_seconds: int | None


@dataclass(frozen=True, slots=True)
class NewestEnds:
    """In the order of time; `since` is from when on they are all there, None if none is missing."""

    ends: tuple[WorkEnd, ...]
    since: int | None


def ends(transaction: Transaction, workload_ids: Collection[str]) -> tuple[WorkEnd, ...]:
    """Of those that are over now."""
    if not workload_ids:
        return ()
    chosen = _LAST_ATTEMPTS.where(any_of(workload.c.id, "ids"), workload.c.state.in_(sorted(OVER)))
    return _in_order(transaction.rows(chosen, {"ids": json.dumps(sorted(workload_ids))}))


def newest_ends(transaction: Transaction, zone_id: str, most: int) -> NewestEnds:
    """Of a zone, so many of each state at most: those that were submitted last."""
    found: list[AnyRow] = []
    since: int | None = None
    for state in sorted(OVER):
        newest = _LAST_ATTEMPTS.where(workload.c.zone_id == zone_id, workload.c.state == state)
        rows = transaction.rows(newest.order_by(workload.c.id.desc()).limit(most))
        found += rows
        if len(rows) == most:
            since = max(since or 0, min(int(row.closed_at.timestamp()) for row in rows))
    return NewestEnds(_in_order(found), since)


def _in_order(rows: Collection[AnyRow]) -> tuple[WorkEnd, ...]:
    told = [row for row in rows if row.because is not None and _is_by_itself(row)]
    told.sort(key=lambda row: (row.closed_at, row.id))
    return tuple(
        WorkEnd(
            row.queue_id,
            int(row.closed_at.timestamp()),
            max(1, int((row.closed_at - row.opened_at).total_seconds())),
            row.spec["time_limit_seconds"],
        )
        for row in told
    )


def _is_by_itself(row: AnyRow) -> bool:
    return Because.from_dict(row.because).why in _BY_ITSELF


_w, _a = workload.c, attempt.c
_LAST_ATTEMPTS: Select[tuple[object, ...]] = (
    select(_w.id, _w.queue_id, _w.spec, _a.opened_at, _a.closed_at, _a.because)
    .join(attempt, (_a.workload_id == _w.id) & (_a.number == _w.attempt))
    .where(_a.closed_at.is_not(None))
)
