"""The parts of an application, found by their type.

Each package has a frozen context of what its routes need (`identity.context.Identity`, say). The application
provides each once. A route gets it by a typed dependency (`Depends(using(Identity))`), and a test provides
another one in its place.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request

P = TypeVar("P")


def provide(app: Starlette, *parts: object) -> None:
    """Gives the application its parts; one of the same type is replaced."""
    known: dict[type, object] = getattr(app.state, "parts", {})
    app.state.parts = known | {type(one): one for one in parts}


def part(app: Starlette, form: type[P]) -> P:
    """The part of this type; an application without it is not whole."""
    found: P = app.state.parts[form]
    return found


def part_of(connection: HTTPConnection, form: type[P]) -> P:
    """The part of the application that a request or a WebSocket came to."""
    return part(connection.app, form)


def using(form: type[P]) -> Callable[[Request], Awaitable[P]]:
    """The dependency of a route on a part."""

    async def find(request: Request) -> P:
        return part(request.app, form)

    return find
