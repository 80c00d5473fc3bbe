"""One flat list of routes, found by the resource they are about.

FastAPI asks included routers one after another, and the one that fits twice; with seventy routes that cost
more than the rest of a small request. So the routes are laid flat, and a request only meets those of its
resource.
"""

from collections.abc import Iterable

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from corral.api.bodies import BoundedRoute


def lay_flat(routers: Iterable[APIRouter], prefix: str = "") -> list[BaseRoute]:
    """Every route of the routers, for the application itself."""
    flat = APIRouter(route_class=BoundedRoute)
    for router in routers:
        for route in router.routes:
            assert isinstance(route, APIRoute), "routers of routers are laid flat by their package"
            flat.add_api_route(
                prefix + route.path,
                route.endpoint,
                methods=sorted(route.methods or ()),
                name=route.name,
                status_code=route.status_code,
                response_model=route.response_model,
                response_class=route.response_class,
                responses=route.responses,
                summary=route.summary,
                tags=route.tags,
                include_in_schema=route.include_in_schema,
                openapi_extra=route.openapi_extra,
            )
    return flat.routes


class ByResource:
    """Answers what the routes of one resource answer; all else goes the usual way through all routes."""

    def __init__(self, app: FastAPI) -> None:
        self._router = app.router
        self._routes: dict[str, list[APIRoute]] = {}
        for route in app.routes:
            if isinstance(route, APIRoute):
                self._routes.setdefault(_resource(route.path), []).append(route)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            for route in self._routes.get(_resource(scope["path"]), ()):
                match, found = route.matches(scope)
                if match is Match.FULL:
                    scope.update(found, router=self._router)
                    await route.handle(scope, receive, send)
                    return
        await self._router.app(scope, receive, send)


def _resource(path: str) -> str:
    """`/api/v1/users` of `/api/v1/users/u01…`; `/healthz` of `/healthz`."""
    return "/".join(path.split("/", 4)[:4])
