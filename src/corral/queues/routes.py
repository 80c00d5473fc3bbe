"""Queues and flavors over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Response

from corral.api.callers import Caller, Requires
from corral.api.models import Id
from corral.api.once import CreatedOnce, Db
from corral.api.versions import IfMatch, tagged
from corral.core.permissions import Permission
from corral.queues import flavor_management as flavors
from corral.queues import management
from corral.queues.context import QueuesHere
from corral.queues.models import (
    ChangedQueues,
    Flavor,
    FlavorChange,
    Flavors,
    KindName,
    NewFlavor,
    NewQueue,
    Queue,
    QueueChange,
    QueueChanges,
    Queues,
)

router = APIRouter(tags=["queues"])

Reader = Annotated[Caller, Requires(Permission.QUEUES_READ)]
Manager = Annotated[Caller, Requires(Permission.QUEUES_MANAGE)]
FlavorReader = Annotated[Caller, Requires(Permission.FLAVORS_READ)]
FlavorManager = Annotated[Caller, Requires(Permission.FLAVORS_MANAGE)]


@router.get("/queues")
async def list_queues(
    database: Db, queues: QueuesHere, caller: Reader, organisation: Id | None = None
) -> Queues:
    """The queue tree with its quotas, and warnings where guarantees exceed capacity."""
    return await database.scan(management.list_queues, caller, organisation, queues.use)


@router.post("/queues", status_code=201)
async def create_queue(once: CreatedOnce, caller: Manager, new: NewQueue) -> Queue:
    """Creates a person's queue in an organisation; otherwise their first work there creates it."""
    return await once.create(caller, management.create_queue, new)


@router.post("/queues/changes")
async def change_queues(
    database: Db, queues: QueuesHere, caller: Manager, wanted: QueueChanges
) -> ChangedQueues:
    """Changes several queues, all or none; a dry run only reports the effects."""
    work = database.scan if wanted.dry_run else database.write
    return await work(management.change_queues, caller, wanted, queues.use)


@router.get("/queues/{queue_id}")
async def get_queue(
    database: Db, queues: QueuesHere, caller: Reader, queue_id: Id, response: Response
) -> Queue:
    """One queue."""
    return tagged(response, await database.scan(management.get_queue, caller, queue_id, queues.use))


@router.patch("/queues/{queue_id}")
async def change_queue(
    database: Db,
    queues: QueuesHere,
    caller: Manager,
    queue_id: Id,
    change: QueueChange,
    expected: IfMatch,
    response: Response,
) -> Queue:
    """Changes the quotas and policies of a queue."""
    changed = await database.write(management.change_queue, caller, queue_id, change, expected, queues.use)
    return tagged(response, changed)


@router.get("/flavors")
async def list_flavors(
    database: Db,
    queues: QueuesHere,
    caller: FlavorReader,
    organisation: Id | None = None,
    kind: KindName | None = None,
) -> Flavors:
    """What work can choose from: all of it, that of an organisation, that which a kind of work is offered."""
    found = await database.scan(flavors.list_flavors, caller, organisation, kind)
    return Flavors(items=found, kinds=list(queues.kinds))


@router.post("/flavors", status_code=201)
async def create_flavor(
    once: CreatedOnce, queues: QueuesHere, caller: FlavorManager, new: NewFlavor
) -> Flavor:
    """Creates a flavor."""
    return await once.create(caller, flavors.create_flavor, new, queues.kinds)


@router.get("/flavors/{flavor_id}")
async def get_flavor(database: Db, caller: FlavorReader, flavor_id: Id, response: Response) -> Flavor:
    """One flavor."""
    return tagged(response, await database.scan(flavors.get_flavor, caller, flavor_id))


@router.patch("/flavors/{flavor_id}")
async def change_flavor(
    database: Db,
    queues: QueuesHere,
    caller: FlavorManager,
    flavor_id: Id,
    change: FlavorChange,
    expected: IfMatch,
    response: Response,
) -> Flavor:
    """Changes a flavor for new work; what runs keeps what it asked for."""
    changed = await database.write(flavors.change_flavor, caller, flavor_id, change, expected, queues.kinds)
    return tagged(response, changed)


@router.delete("/flavors/{flavor_id}", status_code=204)
async def delete_flavor(database: Db, caller: FlavorManager, flavor_id: Id, expected: IfMatch) -> None:
    """Deletes a flavor; work that was started with it keeps what it asked for."""
    await database.write(flavors.delete_flavor, caller, flavor_id, expected)
