"""Runtimes: Python environments of people, made from lists of requirements, built as work of their own.

Versions of the same definition share one build.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import timedelta

from sqlalchemy import delete, func, insert, select, update

from corral.api.callers import SYSTEM, Caller
from corral.audit.record import record
from corral.core.ids import Kind, new_id
from corral.core.refusals import Conflict, Invalid, NotFound
from corral.events.record import publish
from corral.identity.lookups import user_subject
from corral.inputs.runtimes import RUNTIMES, UsesRuntime, pinned, state_of
from corral.inputs.tables import runtime
from corral.kinds.submission import create_for
from corral.queues import flavors
from corral.queues.service import may_use_numbers
from corral.runtimes.builds import SUBMISSION, RuntimeSpec
from corral.runtimes.models import NewRuntime, Runtime, RuntimePreset, Runtimes, RuntimeUse
from corral.store.database import AnyRow, Transaction
from corral.store.schema import JsonObject
from corral.workloads import service
from corral.workloads.creation import Home, authorise
from corral.workloads.documents import DamagedDocumentError, StoredDocument
from corral.workloads.states import OVER, State
from corral.workloads.tables import workload
from corral.workloads.zone_choice import ChoiceReason, ZoneChoice, candidates

PRESETS = {
    "python": RuntimePreset(name="python", about="Python and nothing else.", requirements=[]),
    "scikit-learn": RuntimePreset(
        name="scikit-learn",
        about="Classic machine learning: NumPy, pandas, scikit-learn.",
        requirements=["numpy", "pandas", "scikit-learn"],
    ),
    "pytorch": RuntimePreset(
        name="pytorch",
        about="PyTorch. Several GB: it installs where the package index has its wheels.",
        requirements=["numpy", "torch"],
    ),
}
# A runtime that no work used for so long goes; building it again costs minutes.
KEPT = timedelta(days=30)


def list_runtimes(transaction: Transaction, caller: Caller) -> Runtimes:
    """The caller's own, by name, newest version first; and what can be made without a list."""
    own = runtime.c.user_id == caller.user_id
    rows = transaction.rows(RUNTIMES.where(own).order_by(runtime.c.name, runtime.c.version.desc()))
    used = _in_use(transaction, caller.user_id)
    return Runtimes(items=[_shown(row, used) for row in rows], presets=list(PRESETS.values()))


def create(transaction: Transaction, caller: Caller, new: NewRuntime) -> Runtime:
    """A new version under the name; the first one is version 1."""
    requirements = new.requirements
    if requirements is None:
        if new.name not in PRESETS:
            raise Invalid.field(
                "body.requirements",
                "It says nothing of what is in it.",
                f"Give a list, or one of the names {', '.join(PRESETS)}.",
            )
        requirements = PRESETS[new.name].requirements
    owned = transaction.scalar(select(func.count()).where(runtime.c.user_id == caller.user_id))
    if owned >= (most := transaction.bounds.runtimes):
        raise Conflict(f"You already have {most} runtimes.", "Delete some first.")
    last = transaction.scalar(
        select(func.max(runtime.c.version)).where(
            runtime.c.user_id == caller.user_id, runtime.c.name == new.name
        )
    )
    runtime_id = new_id(Kind.RUNTIME, transaction.now)
    transaction.run(
        insert(runtime).values(
            id=runtime_id,
            user_id=caller.user_id,
            name=new.name,
            version=(last or 0) + 1,
            requirements=list(requirements),
            digest=_digest(requirements),
            created_at=transaction.now,
            used_at=transaction.now,
        )
    )
    told = {"name": new.name, "version": (last or 0) + 1, "requirements": list(requirements)}
    _tell(transaction, caller, "runtime.create", after=told)
    if new.build:
        return build(transaction, caller, runtime_id, new.organisation_id, new.zone)
    return _found(transaction, caller, runtime_id)


def build(
    transaction: Transaction,
    caller: Caller,
    runtime_id: str,
    organisation_id: str | None = None,
    zone: str | None = None,
) -> Runtime:
    """Takes the build of the same definition, or submits one; what is there or on its way stays.

    With a `zone`, by name or id, it is built there.
    """
    row = _find(transaction, caller, runtime_id)
    if state_of(row) in {"ready", "building"}:
        _check_zone(row, zone)
        return _found(transaction, caller, runtime_id)
    spec = RuntimeSpec.of(row.name, row.version, row.requirements, organisation_id, zone)
    chosen = candidates(transaction, spec)[0]
    there = () if zone is None else (workload.c.zone_id == chosen.id,)
    same = transaction.first(
        RUNTIMES.where(
            runtime.c.user_id == caller.user_id,
            runtime.c.digest == row.digest,
            workload.c.state.not_in([State.FAILED, State.STOPPED, State.DELETED]),
            *there,
        ).limit(1)
    )
    if same is not None:
        workload_id = same.workload_id
    else:
        choice = ZoneChoice(chosen, ChoiceReason.ONLY if zone is None else ChoiceReason.NAMED)
        home = authorise(transaction, caller, spec)
        affordable = _affordable(transaction, home, spec)
        workload_id = create_for(transaction, caller, SUBMISSION, home, affordable, choice)
    transaction.run(update(runtime).where(runtime.c.id == runtime_id).values(workload_id=workload_id))
    _tell(transaction, caller, "runtime.build", after={"name": row.name, "version": row.version})
    return _found(transaction, caller, runtime_id)


