"""Who is calling, what they may do and where, and how a route says what it needs.

A route declares its need in its signature, and a test walks all routes for one that does not:

    caller: Annotated[Caller, Requires(Permission.PEOPLE_READ)]    somewhere in the tree; services ask where
    caller: Annotated[Caller, SignedIn(AccountScope.READ)]         about what is the caller's own
    caller: Annotated[Caller, SignedIn()]                          changes the caller's own account
    origin: Annotated[Origin, Anyone]                              before signing in

A token with limited scopes passes with one of the permissions of `Requires`, or of the scopes of `SignedIn`.
Where none are named, only a session or a token of scope `*` passes.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal, Protocol

from fastapi import Depends, Request
from fastapi.params import Depends as DependsParameter
from starlette.requests import HTTPConnection

from corral.api.parts import part_of
from corral.core.permissions import EVERY_SCOPE, OWN_WORK, AccountScope, Permission
from corral.core.refusals import Forbidden
from corral.core.scopes import contains, outermost
from corral.store.database import Database
from corral.store.keyring import Keyring

Via = Literal["session", "token", "local", "system"]

# The topic of hints that something changed in who may do what.
IDENTITY = "identity"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request comes from."""

    address: str
    request_id: str
    user_agent: str = ""


@dataclass(frozen=True, slots=True)
class Authority:
    """Permissions held on a node of the organisation tree and everything below it, perhaps for a time."""

    path: str
    permissions: frozenset[Permission]
    until: datetime | None = None


def held_on(authorities: Iterable[Authority], path: str) -> frozenset[Permission]:
    """What authorities amount to on one organisation."""
    held: frozenset[Permission] = frozenset()
    for authority in authorities:
        if contains(authority.path, path):
            held |= authority.permissions
    return held


def held_until(
    authorities: Iterable[Authority], permissions: Iterable[Permission], path: str
) -> datetime | None:
    """When the first of the permissions ends there: each lasts as long as the longest grant that has it.

    None if they have no end. All of them must be held.
    """
    covering = [one for one in authorities if contains(one.path, path)]
    ends: list[datetime] = []
    for permission in permissions:
        those = [one.until for one in covering if permission in one.permissions]
        assert those, f"{permission} is not held on {path}"
        lasting = [end for end in those if end is not None]
        if len(lasting) == len(those):
            ends.append(max(lasting))
    return min(ends, default=None)


@dataclass(frozen=True, slots=True)
class Caller:
    user_id: str
    name: str
    via: Via
    credential_id: str
    origin: Origin
    authorities: tuple[Authority, ...]
    token_scopes: frozenset[str] | None = None  # None: a session, or a token of scope *
    provider: str = field(default="", compare=False)
    expires_at: datetime | None = field(default=None, compare=False)  # of the credential

    @property
    def next_end(self) -> datetime | None:
        """When the first of what the caller holds ends by itself: the credential, or some authority."""
        ends = [self.expires_at, *(one.until for one in self.authorities)]
        return min((end for end in ends if end is not None), default=None)

    @property
    def limited(self) -> bool:
        """By a token's scopes: such a caller may not change its own account."""
        return self.token_scopes is not None

    def in_scope(self, *scopes: str) -> bool:
        """Whether the credential reaches to one of the scopes; authority is another question."""
        return self.token_scopes is None or not self.token_scopes.isdisjoint(scopes)

    def may(self, permission: Permission, path: str) -> bool:
        return any(
            permission in authority.permissions and contains(authority.path, path)
            for authority in self.authorities
        )

    def permissions_on(self, path: str) -> frozenset[Permission]:
        return held_on(self.authorities, path)

    def until(self, permissions: Iterable[Permission], path: str) -> datetime | None:
        """How long the caller holds all of them there; None without an end."""
        return held_until(self.authorities, permissions, path)

    def scopes(self, permission: Permission) -> list[str]:
        """The outermost paths on which the permission is held."""
        return outermost([one.path for one in self.authorities if permission in one.permissions])

    def require(self, permission: Permission, path: str, place: str) -> None:
        if not self.may(permission, path):
            raise lacking(permission, place)

    def require_all(self, permissions: Iterable[Permission], path: str, act: str) -> None:
        """Nobody gives, takes or steers authority that they do not hold themselves."""
        missing = sorted(set(permissions) - self.permissions_on(path))
        if missing:
            raise Forbidden(
                f"To {act} you need {', '.join(missing)} there yourself.",
                "Ask someone who holds these permissions on that organisation.",
            )


