"""New work of any kind: where it goes, what it becomes, what it would be. The kind's routes call this."""

from typing import TypeVar

from corral.api.callers import Caller
from corral.api.once import Once
from corral.core.refusals import Invalid
from corral.kinds.plug import Submission
from corral.store.database import Transaction
from corral.workloads import queries
from corral.workloads.creation import Home, authorise, create, home_of
from corral.workloads.documents import VERSION, StoredDocument
from corral.workloads.models import WorkloadDetail
from corral.workloads.planning import Planning
from corral.workloads.resolution import pools_in, resolve
from corral.workloads.rows import WorkloadRow
from corral.workloads.spec import WorkSpec
from corral.workloads.verdicts import Verdict
from corral.workloads.zone_choice import ZoneChoice

S = TypeVar("S", bound=WorkSpec)


async def submit(
    submission: Submission[S], once: Once, caller: Caller, planners: Planning, spec: S
) -> WorkloadDetail:
    """Queues new work of the caller's own."""
    chosen = await choose_zone(submission, caller, planners, spec)
    return await once.create(caller, submit_here, submission, spec, chosen)


async def choose_zone(submission: Submission[S], caller: Caller, planners: Planning, spec: S) -> ZoneChoice:
    """Where it would go, of the zones that have what it is given."""
    among = await planners.database.read(submission.zones, caller.user_id, spec)
    return await planners.choose(caller, spec, among)


async def probe(submission: Submission[S], caller: Caller, planners: Planning, spec: S) -> Verdict:
    """What would become of it now."""
    among = await planners.database.read(submission.zones, caller.user_id, spec)
    return await planners.probe(caller, spec, among)


def submit_here(
    transaction: Transaction, caller: Caller, submission: Submission[S], spec: S, chosen: ZoneChoice
) -> WorkloadDetail:
    home = authorise(transaction, caller, spec)
    workload_id = create_for(transaction, caller, submission, home, spec, chosen)
    return queries.get_new(transaction, caller, workload_id)


def create_for(
    transaction: Transaction,
    by: Caller,
    submission: Submission[S],
    home: Home,
    spec: S,
    chosen: ZoneChoice,
    *,
    parent_id: str | None = None,
) -> str:
    """Work in a home; loops call this for the owner of the home, as `SYSTEM`."""
    spec, document = resolved(transaction, submission, home, spec, chosen)
    workload_id = create(transaction, by, home, submission.kind, document, chosen, parent_id=parent_id)
    submission.created(transaction, workload_id, spec)
    return workload_id


def resolved(
    transaction: Transaction, submission: Submission[S], home: Home, spec: S, chosen: ZoneChoice
) -> tuple[S, StoredDocument]:
    """The document with what it names fixed, and as it will be stored."""
    spec = submission.resolve(transaction, home, spec, chosen)
    return spec, resolve(transaction, home, spec, chosen.zone.id)


def document_in(
    transaction: Transaction, submission: Submission[S], row: WorkloadRow, chosen: ZoneChoice
) -> StoredDocument:
    """The document of queued work as it would be in another zone.

    What was resolved stays as it is, but for the pools. Refused where the zone has not all that it names.
    """
    content = row.stored.upgraded()
    fields = submission.spec.model_fields.keys()
    # Of flavor and resources a document has both, once it is resolved.
    asked = {name: value for name, value in content.items() if name in fields} | {"flavor": None}
    spec = submission.spec.model_validate(asked)
    if not submission.may_move(spec):
        raise Invalid.field("body.zone", "The work needs files of the zone that it is in.", "Let it stay.")
    submission.resolve(transaction, home_of(transaction, row.id), spec, chosen)
    assert spec.resources is not None, "resolved documents have them"
    pool_ids = pools_in(transaction, spec, spec.resources, chosen.zone.id)
    decided = {"version": VERSION, "flavor": content["flavor"], "pool_ids": pool_ids}
    decided["zone_reason"] = chosen.reason.value
    return StoredDocument(content | spec.model_dump(mode="json") | decided)
