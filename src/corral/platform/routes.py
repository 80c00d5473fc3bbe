"""The installation over HTTP."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from corral import __version__
from corral.api.callers import Anyone, ApiContext, Caller, Origin, Requires
from corral.api.mail import MailNotSentError, MailRefused
from corral.api.once import Db
from corral.api.parts import part_of, using
from corral.api.versions import IfMatch, tagged
from corral.core.permissions import Permission
from corral.identity.context import IdentityHere
from corral.identity.lookups import root_of
from corral.identity.providers import Redirect
from corral.identity.rules import check_new_password
from corral.identity.throttle import count_try, sign_up_bounds
from corral.platform import service, settings
from corral.platform.models import (
    Checklist,
    LoginOptions,
    MachineFacts,
    MailSettings,
    MailTest,
    MailTested,
    NewMailSettings,
    NewRegistrationSettings,
    Provider,
    RegistrationSettings,
    SignedUp,
    SignUp,
    System,
)
from corral.store.database import Transaction
from corral.store.keyring import Keyring

router = APIRouter(tags=["installation"])

Reader = Annotated[Caller, Requires(Permission.SETTINGS_READ)]
Manager = Annotated[Caller, Requires(Permission.SETTINGS_MANAGE)]


@dataclass(frozen=True, slots=True)
class Installation:
    """What is known since the start."""

    machine: MachineFacts
    started_at: datetime


async def _keyring(request: Request) -> Keyring:
    return part_of(request, ApiContext).keyring


KeyringHere = Annotated[Keyring, Depends(_keyring)]
InstallationHere = Annotated[Installation, Depends(using(Installation))]


@router.get("/login-options")
async def get_login_options(
    database: Db,
    identity: IdentityHere,
    origin: Annotated[Origin, Anyone],  # noqa: ARG001
) -> LoginOptions:
    """What the login page offers."""

    def work(transaction: Transaction) -> tuple[str, bool]:
        return root_of(transaction).name, settings.read_registration(transaction).sign_up

    name, sign_up = await database.read(work)
    providers = [
        Provider(key=key, kind="redirect" if isinstance(provider.start(), Redirect) else "form")
        for key, provider in identity.providers.items()
    ]
    return LoginOptions(organisation_name=name, version=__version__, providers=providers, sign_up=sign_up)


@router.post("/sign-up", status_code=202)
async def sign_up(
    request: Request,
    database: Db,
    identity: IdentityHere,
    origin: Annotated[Origin, Anyone],
    wanted: SignUp,
) -> SignedUp:
    """Signs up for an account, where sign-up is on; an administrator approves it."""
    identity.access.check_origin(request)
    await database.read(service.require_sign_up)
    await database.write(count_try, sign_up_bounds(origin.address))
    check_new_password(wanted.password, wanted.name, "body.password")
    hashed = await identity.passwords.hash(wanted.password)
    return await database.write(service.sign_up, wanted, hashed, origin)


@router.get("/settings/mail")
async def get_mail_settings(database: Db, caller: Reader, response: Response) -> MailSettings:
    """The outgoing mail server."""
    return tagged(response, await database.read(settings.get_mail, caller))


@router.put("/settings/mail")
async def change_mail_settings(
    database: Db,
    keyring: KeyringHere,
    caller: Manager,
    new: NewMailSettings,
    expected: IfMatch,
    response: Response,
) -> MailSettings:
    """Sets the outgoing mail server; the password is stored encrypted and never shown."""
    return tagged(response, await database.write(settings.write_mail, caller, new, expected, keyring))


@router.post("/settings/mail/test")
async def test_mail_settings(
    database: Db, identity: IdentityHere, caller: Manager, test: MailTest
) -> MailTested:
    """Sends a test mail and returns the mail server's answer."""
    await database.read(settings.require_manager, caller)
    try:
        text = f"{caller.name} sent this from {identity.console} to test that mail works. It does.\n"
        await identity.mailer.send(test.to, "Corral can send mail", text)
    except MailNotSentError as problem:
        raise MailRefused(str(problem), "Correct the mail settings and test again.") from problem
    tested_at = await database.write(settings.mark_mail_tested, caller, test.to)
    return MailTested(to=test.to, tested_at=tested_at)


@router.get("/settings/registration")
async def get_registration_settings(database: Db, caller: Reader, response: Response) -> RegistrationSettings:
    """Whether people may sign up."""
    return tagged(response, await database.read(settings.get_registration, caller))


@router.put("/settings/registration")
async def change_registration_settings(
    database: Db, caller: Manager, new: NewRegistrationSettings, expected: IfMatch, response: Response
) -> RegistrationSettings:
    """Turns signing up on or off."""
    return tagged(response, await database.write(settings.write_registration, caller, new, expected))


@router.get("/checklist")
async def get_checklist(database: Db, caller: Reader) -> Checklist:
    """The administrator's first day: what is done, what is left."""
    return await database.scan(service.first_day, caller)


@router.get("/system")
async def get_system(
    database: Db,
    installation: InstallationHere,
    caller: Annotated[Caller, Requires(Permission.SYSTEM_READ)],
) -> System:
    """Versions and the machine."""
    await database.read(service.require_system_reader, caller)
    return System.model_validate(
        {
            "version": __version__,
            "database": database.kind,
            "started_at": installation.started_at,
            "machine": installation.machine,
        }
    )
