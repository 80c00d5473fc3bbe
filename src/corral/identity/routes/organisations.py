"""Organisations over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Response

from corral.api.callers import Caller, Requires
from corral.api.models import Id
from corral.api.once import CreatedOnce, Db
from corral.api.versions import IfMatch, tagged
from corral.core.permissions import Permission
from corral.identity import organisations as service
from corral.identity.context import IdentityHere
from corral.identity.models import NewOrganisation, Organisation, OrganisationChange, Organisations

router = APIRouter(prefix="/organisations", tags=["organisations"])

Reader = Annotated[Caller, Requires(Permission.ORGANISATIONS_READ)]
Manager = Annotated[Caller, Requires(Permission.ORGANISATIONS_MANAGE)]


@router.get("")
async def list_organisations(database: Db, caller: Reader) -> Organisations:
    """The organisations you may see, parents before their children."""
    return await database.scan(service.list_organisations, caller)


@router.post("", status_code=201)
async def create_organisation(
    once: CreatedOnce, identity: IdentityHere, caller: Manager, new: NewOrganisation
) -> Organisation:
    """Adds an organisation below another."""
    return await once.create(caller, service.create_organisation, new, identity.organisation_hooks)


@router.get("/{organisation_id}")
async def get_organisation(
    database: Db, caller: Reader, organisation_id: Id, response: Response
) -> Organisation:
    """One organisation."""
    return tagged(response, await database.read(service.get_organisation, caller, organisation_id))


@router.patch("/{organisation_id}")
async def change_organisation(
    database: Db,
    identity: IdentityHere,
    caller: Manager,
    organisation_id: Id,
    change: OrganisationChange,
    expected: IfMatch,
    response: Response,
) -> Organisation:
    """Renames it, or moves it with all below it."""
    changed = await database.write(
        service.change_organisation, caller, organisation_id, change, expected, identity.organisation_hooks
    )
    return tagged(response, changed)


@router.delete("/{organisation_id}", status_code=204)
async def delete_organisation(
    database: Db, identity: IdentityHere, caller: Manager, organisation_id: Id, expected: IfMatch
) -> None:
    """Deletes it; it must be empty."""
    await database.write(
        service.delete_organisation, caller, organisation_id, expected, identity.organisation_hooks
    )