def _check_zone(row: AnyRow, zone: str | None) -> None:
    """A version is built once, in one zone."""
    if zone is not None and zone not in {row.build_zone_name, row.build_zone_id}:
        raise Conflict(
            f"{row.name}:{row.version} is built in the zone {row.build_zone_name}.",
            f"Create its next version in {zone}.",
        )


def delete_runtime(transaction: Transaction, caller: Caller, runtime_id: str) -> None:
    row = _find(transaction, caller, runtime_id)
    if state_of(row) == "building":
        raise Conflict("It is being built.", f"Stop the build first: it is the work {row.workload_id}.")
    if pinned(row) in _in_use(transaction, caller.user_id):
        raise Conflict("Work of yours runs with it or waits for its turn.", "Stop that work first.")
    _remove(transaction, caller, row)
    _tell(transaction, caller, "runtime.delete", before={"name": row.name, "version": row.version})


def forget_unused(transaction: Transaction, most: int) -> int:
    """Removes runtimes that no work used for a long time."""
    rows = transaction.rows(
        RUNTIMES.where(runtime.c.used_at <= transaction.now - KEPT).order_by(runtime.c.used_at).limit(most)
    )
    removed = 0
    for row in rows:
        if state_of(row) != "building" and pinned(row) not in _in_use(transaction, row.user_id):
            _remove(transaction, SYSTEM, row)
            removed += 1
    return removed


def _affordable(transaction: Transaction, home: Home, spec: RuntimeSpec) -> RuntimeSpec:
    """Where work chooses a flavor instead of numbers, a build takes the smallest."""
    node = home.organisation
    if may_use_numbers(transaction, node.id, home.owner_id):
        return spec
    usable = flavors.usable(transaction, node, spec.kind)
    if not usable:
        raise Conflict(f"Nobody offers a flavor to {node.name}.", "Ask an administrator for one.")
    return spec.model_copy(update={"resources": None, "flavor": usable[0].name})


def _remove(transaction: Transaction, caller: Caller, row: AnyRow) -> None:
    transaction.run(delete(runtime).where(runtime.c.id == row.id))
    if row.build_state is None or row.build_state == State.DELETED:
        return
    others = select(runtime.c.id).where(runtime.c.workload_id == row.workload_id)
    if transaction.first(others) is None:
        service.remove(transaction, caller, row.workload_id)


def _in_use(transaction: Transaction, user_id: str) -> dict[str, list[RuntimeUse]]:
    """Work that is not over, by the runtime that it names."""
    rows = transaction.rows(
        select(workload.c.id, workload.c.name, workload.c.spec, workload.c.spec_version)
        .where(workload.c.user_id == user_id, workload.c.state.not_in([*OVER, State.DELETED]))
        .order_by(workload.c.id)
    )
    used: dict[str, list[RuntimeUse]] = {}
    for row in rows:
        if named := _runtime_of(StoredDocument(row.spec, row.spec_version)):
            used.setdefault(named, []).append(RuntimeUse(id=row.id, name=row.name))
    return used


def _runtime_of(stored: StoredDocument) -> str | None:
    try:
        return stored.read(UsesRuntime).runtime
    except DamagedDocumentError:
        return None  # it cannot run, whatever it named


def _find(transaction: Transaction, caller: Caller, runtime_id: str) -> AnyRow:
    row = transaction.first(RUNTIMES.where(runtime.c.id == runtime_id, runtime.c.user_id == caller.user_id))
    if row is None:
        raise NotFound("There is no such runtime of yours.", "List your runtimes to find its id.")
    return row


def _digest(requirements: list[str]) -> str:
    return hashlib.sha256(json.dumps(requirements).encode()).hexdigest()


def _tell(
    transaction: Transaction,
    caller: Caller,
    action: str,
    *,
    before: JsonObject | None = None,
    after: JsonObject | None = None,
) -> None:
    subject = user_subject(transaction, caller.user_id, caller.name)
    record(transaction, caller, action, subject, before=before, after=after)
    publish(transaction, "runtime", caller.user_id, 1, user_id=caller.user_id)


def _found(transaction: Transaction, caller: Caller, runtime_id: str) -> Runtime:
    return _shown(_find(transaction, caller, runtime_id), _in_use(transaction, caller.user_id))


def _shown(row: AnyRow, used: Mapping[str, list[RuntimeUse]]) -> Runtime:
    return Runtime(
        id=row.id,
        name=row.name,
        version=row.version,
        requirements=row.requirements,
        state=state_of(row),
        workload_id=row.workload_id,
        zone=row.build_zone_name,
        created_at=row.created_at,
        used_at=row.used_at,
        used_by=used.get(pinned(row), []),
    )
