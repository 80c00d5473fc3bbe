"""Why waiting work has no place yet, for lists: read from what the last plans wrote down.

However many rows there are, the number of queries is the same.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import func, select

from corral.api.callers import Caller
from corral.core.plans import Reason
from corral.scheduling.explaining.wording import remedy, sentence
from corral.scheduling.validate.snapshot import read_value
from corral.store.database import AnyRow, Transaction
from corral.store.schema import any_of
from corral.workloads.models import Position, Waiting
from corral.workloads.names import Names
from corral.workloads.rows import WorkloadRow
from corral.workloads.states import WAITING, Wanted
from corral.workloads.tables import claim, verdict, workload

NOT_PLANNED = "not_planned"
_NOT_PLANNED = "The next plan looks at it."
PAUSE = "pause"
PROMISED = "promised"


def waiting(transaction: Transaction, caller: Caller, rows: Sequence[WorkloadRow]) -> dict[str, Waiting]:
    """Of those rows that wait for their turn; work that a person suspended waits for that person."""
    waits = [row for row in rows if row.state in WAITING and row.wanted == Wanted.RUN]
    if not waits:
        return {}
    ids = [row.id for row in waits]
    verdicts = _verdicts(transaction, ids)
    claims = _claims(transaction, ids)
    positions = _positions(transaction, {row.queue_id for row in waits}, ids)
    mentioned = {name for _, reason in verdicts.values() for name in (reason.queue, reason.kept_for) if name}
    names = Names(transaction, caller, mentioned, mentioned)
    found = {}
    for row in waits:
        kind, text, facts, at = _verdict_of(
            row, verdicts.get(row.id), claims.get(row.id, []), names, transaction.now
        )
        # One whose time has passed is no expectation any more.
        times = [one.at for one in claims.get(row.id, []) if one.at is not None and one.at > transaction.now]
        found[row.id] = Waiting(
            kind=kind,
            sentence=text,
            facts=facts,
            in_queue=positions.get(row.id),
            starts_at=max(times, default=None),
            at=at,
        )
    return found


def not_planned() -> Waiting:
    """Of work that no plan has seen yet."""
    return Waiting(kind=NOT_PLANNED, sentence=_NOT_PLANNED, facts={}, in_queue=None, starts_at=None, at=None)


def advised_by(reason: Reason) -> str:
    """What to do, as a sentence after another; empty where waiting is all there is."""
    todo = remedy(reason)
    return "" if todo is None else f" {_begun(todo)}."


def _verdict_of(
    row: WorkloadRow,
    latest: tuple[datetime, Reason] | None,
    claims: Sequence[AnyRow],
    names: Names,
    now: datetime,
) -> tuple[str, str, dict[str, Any], datetime | None]:
    """Kind, sentence, facts, and since when."""
    if row.not_before is not None and row.not_before > now:
        clock = row.not_before.strftime("%H:%M:%S")
        return PAUSE, f"It is tried again at {clock} UTC.", {"until": row.not_before.isoformat()}, None
    promised = sorted({one.node for one in claims if one.at is None})
    if promised:
        nodes = ", ".join(promised)
        return PROMISED, f"It starts on {nodes} when what is there has left.", {"nodes": promised}, None
    if latest is None:
        return NOT_PLANNED, _NOT_PLANNED, {}, None
    at, reason = latest
    named = names.reason(reason)
    text = f"{_begun(sentence(named, int(now.timestamp())))}.{advised_by(named)}"
    facts = asdict(named)
    return str(facts.pop("kind")), text, facts, at


def _verdicts(transaction: Transaction, ids: Sequence[str]) -> Mapping[str, tuple[datetime, Reason]]:
    rows = transaction.rows(_VERDICTS, {"ids": json.dumps(ids)})
    return {row.workload_id: (row.at, read_value(json.dumps(row.reason).encode(), Reason)) for row in rows}


def _claims(transaction: Transaction, ids: Sequence[str]) -> Mapping[str, list[AnyRow]]:
    found: dict[str, list[AnyRow]] = {}
    for row in transaction.rows(_CLAIMS, {"ids": json.dumps(ids)}):
        found.setdefault(row.workload_id, []).append(row)
    return found


def _positions(transaction: Transaction, queue_ids: set[str], ids: Sequence[str]) -> Mapping[str, Position]:
    """By the order of scheduling inside a queue: priority, then age; ids are in the order of time."""
    wanted = {"queues": json.dumps(sorted(queue_ids)), "ids": json.dumps(ids)}
    return {row.id: Position(number=row.number, of=row.of) for row in transaction.rows(_TURNS, wanted)}


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]


_w = workload.c
_VERDICTS = select(verdict).where(any_of(verdict.c.workload_id, "ids"))
_CLAIMS = select(claim).where(any_of(claim.c.workload_id, "ids"))
_EVERYONE = (
    select(
        _w.id,
        func.row_number()
        .over(partition_by=_w.queue_id, order_by=(_w.priority.desc(), _w.id))
        .label("number"),
        func.count().over(partition_by=_w.queue_id).label("of"),
    )
    .where(any_of(_w.queue_id, "queues"), _w.state.in_(sorted(WAITING)), _w.wanted == Wanted.RUN)
    .subquery()
)
_TURNS = select(_EVERYONE).where(any_of(_EVERYONE.c.id, "ids"))
