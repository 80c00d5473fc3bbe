"""Serves the built console: one page for every address, hashed assets that browsers keep."""

from collections.abc import Sequence
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse, PlainTextResponse
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute, Match
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from corral.api.problems import refusal_response
from corral.core.refusals import NotFound

FOLDER = Path(__file__).parent / "console"
NOT_BUILT = "The console is not built. Build it with `make console`, then load this page again.\n"
# Ant Design writes its styles at run time, hence unsafe-inline there, and only there.
_CONTENT_SECURITY_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'{apps}; frame-ancestors 'none'"
)


def content_security_policy(apps: str | None) -> str:
    """What pages of the console may do. `apps` are the host names of apps: tickets are posted there."""
    return _CONTENT_SECURITY_POLICY.format(apps="" if apps is None else f" {apps}")


_READING = frozenset({"GET", "HEAD"})
_METHODS = _READING | {"POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


class _Assets(StaticFiles):
    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response

    async def check_config(self) -> None:
        """The console may be built while Corral runs: a folder that is missing now is looked for again."""


def install_console(app: FastAPI, folder: Path = FOLDER) -> None:
    """Adds the console's routes; last, since its page answers for every address nobody else has."""
    index, others = folder / "index.html", list(app.routes)
    assets = _Assets(directory=folder / "assets", check_dir=False)
    app.mount("/assets", GZipMiddleware(assets, minimum_size=1000))

    @app.api_route("/{path:path}", methods=sorted(_METHODS), include_in_schema=False)
    async def console_page(request: Request, path: str) -> Response:
        _refuse_other_methods(others, request)
        if path == "api" or path.startswith("api/"):
            return await _not_found(request)
        if request.method not in _READING:
            raise HTTPException(405, headers={"Allow": ", ".join(sorted(_READING))})
        file = folder / path
        if path and "/" not in path and not path.startswith(".") and file.suffix and file.is_file():
            return FileResponse(file, headers={"Cache-Control": "no-cache"})
        if not index.is_file():
            return PlainTextResponse(NOT_BUILT, status_code=503)
        return FileResponse(index, headers={"Cache-Control": "no-cache"})


def _refuse_other_methods(routes: Sequence[BaseRoute], request: Request) -> None:
    """An address that others answer by other methods is none of the console's."""
    allowed = [
        method
        for method in sorted(_METHODS)
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]
    if allowed:
        raise HTTPException(405, headers={"Allow": ", ".join(allowed)})


async def _not_found(request: Request) -> Response:
    refusal = NotFound(
        f"There is nothing at {request.url.path[:200]}.",
        "Check the address; the API is described at /api/v1/openapi.json.",
    )
    return refusal_response(refusal, request.state.origin.request_id)