SYSTEM = Caller("", "Corral", "system", "", Origin("", ""), ())


def lacking(permission: Permission, place: str) -> Forbidden:
    return Forbidden(
        f"This needs the permission {permission} on {place}.",
        "Ask an administrator of that organisation for a role that has it.",
    )


class Authenticator(Protocol):
    """Turns a request's credentials into a caller, or refuses; `corral.identity` provides it."""

    async def __call__(self, request: HTTPConnection) -> Caller: ...


@dataclass(frozen=True, slots=True)
class ApiContext:
    """What every route is built on; `stopping` is set when Corral ends."""

    database: Database
    keyring: Keyring
    authenticator: Authenticator
    stopping: asyncio.Event


@dataclass(frozen=True, slots=True)
class Need:
    """What a route needs of its caller: the marker that the walk over all routes looks for."""

    kind: Literal["permission", "signed-in", "anyone"]
    permission: Permission | None = None
    scopes: tuple[str, ...] = ()

    def check_scope(self, caller: Caller) -> None:
        """Refuses a token with limited scopes, none of which is enough here."""
        if caller.in_scope(*self.scopes):
            return
        if not self.scopes:
            raise Forbidden(
                "A token with limited scopes cannot change the account it belongs to.",
                "Sign in to the console, or use a token with the scope *.",
            )
        raise Forbidden(
            f"This token does not have the scope {' or '.join(self.scopes)}.",
            "Create a token that has it, in the console under Profile, Tokens.",
        )


def Requires(permission: Permission, *others: Permission) -> Any:  # noqa: N802 - reads as a word in signatures
    """One of the permissions, somewhere in the tree."""
    enough = frozenset({permission, *others})
    need = Need("permission", permission, (permission, *others))

    async def caller_with_permission(request: Request) -> Caller:
        caller = await authenticate(request)
        need.check_scope(caller)
        if not any(enough & authority.permissions for authority in caller.authorities):
            raise lacking(permission, "some organisation")
        return caller

    return _depends(caller_with_permission, need)


def SignedIn(*scopes: str) -> Any:  # noqa: N802 - reads as a word in signatures
    """Anyone who has an account; a token with limited scopes needs one of `scopes`."""
    need = Need("signed-in", scopes=scopes)

    async def caller_with_account(request: Request) -> Caller:
        caller = await authenticate(request)
        need.check_scope(caller)
        return caller

    return _depends(caller_with_account, need)


async def authenticate(request: HTTPConnection) -> Caller:
    return await part_of(request, ApiContext).authenticator(request)


def request_origin(request: HTTPConnection) -> Origin:
    """What the server's outermost layer wrote down about the connection."""
    origin: Origin = request.state.origin
    return origin


async def _anyone(request: Request) -> Origin:
    return request_origin(request)


def _depends(dependency: Any, need: Need) -> Any:
    dependency.need = need
    return Depends(dependency)


Anyone = _depends(_anyone, Need("anyone"))

AccountReader = Annotated[Caller, SignedIn(AccountScope.READ)]
AccountOwner = Annotated[Caller, SignedIn()]
WorkReader = Annotated[Caller, SignedIn(*OWN_WORK)]
# What each answer holds is decided by the scopes that the token has.
AnyToken = Annotated[Caller, SignedIn(*EVERY_SCOPE)]


def need_of(dependency: DependsParameter) -> Need | None:
    return getattr(dependency.dependency, "need", None)
