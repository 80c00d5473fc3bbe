"""Who is calling, what they may do and where, and how a route says what it needs.

A route declares its need in its signature, and a test walks all routes for one that does not:

    caller: Annotated[Caller, Requires(Permission.PEOPLE_READ)]    somewhere in the tree; services ask where
    caller: Annotated[Caller, SignedIn]                            about the caller's own account
    origin: Annotated[Origin, Anyone]                              before signing in
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol

from fastapi import Depends, Request
from fastapi.params import Depends as DependsParameter
from starlette.requests import HTTPConnection

from corral.core.permissions import Permission
from corral.core.refusals import Forbidden
from corral.core.scopes import contains, outermost

Via = Literal["session", "token", "local", "system"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request comes from."""

    address: str
    request_id: str
    user_agent: str = ""


@dataclass(frozen=True, slots=True)
class Authority:
    """Permissions held on a node of the organisation tree and everything below it."""

    path: str
    permissions: frozenset[Permission]


def held_on(authorities: Iterable[Authority], path: str) -> frozenset[Permission]:
    """What authorities amount to on one organisation."""
    held: frozenset[Permission] = frozenset()
    for authority in authorities:
        if contains(authority.path, path):
            held |= authority.permissions
    return held


@dataclass(frozen=True, slots=True)
class Caller:
    user_id: str
    name: str
    via: Via
    credential_id: str
    origin: Origin
    authorities: tuple[Authority, ...]
    limited: bool = False  # by a token's scopes: such a caller may not change its own account
    provider: str = field(default="", compare=False)

    def may(self, permission: Permission, path: str) -> bool:
        return any(
            permission in authority.permissions and contains(authority.path, path)
            for authority in self.authorities
        )

    def permissions_on(self, path: str) -> frozenset[Permission]:
        return held_on(self.authorities, path)

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
class Need:
    """What a route needs of its caller: the marker that the walk over all routes looks for."""

    kind: Literal["permission", "signed-in", "anyone"]
    permission: Permission | None = None


def Requires(permission: Permission, *others: Permission) -> Any:  # noqa: N802 - reads as a word in signatures
    """One of the permissions, somewhere in the tree."""
    enough = frozenset({permission, *others})

    async def caller_with_permission(request: Request) -> Caller:
        caller = await authenticate(request)
        if not any(enough & authority.permissions for authority in caller.authorities):
            raise lacking(permission, "some organisation")
        return caller

    return _depends(caller_with_permission, Need("permission", permission))


async def authenticate(request: HTTPConnection) -> Caller:
    authenticator: Authenticator = request.app.state.authenticator
    return await authenticator(request)


def request_origin(request: HTTPConnection) -> Origin:
    """What the server's outermost layer wrote down about the connection."""
    origin: Origin = request.state.origin
    return origin


async def _signed_in(request: Request) -> Caller:
    caller = await authenticate(request)
    if caller.limited and request.method not in {"GET", "HEAD"}:
        raise Forbidden(
            "A token with limited scopes cannot change the account it belongs to.",
            "Sign in to the console, or use a token with the scope *.",
        )
    return caller


async def _anyone(request: Request) -> Origin:
    return request_origin(request)


def _depends(dependency: Any, need: Need) -> Any:
    dependency.need = need
    return Depends(dependency)


SignedIn = _depends(_signed_in, Need("signed-in"))
Anyone = _depends(_anyone, Need("anyone"))

SignedInCaller = Annotated[Caller, SignedIn]


def need_of(dependency: DependsParameter) -> Need | None:
    return getattr(dependency.dependency, "need", None)
