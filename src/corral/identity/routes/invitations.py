"""Invitations and join codes over HTTP, for those who give them and those who use them."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from corral.api.callers import Anyone, Caller, Origin, Requires
from corral.api.mail import MailNotSentError
from corral.api.models import Id
from corral.api.once import CreatedOnce, Db
from corral.api.pages import Cursor, Limit, Page
from corral.core.permissions import Permission
from corral.identity import invitations, joining
from corral.identity.context import Identity, IdentityHere
from corral.identity.ends import in_words
from corral.identity.models import (
    AcceptInvitation,
    CreatedInvitation,
    CreatedJoinCode,
    Invitation,
    InvitationPreview,
    InvitationSecret,
    Join,
    JoinCode,
    JoinCodeInput,
    JoinPreview,
    NewInvitation,
    NewJoinCode,
    Session,
)
from corral.identity.routes.sessions import start_session
from corral.identity.rules import check_new_password
from corral.identity.throttle import counted
from corral.store.database import Database

router = APIRouter(tags=["ways in"])

Reader = Annotated[Caller, Requires(Permission.PEOPLE_READ)]
Inviter = Annotated[Caller, Requires(Permission.PEOPLE_INVITE)]
InOrganisation = Annotated[Id | None, Query(description="Only this organisation and those below it.")]


@router.get("/invitations")
async def list_invitations(
    database: Db,
    caller: Reader,
    organisation: InOrganisation = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[Invitation]:
    """Open invitations, newest first."""
    return await database.read(invitations.list_invitations, caller, organisation, cursor, limit)


@router.post("/invitations", status_code=201)
async def create_invitation(
    once: CreatedOnce, database: Db, caller: Inviter, identity: IdentityHere, new: NewInvitation
) -> CreatedInvitation:
    """Invites someone by a link that works once; with a mail address it is also sent, if mail is set up."""
    created = await once.create(caller, invitations.create_invitation, new, identity.console)
    if isinstance(created, Response) or new.mail is None:
        return created
    return await _send(database, identity, caller, created, new.mail)


@router.delete("/invitations/{invitation_id}", status_code=204)
async def withdraw_invitation(database: Db, caller: Inviter, invitation_id: Id) -> None:
    """Withdraws an invitation; its link stops working."""
    await database.write(invitations.withdraw, caller, invitations.LINK, invitation_id)


@router.post("/invitations/preview")
async def preview_invitation(
    database: Db, origin: Annotated[Origin, Anyone], given: InvitationSecret
) -> InvitationPreview:
    """What an invitation offers, before it is accepted."""
    async with counted(database, origin):
        return await database.read(joining.preview_invitation, given.secret)


@router.post("/invitations/accept", status_code=201)
async def accept_invitation(
    request: Request,
    response: Response,
    database: Db,
    identity: IdentityHere,
    origin: Annotated[Origin, Anyone],
    accepted: AcceptInvitation,
) -> Session:
    """Creates the account and signs in."""
    identity.access.check_origin(request)
    check_new_password(accepted.password, accepted.name, "body.password")
    async with counted(database, origin):
        await database.read(joining.preview_invitation, accepted.secret)
        hashed = await identity.passwords.hash(accepted.password)
        signed_in = await database.write(joining.accept_invitation, accepted, hashed, origin, identity.rules)
    return start_session(request, response, identity, signed_in)


@router.get("/join-codes")
async def list_join_codes(
    database: Db,
    caller: Reader,
    organisation: InOrganisation = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[JoinCode]:
    """Join codes that still work, newest first."""
    return await database.read(invitations.list_join_codes, caller, organisation, cursor, limit)


@router.post("/join-codes", status_code=201)
async def create_join_code(once: CreatedOnce, caller: Inviter, new: NewJoinCode) -> CreatedJoinCode:
    """A code for a class or a group: as many people as it has seats can join with it."""
    return await once.create(caller, invitations.create_join_code, new)


@router.delete("/join-codes/{join_code_id}", status_code=204)
async def withdraw_join_code(database: Db, caller: Inviter, join_code_id: Id) -> None:
    """Withdraws a join code; people who joined with it stay."""
    await database.write(invitations.withdraw, caller, invitations.CODE, join_code_id)


@router.post("/join/preview")
async def preview_join(database: Db, origin: Annotated[Origin, Anyone], given: JoinCodeInput) -> JoinPreview:
    """What a join code offers, before it is used."""
    async with counted(database, origin):
        return await database.read(joining.preview_join, given.code)


@router.post("/join", status_code=201)
async def join_with_code(
    request: Request,
    response: Response,
    database: Db,
    identity: IdentityHere,
    origin: Annotated[Origin, Anyone],
    join: Join,
) -> Session:
    """Creates an account with a join code and signs in."""
    identity.access.check_origin(request)
    check_new_password(join.password, join.name, "body.password")
    async with counted(database, origin):
        await database.read(joining.preview_join, join.code)
        hashed = await identity.passwords.hash(join.password)
        signed_in = await database.write(joining.join_with_code, join, hashed, origin, identity.rules)
    return start_session(request, response, identity, signed_in)


async def _send(
    database: Database, identity: Identity, caller: Caller, created: CreatedInvitation, to: str
) -> CreatedInvitation:
    invitation = created.invitation
    place, until = invitation.organisation_name, in_words(invitation.expires_at)
    ends = created.role_expires_at
    role = invitation.role_name + ("" if ends is None else f" until {in_words(ends)}")
    text = (
        f"{caller.name} invites you to {place} on Corral, as {role}.\n\n"
        f"Open this link to create your account; it works once, until {until}:\n\n{created.url}\n"
    )
    try:
        await identity.mailer.send(to, f"Invitation to {place}", text)
    except MailNotSentError as problem:
        return created.model_copy(update={"mail_problem": str(problem)})
    mailed = await database.write(invitations.mark_mailed, invitation.id)
    return created.model_copy(update={"invitation": mailed or invitation})
