"""Every route says whom it lets in, and lets in nobody else."""

from collections.abc import Iterator

from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts

from corral.server.app import describe_only
from corral.server.openapi import needs_of
from tests.apps import ApiClient

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
# Whoever adds a line here says that strangers may call it.
PUBLIC = {
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/api/v1/login-options"),
    ("POST", "/api/v1/session"),
    ("POST", "/api/v1/session/link"),
    ("POST", "/api/v1/sign-up"),
    ("POST", "/api/v1/invitations/preview"),
    ("POST", "/api/v1/invitations/accept"),
    ("POST", "/api/v1/join/preview"),
    ("POST", "/api/v1/join"),
}
# The console's own files: a page without data, which asks the API for everything.
CONSOLE = "/{path:path}"


def all_routes() -> Iterator[tuple[str, str, APIRoute]]:
    for context in iter_route_contexts(describe_only().routes):
        route = context.original_route
        if isinstance(route, APIRoute):
            for method in sorted(route.methods or ()):
                yield method, context.path or "", route


def test_every_route_declares_what_it_needs_of_its_caller() -> None:
    found = {(method, path): needs_of(route) for method, path, route in all_routes() if path != CONSOLE}
    assert len(found) > 60
    assert not [where for where, needs in found.items() if len(needs) != 1]


def test_only_the_listed_routes_are_for_anyone() -> None:
    public = {
        (method, path)
        for method, path, route in all_routes()
        if path != CONSOLE and needs_of(route)[0].kind == "anyone"
    }
    assert public == PUBLIC


def test_routes_that_need_a_permission_take_their_caller_from_it() -> None:
    """A need beside an unrelated caller would be checked for nothing."""
    for method, path, route in all_routes():
        if path != CONSOLE and needs_of(route)[0].kind != "anyone":
            assert "caller" in (route.dependant.call.__annotations__ if route.dependant.call else {}), (
                method,
                path,
            )


async def test_stranger_is_refused_everywhere_else_by_every_method(visitor: ApiClient) -> None:
    known = {(method, path) for method, path, _ in all_routes() if path != CONSOLE}
    for path in sorted({path for _, path in known}):
        address = path.replace("{", "").replace("}", "")
        for method in METHODS:
            if (method, path) in PUBLIC:
                continue
            answer = await visitor.request(method, f"/{address}", json={} if method != "GET" else None)
            # What is not offered at all is refused too: as another route, as nothing, or by its method.
            allowed = {401} if (method, path) in known else {401, 404, 405}
            assert answer.status_code in allowed, (method, path, answer.text)
            assert answer.headers["content-type"] == "application/problem+json"


async def test_wrong_credential_is_refused(visitor: ApiClient) -> None:
    for credential in ("Bearer nonsense", "Basic YWRtaW46YWRtaW4=", "Bearer ", "corral_x_y", ""):
        answer = await visitor.get("/users", headers={"Authorization": credential})
        assert answer.status_code == 401


async def test_token_with_another_secret_is_refused(admin: ApiClient, visitor: ApiClient) -> None:
    created = (await admin.post("/me/tokens", {"name": "script"})).json()["secret"]
    assert (await visitor.get("/users", headers={"Authorization": f"Bearer {created}"})).status_code == 200
    changed = created[:-1] + ("A" if created[-1] != "A" else "B")
    assert (await visitor.get("/users", headers={"Authorization": f"Bearer {changed}"})).status_code == 401


async def test_token_with_scopes_opens_only_those(admin: ApiClient, visitor: ApiClient) -> None:
    made = await admin.post("/me/tokens", {"name": "script", "scopes": ["people.read"]})
    token = {"Authorization": f"Bearer {made.json()['secret']}"}
    assert (await visitor.get("/users", headers=token)).status_code == 200
    assert (await visitor.get("/audit", headers=token)).status_code == 403
    assert (await visitor.post("/me/tokens", {"name": "wider"}, headers=token)).status_code == 403


async def test_metrics_are_for_those_who_may_see_the_system(visitor: ApiClient, admin: ApiClient) -> None:
    assert (await visitor.get("//metrics")).status_code == 401
    assert (await admin.get("//metrics")).status_code == 200


async def test_other_host_names_are_not_answered(app: FastAPI, visitor: ApiClient) -> None:
    """A page of evil.example that makes its name point here (DNS rebinding) gets nothing."""
    answer = await visitor.get("/login-options", headers={"Host": "evil.example"})
    assert answer.status_code == 400
