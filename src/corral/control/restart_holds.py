"""Places that are kept for work that restarts.

When a run ends for another attempt, work with `hold_seconds` keeps its allocation for that long. Nobody else
is placed there meanwhile, and the ledger goes on counting for the attempt that ended. The place is given back
when the next attempt begins, when the time is over, when the work no longer waits for its restart, and when
the node is lost, cordoned or gone.
"""

import json
from collections.abc import Collection, Iterator
from datetime import timedelta

from sqlalchemy import and_, bindparam, select, update

from corral.core.holds import RESTART, HeldPlace, Hold
from corral.core.runs import RunId
from corral.store.database import AnyRow, Transaction
from corral.store.schema import any_of
from corral.usage import ledger
from corral.usage.clock import Mark, Reading
from corral.workloads.documents import DamagedDocumentError
from corral.workloads.machine import End, Fate
from corral.workloads.records import Loaded, free
from corral.workloads.rows import device_uses
from corral.workloads.states import PRESENT, State, Wanted
from corral.workloads.steps import publish_changes, read_rows
from corral.workloads.tables import allocation, workload
from corral.zones.tables import node

_MICROSECOND = timedelta(microseconds=1)


def keeps_place(after: Loaded, end: End) -> bool:
    """Whether a replica that has just ended keeps its place for the next attempt."""
    if isinstance(after.read, DamagedDocumentError) or end is End.REFUSED:
        return False
    life = after.life
    restarts = life.fate is Fate.TRY_AGAIN or life.state is State.QUEUED
    return after.read.hold_seconds > 0 and life.wanted is Wanted.RUN and restarts


def keep(transaction: Transaction, run: RunId, hold_seconds: int) -> None:
    """The replica has ended; its place stays its own for a while."""
    until = transaction.now + timedelta(seconds=hold_seconds)
    key = {"id_": run.workload_id, "attempt_": run.attempt, "number_": run.replica}
    transaction.run(_KEEP, key | {"until_": until})


def release_for_restart(transaction: Transaction, workload_ids: Collection[str], reading: Reading) -> None:
    """Before the next attempt is granted: what it is given is counted from here on."""
    for row in transaction.rows(_OF_WORKLOADS, {"ids": json.dumps(sorted(workload_ids))}):
        _release(transaction, row, reading)


def release_due(transaction: Transaction, zone_id: str, reading: Reading) -> int:
    """Gives back places whose time is over or that nobody will restart on; returns how many."""
    due = [row for row in transaction.rows(_IN_ZONE, {"zone": zone_id}) if _is_due(transaction, row)]
    for row in due:
        _release(transaction, row, reading)
    if due:
        changed = read_rows(transaction, sorted({row.workload_id for row in due}))
        publish_changes(transaction, [(row, None) for row in changed.values()])
    return len(due)


def kept_runs(transaction: Transaction, zone_id: str) -> list[str]:
    """Runs that have ended and whose places are kept: the ledger counts them as held."""
    return [_run(row) for row in transaction.rows(_IN_ZONE, {"zone": zone_id})]


def holds(transaction: Transaction, zone_id: str) -> tuple[Hold, ...]:
    """As the scheduler takes them; each is for its workload, which may still pause and wait for nothing."""
    return tuple(_holds(transaction, zone_id))


def _holds(transaction: Transaction, zone_id: str) -> Iterator[Hold]:
    for number, row in enumerate(transaction.rows(_IN_ZONE, {"zone": zone_id})):
        if row.held_until <= transaction.now or _is_due(transaction, row) or row.state in PRESENT:
            continue
        place = HeldPlace(row.node, device_uses(row.devices), row.cpu_milli, row.memory_mib)
        starts_at = int(row.granted_at.timestamp())
        ends_at = max(starts_at, int(row.held_until.timestamp())) + 1
        yield Hold(f"{RESTART}{number}", starts_at, ends_at, workload=row.workload_id, places=(place,))


def _is_due(transaction: Transaction, row: AnyRow) -> bool:
    if row.held_until <= transaction.now or row.node_state != "ready" or row.cordoned:
        return True
    if row.now_in != row.zone_id:  # queued work can move to another zone
        return True
    if row.state in PRESENT:
        return bool(row.attempt != row.last_attempt)
    return bool(row.state != State.QUEUED or row.wanted != Wanted.RUN)


def _release(transaction: Transaction, row: AnyRow, reading: Reading) -> None:
    """Nothing is charged after the time that it was held for, however late this is."""
    late_us = max(0, (transaction.now - row.held_until) // _MICROSECOND)
    mark = Mark(reading.mark.boot_id, reading.mark.boottime_us - late_us)
    free(transaction, RunId(row.workload_id, row.attempt, row.replica))
    ledger.close(transaction, _run(row), mark)


def _run(row: AnyRow) -> str:
    return str(RunId(row.workload_id, row.attempt, row.replica))


_a = allocation.c
_KEEP = (
    update(allocation)
    .where(
        _a.workload_id == bindparam("id_"),
        _a.attempt == bindparam("attempt_"),
        _a.replica == bindparam("number_"),
    )
    .values(held_until=bindparam("until_"))
)
_KEPT = select(allocation).where(_a.held_until.is_not(None))
_OF_WORKLOADS = _KEPT.where(any_of(_a.workload_id, "ids"))
_IN_ZONE = (
    select(
        allocation,
        workload.c.state,
        workload.c.wanted,
        workload.c.zone_id.label("now_in"),
        workload.c.attempt.label("last_attempt"),
        node.c.state.label("node_state"),
        node.c.cordoned,
    )
    .join(workload, workload.c.id == _a.workload_id)
    .join(node, and_(node.c.zone_id == _a.zone_id, node.c.name == _a.node), isouter=True)
    .where(_a.zone_id == bindparam("zone"), _a.held_until.is_not(None))
    .order_by(_a.workload_id, _a.attempt, _a.replica)
)
