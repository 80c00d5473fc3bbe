"""How long work ran that is over, for those who learn from it: the attempts in which it came to its end.

What was taken, lost or refused says nothing about how long it would have run. Work that a person stopped
counts: its place became free all the same.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import Select, select

from corral.store.database import AnyRow, Transaction
from corral.store.piecewise import read_piecewise
from corral.store.schema import any_of
from corral.workloads.documents import Document, StoredDocument
from corral.workloads.reasons import StateCause, StateReason
from corral.workloads.states import OVER
from corral.workloads.tables import attempt, workload

log = structlog.get_logger(__name__)

_BY_ITSELF = frozenset(
    {
        StateCause.ENDED_WELL,
        StateCause.SAID_DONE,
        StateCause.EXITED,
        StateCause.KILLED,
        StateCause.OUT_OF_MEMORY,
        StateCause.TIME_LIMIT,
        StateCause.ASKED_TO_STOP,
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
    chosen = _LAST_ATTEMPTS.where(any_of(workload.c.id, "ids"), workload.c.state.in_(sorted(OVER)))
    return _in_order(_read(transaction, chosen, workload_ids))


def newest_ends(transaction: Transaction, zone_id: str, most: int) -> NewestEnds:
    """Of a zone, so many of each state at most: those that were submitted last."""
    found: list[AnyRow] = []
    since: int | None = None
    for state in sorted(OVER):
        last = (_w.zone_id == zone_id, _w.state == state, _a.closed_at.is_not(None))
        newest = select(_w.id).join(attempt, _IS_LAST).where(*last).order_by(_w.id.desc()).limit(most)
        ids = [one for (one,) in transaction.rows(newest)]
        rows = _read(transaction, _LAST_ATTEMPTS.where(any_of(_w.id, "ids")), ids)
        found += rows
        if len(ids) == most and rows:
            since = max(since or 0, min(int(row.closed_at.timestamp()) for row in rows))
    return NewestEnds(_in_order(found), since)


def _read(transaction: Transaction, statement: Select[Any], ids: Collection[str]) -> list[AnyRow]:
    rows, failed = read_piecewise(
        sorted(ids), lambda some: transaction.rows(statement, {"ids": json.dumps(some)})
    )
    for name in failed:
        log.warning("an end teaches nothing: it cannot be read", workload=name)
    return rows


def _in_order(rows: Collection[AnyRow]) -> tuple[WorkEnd, ...]:
    ordered: list[tuple[datetime, str, WorkEnd]] = []
    for row in rows:
        try:
            end = _end(row)
        except Exception:  # noqa: BLE001 (what is wrong with it is its own)
            log.warning("an end teaches nothing: it makes no sense", workload=row.id)
            continue
        if end is not None:
            ordered.append((row.closed_at, row.id, end))
    return tuple(end for _, _, end in sorted(ordered, key=lambda one: one[:2]))


def _end(row: AnyRow) -> WorkEnd | None:
    if row.because is None or not _is_by_itself(row):
        return None
    document = StoredDocument(row.spec, row.spec_version).read(Document)
    return WorkEnd(
        row.queue_id,
        int(row.closed_at.timestamp()),
        max(1, int((row.closed_at - row.opened_at).total_seconds())),
        document.time_limit_seconds,
    )


def _is_by_itself(row: AnyRow) -> bool:
    return StateReason.from_dict(row.because).why in _BY_ITSELF


_w, _a = workload.c, attempt.c
_IS_LAST = (_a.workload_id == _w.id) & (_a.number == _w.attempt)
_LAST_ATTEMPTS: Select[Any] = (
    select(_w.id, _w.queue_id, _w.spec, _w.spec_version, _a.opened_at, _a.closed_at, _a.because)
    .join(attempt, _IS_LAST)
    .where(_a.closed_at.is_not(None))
)
