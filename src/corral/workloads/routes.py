"""Workloads of every kind over HTTP. New work comes through the routes of its kind."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from corral.api.callers import Caller, Requires, WorkReader
from corral.api.models import Id, Search
from corral.api.once import Db
from corral.api.pages import Cursor, Limit, Page
from corral.api.versions import tagged
from corral.core.permissions import Permission
from corral.workloads import queries, service, summary
from corral.workloads.models import Acted, Action, ActOn, Workload, WorkloadDetail, WorkloadSummary
from corral.workloads.planning import Planners
from corral.workloads.states import State
from corral.workloads.verdicts import Verdict

router = APIRouter(prefix="/workloads", tags=["workloads"])

# One's own work needs no permission to be seen; what else is seen, and what may be done, services decide.
Actor = Annotated[Caller, Requires(Permission.WORKLOADS_RUN, Permission.WORKLOADS_MANAGE)]


Kinds = Annotated[list[Search] | None, Query(alias="kind", max_length=10, description="Only of these kinds.")]
OfUser = Annotated[Id | None, Query(alias="user_id", description="Only of this person.")]
OfOrganisation = Annotated[
    Id | None, Query(alias="organisation_id", description="Only of this organisation and below.")
]
OfParent = Annotated[Id | None, Query(alias="parent_id", description="Only its children.")]
Text = Annotated[
    Search | None,
    Query(alias="search", description="In names of work and people; or the beginning of an id."),
]


@router.get("")
async def list_workloads(
    database: Db,
    caller: WorkReader,
    state: Annotated[list[State] | None, Query(description="Only in these states.")] = None,
    kind: Kinds = None,
    user_id: OfUser = None,
    organisation_id: OfOrganisation = None,
    parent_id: OfParent = None,
    search: Text = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[Workload]:
    """Your work, and other people's as far as you may see it, newest first."""
    return await database.scan(
        queries.list_workloads,
        caller,
        states=state or (),
        kinds=kind or (),
        user_id=user_id,
        organisation_id=organisation_id,
        parent_id=parent_id,
        search=search,
        cursor=cursor,
        limit=limit,
    )


@router.get("/summary")
async def summarise_workloads(
    database: Db,
    caller: WorkReader,
    kind: Kinds = None,
    user_id: OfUser = None,
    organisation_id: OfOrganisation = None,
    parent_id: OfParent = None,
    search: Text = None,
) -> WorkloadSummary:
    """How many there are in each state, of those that the list would show."""
    return await database.scan(
        summary.summarise,
        caller,
        kinds=kind or (),
        user_id=user_id,
        organisation_id=organisation_id,
        parent_id=parent_id,
        search=search,
    )


@router.post("/actions")
async def act_on_workloads(database: Db, caller: Actor, what: ActOn) -> Acted:
    """Stops, suspends, resumes or deletes many at once, with their children; one that is refused does
    not hold up the others."""
    return await database.write(service.act, caller, what.action, what.ids)


@router.get("/{workload_id}")
async def get_workload(
    database: Db, caller: WorkReader, workload_id: Id, response: Response
) -> WorkloadDetail:
    """One workload: its document, its attempts, and what happened to it."""
    return tagged(response, await database.read(queries.get_workload, caller, workload_id))


@router.get("/{workload_id}/why")
async def explain_workload(caller: WorkReader, planners: Planners, workload_id: Id) -> Verdict:
    """Why it waits: the rule and its numbers, its position, when it will probably start, what would help."""
    return await planners.explain(caller, workload_id)


@router.post("/{workload_id}/{action}")
async def act_on_workload(
    database: Db, caller: Actor, workload_id: Id, action: Action, response: Response
) -> WorkloadDetail:
    """Stops, suspends, resumes or deletes it, and its children with it. What it is already, it stays."""
    await database.write(service.act_on_one, caller, action, workload_id)
    return tagged(response, await database.read(queries.get_workload, caller, workload_id))
