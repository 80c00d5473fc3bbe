"""Signing in and out over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Request, Response

from corral.api.callers import AccountOwner, AccountReader, Anyone, Origin
from corral.api.once import Db
from corral.core.refusals import Invalid
from corral.identity.access import expiry_of_session, expiry_of_token
from corral.identity.context import Identity, IdentityHere
from corral.identity.devices import LIFETIME as DEVICE_LIFETIME
from corral.identity.login import SignedIn, describe_session, sign_in, sign_in_by_link, sign_out
from corral.identity.models import Session, SignIn, UseLoginLink
from corral.store.database import Transaction

router = APIRouter(prefix="/session", tags=["sessions"])


@router.post("", status_code=201)
async def create_session(
    request: Request,
    response: Response,
    database: Db,
    identity: IdentityHere,
    origin: Annotated[Origin, Anyone],
    given: SignIn,
) -> Session:
    """Signs in with a login provider; the answer sets the session cookie."""
    identity.access.check_origin(request)
    provider = identity.providers.get(given.provider)
    if provider is None:
        known = ", ".join(identity.providers)
        raise Invalid.field("body.provider", "There is no such login provider.", f"Use one of: {known}.")
    answer = {"name": given.name, "password": given.password}
    devices = identity.devices.known(request.cookies)
    signed_in = await sign_in(database, provider, answer, origin, identity.rules, identity.lane, devices)
    return start_session(request, response, identity, signed_in)


@router.post("/link", status_code=201)
async def create_session_by_link(
    request: Request,
    response: Response,
    database: Db,
    identity: IdentityHere,
    origin: Annotated[Origin, Anyone],
    given: UseLoginLink,
) -> Session:
    """Signs in with the secret of a one-time login link."""
    identity.access.check_origin(request)
    signed_in = await sign_in_by_link(database, given.secret, origin, identity.rules)
    return start_session(request, response, identity, signed_in)


@router.get("")
async def get_session(
    request: Request, database: Db, identity: IdentityHere, caller: AccountReader
) -> Session:
    """Who you are and what you may do where."""
    secret = identity.access.session_secret(request) if caller.via == "session" else None

    def work(transaction: Transaction) -> Session:
        find = expiry_of_session if caller.via == "session" else expiry_of_token
        return describe_session(transaction, caller, secret, find(transaction, caller.credential_id))

    return await database.read(work)


@router.delete("", status_code=204)
async def end_session(response: Response, database: Db, identity: IdentityHere, caller: AccountOwner) -> None:
    """Signs out."""
    if caller.via == "session":
        await database.write(sign_out, caller)
    response.delete_cookie(
        identity.cookie, path="/", secure=identity.secure, httponly=True, samesite="strict"
    )


def start_session(request: Request, response: Response, identity: Identity, signed_in: SignedIn) -> Session:
    """Puts the secret where scripts and other sites do not reach it, and remembers the device."""
    device = identity.devices.remember(request.cookies, signed_in.session.user.id)
    for cookie, value, lifetime in (
        (identity.cookie, signed_in.secret, identity.rules.lifetime),
        (identity.devices.cookie, device, DEVICE_LIFETIME),
    ):
        response.set_cookie(
            cookie,
            value,
            max_age=int(lifetime.total_seconds()),
            path="/",
            secure=identity.secure,
            httponly=True,
            samesite="strict",
        )
    response.headers["Cache-Control"] = "no-store"
    return signed_in.session
