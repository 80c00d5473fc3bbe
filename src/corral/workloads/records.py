"""Where the life of a workload is written down: the one function through which every state changes.

Whoever has an event (a person, the plan, an observation) calls `apply` inside a transaction. Transactions see
each other in order, so an event always meets the workload as it is. `revision` counts every change: a plan
made from an older one is refused by whoever commits it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, func, insert, select, update

from corral.core.devices import DeviceUse
from corral.events.record import publish
from corral.identity.tables import organisation
from corral.store.database import AnyRow, Transaction
from corral.store.schema import JsonObject
from corral.workloads.machine import End as MemberEnd
from corral.workloads.machine import Event, Fate, Life, Member, Phase, Step, handle
from corral.workloads.reasons import Because
from corral.workloads.states import LEAVING, OVER, PRESENT, WAITING, State, Wanted
from corral.workloads.tables import allocation, attempt, replica, transition, workload
from corral.zones import journal
from corral.zones.journal import JournalKind

EVENT = "workload"
TOPIC = "workloads"
"""The hint that a workload's state changed: reconciling looks for what the engine must be told."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A workload's row with its life."""

    row: AnyRow
    life: Life


def load(transaction: Transaction, workload_ids: Iterable[str]) -> dict[str, Loaded]:
    """Those of the workloads that exist."""
    wanted = sorted(set(workload_ids))
    found: dict[str, Loaded] = {}
    for start in range(0, len(wanted), _MOST_AT_ONCE):
        some = wanted[start : start + _MOST_AT_ONCE]
        rows = transaction.rows(_WORKLOADS.where(workload.c.id.in_(some)))
        members = _members(transaction, some)
        found |= {row.id: Loaded(row, life_of(row, members.get(row.id, ()))) for row in rows}
    return found


def load_states(transaction: Transaction, zone_id: str, states: Iterable[State]) -> dict[str, Loaded]:
    """Every workload of the zone that is in one of the states."""
    chosen = sorted(states)
    ids = transaction.rows(
        select(workload.c.id).where(workload.c.zone_id == zone_id, workload.c.state.in_(chosen))
    )
    return load(transaction, (one for (one,) in ids))


def life_of(row: AnyRow, members: Sequence[Member]) -> Life:
    return Life(
        state=State(row.state),
        wanted=Wanted(row.wanted),
        attempt=row.attempt,
        members=tuple(members),
        fate=None if row.fate is None else Fate(row.fate),
        fate_because=None if row.fate_because is None else Because.from_dict(row.fate_because),
        retries=row.spec["retries"],
        failures=row.failures,
        losses=row.losses,
        told=row.told,
    )


def apply(transaction: Transaction, loaded: Loaded, event: Event) -> Loaded:
    """Lets something happen to a workload, and writes down what became of it."""
    step = handle(loaded.life, event)
    if step.life == loaded.life:
        return loaded
    before, after = loaded.life, step.life
    values = _changed(before, after, transaction)
    if step.because is not None:
        values["because"] = step.because.as_dict()
    row = transaction.first(
        update(workload)
        .where(workload.c.id == loaded.row.id, workload.c.revision == loaded.row.revision)
        .values(revision=workload.c.revision + 1, **values)
        .returning(*_COLUMNS)
    )
    assert row is not None, "a transaction works on what it has read"
    for old, new in zip(before.members, after.members, strict=False):
        if after.attempt == before.attempt and old != new:
            _write_member(transaction, row, new)
    if before.state in PRESENT and after.state not in PRESENT:
        _close_attempt(transaction, row, after, step)
    tell(transaction, row, step.because if after.state is not before.state else None)
    return Loaded(row, replace(after, pause_seconds=0))


def tell(transaction: Transaction, row: AnyRow, because: Because | None) -> None:
    """A change as others see it: history, scheduling, whoever looks on, and the loop that acts on it."""
    if because is not None:
        last = transaction.scalar(
            select(func.max(transition.c.number)).where(transition.c.workload_id == row.id)
        )
        transaction.run(
            insert(transition).values(
                workload_id=row.id,
                number=(last or 0) + 1,
                at=transaction.now,
                attempt=row.attempt,
                state=row.state,
                because=because.as_dict(),
            )
        )
    journal.append(transaction, row.zone_id, JournalKind.WORKLOAD, row.id)
    path = transaction.scalar(select(organisation.c.path).where(organisation.c.id == row.organisation_id))
    publish(transaction, EVENT, row.id, row.revision, scope=path, user_id=row.user_id)
    transaction.hint(TOPIC)


@dataclass(frozen=True, slots=True)
class Grant:
    """The place of one replica."""

    number: int
    node: str
    devices: tuple[DeviceUse, ...]
    cpu_milli: int
    memory_mib: int
    gpu_milli: int


def open_attempt(transaction: Transaction, loaded: Loaded, number: int, grants: Sequence[Grant]) -> None:
    """Writes the attempt, its replicas and what is allocated to them; `apply` of the event comes after."""
    row = loaded.row
    transaction.run(insert(attempt).values(workload_id=row.id, number=number, opened_at=transaction.now))
    devices = {grant.number: [use_as_dict(use) for use in grant.devices] for grant in grants}
    transaction.run(
        insert(replica),
        [
            {
                "workload_id": row.id,
                "attempt": number,
                "number": grant.number,
                "node": grant.node,
                "devices": devices[grant.number],
                "phase": Phase.GRANTED,
                "said_done": False,
                "detail": "",
            }
            for grant in grants
        ],
    )
    transaction.run(
        insert(allocation),
        [
            {
                "workload_id": row.id,
                "attempt": number,
                "replica": grant.number,
                "zone_id": row.zone_id,
                "node": grant.node,
                "devices": devices[grant.number],
                "cpu_milli": grant.cpu_milli,
                "memory_mib": grant.memory_mib,
                "gpu_milli": grant.gpu_milli,
                "granted_at": transaction.now,
            }
            for grant in grants
        ],
    )


def free(transaction: Transaction, workload_id: str, number: int, replica_number: int) -> bool:
    """The replica is gone, and with it what it held; False if that was known."""
    c = allocation.c
    return bool(
        transaction.run(
            delete(allocation).where(
                c.workload_id == workload_id, c.attempt == number, c.replica == replica_number
            )
        )
    )


def note_member(
    transaction: Transaction, workload_id: str, number: int, replica_number: int, values: JsonObject
) -> None:
    """Facts about a replica that decide nothing: exit code, instants, counters."""
    c = replica.c
    transaction.run(
        update(replica)
        .where(c.workload_id == workload_id, c.attempt == number, c.number == replica_number)
        .values(**values)
    )


def use_as_dict(use: DeviceUse) -> dict[str, Any]:
    """A held device as it is stored; what has its default is left out."""
    told = {
        "device": use.device,
        "memory_mib": use.memory_mib,
        "compute_percent": use.compute_percent or None,
        "profile": use.profile,
        "start": use.start,
    }
    return {name: value for name, value in told.items() if value is not None}


def use_from_dict(stored: Mapping[str, Any]) -> DeviceUse:
    return DeviceUse(**stored)


def _members(transaction: Transaction, workload_ids: list[str]) -> dict[str, list[Member]]:
    """The replicas of the live attempts."""
    c = replica.c
    rows = transaction.rows(
        select(c.workload_id, c.number, c.phase, c.end, c.said_done)
        .join(attempt, (attempt.c.workload_id == c.workload_id) & (attempt.c.number == c.attempt))
        .where(c.workload_id.in_(workload_ids), attempt.c.closed_at.is_(None))
        .order_by(c.workload_id, c.number)
    )
    found: dict[str, list[Member]] = {}
    for row in rows:
        end = None if row.end is None else MemberEnd(row.end)
        found.setdefault(row.workload_id, []).append(Member(row.number, Phase(row.phase), end, row.said_done))
    return found


def _changed(before: Life, after: Life, transaction: Transaction) -> JsonObject:
    now = transaction.now
    values: JsonObject = {
        "state": after.state,
        "wanted": after.wanted,
        "attempt": after.attempt,
        "fate": after.fate,
        "fate_because": after.fate_because and after.fate_because.as_dict(),
        "told": after.told,
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


def _write_member(transaction: Transaction, row: AnyRow, member: Member) -> None:
    values: JsonObject = {"phase": member.phase, "end": member.end, "said_done": member.said_done}
    note_member(transaction, row.id, row.attempt, member.number, values)


def _close_attempt(transaction: Transaction, row: AnyRow, after: Life, step: Step) -> None:
    codes = transaction.rows(
        select(replica.c.exit_code)
        .where(replica.c.workload_id == row.id, replica.c.attempt == row.attempt)
        .order_by(replica.c.number)
    )
    transaction.run(
        update(attempt)
        .where(attempt.c.workload_id == row.id, attempt.c.number == row.attempt)
        .values(closed_at=transaction.now, because=step.because and step.because.as_dict())
    )
    if after.state in OVER:
        # Of a gang, the first replica that did not end well speaks for all.
        known = [code for (code,) in codes if code is not None]
        code = next((one for one in known if one), known[0] if known else None)
        transaction.run(update(workload).where(workload.c.id == row.id).values(exit_code=code))


_MOST_AT_ONCE = 500
_COLUMNS = tuple(workload.c)
_WORKLOADS = select(*_COLUMNS)
