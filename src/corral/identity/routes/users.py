"""People over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic_core import to_json

from corral.api.callers import Caller, Requires
from corral.api.models import Id
from corral.api.once import CreatedOnce, Db
from corral.api.pages import Page
from corral.api.versions import IfMatch, tagged
from corral.audit.record import record
from corral.core.permissions import Permission
from corral.identity import accounts, directory, grants, user_deletion, users
from corral.identity import imports as importing
from corral.identity.context import Identity, IdentityHere
from corral.identity.ends import require_as_long
from corral.identity.login import end_of_link, new_login_link
from corral.identity.lookups import authorities_of, find_steered, user_subject
from corral.identity.models import (
    CreatedUser,
    Import,
    ImportResult,
    LoginLink,
    NewGrant,
    NewUser,
    OpenSessions,
    PeopleQuery,
    Revoked,
    User,
    UserChange,
    UserSummary,
    UserWithRole,
)
from corral.store.database import Transaction

router = APIRouter(prefix="/users", tags=["people"])

Reader = Annotated[Caller, Requires(Permission.PEOPLE_READ)]
Manager = Annotated[Caller, Requires(Permission.PEOPLE_MANAGE)]
Granter = Annotated[Caller, Requires(Permission.ROLES_GRANT)]
InOrganisation = Annotated[Id | None, Query(description="Only this organisation and those below it.")]


@router.get("", response_model=Page[User])
async def list_users(database: Db, caller: Reader, query: Annotated[PeopleQuery, Query()]) -> Response:
    """People of the organisations whose people you may see."""
    look = database.read if directory.is_one_range(caller, query) else database.scan
    page = await look(directory.list_users, caller, query)
    return Response(to_json(page), media_type="application/json")


@router.get("/summary")
async def summarise_users(database: Db, caller: Reader, organisation: InOrganisation = None) -> UserSummary:
    """How many people, in which states, and what is open."""
    return await database.scan(directory.summarise_users, caller, organisation)


@router.post("", status_code=201)
async def create_user(
    once: CreatedOnce, caller: Manager, identity: IdentityHere, new: NewUser
) -> CreatedUser:
    """Creates an account; the answer has a one-time login link with which its owner chooses a password."""
    return await once.create(caller, _create, new, identity)


def _create(transaction: Transaction, caller: Caller, new: NewUser, identity: Identity) -> CreatedUser:
    created = users.create_user(transaction, caller, new)
    lifetime, at_most = identity.rules.given_link_lifetime, end_of_link(transaction, caller, created.id)
    return CreatedUser(
        user=created,
        login_link=new_login_link(
            transaction, created.id, caller.user_id, lifetime, identity.console, at_most
        ),
        notice=created.notice,
    )


@router.post("/import", status_code=201)
async def import_users(
    once: CreatedOnce, caller: Manager, identity: IdentityHere, wanted: Import
) -> ImportResult:
    """Creates people from a CSV, all lines or none; with `dry_run` says what each line would do."""
    return await once.create(caller, importing.import_people, wanted, identity.rules, identity.console)


@router.get("/{user_id}")
async def get_user(database: Db, caller: Reader, user_id: Id, response: Response) -> User:
    """One person."""
    return tagged(response, await database.read(directory.get_user, caller, user_id))


@router.patch("/{user_id}")
async def change_user(
    database: Db, caller: Manager, user_id: Id, change: UserChange, expected: IfMatch, response: Response
) -> User:
    """Changes display name, mail, priority or state; disabling ends all sessions."""
    return tagged(response, await database.write(users.change_user, caller, user_id, change, expected))


@router.delete("/{user_id}", status_code=204)
async def delete_user(
    database: Db, caller: Manager, identity: IdentityHere, user_id: Id, expected: IfMatch
) -> None:
    """Deletes an account whose work is over; usage and the audit log keep the person's name."""
    await database.write(user_deletion.delete_user, caller, user_id, expected, identity.user_hooks)


@router.post("/{user_id}/login-link", status_code=201)
async def create_login_link(
    once: CreatedOnce, caller: Manager, identity: IdentityHere, user_id: Id
) -> LoginLink:
    """A one-time login link for someone who forgot the password and chooses a new one; earlier links end."""
    return await once.create(caller, _link, user_id, identity)


def _link(transaction: Transaction, caller: Caller, user_id: str, identity: Identity) -> LoginLink:
    row = find_steered(transaction, caller, user_id)
    own = user_id == caller.user_id
    if not own:
        require_as_long(caller, authorities_of(transaction, user_id), row.display_name)
    record(transaction, caller, "login_link.create", user_subject(transaction, user_id, row.name))
    if not own:
        accounts.require_new_password(transaction, user_id)
    lifetime = identity.rules.link_lifetime if own else identity.rules.given_link_lifetime
    at_most = end_of_link(transaction, caller, user_id)
    return new_login_link(transaction, user_id, caller.user_id, lifetime, identity.console, at_most)


@router.get("/{user_id}/sessions")
async def list_sessions(database: Db, caller: Manager, user_id: Id) -> OpenSessions:
    """Where someone is signed in."""

    def work(transaction: Transaction) -> OpenSessions:
        find_steered(transaction, caller, user_id)
        return accounts.list_sessions(transaction, caller, user_id)

    return await database.read(work)


@router.post("/{user_id}/sessions/revoke")
async def revoke_sessions(database: Db, caller: Manager, user_id: Id) -> Revoked:
    """Signs someone out everywhere."""

    def work(transaction: Transaction) -> Revoked:
        row = find_steered(transaction, caller, user_id)
        return accounts.end_other_sessions(transaction, caller, user_id, row.name)

    return await database.write(work)


@router.put("/{user_id}/memberships/{organisation_id}")
async def join_organisation(database: Db, caller: Manager, user_id: Id, organisation_id: Id) -> User:
    """Makes someone a member of an organisation."""
    return await database.write(grants.join_organisation, caller, user_id, organisation_id)


@router.delete("/{user_id}/memberships/{organisation_id}", status_code=204)
async def leave_organisation(database: Db, caller: Manager, user_id: Id, organisation_id: Id) -> None:
    """Ends a membership and takes the roles given on that organisation."""
    await database.write(grants.leave_organisation, caller, user_id, organisation_id)


@router.post("/{user_id}/grants", status_code=201)
async def give_role(once: CreatedOnce, caller: Granter, user_id: Id, new: NewGrant) -> UserWithRole:
    """Gives a role on an organisation and below; you must hold all that the role allows there.

    It ends no later than your own authority: without `expires_at` then, and `notice` says so."""
    return await once.create(caller, grants.give_role, user_id, new)


@router.delete("/{user_id}/grants/{grant_id}", status_code=204)
async def take_role(database: Db, caller: Granter, user_id: Id, grant_id: Id) -> None:
    """Takes a role."""
    await database.write(grants.take_role, caller, user_id, grant_id)
