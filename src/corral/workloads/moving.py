"""Queued work that another zone could start: which may move, and the move itself.

Only work that left its zone to Corral moves, and only before its first attempt: from then on its workspace is
in its zone. `zone_moves` has the rule.
"""

import json
from collections.abc import Collection, Sequence

from sqlalchemy import bindparam, delete, select, update

from corral.store.database import Transaction
from corral.store.schema import any_of
from corral.workloads.documents import DamagedDocumentError, Document, StoredDocument
from corral.workloads.machine import FoundFeasible
from corral.workloads.reasons import StateCause, StateReason
from corral.workloads.records import apply, load
from corral.workloads.rows import WorkloadRow, workload_row
from corral.workloads.states import State, Wanted
from corral.workloads.steps import publish_changes
from corral.workloads.tables import claim, expectation, trouble, verdict, workload
from corral.workloads.zone_moves import MoveRule
from corral.zones import journal
from corral.zones.journal import JournalKind
from corral.zones.models import Zone

MOVABLE = frozenset({State.QUEUED, State.INFEASIBLE})


def due(
    transaction: Transaction, zone_ids: Collection[str], rule: MoveRule, after: str, most: int
) -> Sequence[WorkloadRow]:
    """Up to `most` rows of these zones, by id, that the rule does not keep where they are."""
    rows = transaction.rows(
        _DUE,
        {
            "zone_ids": json.dumps(sorted(zone_ids)),
            "after": after,
            "before": transaction.now - rule.wait,
            "most": most,
        },
    )
    found = map(workload_row, rows)
    return [row for row in found if rule.is_due(row.waiting_since, row.moved_at, transaction.now)]


def is_free_to_move(transaction: Transaction, row: WorkloadRow) -> bool:
    """Whether it left its zone to Corral, and nobody makes room for it there."""
    try:
        document = row.stored.read(Document)
    except DamagedDocumentError:
        return False
    if document.zone is not None:
        return False
    promised = select(claim.c.workload_id).where(claim.c.workload_id == row.id, claim.c.at.is_(None))
    return transaction.first(promised) is None


def move(
    transaction: Transaction, row: WorkloadRow, origin: Zone, target: Zone, document: StoredDocument
) -> bool:
    """Gives queued work another zone; False if it is no longer as it was when the zones were asked.

    `document` is the work's own with what the target decides, such as its pools.
    """
    loaded = load(transaction, [row.id]).get(row.id)
    if loaded is None or loaded.row.revision != row.revision or loaded.life.state not in MOVABLE:
        return False
    if loaded.life.state is State.INFEASIBLE:
        loaded = apply(transaction, loaded, FoundFeasible())
    names = {"from": origin.id, "from_name": origin.name, "to": target.id, "to_name": target.name}
    because = StateReason(StateCause.MOVED, names)
    moved = transaction.first(
        _MOVE,
        {
            "id_": row.id,
            "revision_": loaded.row.revision,
            "from_": origin.id,
            "zone_id": target.id,
            "spec": document.content,
            "spec_version": document.version,
            "because": because.as_dict(),
            "moved_at": transaction.now,
        },
    )
    if moved is None:
        return False
    for table in (verdict, claim, expectation, trouble):  # what the zone that it leaves said of it
        transaction.run(delete(table).where(table.c.workload_id == row.id))
    journal.append(transaction, origin.id, JournalKind.WORKLOAD, row.id)
    publish_changes(transaction, [(workload_row(moved), because)])
    return True


def here(transaction: Transaction, zone_id: str, workload_ids: Collection[str]) -> set[str]:
    """Those of the workloads that are in the zone: others may have been moved since it planned."""
    if not workload_ids:
        return set()
    rows = transaction.rows(_HERE, {"ids": json.dumps(sorted(workload_ids)), "zone_id_": zone_id})
    return {name for (name,) in rows}


_w = workload.c
_DUE = (
    select(*_w)
    .where(
        any_of(_w.zone_id, "zone_ids"),
        _w.state.in_(sorted(MOVABLE)),
        _w.wanted == Wanted.RUN,
        _w.attempt == 0,
        _w.waiting_since <= bindparam("before", type_=_w.waiting_since.type),
        _w.id > bindparam("after"),
    )
    .order_by(_w.id)
    .limit(bindparam("most"))
)
# What is set are the other parameters, named as the columns.
_MOVE = (
    update(workload)
    .where(
        _w.id == bindparam("id_"),
        _w.revision == bindparam("revision_"),
        _w.zone_id == bindparam("from_"),
        _w.state == State.QUEUED,
        _w.wanted == Wanted.RUN,
        _w.attempt == 0,
    )
    .values(revision=_w.revision + 1, generation=_w.generation + 1)
    .returning(*_w)
)
_HERE = select(_w.id).where(any_of(_w.id, "ids"), _w.zone_id == bindparam("zone_id_"))
