"""What people do with workloads: submit, stop, suspend, resume, delete."""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import bindparam, func, insert, select, update

from corral.api.callers import SYSTEM, Caller
from corral.audit.record import Subject, record, record_all
from corral.core.ids import Kind, new_id
from corral.core.permissions import Permission
from corral.core.refusals import Conflict, Forbidden, Invalid, Refusal
from corral.identity.lookups import Organisation, find_node
from corral.identity.tables import membership, organisation, user
from corral.queues import flavors
from corral.queues.service import ensure_queue, may_use_numbers
from corral.store.database import AnyRow, Transaction
from corral.workloads import visibility
from corral.workloads.caps import pools_that_allow
from corral.workloads.machine import Asked
from corral.workloads.models import Acted, Action, Refused
from corral.workloads.reasons import StateCause, StateReason
from corral.workloads.records import Loaded, apply_all, load, loaded_from
from corral.workloads.spec import VERSION, Gpu, Resources, WorkSpec
from corral.workloads.states import OVER, State, Wanted
from corral.workloads.steps import read_rows, tell
from corral.workloads.tables import workload
from corral.workloads.zone_choice import ZoneChoice
from corral.zones.rules import SLICE_STRENGTH, takes_slices
from corral.zones.tables import pool


def submit(transaction: Transaction, caller: Caller, kind: str, spec: WorkSpec, chosen: ZoneChoice) -> str:
    """Writes new work down and queues it; returns its id. What it asks for is checked and made definite."""
    node = home_of(transaction, caller, spec)
    _refuse_too_many(transaction, caller)
    zone = chosen.zone
    document = resolve(transaction, caller, spec, node, zone.id) | {"zone_reason": chosen.reason.value}
    workload_id = new_id(Kind.WORKLOAD, transaction.now)
    because = StateReason(StateCause.SUBMITTED)
    row = transaction.first(
        insert(workload)
        .values(
            id=workload_id,
            kind=kind,
            name=spec.name,
            organisation_id=node.id,
            user_id=caller.user_id,
            zone_id=zone.id,
            queue_id=ensure_queue(transaction, node.id, caller.user_id),
            spec=document,
            spec_version=VERSION,
            priority=document["priority"],
            state=State.QUEUED,
            wanted=Wanted.RUN,
            because=because.as_dict(),
            attempt=0,
            told=False,
            failures=0,
            losses=0,
            created_at=transaction.now,
            waiting_since=transaction.now,
            generation=1,
            revision=1,
        )
        .returning(*workload.c)
    )
    assert row is not None
    tell(transaction, [(row, because)])
    record(transaction, caller, "workload.create", _subject(row, node.path), after=_shown(document))
    return workload_id


def _refuse_too_many(transaction: Transaction, caller: Caller) -> None:
    """Ended work counts until it is forgotten; the count is a range of an index."""
    owned = select(func.count()).select_from(workload).where(workload.c.user_id == caller.user_id)
    if transaction.scalar(owned) >= (most := transaction.bounds.workloads):
        raise Conflict(
            f"You already have {most} workloads, those that ended among them.",
            "Delete what you no longer need (corral rm); Corral forgets it after a while.",
        )


def act(transaction: Transaction, caller: Caller, action: Action, workload_ids: list[str]) -> Acted:
    """The same action on each, written down together; one that is refused does not hold up the others."""
    rows = visibility.find_many(transaction, caller, workload_ids)
    loaded = loaded_from(transaction, rows.values())
    allowed: list[Loaded] = []
    refused = []
    for workload_id in dict.fromkeys(workload_ids):
        try:
            if workload_id not in rows:
                raise visibility.missing(workload_id)
            visibility.require_change(caller, rows[workload_id])
            _check(action, loaded[workload_id].life.state)
        except Refusal as refusal:
            refused.append(Refused(id=workload_id, detail=refusal.detail, remedy=refusal.remedy))
        else:
            allowed.append(loaded[workload_id])
    after = _acted(transaction, caller, action, allowed)
    changed = [(one, now) for one, now in zip(allowed, after, strict=True) if now.row is not one.row]
    _record(transaction, caller, action, changed, lambda row: str(row.path))
    ids = {one.row.id for one, _ in changed}
    return Acted(
        changed=[one.row.id for one, _ in changed],
        unchanged=[one.row.id for one in allowed if one.row.id not in ids],
        refused=refused,
    )


def act_on_one(transaction: Transaction, caller: Caller, action: Action, workload_id: str) -> None:
    acted = act(transaction, caller, action, [workload_id])
    for refusal in acted.refused:
        row = visibility.find(transaction, caller, workload_id)
        visibility.require_change(caller, row)
        raise Conflict(refusal.detail, refusal.remedy)


