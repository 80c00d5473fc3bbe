"""Workloads as the scheduler sees them, from their rows.

Names are ids; replicas are named `<workload>-<number>`. A workload that waits asks for all of its replicas;
one with a live attempt holds what its allocations say, and is leaving where its fate is decided.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import cast

from sqlalchemy import select

from corral.core.runs import ReplicaId
from corral.core.workloads import Replica, ReplicaGroup, ReplicaState, Workload
from corral.store.database import AnyRow, Transaction
from corral.store.piecewise import read_piecewise
from corral.workloads.machine import Life, may_start
from corral.workloads.records import Loaded, load, use_from_dict
from corral.workloads.spec import Resources
from corral.workloads.states import LEAVING, OVER, PRESENT, UNPLACED, State, Wanted
from corral.workloads.tables import allocation, workload

GROUP = "replicas"
# How much later than its grace a replica may leave before nothing is promised on its place any more.
OVERDUE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Seen:
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


def some(transaction: Transaction, workload_ids: Collection[str]) -> Seen:
    """What scheduling is told of these workloads; a damaged one is told of alone."""
    loaded, failed = _loaded(transaction, workload_ids)
    held, unread = read_piecewise(list(loaded), lambda ids: _allocations(transaction, ids))
    failed |= unread
    by_workload: dict[str, list[AnyRow]] = {}
    for row in held:
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
    failed = _of_concern(transaction, failed)
    return Seen(
        tuple(value for name, value in values.items() if name not in out),
        tuple(value for name, value in values.items() if name in out),
        tuple(name for name in workload_ids if name not in values and name not in failed),
        {name: one.row.revision for name, one in loaded.items() if name not in failed},
        again,
        failed,
    )


def _loaded(
    transaction: Transaction, workload_ids: Collection[str]
) -> tuple[dict[str, Loaded], dict[str, Exception]]:
    found, failed = read_piecewise(workload_ids, lambda ids: load(transaction, ids).items())
    return dict(found), failed


def _of_concern(transaction: Transaction, failed: dict[str, Exception]) -> dict[str, Exception]:
    """Without those that are over: nothing of them is planned."""
    if not failed:
        return failed
    states = {
        row.id: row.state
        for row in transaction.rows(
            select(workload.c.id, workload.c.state).where(workload.c.id.in_(sorted(failed)))
        )
    }
    return {name: error for name, error in failed.items() if states.get(name, State.DELETED) not in OVER}


def _changes_at(loaded: Loaded, now: datetime) -> datetime | None:
    row, state = loaded.row, loaded.life.state
    if state in UNPLACED and row.not_before is not None and row.not_before > now:
        return cast("datetime", row.not_before)
    if state in LEAVING and row.leaving_since is not None:
        grace = timedelta(seconds=row.spec["grace_seconds"] + OVERDUE_SECONDS + 1)
        return cast("datetime", row.leaving_since + grace)
    return None


def as_workload(loaded: Loaded, held: Iterable[AnyRow], now: datetime) -> Workload | None:
    """None for one that neither waits for a place nor holds one nor is infeasible."""
    row, life = loaded.row, loaded.life
    if life.state in PRESENT:
        replicas = _placed(row, held, now, is_leaving=life.state in LEAVING)
        if not replicas:
            return None
    elif _may_wait(life) and (row.not_before is None or row.not_before <= now):
        replicas = tuple(Replica(str(ReplicaId(row.id, each))) for each in range(row.spec["replicas"]))
        if not replicas:
            raise ValueError("it asks for no replicas")
    else:
        return None
    resources = Resources.model_validate(row.spec["resources"])
    group = ReplicaGroup(
        GROUP, None, resources.request(), replicas, preemptible=bool(row.spec["preemptible"])
    )
    limit = row.spec["time_limit_seconds"]
    return Workload(
        name=row.id,
        queue=row.queue_id,
        groups=(group,),
        priority=row.priority,
        created=_seconds(row.created_at),
        pools=tuple(row.spec["pool_ids"]),
        running_since=_seconds(row.started_at) if life.state in PRESENT else None,
        waiting_since=_seconds(row.waiting_since),
        # A gang on this engine ends as one: what is left of it while it ends is no stale gang.
        stale_grace_seconds=None,
        restart_together=True,
        runtime_limit_seconds=limit,
    )


def _may_wait(life: Life) -> bool:
    return may_start(life) or (life.state is State.INFEASIBLE and life.wanted is Wanted.RUN)


def _placed(row: AnyRow, held: Iterable[AnyRow], now: datetime, *, is_leaving: bool) -> tuple[Replica, ...]:
    state = ReplicaState.RUNNING
    if is_leaving:
        since = row.leaving_since or now
        overdue = since + timedelta(seconds=row.spec["grace_seconds"] + OVERDUE_SECONDS)
        state = ReplicaState.STUCK if now > overdue else ReplicaState.RELEASING
    return tuple(
        Replica(
            str(ReplicaId(row.id, one.replica)),
            state,
            one.node,
            tuple(use_from_dict(use) for use in one.devices),
        )
        for one in held
    )


def _allocations(transaction: Transaction, workload_ids: Sequence[str]) -> Iterable[AnyRow]:
    for start in range(0, len(workload_ids), _MOST_AT_ONCE):
        yield from transaction.rows(
            select(allocation)
            .where(allocation.c.workload_id.in_(workload_ids[start : start + _MOST_AT_ONCE]))
            .order_by(allocation.c.workload_id, allocation.c.replica)
        )


def _seconds(at: datetime) -> int:
    return int(at.timestamp())


_MOST_AT_ONCE = 500
