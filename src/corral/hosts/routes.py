"""Hosts over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Path

from corral.api.callers import Caller, Requires
from corral.api.once import Db
from corral.core.permissions import Permission
from corral.hosts import service
from corral.hosts.models import Hosts
from corral.hosts.tables import ID_LENGTH

router = APIRouter(prefix="/hosts", tags=["zones"])

Reader = Annotated[Caller, Requires(Permission.SYSTEM_READ)]
Manager = Annotated[Caller, Requires(Permission.ZONES_MANAGE)]
HostId = Annotated[str, Path(min_length=1, max_length=ID_LENGTH, pattern="^[A-Za-z0-9-]+$")]


@router.get("")
async def list_hosts(database: Db, caller: Reader) -> Hosts:
    """The machines on which a Corral of this database runs."""
    return await database.read(service.list_hosts, caller)


@router.delete("/{host_id}", status_code=204)
async def delete_host(database: Db, caller: Manager, host_id: HostId) -> None:
    """Forgets a host that does not come back. Its zone and its work stay as they are."""
    await database.write(service.forget_host, caller, host_id)
