"""What people do with workloads: stop, suspend, resume, delete. It reaches the children of each."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlalchemy import bindparam, select, update

from corral.api.callers import SYSTEM, Caller
from corral.audit.record import Subject, record_all
from corral.core.refusals import Conflict, Refusal
from corral.identity.tables import organisation
from corral.store.database import Transaction
from corral.workloads import families, visibility
from corral.workloads.machine import PersonAsked
from corral.workloads.models import Acted, Action, Refused
from corral.workloads.reasons import StateCause, StateReason
from corral.workloads.records import Loaded, apply_all, load, loaded_from
from corral.workloads.rows import WorkloadRow
from corral.workloads.states import OVER, State, Wanted
from corral.workloads.steps import publish_changes, read_rows
from corral.workloads.tables import workload


def act(transaction: Transaction, caller: Caller, action: Action, workload_ids: list[str]) -> Acted:
    """The same action on each, written down together; one that is refused does not hold up the others."""
    found = visibility.find_many(transaction, caller, workload_ids)
    rows = {workload_id: one.row for workload_id, one in found.items()}
    loaded = loaded_from(transaction, rows.values())
    children = families.descendants(transaction, rows)
    parents = families.parents_of(transaction, rows.values()) if action == "resume" else {}
    allowed: dict[str, Loaded] = {}
    refused = []
    for workload_id in dict.fromkeys(workload_ids):
        family = children.get(workload_id, [])
        try:
            if workload_id not in rows:
                raise visibility.missing(workload_id)
            visibility.require_change(caller, found[workload_id])
            _check(action, loaded[workload_id].life.state)
            if action == "delete":
                families.check_delete(family)
            elif action == "resume" and rows[workload_id].parent_id not in rows:
                families.check_resume(rows[workload_id], parents)
        except Refusal as refusal:
            refused.append(Refused(id=workload_id, detail=refusal.detail, remedy=refusal.remedy))
        else:
            allowed |= {one.row.id: one for one in (loaded[workload_id], *families.reached(action, family))}
    before = list(allowed.values())
    after = _acted(transaction, caller, action, before)
    changed = [(one, now) for one, now in zip(before, after, strict=True) if now.row is not one.row]
    paths = {one.row.organisation_id: one.path for one in found.values()}  # children are in their parent's
    _record(transaction, caller, action, changed, lambda row: paths[row.organisation_id])
    ids = {one.row.id for one, _ in changed}
    return Acted(
        changed=[one.row.id for one, _ in changed],
        unchanged=[one for one in allowed if one not in ids],
        refused=refused,
    )


def act_on_one(transaction: Transaction, caller: Caller, action: Action, workload_id: str) -> None:
    acted = act(transaction, caller, action, [workload_id])
    for refusal in acted.refused:
        visibility.require_change(caller, visibility.find(transaction, caller, workload_id))
        raise Conflict(refusal.detail, refusal.remedy)


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
    event = PersonAsked(_WANTED[action], caller.user_id, caller.name)
    return apply_all(transaction, [(one, event) for one in on])


def _delete(transaction: Transaction, caller: Caller, on: Sequence[Loaded]) -> Sequence[Loaded]:
    going = [one.row.id for one in on if one.life.state is not State.DELETED]
    because = StateReason(StateCause.DELETED, {"by": caller.user_id, "by_name": caller.name})
    values = {"state": State.DELETED, "because": because.as_dict()}
    if going:
        transaction.run(_GO, [{"id_": workload_id, **values} for workload_id in going])
    rows = read_rows(transaction, going)
    publish_changes(transaction, [(row, because) for row in rows.values()])
    return [replace(one, row=rows[one.row.id]) if one.row.id in rows else one for one in on]


def remove(transaction: Transaction, caller: Caller, workload_id: str) -> None:
    """Deletes work that is over, for what decided that already: nobody's permission is asked for."""
    _check("delete", load(transaction, [workload_id])[workload_id].life.state)
    delete_old(transaction, [workload_id], caller)


def delete_old(transaction: Transaction, workload_ids: Sequence[str], caller: Caller = SYSTEM) -> None:
    """Deletes work that is over, and its children with it; for Corral itself, as a rule."""
    children = families.descendants(transaction, workload_ids)
    family = {one.row.id: one for each in children.values() for one in each}
    old = list((load(transaction, workload_ids) | family).values())
    rows = transaction.rows(
        select(organisation.c.id, organisation.c.path).where(
            organisation.c.id.in_(sorted({one.row.organisation_id for one in old}))
        )
    )
    paths = {row.id: row.path for row in rows}
    gone = _delete(transaction, caller, old)
    changed = [(one, now) for one, now in zip(old, gone, strict=True) if now.row is not one.row]
    _record(transaction, caller, "delete", changed, lambda row: paths[row.organisation_id])


def _record(
    transaction: Transaction,
    caller: Caller,
    action: Action,
    changed: Sequence[tuple[Loaded, Loaded]],
    path_of: Callable[[WorkloadRow], str],
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


def _subject(row: WorkloadRow, path: str) -> Subject:
    return Subject("workload", row.id, row.name, path)
