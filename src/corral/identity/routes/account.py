"""The caller's own account over HTTP."""

from fastapi import APIRouter, Response

from corral.api.callers import AccountOwner, AccountReader
from corral.api.models import Id
from corral.api.once import CreatedOnce, Db
from corral.api.versions import IfMatch, tagged
from corral.core.refusals import Invalid
from corral.identity import accounts as service
from corral.identity.context import IdentityHere
from corral.identity.directory import get_user
from corral.identity.joining import join_as_member
from corral.identity.login import current_password_needed
from corral.identity.models import (
    CreatedToken,
    JoinCodeInput,
    NewSshKey,
    NewToken,
    OpenSessions,
    PasswordChange,
    ProfileChange,
    Revoked,
    SshKey,
    SshKeys,
    Tokens,
    User,
)
from corral.identity.rules import check_new_password
from corral.identity.throttle import count_try, counted, forgive, password_bounds

router = APIRouter(prefix="/me", tags=["account"])


@router.get("")
async def get_me(database: Db, caller: AccountReader, response: Response) -> User:
    """Yourself."""
    return tagged(response, await database.read(get_user, caller, caller.user_id))


@router.patch("")
async def change_me(
    database: Db, caller: AccountOwner, change: ProfileChange, expected: IfMatch, response: Response
) -> User:
    """Changes your display name, mail, language or theme."""
    return tagged(response, await database.write(service.change_profile, caller, change, expected))


@router.post("/password", status_code=204)
async def change_password(
    database: Db, caller: AccountOwner, identity: IdentityHere, change: PasswordChange
) -> None:
    """Changes your password; every other session of yours ends."""
    stored = await database.read(service.stored_password, caller.user_id)
    if await database.read(current_password_needed, caller):
        bounds = password_bounds(caller.user_id)
        await database.write(count_try, bounds)
        current = change.current_password or ""
        if not await identity.passwords.verify(current, stored.hash if stored else None):
            raise Invalid.field(
                "body.current_password",
                "This is not your current password.",
                "Enter your current password, or ask an administrator for a login link.",
            )
        await database.write(forgive, bounds)
    check_new_password(change.new_password, caller.name)
    if stored is not None and await identity.passwords.verify(change.new_password, stored.hash):
        raise Invalid.field("body.new_password", "This is your current password.", "Choose a different one.")
    hashed = await identity.passwords.hash(change.new_password)
    await database.write(service.set_password, caller, hashed)


@router.get("/sessions")
async def list_my_sessions(database: Db, caller: AccountReader) -> OpenSessions:
    """Your open sessions."""
    return await database.read(service.list_sessions, caller, caller.user_id)


@router.delete("/sessions/{session_id}", status_code=204)
async def end_my_session(database: Db, caller: AccountOwner, session_id: Id) -> None:
    """Signs you out somewhere else."""
    await database.write(service.end_session, caller, session_id)


@router.post("/sessions/revoke-others")
async def revoke_my_other_sessions(database: Db, caller: AccountOwner) -> Revoked:
    """Signs you out everywhere but here."""
    return await database.write(service.end_other_sessions, caller, caller.user_id, caller.name)


@router.get("/tokens")
async def list_my_tokens(database: Db, caller: AccountReader) -> Tokens:
    """Your personal access tokens, without their secrets."""
    return await database.read(service.list_tokens, caller)


@router.post("/tokens", status_code=201)
async def create_token(
    once: CreatedOnce, caller: AccountOwner, identity: IdentityHere, new: NewToken
) -> CreatedToken:
    """Creates a token; its secret is shown only once."""
    return await once.create(caller, service.create_token, new, identity.token_max_days)


@router.delete("/tokens/{token_id}", status_code=204)
async def revoke_token(database: Db, caller: AccountOwner, token_id: Id) -> None:
    """Revokes a token at once."""
    await database.write(service.revoke_token, caller, token_id)


@router.get("/ssh-keys")
async def list_my_ssh_keys(database: Db, caller: AccountReader) -> SshKeys:
    """Your SSH public keys."""
    return await database.read(service.list_ssh_keys, caller)


@router.post("/ssh-keys", status_code=201)
async def add_ssh_key(once: CreatedOnce, caller: AccountOwner, new: NewSshKey) -> SshKey:
    """Adds an SSH public key."""
    return await once.create(caller, service.add_ssh_key, new)


@router.delete("/ssh-keys/{ssh_key_id}", status_code=204)
async def remove_ssh_key(database: Db, caller: AccountOwner, ssh_key_id: Id) -> None:
    """Removes an SSH public key."""
    await database.write(service.remove_ssh_key, caller, ssh_key_id)


@router.post("/join")
async def join_another(database: Db, caller: AccountOwner, given: JoinCodeInput) -> User:
    """Joins one more organisation with a join code."""
    async with counted(database, caller.origin):
        return await database.write(join_as_member, caller, given.code)