def home_of(transaction: Transaction, caller: Caller, spec: WorkSpec) -> Organisation:
    """The organisation that new work belongs to."""
    if spec.organisation_id is not None:
        return find_node(transaction, caller, spec.organisation_id, Permission.WORKLOADS_RUN)
    rows = transaction.rows(
        select(organisation.c.id, organisation.c.name, organisation.c.path)
        .join(membership, membership.c.organisation_id == organisation.c.id)
        .where(membership.c.user_id == caller.user_id)
        .order_by(organisation.c.path)
    )
    usable = [row for row in rows if caller.may(Permission.WORKLOADS_RUN, row.path)]
    if len(usable) == 1:
        return find_node(transaction, caller, usable[0].id, Permission.WORKLOADS_RUN)
    if not usable:
        raise Forbidden(
            "You belong to no organisation in which you may run work.",
            "Ask an administrator for a role with the permission workloads.run.",
        )
    names = ", ".join(row.name for row in usable[:5])
    raise Invalid.field(
        "body.organisation_id", "You may run work in more than one organisation.", f"Choose one: {names}."
    )


def resolve(
    transaction: Transaction, caller: Caller, spec: WorkSpec, node: Organisation, zone_id: str
) -> dict[str, Any]:
    """The document with everything in it that later decisions need: no default is looked up again."""
    resources, flavor = _resources(transaction, caller, spec, node)
    pool_ids = pools_that_allow(transaction, spec, zone_id, _pool_ids(transaction, spec, zone_id))
    if resources.gpu is not None and resources.gpu.is_slice:
        _check_strength(transaction, zone_id, pool_ids)
    own = transaction.scalar(select(user.c.priority).where(user.c.id == caller.user_id))
    if spec.priority is not None and spec.priority > own:
        raise Invalid.field(
            "body.priority", f"Your own priority is {own}.", f"Ask for {own} or less, or leave it out."
        )
    return spec.model_dump(mode="json") | {
        "organisation_id": node.id,
        "flavor": flavor,
        "resources": resources.model_dump(mode="json"),
        "priority": spec.priority or own,
        "pool_ids": pool_ids,
    }


def _resources(
    transaction: Transaction, caller: Caller, spec: WorkSpec, node: Organisation
) -> tuple[Resources, str | None]:
    if spec.resources is not None:
        if not may_use_numbers(transaction, node.id, caller.user_id):
            raise Invalid.field(
                "body.resources",
                f"Work of {node.name} chooses a flavor instead of numbers.",
                _choose_flavor(transaction, caller, node),
            )
        return spec.resources, None
    if spec.flavor is None:
        remedy = _choose_flavor(transaction, caller, node)
        raise Invalid.field("body.flavor", "It says nothing of what it needs.", remedy)
    found = flavors.find(transaction, caller, node.id, spec.flavor)
    devices = found.devices
    gpu = devices and Gpu(
        count=devices.count,
        memory_mib=devices.memory_mib,
        fraction_milli=devices.fraction_milli,
        profile=devices.profile,
        compute_percent=devices.compute_percent,
        models=list(devices.models),
    )
    return Resources(cpu_milli=found.cpu_milli, memory_mib=found.memory_mib, gpu=gpu or None), found.name


def _choose_flavor(transaction: Transaction, caller: Caller, node: Organisation) -> str:
    names = ", ".join(one.name for one in flavors.usable(transaction, caller, node.id)[:8])
    return f"Choose a flavor: {names or 'none is there yet'}."


def _pool_ids(transaction: Transaction, spec: WorkSpec, zone_id: str) -> list[str]:
    if not spec.pools:
        return []
    known = {
        name: pool_id
        for pool_id, name in transaction.rows(select(pool.c.id, pool.c.name).where(pool.c.zone_id == zone_id))
    }
    ids = set(known.values())
    chosen = []
    for index, name in enumerate(spec.pools):
        if name not in known and name not in ids:
            raise Invalid.field(
                f"body.pools[{index}]",
                f"There is no pool {name}.",
                f"Use one of: {', '.join(sorted(known))}.",
            )
        chosen.append(known.get(name, name))
    return chosen


def _check_strength(transaction: Transaction, zone_id: str, pool_ids: list[str]) -> None:
    """Slices are never weaker than their pool wants: then there are none."""
    rows = transaction.rows(
        select(pool.c.id, pool.c.name, pool.c.least_strength).where(pool.c.zone_id == zone_id)
    )
    open_to_it = [row for row in rows if not pool_ids or row.id in pool_ids]
    if any(takes_slices(row.least_strength) for row in open_to_it):
        return
    wants = ", ".join(f"{row.name} wants {row.least_strength}" for row in open_to_it)
    raise Invalid.field(
        "body.resources.gpu",
        f"Nothing keeps slices of a GPU apart here (strength: {SLICE_STRENGTH}), and {wants} at least.",
        "Ask for whole GPUs or a MIG profile, or use a pool that takes such slices.",
    )


