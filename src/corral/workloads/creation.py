"""Creating work in two steps: who may, and where (`authorise`); then its rows (`create`).

A loop that creates work for somebody takes the second step alone, with the home of the work that it does so
for (`home_of`): nobody pretends to be a person, and the audit log says that it was Corral, and for whom.
"""

from dataclasses import dataclass

from sqlalchemy import func, insert, select

from corral.api.callers import Caller
from corral.audit.record import Subject, record
from corral.core.ids import Kind, new_id
from corral.core.permissions import Permission
from corral.core.refusals import Conflict, Forbidden, Invalid
from corral.identity.lookups import Organisation, find_node, node_by_id
from corral.identity.tables import membership, organisation
from corral.queues.service import ensure_queue
from corral.store.database import Transaction
from corral.store.schema import JsonObject
from corral.workloads.documents import VERSION, Document, StoredDocument
from corral.workloads.reasons import StateCause, StateReason
from corral.workloads.rows import WorkloadRow, workload_row
from corral.workloads.spec import WorkSpec
from corral.workloads.states import OVER, State, Wanted
from corral.workloads.steps import publish_changes
from corral.workloads.tables import workload
from corral.workloads.zone_choice import ZoneChoice


@dataclass(frozen=True, slots=True)
class Home:
    """Where work belongs, and whose it is."""

    organisation: Organisation
    owner_id: str


def authorise(transaction: Transaction, caller: Caller, spec: WorkSpec) -> Home:
    """The home of new work of the caller's own; refused where they may not run any."""
    node = _organisation(transaction, caller, spec.organisation_id)
    if spec.resources is None:
        caller.require(Permission.FLAVORS_READ, node.path, node.name)
    return Home(node, caller.user_id)


def home_of(transaction: Transaction, workload_id: str) -> Home:
    """The home of work that exists, for what is created on its behalf."""
    row = transaction.first(
        select(workload.c.organisation_id, workload.c.user_id).where(workload.c.id == workload_id)
    )
    assert row is not None, "whoever asks has seen the workload in this transaction"
    return Home(node_by_id(transaction, row.organisation_id), row.user_id)


def create(
    transaction: Transaction,
    by: Caller,
    home: Home,
    kind: str,
    document: StoredDocument,
    chosen: ZoneChoice,
    *,
    parent_id: str | None = None,
) -> str:
    """Writes work of a resolved document down and queues it; returns its id."""
    if parent_id is not None:
        _require_live_parent(transaction, home, parent_id)
    _refuse_too_many(transaction, home.owner_id)
    content = document.content | {"zone_reason": chosen.reason.value}
    resolved = StoredDocument(content).read(Document)
    because = StateReason(StateCause.SUBMITTED)
    row = transaction.first(
        insert(workload)
        .values(
            id=new_id(Kind.WORKLOAD, transaction.now),
            kind=kind,
            name=resolved.name,
            organisation_id=home.organisation.id,
            user_id=home.owner_id,
            parent_id=parent_id,
            zone_id=chosen.zone.id,
            queue_id=ensure_queue(transaction, home.organisation.id, home.owner_id),
            spec=content,
            spec_version=VERSION,
            priority=resolved.priority,
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
    new = workload_row(row)
    publish_changes(transaction, [(new, because)])
    subject = Subject("workload", new.id, new.name, home.organisation.path)
    record(transaction, by, "workload.create", subject, after=_audited(new, content, by))
    return new.id


def _organisation(transaction: Transaction, caller: Caller, organisation_id: str | None) -> Organisation:
    """The one that is named, or the only one in which the caller may run work."""
    if organisation_id is not None:
        return find_node(transaction, caller, organisation_id, Permission.WORKLOADS_RUN)
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


def _require_live_parent(transaction: Transaction, home: Home, parent_id: str) -> None:
    """A child belongs to its parent's owner and organisation, and comes while the parent is wanted."""
    parent = transaction.first(select(workload).where(workload.c.id == parent_id))
    assert parent is not None, "loops create children of work that they have seen in this transaction"
    assert (parent.user_id, parent.organisation_id) == (home.owner_id, home.organisation.id)
    if parent.wanted == Wanted.STOP or parent.state in OVER:
        raise Conflict(f"Its parent {parent.name} is {parent.state}.", "Resume the parent first.")


def _refuse_too_many(transaction: Transaction, owner_id: str) -> None:
    """Children and ended work count until they are forgotten; the count is a range of an index."""
    owned = select(func.count()).select_from(workload).where(workload.c.user_id == owner_id)
    if transaction.scalar(owned) >= (most := transaction.bounds.workloads):
        raise Conflict(
            f"You already have {most} workloads, those that ended among them.",
            "Delete what you no longer need (corral rm); Corral forgets it after a while.",
        )


def _audited(row: WorkloadRow, content: JsonObject, by: Caller) -> JsonObject:
    """What was asked for, not what it was given to work on; and for whom, where somebody else asked."""
    kept = ("name", "kind", "flavor", "resources", "replicas", "priority", "preemptible", "command")
    facts = {name: content[name] for name in kept if name in content}
    if row.parent_id is not None:
        facts["parent_id"] = row.parent_id
    return facts if by.user_id == row.user_id else facts | {"user_id": row.user_id}
