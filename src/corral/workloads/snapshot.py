"""Workloads as the scheduler sees them, from their rows.

Names are ids; replicas are named `<workload>-<number>`. A workload that waits asks for all of its replicas;
one with a live attempt holds what its allocations say, and is leaving where its fate is decided.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import select

from corral.core.runs import ReplicaId
from corral.core.workloads import Replica, ReplicaGroup, ReplicaState, Workload
from corral.store.database import Transaction
from corral.store.piecewise import read_piecewise
from corral.workloads.documents import Document
from corral.workloads.machine import Life, may_start
from corral.workloads.records import Loaded, load
from corral.workloads.rows import AllocationRow
from corral.workloads.states import LEAVING, OVER, PRESENT, UNPLACED, State, Wanted
from corral.workloads.tables import allocation, workload

GROUP = "replicas"
# How much later than its grace a replica may leave before nothing is promised on its place any more.
OVERDUE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class WorkRecords:
    """`values` wait or hold something, `out` are infeasible; `gone` are the names of all others.

    `failed` could not be read, and are in none of these. `again` is when something about a workload changes
    by time alone.
    """

    values: tuple[Workload, ...]
    out: tuple[Workload, ...]
    gone: tuple[str, ...] = ()
    revisions: Mapping[str, int] = field(default_factory=dict)
    again: Mapping[str, datetime] = field(default_factory=dict)
    failed: Mapping[str, Exception] = field(default_factory=dict)


def concerned(transaction: Transaction, zone_id: str) -> list[str]:
    """All workloads of a zone that scheduling is concerned with."""
    states = sorted({*UNPLACED, *PRESENT})
    ids = transaction.rows(
        select(workload.c.id).where(workload.c.zone_id == zone_id, workload.c.state.in_(states))
    )
    return [one for (one,) in ids]


def some(transaction: Transaction, zone_id: str, workload_ids: Collection[str]) -> WorkRecords:
    """What scheduling is told of these workloads; a damaged one is told of alone.

    One that was moved to another zone is gone from this one.
    """
    loaded, failed = _loaded(transaction, zone_id, workload_ids)
    allocations, unread = read_piecewise(list(loaded), lambda ids: _allocations(transaction, ids))
    failed |= unread
    by_workload: dict[str, list[AllocationRow]] = {}
    for row in allocations:
        by_workload.setdefault(row.workload_id, []).append(row)
    values: dict[str, Workload] = {}
    again: dict[str, datetime] = {}
    for name, one in loaded.items():
        if name in failed:
            continue
        try:
            value = as_workload(one, by_workload.get(name, ()), transaction.now)
            at = _changes_at(one, transaction.now)
        except Exception as error:  # noqa: BLE001 (what is wrong with it is its own)
            failed[name] = error
            continue
        if value is not None:
            values[name] = value
        if at is not None:
            again[name] = at
    out = {name for name in values if loaded[name].life.state is State.INFEASIBLE}
    failed = _of_concern(transaction, zone_id, failed)
    return WorkRecords(
        tuple(value for name, value in values.items() if name not in out),
        tuple(value for name, value in values.items() if name in out),
        tuple(name for name in workload_ids if name not in values and name not in failed),
        {name: one.row.revision for name, one in loaded.items() if name not in failed},
        again,
        failed,
    )


def _loaded(
    transaction: Transaction, zone_id: str, workload_ids: Collection[str]
) -> tuple[dict[str, Loaded], dict[str, Exception]]:
    found, failed = read_piecewise(workload_ids, lambda ids: load(transaction, ids).items())
    return {name: one for name, one in found if one.row.zone_id == zone_id}, failed


def _of_concern(transaction: Transaction, zone_id: str, failed: dict[str, Exception]) -> dict[str, Exception]:
    """Without those that are over or in another zone: nothing of them is planned here."""
    if not failed:
        return failed
    states = {
        row.id: row.state
        for row in transaction.rows(
            select(workload.c.id, workload.c.state).where(
                workload.c.id.in_(sorted(failed)), workload.c.zone_id == zone_id
            )
        )
    }
    return {name: error for name, error in failed.items() if states.get(name, State.DELETED) not in OVER}


def _changes_at(loaded: Loaded, now: datetime) -> datetime | None:
    row, state = loaded.row, loaded.life.state
    if state in UNPLACED and row.not_before is not None and row.not_before > now:
        return row.not_before
    if state in LEAVING and row.leaving_since is not None:
        return row.leaving_since + _grace(loaded) + timedelta(seconds=1)
    return None


def as_workload(loaded: Loaded, allocations: Iterable[AllocationRow], now: datetime) -> Workload | None:
    """None for one that neither waits for a place nor holds one nor is infeasible."""
    row, life = loaded.row, loaded.life
    is_present = life.state in PRESENT
    if is_present:
        replicas = _placed(loaded, allocations, now)
        if not replicas:
            return None
    elif _may_wait(life) and (row.not_before is None or row.not_before <= now):
        replicas = pending_replicas(row.id, loaded.document)
    else:
        return None
    times = Times(row.created_at, row.waiting_since, row.started_at if is_present else None)
    return scheduled(row.id, row.queue_id, loaded.document, replicas, times)


@dataclass(frozen=True, slots=True)
class Times:
    created_at: datetime
    waiting_since: datetime | None = None
    running_since: datetime | None = None


def pending_replicas(workload_id: str, document: Document) -> tuple[Replica, ...]:
    return tuple(Replica(str(ReplicaId(workload_id, number))) for number in range(document.replicas))


def scheduled(
    workload_id: str, queue_id: str, document: Document, replicas: tuple[Replica, ...], times: Times
) -> Workload:
    """A workload as the scheduler sees it, whether it is planned or only probed."""
    group = ReplicaGroup(
        GROUP, None, document.resources.request(), replicas, preemptible=document.preemptible
    )
    return Workload(
        name=workload_id,
        queue=queue_id,
        groups=(group,),
        priority=document.priority,
        created=_seconds(times.created_at),
        pools=document.pool_ids,
        running_since=None if times.running_since is None else _seconds(times.running_since),
        waiting_since=None if times.waiting_since is None else _seconds(times.waiting_since),
        # A gang on this engine ends as one: what is left of it while it ends is no stale gang.
        stale_grace_seconds=None,
        restart_together=True,
        runtime_limit_seconds=document.time_limit_seconds,
    )


def _may_wait(life: Life) -> bool:
    return may_start(life) or (life.state is State.INFEASIBLE and life.wanted is Wanted.RUN)


def _placed(loaded: Loaded, allocations: Iterable[AllocationRow], now: datetime) -> tuple[Replica, ...]:
    state = ReplicaState.RUNNING
    if loaded.life.state in LEAVING:
        overdue = (loaded.row.leaving_since or now) + _grace(loaded)
        state = ReplicaState.STUCK if now > overdue else ReplicaState.RELEASING
    return tuple(
        Replica(str(ReplicaId(one.workload_id, one.replica)), state, one.node, one.uses)
        for one in allocations
    )


def _grace(loaded: Loaded) -> timedelta:
    return timedelta(seconds=loaded.document.grace_seconds + OVERDUE_SECONDS)


def _allocations(transaction: Transaction, workload_ids: Sequence[str]) -> Iterable[AllocationRow]:
    for start in range(0, len(workload_ids), _MOST_AT_ONCE):
        some = workload_ids[start : start + _MOST_AT_ONCE]
        rows = transaction.rows(
            select(allocation)
            .where(allocation.c.workload_id.in_(some))
            .order_by(allocation.c.workload_id, allocation.c.replica)
        )
        yield from map(AllocationRow._make, rows)


def _seconds(at: datetime) -> int:
    return int(at.timestamp())


_MOST_AT_ONCE = 500
