"""Where the life of a workload is written down: the one function through which every state changes.

Whoever has an event (a person, the plan, an observation) calls `apply` inside a transaction. Transactions see
each other in order, so an event always meets the workload as it is. `revision` counts every change: a plan
made from an older one is refused by whoever commits it.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, delete, insert, select, update

from corral.core.devices import DeviceUse
from corral.core.runs import RunId
from corral.store.database import Transaction
from corral.store.schema import JsonObject, any_of
from corral.workloads.documents import DamagedDocumentError, Document
from corral.workloads.machine import End as MemberEnd
from corral.workloads.machine import Event, Fate, Life, Member, Phase, handle
from corral.workloads.reasons import StateReason
from corral.workloads.rows import WorkloadRow
from corral.workloads.states import State, Wanted
from corral.workloads.steps import CHANGE_MEMBER, read_rows, tell_lookers_on, write_steps
from corral.workloads.tables import allocation, attempt, replica, workload


@dataclass(frozen=True, slots=True)
class Loaded:
    """A workload's row with its life, and what reading its document gave."""

    row: WorkloadRow
    life: Life
    read: Document | DamagedDocumentError

    @property
    def document(self) -> Document:
        """Raises `DamagedDocumentError`: such work can be stopped and deleted, and nothing else."""
        if isinstance(self.read, DamagedDocumentError):
            raise self.read
        return self.read


def load(transaction: Transaction, workload_ids: Iterable[str]) -> dict[str, Loaded]:
    """Those of the workloads that exist."""
    return loaded_from(transaction, read_rows(transaction, workload_ids).values())


def loaded_from(transaction: Transaction, rows: Iterable[WorkloadRow]) -> dict[str, Loaded]:
    """The lives of workloads whose rows are known."""
    rows_by_id = {row.id: row for row in rows}
    members = _members(transaction, rows_by_id) if rows_by_id else {}
    return {name: _loaded(row, members.get(name, ())) for name, row in rows_by_id.items()}


def _loaded(row: WorkloadRow, members: Sequence[Member]) -> Loaded:
    try:
        document = row.stored.read(Document)
    except DamagedDocumentError as damage:
        # It can be stopped and deleted; it is not tried again.
        return Loaded(row, _life_of(row, members, retries=0), damage)
    return Loaded(row, _life_of(row, members, document.retries), document)


def ids_in_states(transaction: Transaction, zone_id: str, states: Iterable[State]) -> list[str]:
    """Every workload of the zone that is in one of the states."""
    chosen = sorted(states)
    ids = transaction.rows(
        select(workload.c.id).where(workload.c.zone_id == zone_id, workload.c.state.in_(chosen))
    )
    return [one for (one,) in ids]


def _life_of(row: WorkloadRow, members: Sequence[Member], retries: int) -> Life:
    return Life(
        state=State(row.state),
        wanted=Wanted(row.wanted),
        attempt=row.attempt,
        members=tuple(members),
        fate=None if row.fate is None else Fate(row.fate),
        fate_because=None if row.fate_because is None else StateReason.from_dict(row.fate_because),
        retries=retries,
        failures=row.failures,
        losses=row.losses,
        stop_sent=row.told,
    )


def apply(transaction: Transaction, loaded: Loaded, event: Event) -> Loaded:
    """Lets something happen to a workload, and writes down what became of it."""
    (after,) = apply_all(transaction, [(loaded, event)])
    return after


def apply_all(transaction: Transaction, events: Sequence[tuple[Loaded, Event]]) -> list[Loaded]:
    """The same for many workloads, one event for each, with as many statements as for one."""
    steps = [(loaded, handle(loaded.life, event)) for loaded, event in events]
    rows = write_steps(
        transaction,
        [(loaded.row, loaded.life, step) for loaded, step in steps if step.life != loaded.life],
    )
    return [
        loaded
        if step.life == loaded.life
        else Loaded(rows[loaded.row.id], replace(step.life, pause_seconds=0), loaded.read)
        for loaded, step in steps
    ]


@dataclass(frozen=True, slots=True)
class Grant:
    """The place of one replica."""

    number: int
    node: str
    devices: tuple[DeviceUse, ...]
    cpu_milli: int
    memory_mib: int
    gpu_milli: int


