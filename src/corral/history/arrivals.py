"""Every workload with when it came, ran and ended, in rows that outlive its own records."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import BigInteger, delete, func, insert, select, type_coerce

from corral.history.tables import arrival
from corral.identity.tables import organisation
from corral.store.database import AnyRow, Transaction
from corral.store.schema import any_of
from corral.workloads.documents import DamagedDocumentError, Document, StoredDocument
from corral.workloads.tables import attempt, workload

AT_ONCE = 500


def record_arrivals(transaction: Transaction, workload_ids: Sequence[str]) -> int:
    """Writes down how these workloads are now; one that is purged, or whose document is damaged, stays as
    it was recorded."""
    written = 0
    for start in range(0, len(workload_ids), AT_ONCE):
        ids = {"ids": json.dumps(workload_ids[start : start + AT_ONCE])}
        runs = {row.workload_id: row for row in transaction.rows(_RUNS, ids)}
        found = [
            row for each in transaction.rows(_WORK, ids) if (row := _row(each, runs.get(each.id))) is not None
        ]
        if found:
            transaction.run(_FORGET, {"ids": json.dumps([row["workload_id"] for row in found])})
            transaction.run(insert(arrival), found)
        written += len(found)
    return written


def _row(row: AnyRow, runs: AnyRow | None) -> dict[str, Any] | None:
    try:
        document = StoredDocument(row.spec, row.spec_version).read(Document)
    except DamagedDocumentError:
        return None
    return {
        "workload_id": row.id,
        "kind": row.kind,
        "zone_id": row.zone_id,
        "queue_id": row.queue_id,
        "user_id": row.user_id,
        "organisation_id": row.organisation_id,
        "organisation_path": row.path,
        "submitted_at": row.created_at,
        "started_at": None if runs is None else runs.first,
        "ended_at": row.ended_at,
        "state": row.state,
        "attempts": row.attempt,
        "run_us": 0 if runs is None else int(runs.run_us or 0),
        "priority": row.priority,
        "preemptible": document.preemptible,
        "replicas": document.replicas,
        "flavor": (document.flavor or "")[:120],
        "request": asdict(document.resources),
        "time_limit_seconds": document.time_limit_seconds,
    }


_WORK = (
    select(*workload.c, organisation.c.path)
    .join(organisation, organisation.c.id == workload.c.organisation_id)
    .where(any_of(workload.c.id, "ids"))
)
_closed, _opened = (type_coerce(column, BigInteger) for column in (attempt.c.closed_at, attempt.c.opened_at))
_RUNS = (
    select(
        attempt.c.workload_id,
        func.min(attempt.c.opened_at).label("first"),
        func.sum(_closed - _opened).label("run_us"),
    )
    .where(any_of(attempt.c.workload_id, "ids"))
    .group_by(attempt.c.workload_id)
)
_FORGET = delete(arrival).where(any_of(arrival.c.workload_id, "ids"))
