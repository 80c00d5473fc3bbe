"""A token with limited scopes passes where it has the scope that is needed, and nowhere else."""

from collections.abc import Iterable
from datetime import timedelta

import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from starlette.routing import WebSocketRoute

from corral.api.callers import Caller, Need, Origin
from corral.core.permissions import EVERY_SCOPE, OWN_WORK, AccountScope, Permission
from corral.events.visibility import NEEDED, may_see
from corral.hosts.link import PATH as HOST_LINK
from corral.identity.accounts import add_token
from corral.identity.bootstrap import super_administrator
from corral.server.app import describe_only
from corral.server.openapi import needs_of
from corral.store.database import Transaction
from corral.workloads.entering import routes as sockets
from tests.campus import Campus, made, refused
from tests.security.test_routes import CONSOLE, PUBLIC, all_routes

# Routes for any token: the stream says of each change what the token's scopes let it hear, the description is
# the same for everyone. Whoever adds a line here shows below what comes of it.
FOR_ANY_TOKEN = {("GET", "/api/v1/events"), ("GET", "/api/v1/openapi.json")}
EVERY = frozenset(str(one) for one in EVERY_SCOPE)


def needs() -> list[tuple[str, str, Need]]:
    return [
        (method, path, needs_of(route)[0])
        for method, path, route in all_routes()
        if path != CONSOLE and (method, path) not in PUBLIC
    ]


async def make_tokens(campus: Campus, wanted: Iterable[frozenset[str]]) -> dict[frozenset[str], str]:
    def work(transaction: Transaction) -> dict[frozenset[str], str]:
        owner, _ = super_administrator(transaction)
        ends = transaction.now + timedelta(days=1)
        return {
            scopes: add_token(transaction, owner, f"token {number}", sorted(scopes), ends)[1]
            for number, scopes in enumerate(wanted)
        }

    return await campus.database.write(work)


def test_every_route_says_which_scopes_are_enough() -> None:
    found = needs()
    assert len(found) > 80
    for method, path, need in found:
        assert set(need.scopes) <= EVERY
        if need.kind == "permission":
            assert need.permission in need.scopes
        if (method, path) not in FOR_ANY_TOKEN:
            assert len(need.scopes) <= 4, (method, path)
        # Only reading is for tokens that are limited to the account; changing it takes all of it.
        if method != "GET":
            assert AccountScope.READ not in need.scopes, (method, path)


def test_web_sockets_say_which_scope_is_enough() -> None:
    routes = [
        route
        for context in iter_route_contexts(describe_only().routes)
        if isinstance(route := context.original_route, WebSocketRoute)
    ]
    # Hosts authenticate to each other with signed calls (tests/hosts); no person's token opens that one.
    of_people = [route for route in routes if not route.path.endswith(HOST_LINK)]
    assert len(of_people) == len(routes) - 1 == len(sockets) > 0
    for route in of_people:
        assert getattr(route.endpoint, "need", None) == Need(
            "permission", Permission.WORKLOADS_RUN, (Permission.WORKLOADS_RUN,)
        )


async def test_token_passes_with_the_needed_scope_alone_and_with_all_others_not(campus: Campus) -> None:
    found = [one for one in needs() if (one[0], one[1]) not in FOR_ANY_TOKEN]
    lacking = {EVERY - set(need.scopes) for _, _, need in found}
    alone = {frozenset({str(scope)}) for _, _, need in found for scope in need.scopes}
    tokens = await make_tokens(campus, sorted(lacking | alone, key=sorted))
    client = campus.visitor("192.0.2.31")

    async def call(method: str, path: str, scopes: frozenset[str]) -> tuple[int, str]:
        address = path.replace("{", "").replace("}", "")
        body: dict[str, str] | None = None if method == "GET" else {}
        header = {"Authorization": f"Bearer {tokens[scopes]}"}
        answer = await client.request(method, f"/{address}", json=body, headers=header)
        return answer.status_code, answer.text

    for method, path, need in found:
        status, text = await call(method, path, EVERY - set(need.scopes))
        assert status == 403, (method, path, text)
        missing = " or ".join(need.scopes) if need.scopes else "scope *"
        assert missing in text, (method, path, text)
        for scope in need.scopes:
            status, text = await call(method, path, frozenset({str(scope)}))
            assert status != 401, (method, path, text)
            assert "does not have the scope" not in text, (method, path, scope, text)
            if need.permission in {None, scope}:
                assert status != 403, (method, path, scope, text)