def open_attempts(transaction: Transaction, granted: Sequence[tuple[Loaded, Sequence[Grant]]]) -> None:
    """Writes the next attempt of each, its replicas and their allocations; the events come after."""
    places = [
        (
            {"workload_id": loaded.row.id, "attempt": loaded.row.attempt + 1},
            {"node": grant.node, "devices": [use_as_dict(use) for use in grant.devices]},
            loaded.row.zone_id,
            grant,
        )
        for loaded, grants in granted
        for grant in grants
    ]
    if not places:
        return
    now = transaction.now
    transaction.run(
        insert(attempt),
        [
            {"workload_id": loaded.row.id, "number": loaded.row.attempt + 1, "opened_at": now}
            for loaded, _ in granted
        ],
    )
    new = {"phase": Phase.GRANTED, "said_done": False, "detail": ""}
    transaction.run(
        insert(replica),
        [{**key, "number": grant.number, **place, **new} for key, place, _, grant in places],
    )
    transaction.run(
        insert(allocation),
        [
            {
                **key,
                **place,
                "replica": grant.number,
                "zone_id": zone_id,
                "cpu_milli": grant.cpu_milli,
                "memory_mib": grant.memory_mib,
                "gpu_milli": grant.gpu_milli,
                "granted_at": now,
            }
            for key, place, zone_id, grant in places
        ],
    )


def free(transaction: Transaction, run: RunId) -> bool:
    """The replica is gone, and with it what it held; False if that was known."""
    return bool(transaction.run(_FREE, _key(run)))


def note_member(transaction: Transaction, run: RunId, values: JsonObject) -> None:
    """Facts about a replica that decide nothing: exit code, instants, counters."""
    transaction.run(CHANGE_MEMBER, _key(run) | values)


def note_ready(transaction: Transaction, row: WorkloadRow, run: RunId, ready_at: datetime | None) -> None:
    """Since when a replica that runs has been ready. Whoever looks on hears of a change."""
    if transaction.run(_READY, _key(run) | {"ready_at_": ready_at}):
        tell_lookers_on(transaction, [row])


def _key(run: RunId) -> JsonObject:
    return {"id_": run.workload_id, "attempt_": run.attempt, "number_": run.replica}


def use_as_dict(use: DeviceUse) -> dict[str, Any]:
    """A held device as it is stored; what has its default is left out."""
    content = {
        "device": use.device,
        "memory_mib": use.memory_mib,
        "compute_percent": use.compute_percent or None,
        "profile": use.profile,
        "start": use.start,
    }
    return {name: value for name, value in content.items() if value is not None}


def _members(transaction: Transaction, workload_ids: Iterable[str]) -> dict[str, list[Member]]:
    """The replicas of the live attempts."""
    found: dict[str, list[Member]] = {}
    for row in transaction.rows(_LIVE_MEMBERS, {"ids": json.dumps(list(workload_ids))}):
        end = None if row.end is None else MemberEnd(row.end)
        found.setdefault(row.workload_id, []).append(Member(row.number, Phase(row.phase), end, row.said_done))
    return found


_FREE = delete(allocation).where(
    allocation.c.workload_id == bindparam("id_"),
    allocation.c.attempt == bindparam("attempt_"),
    allocation.c.replica == bindparam("number_"),
)
_r = replica.c
_READY = (
    update(replica)
    .where(
        _r.workload_id == bindparam("id_"),
        _r.attempt == bindparam("attempt_"),
        _r.number == bindparam("number_"),
        _r.ready_at.is_distinct_from(bindparam("ready_at_")),
    )
    .values(ready_at=bindparam("ready_at_"))
)
_LIVE_MEMBERS = (
    select(_r.workload_id, _r.number, _r.phase, _r.end, _r.said_done)
    .join(attempt, (attempt.c.workload_id == _r.workload_id) & (attempt.c.number == _r.attempt))
    .where(any_of(_r.workload_id, "ids"), attempt.c.closed_at.is_(None))
    .order_by(_r.workload_id, _r.number)
)
