"""Roles over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Response

from corral.api.callers import Caller, Requires
from corral.api.models import Id
from corral.api.once import CreatedOnce, Db
from corral.api.versions import IfMatch, tagged
from corral.core.permissions import Permission
from corral.identity import roles as service
from corral.identity.models import NewRole, PermissionInfo, Permissions, Role, RoleChange, Roles

router = APIRouter(tags=["roles"])

Reader = Annotated[Caller, Requires(Permission.ROLES_READ)]
Manager = Annotated[Caller, Requires(Permission.ROLES_MANAGE)]


@router.get("/permissions")
async def list_permissions(caller: Reader) -> Permissions:  # noqa: ARG001
    """Every permission, with a description."""
    items = [PermissionInfo(permission=one, description=one.description) for one in Permission]
    return Permissions(items=items)


@router.get("/roles")
async def list_roles(database: Db, caller: Reader) -> Roles:
    """Presets, and the custom roles of organisations above and below yours."""
    return await database.read(service.list_roles, caller)


@router.post("/roles", status_code=201)
async def create_role(once: CreatedOnce, caller: Manager, new: NewRole) -> Role:
    """Creates a role; it can be given on its organisation and below."""
    return await once.create(caller, service.create_role, new)


@router.get("/roles/{role_id}")
async def get_role(database: Db, caller: Reader, role_id: Id, response: Response) -> Role:
    """One role."""
    return tagged(response, await database.read(service.get_role, caller, role_id))


@router.patch("/roles/{role_id}")
async def change_role(
    database: Db, caller: Manager, role_id: Id, change: RoleChange, expected: IfMatch, response: Response
) -> Role:
    """Changes a custom role for everyone who has it."""
    return tagged(response, await database.write(service.change_role, caller, role_id, change, expected))


@router.delete("/roles/{role_id}", status_code=204)
async def delete_role(database: Db, caller: Manager, role_id: Id, expected: IfMatch) -> None:
    """Deletes a custom role that nobody has."""
    await database.write(service.delete_role, caller, role_id, expected)
