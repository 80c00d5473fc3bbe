"""What a plan decided is written down, in one transaction, as far as it still holds.

Each workload of the plan is one entry, guarded by the revision that it was planned from: what changed
meanwhile is left alone and comes back in the next cycle. A gang is one entry.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import delete, insert, select

from corral.control.feed import PlannerView
from corral.control.isolation import Apart
from corral.control.restart_holds import release_for_restart
from corral.core.devices import DeviceUse, slice_milli
from corral.core.holds import Claim
from corral.core.plans import Eviction, Infeasible, Placement, Plan, Reservation
from corral.core.resources import WHOLE_DEVICE_MILLI, Resource
from corral.core.runs import ReplicaId, RunId
from corral.core.steps import Step
from corral.scheduling.validate.snapshot import write_value
from corral.store.database import Transaction
from corral.store.piecewise import read_piecewise
from corral.store.schema import JsonObject, any_of
from corral.usage import ledger
from corral.usage.clock import Reading
from corral.usage.grants import Grant as LedgerGrant
from corral.usage.grants import Mode
from corral.workloads.expectations import note
from corral.workloads.machine import FoundFeasible, FoundInfeasible, PlaceGranted, Preempted, may_start
from corral.workloads.moving import here
from corral.workloads.reasons import infeasible_facts
from corral.workloads.records import Grant, Loaded, apply_all, load, open_attempts
from corral.workloads.steps import read_rows
from corral.workloads.tables import claim, verdict, workload


@dataclass(frozen=True, slots=True)
class Committed:
    """How many started, were suspended, left the line, came back to it, and had changed meanwhile."""

    started: int = 0
    preempted: int = 0
    left: int = 0
    back: int = 0
    refused: int = 0

    @property
    def things(self) -> int:
        return self.started + self.preempted + self.left + self.back


def commit(
    transaction: Transaction,
    zone_id: str,
    plan: Plan,
    planned_from: PlannerView,
    reading: Reading,
    apart: Apart | None = None,
) -> Committed:
    """Places and evictions first, then what the next cycle and people who wait should know.

    What fails for one workload is `apart`.
    """
    apart = apart or Apart()
    placed = _by_workload(plan.placements)
    evictions = _by_workload(plan.evictions)
    infeasible = {each.workload: each for each in plan.infeasible}
    loaded = _load(transaction, {*placed, *evictions, *infeasible, *plan.feasible}, apart)
    going = [name for name in sorted(evictions) if _is_as_planned(loaded, name, planned_from)]
    going = _each(
        transaction,
        apart,
        going,
        lambda names: _take(transaction, [(loaded[n], evictions[n][0]) for n in names]),
    )
    coming = [
        name
        for name in sorted(placed)
        if _is_as_planned(loaded, name, planned_from) and may_start(loaded[name].life)
    ]
    coming = _each(
        transaction,
        apart,
        coming,
        lambda names: _place(transaction, [(loaded[n], placed[n]) for n in names], planned_from, reading),
    )
    left = [name for name in sorted(infeasible) if _is_as_planned(loaded, name, planned_from)]
    left = _each(
        transaction,
        apart,
        left,
        lambda names: _leave(transaction, [(loaded[n], infeasible[n]) for n in names]),
    )
    back = [name for name in plan.feasible if _is_as_planned(loaded, name, planned_from)]
    back = _each(transaction, apart, back, lambda names: _return(transaction, [loaded[n] for n in names]))
    _keep_claims(transaction, zone_id, plan, apart)
    _tell_the_waiting(transaction, zone_id, plan, placed, apart)
    named = len(evictions) + len(placed) + len(infeasible) + len(plan.feasible)
    refused = named - len(going) - len(coming) - len(left) - len(back)
    return Committed(len(coming), len(going), len(left), len(back), refused)


def _load(transaction: Transaction, names: set[str], apart: Apart) -> dict[str, Loaded]:
    if not apart.careful:
        return load(transaction, sorted(names))
    found: dict[str, Loaded] = {}
    _each(transaction, apart, sorted(names), lambda some: found.update(load(transaction, some)))
    return found


def _each(
    transaction: Transaction,
    apart: Apart,
    names: Sequence[str],
    work: Callable[[Sequence[str]], None],
    step: Step = Step.PLAN,
) -> list[str]:
    """All together, or each by itself; returns those for which it went well."""
    if not apart.careful:
        work(names)
        return list(names)
    for name in names:
        apart.do(transaction, (name, step), lambda _, one: work([one]), name)
    return [name for name in names if (name, step) not in apart.failed]


def _is_as_planned(loaded: dict[str, Loaded], name: str, planned_from: PlannerView) -> bool:
    return name in loaded and loaded[name].row.revision == planned_from.revisions.get(name)


def _take(transaction: Transaction, evictions: Sequence[tuple[Loaded, Eviction]]) -> None:
    takers = {eviction.for_workload for _, eviction in evictions if eviction.for_workload is not None}
    names = {name: row.name for name, row in read_rows(transaction, takers).items()}
    apply_all(
        transaction,
        [
            (
                loaded,
                Preempted(each.rule, each.for_workload, names.get(each.for_workload or ""), each.entitlement),
            )
            for loaded, each in evictions
        ],
    )


def _place(
    transaction: Transaction,
    placed: Sequence[tuple[Loaded, list[Placement]]],
    planned_from: PlannerView,
    reading: Reading,
) -> None:
    release_for_restart(transaction, [loaded.row.id for loaded, _ in placed], reading)
    granted = [(loaded, _grants(loaded, placements, planned_from)) for loaded, placements in placed]
    open_attempts(transaction, granted)
    apply_all(
        transaction,
        [(loaded, PlaceGranted(len(grants), [one.node for one in grants])) for loaded, grants in granted],
    )
    _forget_verdicts(transaction, [loaded.row.id for loaded, _ in placed])
    entries = [_entry(loaded, grant, planned_from) for loaded, grants in granted for grant in grants]
    ledger.open_all(transaction, entries, reading)


def _leave(transaction: Transaction, left: Sequence[tuple[Loaded, Infeasible]]) -> None:
    """Out of the line; in a table of what waits, it has no reason of its own any more."""
    found = [(loaded, FoundInfeasible(infeasible_facts(each, loaded.row.queue_id))) for loaded, each in left]
    apply_all(transaction, found)
    _forget_verdicts(transaction, [loaded.row.id for loaded, _ in left])


def _return(transaction: Transaction, back: Sequence[Loaded]) -> None:
    apply_all(transaction, [(loaded, FoundFeasible()) for loaded in back])


def _forget_verdicts(transaction: Transaction, ids: Sequence[str]) -> None:
    for start in range(0, len(ids), _MOST_AT_ONCE):
        some = ids[start : start + _MOST_AT_ONCE]
        transaction.run(delete(verdict).where(verdict.c.workload_id.in_(some)))


def _grants(loaded: Loaded, placements: list[Placement], planned_from: PlannerView) -> list[Grant]:
    assert len(placements) == loaded.document.replicas, "a gang is placed whole"
    needed = loaded.document.resources
    return [
        Grant(
            ReplicaId.parse(each.replica).number,
            each.node,
            each.devices,
            needed.cpu_milli,
            needed.memory_mib,
            sum(_milli(planned_from, each.node, use) for use in each.devices),
        )
        for each in sorted(placements, key=lambda each: ReplicaId.parse(each.replica).number)
    ]


def _entry(loaded: Loaded, grant: Grant, planned_from: PlannerView) -> LedgerGrant:
    row, attempt = loaded.row, loaded.row.attempt + 1
    by_model: dict[str, int] = {}
    for use in grant.devices:
        model = planned_from.device(grant.node, use.device).model
        by_model[model] = by_model.get(model, 0) + _milli(planned_from, grant.node, use)
    resources = (
        *((Resource.GPU_MILLI.value, model, milli) for model, milli in sorted(by_model.items())),
        (Resource.CPU_MILLI.value, "", grant.cpu_milli),
        (Resource.MEMORY_MIB.value, "", grant.memory_mib),
    )
    return LedgerGrant(
        allocation_id=str(RunId(row.id, attempt, grant.number)),
        workload_id=row.id,
        attempt=attempt,
        replica=grant.number,
        user_id=row.user_id,
        organisation_id=row.organisation_id,
        queue_id=row.queue_id,
        zone_id=row.zone_id,
        node=grant.node,
        resources=resources,
        kind=row.kind,
        flavor=loaded.document.flavor or "",
        mode=_mode(grant.devices),
        preemptible=loaded.document.preemptible,
    )


def _mode(devices: Sequence[DeviceUse]) -> Mode:
    """How devices are given, as far as they show it themselves."""
    if not devices:
        return ""
    if any(use.profile is not None for use in devices):
        return "mig"
    return "whole" if all(use.memory_mib is None for use in devices) else "vgpu"


def _milli(planned_from: PlannerView, node: str, use: DeviceUse) -> int:
    """What a held device counts as."""
    device = planned_from.device(node, use.device)
    if use.profile is not None:
        assert device.geometry is not None
        profile = device.geometry.profile(use.profile)
        assert profile is not None
        return device.geometry.milli(profile)
    if use.memory_mib is None:
        return WHOLE_DEVICE_MILLI
    return slice_milli(use.memory_mib, use.compute_percent, device.memory_mib)


def _keep_claims(transaction: Transaction, zone_id: str, plan: Plan, apart: Apart) -> None:
    """Promises and reservations are rows: the next cycle renews or drops them, whoever plans it."""
    wanted = [Claim(each.workload, each.replica, each.node) for each in plan.promises]
    wanted += [Claim(each.workload, each.replica, each.node, each.at) for each in plan.reservations]
    unique = {(each.workload, each.replica): each for each in wanted}
    stored = _stored_claims(transaction, zone_id)
    if not apart.careful and stored == set(unique.values()):
        return
    _expect(transaction, zone_id, stored, plan.reservations, apart)
    transaction.run(delete(claim).where(claim.c.zone_id == zone_id))
    by_workload = _by_workload(unique.values())
    staying = here(transaction, zone_id, by_workload.keys())

    def add(names: Sequence[str]) -> None:
        rows = [_claim_row(each, zone_id) for name in names for each in by_workload[name]]
        if rows:
            transaction.run(insert(claim), rows)

    _each(transaction, apart, sorted(staying), add)


def _expect(
    transaction: Transaction,
    zone_id: str,
    stored: set[Claim],
    reserved: Sequence[Reservation],
    apart: Apart,
) -> None:
    """A reservation says when its workload is to start, as lists show it; the first one is remembered."""
    with_estimate = {each.workload for each in stored if each.at is not None}
    starts: dict[str, int] = {}
    for each in reserved:
        if each.workload not in with_estimate:
            starts[each.workload] = max(each.at, starts.get(each.workload, each.at))

    def expect(names: Sequence[str]) -> None:
        rows = transaction.rows(_ATTEMPTS, {"ids": json.dumps(list(names))}) if names else ()
        note(
            transaction,
            {(row.id, row.attempt + 1): datetime.fromtimestamp(starts[row.id], UTC) for row in rows},
        )

    _each(transaction, apart, sorted(here(transaction, zone_id, starts.keys())), expect, Step.EXPLAIN)


def _stored_claims(transaction: Transaction, zone_id: str) -> set[Claim]:
    return {
        Claim(
            row.workload_id,
            str(ReplicaId(row.workload_id, row.replica)),
            row.node,
            None if row.at is None else int(row.at.timestamp()),
        )
        for row in transaction.rows(select(claim).where(claim.c.zone_id == zone_id))
    }


def _claim_row(each: Claim, zone_id: str) -> JsonObject:
    return {
        "workload_id": each.workload,
        "replica": ReplicaId.parse(each.replica).number,
        "zone_id": zone_id,
        "node": each.node,
        "at": None if each.at is None else datetime.fromtimestamp(each.at, UTC),
    }


def _tell_the_waiting(
    transaction: Transaction, zone_id: str, plan: Plan, placed: Iterable[str], apart: Apart
) -> None:
    """Writes why work waits, where that is another reason than the last one.

    A reason that cannot be read is replaced by the new one.
    """
    starting = set(placed)
    waiting = {
        each.workload: each.reason
        for each in plan.unplaced
        if each.workload not in starting and (each.workload, Step.EXPLAIN) not in apart.skipped
    }
    stored_verdicts, _ = read_piecewise(
        list(waiting), lambda some: transaction.rows(_VERDICTS, {"ids": json.dumps(some)})
    )
    reasons = {row.workload_id: row.reason for row in stored_verdicts}

    def tell(names: Sequence[str]) -> None:
        new = {name: json.loads(write_value(waiting[name])) for name in names}
        changed = [name for name, reason in new.items() if reasons.get(name) != reason]
        news = sorted(here(transaction, zone_id, changed))
        _forget_verdicts(transaction, news)
        if news:
            rows = [{"workload_id": name, "reason": new[name], "at": transaction.now} for name in news]
            transaction.run(insert(verdict), rows)

    _each(transaction, apart, list(waiting), tell, Step.EXPLAIN)


def _by_workload(entries: Iterable[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for entry in entries:
        found.setdefault(entry.workload, []).append(entry)
    return found


_MOST_AT_ONCE = 500
_ATTEMPTS = select(workload.c.id, workload.c.attempt).where(any_of(workload.c.id, "ids"))
_VERDICTS = select(verdict.c.workload_id, verdict.c.reason).where(any_of(verdict.c.workload_id, "ids"))