async def test_token_for_queues_reads_neither_account_nor_work(campus: Campus) -> None:
    program = await campus.token(campus.admin, "queues.read")
    made(await program.get("/queues"))
    for path in (
        "/me",
        "/me/sessions",
        "/me/tokens",
        "/me/ssh-keys",
        "/me/secrets",
        "/session",
        "/workloads",
        "/workloads/summary",
        "/usage",
        "/samples?subject=node:n0&metric=cpu",
    ):
        assert "does not have the scope" in refused(await program.get(path), 403, "forbidden")["detail"]


async def test_token_for_people_sees_its_owner_as_it_sees_others(campus: Campus) -> None:
    """Where the owner belongs besides is part of the account."""
    lab, other = await campus.organisation("Vision Lab"), await campus.organisation("Robotics")
    lead = await campus.person("lead", lab, "organisation_administrator")
    made(await campus.admin.put(f"/users/{lead}/memberships/{other}", None))
    session = await campus.sign_in("lead")
    for scopes, seen in ((["people.read"], 1), (["people.read", "account.read"], 2)):
        program = await campus.token(session, *scopes, name=f"of {len(scopes)}")
        assert len(made(await program.get(f"/users/{lead}"))["organisations"]) == seen


async def test_token_with_every_permission_does_not_become_its_owners_session(campus: Campus) -> None:
    """A login link of one's own opens a session, which has no limits."""
    lab = await campus.organisation("Vision Lab")
    lead, ann = (
        await campus.person("lead", lab, "organisation_administrator"),
        await campus.person("ann", lab),
    )
    session = await campus.sign_in("lead")
    program = await campus.token(session, *sorted(EVERY))
    for answer in (
        await program.post(f"/users/{lead}/login-link"),
        await program.patch(f"/users/{lead}", {"mail": "mallory@example.org"}, match="*"),
        await program.post(f"/users/{lead}/sessions/revoke"),
    ):
        assert "cannot change the account" in refused(answer, 403, "forbidden")["detail"]
    made(await program.post(f"/users/{ann}/login-link"))
    made(await session.post(f"/users/{lead}/login-link"))


@pytest.mark.parametrize("kind", sorted({*NEEDED, "token", "session", "ssh_key", "secret", "runtime", "odd"}))
def test_events_of_ones_own_need_the_scope_of_their_kind(kind: str) -> None:
    own = {"workload": {*OWN_WORK}, "runtime": {Permission.WORKLOADS_RUN}}.get(kind, {AccountScope.READ})
    for scope in EVERY_SCOPE:
        caller = Caller("u1", "mei", "token", "t1", Origin("", ""), (), token_scopes=frozenset({str(scope)}))
        assert may_see(caller, kind, "/o1/", "u1") == (scope in own), scope
    whole = Caller("u1", "mei", "session", "s1", Origin("", ""), ())
    assert may_see(whole, kind, "/o1/", "u1")


async def test_description_tells_the_scopes_of_each_route(campus: Campus, app: FastAPI) -> None:
    paths = made(await campus.admin.get("/openapi.json"))["paths"]
    assert paths["/api/v1/me"]["get"]["x-scopes"] == ["account.read"]
    assert paths["/api/v1/me"]["patch"]["x-scopes"] == []
    assert paths["/api/v1/workloads"]["get"]["x-scopes"] == [str(one) for one in OWN_WORK]
