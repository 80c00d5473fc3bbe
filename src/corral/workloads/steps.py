"""Steps of many workloads, written down with the few statements that one needs.

Rows, replicas and attempts; then whoever must know: history, scheduling, lookers-on, the loop that acts.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from sqlalchemy import bindparam, func, insert, select, update

from corral.events.record import Change, publish_all
from corral.identity.tables import organisation
from corral.store.database import Transaction
from corral.store.schema import JsonObject, any_of
from corral.workloads.machine import Life, Member, Step
from corral.workloads.reasons import StateReason
from corral.workloads.rows import WorkloadRow, workload_row
from corral.workloads.states import LEAVING, OVER, PRESENT, WAITING, State
from corral.workloads.tables import attempt, replica, transition, workload
from corral.zones import journal
from corral.zones.journal import JournalKind

EVENT = "workload"
TOPIC = "workloads"
"""The hint that a workload's state changed: reconciling looks for what the engine must be told."""

TakenStep = tuple[WorkloadRow, Life, Step]
"""A workload's row and life before a step, and the step."""
StateChange = tuple[WorkloadRow, StateReason | None]
"""A workload's row after a change, and why its state is another one, if it is."""


def write_steps(transaction: Transaction, steps: Sequence[TakenStep]) -> dict[str, WorkloadRow]:
    """Writes down what became of each, one step for each workload; returns the rows afterwards."""
    if not steps:
        return {}
    _write_members(transaction, steps)
    closed = [(row, step) for row, before, step in steps if _closes(before, step.life)]
    codes = _exit_codes(transaction, [row for row, step in closed if step.life.state in OVER])
    _close_attempts(transaction, closed)
    rows = _write_workloads(transaction, steps, codes)
    publish_changes(
        transaction,
        [
            (rows[row.id], step.because if step.life.state is not before.state else None)
            for row, before, step in steps
        ],
    )
    return rows


def publish_changes(transaction: Transaction, changes: Sequence[StateChange]) -> None:
    """Changes as others see them: history, scheduling, whoever looks on, and the loop that acts on them."""
    if not changes:
        return
    _write_history(transaction, [(row, because) for row, because in changes if because is not None])
    for zone_id in sorted({row.zone_id for row, _ in changes}):
        ids = [row.id for row, _ in changes if row.zone_id == zone_id]
        journal.append(transaction, zone_id, JournalKind.WORKLOAD, *ids)
    tell_lookers_on(transaction, [row for row, _ in changes])
    transaction.hint(TOPIC)


def tell_lookers_on(transaction: Transaction, rows: Sequence[WorkloadRow]) -> None:
    """Publishes that these workloads look different now."""
    paths = _paths(transaction, {row.organisation_id for row in rows})
    publish_all(
        transaction,
        EVENT,
        [Change(row.id, row.revision, paths[row.organisation_id], row.user_id) for row in rows],
    )


def _write_workloads(
    transaction: Transaction, steps: Sequence[TakenStep], codes: dict[str, int | None]
) -> dict[str, WorkloadRow]:
    changes: dict[tuple[str, ...], list[JsonObject]] = {}
    for row, before, step in steps:
        values = _changed(before, step.life, transaction.now)
        if step.because is not None:
            values["because"] = step.because.as_dict()
        if row.id in codes:
            values["exit_code"] = codes[row.id]
        values |= {"id_": row.id, "revision_": row.revision}
        changes.setdefault(tuple(sorted(values)), []).append(values)
    if len(steps) == 1:
        (only,) = changes.values()
        written = transaction.first(_WORKLOAD.returning(*workload.c), only[0])
        assert written is not None, "a transaction works on what it has read"
        return {written.id: workload_row(written)}
    for alike in changes.values():
        transaction.run(_WORKLOAD, alike)
    found = read_rows(transaction, [row.id for row, _, _ in steps])
    for row, _, _ in steps:
        assert found[row.id].revision == row.revision + 1, "a transaction works on what it has read"
    return found


def read_rows(transaction: Transaction, workload_ids: Iterable[str]) -> dict[str, WorkloadRow]:
    """The rows of those that exist."""
    wanted = list(workload_ids)
    rows = transaction.rows(_ROWS, {"ids": json.dumps(wanted)}) if wanted else ()
    return {row.id: workload_row(row) for row in rows}