def _check(action: Action, state: State) -> None:
    """Refuses what makes no sense in that state."""
    if action == "delete":
        if state not in OVER:
            raise Conflict(f"It is {state}.", "Stop it first, then delete it.")
        return
    if state is State.DELETED or (action == "resume" and state is State.SUCCEEDED):
        raise Conflict(f"It is {state}.", "Submit it again to run it once more.")
    if action == "resume" and state is State.STOPPING:
        raise Conflict("It is being stopped.", "Resume it when it has stopped.")
    if action == "suspend" and state in OVER:
        raise Conflict(f"It is {state}: there is nothing to suspend.", "Resume it to run it again.")


def _acted(
    transaction: Transaction, caller: Caller, action: Action, on: Sequence[Loaded]
) -> Sequence[Loaded]:
    if action == "delete":
        return _delete(transaction, caller, on)
    event = Asked(_WANTED[action], caller.user_id, caller.name)
    return apply_all(transaction, [(one, event) for one in on])


def _delete(transaction: Transaction, caller: Caller, on: Sequence[Loaded]) -> Sequence[Loaded]:
    going = [one.row.id for one in on if one.life.state is not State.DELETED]
    because = StateReason(StateCause.DELETED, {"by": caller.user_id, "by_name": caller.name})
    values = {"state": State.DELETED, "because": because.as_dict()}
    if going:
        transaction.run(_GO, [{"id_": workload_id, **values} for workload_id in going])
    rows = read_rows(transaction, going)
    tell(transaction, [(row, because) for row in rows.values()])
    return [Loaded(rows[one.row.id], one.life) if one.row.id in rows else one for one in on]


def remove(transaction: Transaction, caller: Caller, workload_id: str) -> None:
    """Deletes work that is over, for what decided that already: nobody's permission is asked for."""
    loaded = load(transaction, [workload_id])[workload_id]
    _check("delete", loaded.life.state)
    _delete(transaction, caller, [loaded])
    here = organisation.c.id == loaded.row.organisation_id
    path = transaction.scalar(select(organisation.c.path).where(here))
    before, after = {"state": loaded.life.state}, {"state": State.DELETED}
    record(transaction, caller, "workload.delete", _subject(loaded.row, path), before=before, after=after)


def delete_old(transaction: Transaction, workload_ids: Sequence[str]) -> None:
    """Deletes work that is over, for Corral itself."""
    old = list(load(transaction, workload_ids).values())
    rows = transaction.rows(
        select(organisation.c.id, organisation.c.path).where(
            organisation.c.id.in_(sorted({one.row.organisation_id for one in old}))
        )
    )
    paths = {row.id: row.path for row in rows}
    gone = _delete(transaction, SYSTEM, old)
    changed = [(one, now) for one, now in zip(old, gone, strict=True) if now.row is not one.row]
    _record(transaction, SYSTEM, "delete", changed, lambda row: paths[row.organisation_id])


def _record(
    transaction: Transaction,
    caller: Caller,
    action: Action,
    changed: Sequence[tuple[Loaded, Loaded]],
    path_of: Callable[[AnyRow], str],
) -> None:
    """One entry of the audit log for each, with its state before and after."""
    subjects = [
        (_subject(one.row, path_of(one.row)), {"state": one.life.state}, {"state": now.row.state})
        for one, now in changed
    ]
    record_all(transaction, caller, _AUDITED[action], subjects)


_WANTED: dict[Action, Wanted] = {"stop": Wanted.STOP, "suspend": Wanted.SUSPEND, "resume": Wanted.RUN}
_AUDITED: dict[Action, str] = {
    "stop": "workload.stop",
    "suspend": "workload.suspend",
    "resume": "workload.resume",
    "delete": "workload.delete",
}
_GO = update(workload).where(workload.c.id == bindparam("id_")).values(revision=workload.c.revision + 1)


def _subject(row: AnyRow, path: str) -> Subject:
    return Subject("workload", row.id, row.name, path)


def _shown(document: dict[str, Any]) -> dict[str, Any]:
    """What the audit log keeps of a document: what was asked for, not what it was given to work on."""
    kept = ("name", "kind", "flavor", "resources", "replicas", "priority", "preemptible", "command")
    return {name: document[name] for name in kept if name in document}
