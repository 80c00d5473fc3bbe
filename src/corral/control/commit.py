"""What a plan decided is written down, in one transaction, as far as it still holds.

Each workload of the plan is one entry, guarded by the revision that it was planned from: what changed
meanwhile is left alone and comes back in the next cycle. A gang is one entry.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import delete, insert, select, update

from corral.control.feed import Known
from corral.core.devices import DeviceUse, slice_milli
from corral.core.holds import Claim
from corral.core.plans import Eviction, Placement, Plan
from corral.core.resources import WHOLE_DEVICE_MILLI, Resource
from corral.scheduling.snapshot import write_value
from corral.store.database import Transaction
from corral.usage import ledger
from corral.usage.clock import Reading
from corral.workloads.machine import Granted, Taken, may_start
from corral.workloads.records import Grant, Loaded, apply, load, open_attempt
from corral.workloads.runs import run_name
from corral.workloads.snapshot import replica_name, replica_number
from corral.workloads.spec import Resources
from corral.workloads.states import State
from corral.workloads.tables import claim, verdict, workload


@dataclass(frozen=True, slots=True)
class Committed:
    started: int = 0
    taken: int = 0
    refused: int = 0


def commit(transaction: Transaction, zone_id: str, plan: Plan, known: Known, reading: Reading) -> Committed:
    """Places and evictions first, then what the next cycle and people who wait should know."""
    placed = _by_workload(plan.placements)
    taken = _by_workload(plan.evictions)
    loaded = load(transaction, [*placed, *taken])
    started = gone = refused = 0
    for name, evictions in sorted(taken.items()):
        if _is_as_planned(loaded, name, known):
            _take(transaction, loaded[name], evictions[0])
            gone += 1
        else:
            refused += 1
    for name, placements in sorted(placed.items()):
        one = loaded.get(name)
        if one is not None and _is_as_planned(loaded, name, known) and may_start(one.life):
            _place(transaction, one, placements, known, reading)
            started += 1
        else:
            refused += 1
    _keep_claims(transaction, zone_id, plan)
    _tell_the_waiting(transaction, plan, placed)
    return Committed(started, gone, refused)


def _is_as_planned(loaded: dict[str, Loaded], name: str, known: Known) -> bool:
    return name in loaded and loaded[name].row.revision == known.revisions.get(name)


def _take(transaction: Transaction, loaded: Loaded, eviction: Eviction) -> None:
    for_name = None
    if eviction.for_workload is not None:
        for_name = transaction.scalar(select(workload.c.name).where(workload.c.id == eviction.for_workload))
    apply(transaction, loaded, Taken(eviction.rule, eviction.for_workload, for_name))


def _place(
    transaction: Transaction,
    loaded: Loaded,
    placements: list[Placement],
    known: Known,
    reading: Reading,
) -> None:
    row = loaded.row
    assert len(placements) == row.spec["replicas"], "a gang is placed whole"
    resources = Resources.model_validate(row.spec["resources"])
    grants = [
        Grant(
            replica_number(each.replica),
            each.node,
            each.devices,
            resources.cpu_milli,
            resources.memory_mib,
            sum(_milli(known, each.node, use) for use in each.devices),
        )
        for each in sorted(placements, key=lambda each: replica_number(each.replica))
    ]
    open_attempt(transaction, loaded, row.attempt + 1, grants)
    apply(transaction, loaded, Granted(len(grants), [grant.node for grant in grants]))
    transaction.run(delete(verdict).where(verdict.c.workload_id == row.id))
    for grant in grants:
        ledger.open(transaction, _entry(loaded, grant, known), reading)


def _entry(loaded: Loaded, grant: Grant, known: Known) -> ledger.Grant:
    row, attempt = loaded.row, loaded.row.attempt + 1
    by_model: dict[str, int] = {}
    for use in grant.devices:
        model = known.device(grant.node, use.device).model
        by_model[model] = by_model.get(model, 0) + _milli(known, grant.node, use)
    resources = (
        *((Resource.GPU_MILLI.value, model, milli) for model, milli in sorted(by_model.items())),
        (Resource.CPU_MILLI.value, "", grant.cpu_milli),
        (Resource.MEMORY_MIB.value, "", grant.memory_mib),
    )
    return ledger.Grant(
        allocation_id=run_name(row.id, attempt, grant.number),
        workload_id=row.id,
        attempt=attempt,
        replica=grant.number,
        user_id=row.user_id,
        organisation_id=row.organisation_id,
        queue_id=row.queue_id,
        zone_id=row.zone_id,
        node=grant.node,
        resources=resources,
    )


def _milli(known: Known, node: str, use: DeviceUse) -> int:
    """What a held device counts as."""
    device = known.device(node, use.device)
    if use.profile is not None:
        assert device.geometry is not None
        profile = device.geometry.profile(use.profile)
        assert profile is not None
        return device.geometry.milli(profile)
    if use.memory_mib is None:
        return WHOLE_DEVICE_MILLI
    return slice_milli(use.memory_mib, use.compute_percent, device.memory_mib)


def _keep_claims(transaction: Transaction, zone_id: str, plan: Plan) -> None:
    """Promises and reservations are rows: the next cycle renews or drops them, whoever plans it."""
    wanted = [Claim(each.workload, each.replica, each.node) for each in plan.promises]
    wanted += [Claim(each.workload, each.replica, each.node, each.at) for each in plan.reservations]
    rows = transaction.rows(select(claim).where(claim.c.zone_id == zone_id))
    stored = {
        Claim(
            row.workload_id,
            replica_name(row.workload_id, row.replica),
            row.node,
            None if row.at is None else int(row.at.timestamp()),
        )
        for row in rows
    }
    unique = {(each.workload, each.replica): each for each in wanted}
    if stored == set(unique.values()):
        return
    transaction.run(delete(claim).where(claim.c.zone_id == zone_id))
    if unique:
        transaction.run(
            insert(claim),
            [
                {
                    "workload_id": each.workload,
                    "replica": replica_number(each.replica),
                    "zone_id": zone_id,
                    "node": each.node,
                    "at": None if each.at is None else datetime.fromtimestamp(each.at, UTC),
                }
                for each in unique.values()
            ],
        )


def _tell_the_waiting(transaction: Transaction, plan: Plan, placed: Iterable[str]) -> None:
    """Writes why work waits, where that is another reason than the last one."""
    starting = set(placed)
    waiting = {each.workload: each.reason for each in plan.unplaced if each.workload not in starting}
    if not waiting:
        return
    rows = transaction.rows(
        select(verdict.c.workload_id, verdict.c.reason)
        .join(workload, workload.c.id == verdict.c.workload_id)
        .where(workload.c.state.in_([State.QUEUED, State.SUSPENDED]))
    )
    told = {row.workload_id: row.reason for row in rows}
    for name, reason in waiting.items():
        now: dict[str, Any] = json.loads(write_value(reason))
        if told.get(name) == now:
            continue
        values = {"reason": now, "at": transaction.now}
        if name in told:
            transaction.run(update(verdict).where(verdict.c.workload_id == name).values(**values))
        else:
            transaction.run(delete(verdict).where(verdict.c.workload_id == name))
            transaction.run(insert(verdict).values(workload_id=name, **values))


def _by_workload(entries: Iterable[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for entry in entries:
        found.setdefault(entry.workload, []).append(entry)
    return found
