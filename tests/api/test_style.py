"""What every answer of the API has in common, asked over HTTP."""

import json
import re
from typing import Any

import pytest

from tests.apps import ApiClient
from tests.campus import Campus, made, refused
from tests.server.quiet_logs import logged

pytestmark = pytest.mark.sqlite


@pytest.fixture
def database_kind() -> str:
    """The database plays no part here."""
    return "sqlite"


async def test_every_kind_of_refusal_looks_the_same(campus: Campus) -> None:
    admin, json_type = campus.admin, {"Content-Type": "application/json"}
    broken: dict[str, Any] = {"content": b'{"name": ', "headers": json_type}
    wrong = {"parent_id": campus.root, "name": ["not", "text"]}
    odd_id = await admin.get("/organisations/nonsense")
    for answer, status, field in (
        (await admin.request("POST", "/organisations", **broken), 422, "body"),
        (await admin.post("/organisations", {"parent_id": campus.root}), 422, "body.name"),
        (await admin.post("/organisations", {"name": "x", "colour": "red"}), 422, "body.colour"),
        (await admin.post("/organisations", wrong), 422, "body.name"),
        (await admin.post("/organisations", [1, 2]), 422, "body"),
        (await admin.request("POST", "/organisations", content=b"name=x"), 422, "body"),
        (await admin.post("/organisations"), 422, "body"),
        (odd_id, 422, "path.organisation_id"),
        (await admin.get("/users", params={"limit": "0"}), 422, "query.limit"),
        (await admin.get("/users", params={"limit": "201"}), 422, "query.limit"),
        (await admin.get("/users", params={"sort": "password"}), 422, "query.sort"),
        (await admin.get("/users", params={"cursor": "bm9uc2Vuc2U"}), 422, "query.cursor"),
        (await admin.get("/organisations/o" + "0" * 22), 404, None),
        (await admin.get("/unknown"), 404, None),
        (await admin.post("/unknown", {}), 404, None),
        (await admin.get("//api"), 404, None),
        (await admin.get("//api/v2/users"), 404, None),
        (await admin.request("DELETE", "/users"), 405, None),
        (await admin.get("/sign-up"), 405, None),
        (await admin.request("PATCH", "//healthz"), 405, None),
    ):
        problem = refused(answer, status)
        assert problem["status"] == status
        assert problem["request_id"] == answer.headers["x-request-id"]
        assert set(problem) >= {"type", "title", "status", "detail", "remedy", "request_id", "errors"}
        fields = [error["field"] for error in problem["errors"]]
        assert field is None or any(one.startswith(field) for one in fields), problem
        assert all(error["message"] and error["remedy"] for error in problem["errors"])


async def test_a_method_that_is_not_there_names_those_that_are(campus: Campus) -> None:
    answer = await campus.admin.request("DELETE", "/users")
    assert set(answer.headers["allow"].split(", ")) == {"GET", "POST"}
    assert (await campus.admin.get("/sign-up")).headers["allow"] == "POST"


async def test_cursor_belongs_to_its_order(campus: Campus) -> None:
    for name in ("ann", "bob"):
        await campus.person(name)
    page = made(await campus.admin.get("/users", params={"limit": 1, "sort": "name"}))
    same = {"limit": 1, "cursor": page["next_cursor"]}
    made(await campus.admin.get("/users", params={**same, "sort": "name"}))
    for sort in ("-name", "created_at", "display_name"):
        answer = await campus.admin.get("/users", params={**same, "sort": sort})
        refused(answer, 422, "invalid", "query.cursor")


async def test_repeated_create_answers_the_same_with_its_secret(campus: Campus) -> None:
    key = {"Idempotency-Key": "laptop-2026"}
    first = await campus.admin.post("/me/tokens", {"name": "laptop"}, headers=key)
    again = await campus.admin.post("/me/tokens", {"name": "laptop"}, headers=key)
    assert (first.status_code, again.status_code) == (201, 201)
    assert made(first) == made(again)
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert len(made(await campus.admin.get("/me/tokens"))["items"]) == 1
    other = await campus.admin.post("/me/tokens", {"name": "desktop"}, headers=key)
    refused(other, 422, "invalid", "header.Idempotency-Key")
    for bad in ("", "x" * 201, "with space"):
        answer = await campus.admin.post("/me/tokens", {"name": "x"}, headers={"Idempotency-Key": bad})
        refused(answer, 422, "invalid")


async def test_request_ids_are_ours_and_found_everywhere(campus: Campus) -> None:
    answer = await campus.admin.post(
        "/organisations", {"parent_id": campus.root, "name": "Lab"}, headers={"X-Request-ID": "mine"}
    )
    request_id = answer.headers["x-request-id"]
    assert re.fullmatch("[0-9a-f]{16}", request_id)
    (entry,) = await campus.audit(action="organisation.create")
    assert entry["request_id"] == request_id
    assert (await campus.admin.get("/me")).headers["x-request-id"] != request_id


async def test_answers_of_the_api_are_kept_by_nobody(visitor: ApiClient, campus: Campus) -> None:
    for client, path in ((campus.admin, "/me"), (visitor, "/me"), (visitor, "/login-options")):
        assert (await client.get(path)).headers["cache-control"] == "no-store"


async def test_an_error_of_ours_tells_nothing_but_its_id(
    campus: Campus, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr("corral.identity.roles.list_roles", broken)
    with logged() as log:
        answer = await campus.admin.get("/roles")
    problem = refused(answer, 500, "internal")
    line = json.loads(log.getvalue().splitlines()[0])
    assert line["request_id"] == problem["request_id"]
    assert "a secret detail" in line["exception"]
    assert "secret" not in answer.text
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert answer.headers["x-content-type-options"] == "nosniff"
