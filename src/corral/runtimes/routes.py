"""Runtimes over HTTP."""

from typing import Annotated

from fastapi import APIRouter

from corral.api.callers import Caller, Requires
from corral.api.models import Id
from corral.api.once import CreatedOnce, Db
from corral.core.permissions import Permission
from corral.runtimes import service
from corral.runtimes.models import NewRuntime, Runtime, RuntimeBuild, Runtimes

router = APIRouter(prefix="/runtimes", tags=["training"])

Runner = Annotated[Caller, Requires(Permission.WORKLOADS_RUN)]


@router.get("")
async def list_my_runtimes(database: Db, caller: Runner) -> Runtimes:
    """Your Python environments, and those that can be made by their name alone."""
    return await database.read(service.list_runtimes, caller)


@router.post("", status_code=201)
async def create_runtime(once: CreatedOnce, caller: Runner, new: NewRuntime) -> Runtime:
    """Defines a runtime, or its next version, and builds it as work of yours."""
    return await once.create(caller, service.create, new)


@router.post("/{runtime_id}/build")
async def build_runtime(
    database: Db, caller: Runner, runtime_id: Id, options: RuntimeBuild | None = None
) -> Runtime:
    """Builds one that is only defined, or whose build failed."""
    zone = None if options is None else options.zone
    return await database.write(service.build, caller, runtime_id, None, zone)


@router.delete("/{runtime_id}", status_code=204)
async def delete_runtime(database: Db, caller: Runner, runtime_id: Id) -> None:
    """Deletes one that no work needs any more."""
    await database.write(service.delete_runtime, caller, runtime_id)
