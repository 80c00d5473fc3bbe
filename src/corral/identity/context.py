"""What identity's routes need beside the database, made once at start."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends

from corral.api.mail import Mailer
from corral.api.parts import using
from corral.identity.access import Access
from corral.identity.devices import Devices
from corral.identity.lane import Lane
from corral.identity.login import SessionRules
from corral.identity.organisation_hooks import OrganisationHooks
from corral.identity.passwords import Passwords
from corral.identity.providers import LoginProvider
from corral.identity.user_hooks import UserHook


@dataclass(frozen=True, slots=True)
class Identity:
    access: Access
    passwords: Passwords
    providers: dict[str, LoginProvider]
    rules: SessionRules
    mailer: Mailer
    console: str  # the address people open, without a slash at its end
    cookie: str
    secure: bool
    token_max_days: int
    devices: Devices
    lane: Lane
    organisation_hooks: tuple[OrganisationHooks, ...] = ()
    user_hooks: tuple[UserHook, ...] = ()


IdentityHere = Annotated[Identity, Depends(using(Identity))]