def _changed(before: Life, after: Life, now: datetime) -> JsonObject:
    values: JsonObject = {
        "state": after.state,
        "wanted": after.wanted,
        "attempt": after.attempt,
        "fate": after.fate,
        "fate_because": after.fate_because and after.fate_because.as_dict(),
        "told": after.stop_sent,
        "failures": after.failures,
        "losses": after.losses,
    }
    if after.state is before.state:
        return values
    if after.state in LEAVING and before.state not in LEAVING:
        values["leaving_since"] = now
    elif after.state not in LEAVING:
        values["leaving_since"] = None
    if after.state in WAITING:
        values["waiting_since"] = now
        values["not_before"] = now + timedelta(seconds=after.pause_seconds) if after.pause_seconds else None
        values["ended_at"] = None
    elif after.state is State.STARTING and after.attempt != before.attempt:
        values |= {"started_at": now, "ended_at": None, "exit_code": None, "not_before": None}
    elif after.state in OVER:
        values["ended_at"] = now
    return values


def _write_members(transaction: Transaction, steps: Sequence[TakenStep]) -> None:
    changed = [
        _member(row, new)
        for row, before, step in steps
        if step.life.attempt == before.attempt
        for old, new in zip(before.members, step.life.members, strict=False)
        if old != new
    ]
    if changed:
        transaction.run(CHANGE_MEMBER, changed)


def _member(row: WorkloadRow, member: Member) -> JsonObject:
    key = {"id_": row.id, "attempt_": row.attempt, "number_": member.number}
    return key | {"phase": member.phase, "end": member.end, "said_done": member.said_done}


def _closes(before: Life, after: Life) -> bool:
    return before.state in PRESENT and after.state not in PRESENT


def _close_attempts(transaction: Transaction, closed: Sequence[tuple[WorkloadRow, Step]]) -> None:
    changes = [
        {
            "id_": row.id,
            "number_": row.attempt,
            "closed_at": transaction.now,
            "because": step.because and step.because.as_dict(),
        }
        for row, step in closed
    ]
    if changes:
        transaction.run(_ATTEMPT, changes)


def _exit_codes(transaction: Transaction, rows: Sequence[WorkloadRow]) -> dict[str, int | None]:
    """Of a gang, the first replica that did not end well speaks for all."""
    codes_of: dict[str, list[int]] = {row.id: [] for row in rows}
    attempts = {row.id: row.attempt for row in rows}
    for one in transaction.rows(_EXIT_CODES, {"ids": json.dumps(list(codes_of))}) if codes_of else ():
        if one.attempt == attempts[one.workload_id]:
            codes_of[one.workload_id].append(one.exit_code)
    return {
        name: next((code for code in codes if code), codes[0] if codes else None)
        for name, codes in codes_of.items()
    }


def _write_history(transaction: Transaction, changes: Sequence[tuple[WorkloadRow, StateReason]]) -> None:
    if not changes:
        return
    numbers = transaction.rows(_LAST_NUMBERS, {"ids": json.dumps([row.id for row, _ in changes])})
    last = {row.workload_id: row.last for row in numbers}
    transaction.run(
        _NEW_TRANSITION,
        [
            {
                "workload_id": row.id,
                "number": last.get(row.id, 0) + 1,
                "at": transaction.now,
                "attempt": row.attempt,
                "state": row.state,
                "because": because.as_dict(),
            }
            for row, because in changes
        ],
    )


def _paths(transaction: Transaction, organisation_ids: set[str]) -> dict[str, str]:
    rows = transaction.rows(_PATHS, {"ids": json.dumps(sorted(organisation_ids))})
    return {row.id: row.path for row in rows}


_ROWS = select(*workload.c).where(any_of(workload.c.id, "ids"))
_PATHS = select(organisation.c.id, organisation.c.path).where(any_of(organisation.c.id, "ids"))
_LAST_NUMBERS = (
    select(transition.c.workload_id, func.max(transition.c.number).label("last"))
    .where(any_of(transition.c.workload_id, "ids"))
    .group_by(transition.c.workload_id)
)
_EXIT_CODES = (
    select(replica.c.workload_id, replica.c.attempt, replica.c.exit_code)
    .where(any_of(replica.c.workload_id, "ids"), replica.c.exit_code.is_not(None))
    .order_by(replica.c.workload_id, replica.c.number)
)
_NEW_TRANSITION = insert(transition)
# What is set are the other parameters, named as the columns.
_WORKLOAD = (
    update(workload)
    .where(workload.c.id == bindparam("id_"), workload.c.revision == bindparam("revision_"))
    .values(revision=workload.c.revision + 1)
)
CHANGE_MEMBER = update(replica).where(
    replica.c.workload_id == bindparam("id_"),
    replica.c.attempt == bindparam("attempt_"),
    replica.c.number == bindparam("number_"),
)
_ATTEMPT = update(attempt).where(
    attempt.c.workload_id == bindparam("id_"), attempt.c.number == bindparam("number_")
)
