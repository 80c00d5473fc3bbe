"""The API's description, completed: who may call what, and how refusals look.

python -m corral.server.openapi > openapi.json
"""

import json
import sys
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, iter_route_contexts

from corral import __version__
from corral.api.callers import Need
from corral.api.problems import MEDIA_TYPE, Problem
from corral.core.refusals import (
    Conflict,
    Forbidden,
    Invalid,
    Malformed,
    NotFound,
    PreconditionMissing,
    Stale,
    TooLarge,
    TooMany,
    Unauthenticated,
    Unavailable,
    UnknownType,
)

DESCRIPTION = """\
Everything the console and the command do, they do through this API.

Send a personal access token as `Authorization: Bearer corral_…`. Errors are `application/problem+json` and
say what to do. Lists come in pages: give `next_cursor` back as `cursor`. Creates take an `Idempotency-Key`;
changes need the `ETag` that was read as `If-Match`."""

_REFUSALS = {
    "permission": ("401", "403"),
    "signed-in": ("401", "403"),
    "anyone": ("403", "429"),
}
_WORDS = {
    str(one.status): f"{one.title}."
    for one in (
        Malformed,
        Unauthenticated,
        Forbidden,
        NotFound,
        Conflict,
        Stale,
        TooLarge,
        UnknownType,
        Invalid,
        PreconditionMissing,
        TooMany,
        Unavailable,
    )
}


def needs_of(route: APIRoute) -> list[Need]:
    """Every need that the route declares, also through what it depends on."""
    found: list[Need] = []
    pending = list(route.dependant.dependencies)
    while pending:
        dependant = pending.pop()
        need = getattr(dependant.call, "need", None)
        if isinstance(need, Need):
            found.append(need)
        pending.extend(dependant.dependencies)
    return found


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document."""
    if app.openapi_schema is None:
        document = get_openapi(
            title="Corral", version=__version__, description=DESCRIPTION, routes=app.routes
        )
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas.pop("HTTPValidationError", None)
        schemas.pop("ValidationError", None)
        definition = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(definition.pop("$defs", {}))
        schemas["Problem"] = definition
        document["components"]["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer", "description": "A personal access token."},
            "session": {"type": "apiKey", "in": "cookie", "name": "corral_session"},
        }
        # Included routers stay whole in app.routes; this walks into them, with their prefixes.
        for context in iter_route_contexts(app.routes):
            route = context.original_route
            if isinstance(route, APIRoute) and route.include_in_schema:
                for method in route.methods or ():
                    _complete(document["paths"][context.path_format][method.lower()], route, method)
        app.openapi_schema = document
    return app.openapi_schema


def _complete(operation: dict[str, Any], route: APIRoute, method: str) -> None:
    need = needs_of(route)[0]
    operation["operationId"] = route.name
    operation["security"] = [] if need.kind == "anyone" else [{"token": []}, {"session": []}]
    operation["x-permission"] = need.permission.value if need.permission else need.kind
    operation["x-scopes"] = list(need.scopes)
    statuses = {"400", "422", "503", *_REFUSALS[need.kind]}
    if "{" in route.path or method in {"POST", "PUT", "PATCH", "GET"}:
        statuses.add("404")
    if method in {"POST", "PUT", "PATCH", "DELETE"}:
        statuses |= {"403", "409", "413", "429"}
    body = operation.get("requestBody", {}).get("content", {})
    if body and "application/json" not in body:
        statuses.add("415")
    if any(parameter.get("name") == "if-match" for parameter in operation.get("parameters", ())):
        statuses |= {"412", "428"}
    if method == "POST":
        statuses.add("401")
    responses = operation["responses"]
    for status in sorted(statuses):
        if status == "422" or status not in responses:
            responses[status] = {
                "description": _WORDS[status],
                "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
            }


def main() -> None:
    from corral.server.app import describe_only

    json.dump(describe(describe_only()), sys.stdout, indent=1, sort_keys=True, ensure_ascii=False)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
