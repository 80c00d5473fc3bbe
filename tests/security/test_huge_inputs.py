"""Whatever is sent, the answer is a small refusal and the server goes on."""

import json
from collections.abc import AsyncIterator

import pytest

from tests.apps import ApiClient

LIMIT = 2 * 1024 * 1024
JSON = {"Content-Type": "application/json"}


async def test_body_over_the_limit_is_refused_by_its_length(visitor: ApiClient) -> None:
    answer = await visitor.request("POST", "/session", content=b" " * (LIMIT + 1), headers=JSON)
    assert (answer.status_code, answer.json()["type"]) == (413, "/problems/too-large")


async def test_body_that_hides_its_length_is_counted_as_it_comes(visitor: ApiClient) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(64):
            sent += 65536
            yield b" " * 65536

    answer = await visitor.request("POST", "/session", content=endless(), headers=JSON)
    assert answer.status_code == 413
    assert sent >= LIMIT


async def test_length_that_is_no_number_is_refused(visitor: ApiClient) -> None:
    for length in ("-1", "1e9", "9" * 40, "9" * 5000, "\u00b2"):
        answer = await visitor.http.post(
            "/api/v1/session", headers=[(b"content-length", length.encode("latin-1"))], content=b"{}"
        )
        assert answer.status_code in {400, 413}, length[:20]


@pytest.mark.parametrize("body", ["[" * 100_000 + "]" * 100_000, '{"name":' * 50_000 + "1" + "}" * 50_000])
async def test_deep_json_is_refused(visitor: ApiClient, body: str) -> None:
    answer = await visitor.request("POST", "/session", content=body, headers=JSON)
    assert answer.status_code in {400, 422}
    assert len(answer.content) < 2000


async def test_broken_json_is_refused(visitor: ApiClient) -> None:
    for body in ("{", "", "\x00", '{"a":1,}', "NaN", '"\\ud800"', "1" * 5000, "[1e999999]"):
        answer = await visitor.request("POST", "/session", content=body.encode(), headers=JSON)
        assert answer.status_code in {400, 422}, body[:20]
    answer = await visitor.request("POST", "/session", content=b"\xff\xfe{}", headers=JSON)
    assert answer.status_code in {400, 422}


async def test_very_long_strings_are_named_and_not_repeated(admin: ApiClient) -> None:
    long = "x" * 1_000_000
    root = (await admin.get("/organisations")).json()["items"][0]["id"]
    bodies = {
        "/session": {"provider": "local", "name": long, "password": "p"},
        "/organisations": {"parent_id": root, "name": long},
        "/me/tokens": {"name": long},
        "/me/ssh-keys": {"title": "k", "public_key": long},
        "/me/join": {"code": long},
        "/me/password": {"current_password": long, "new_password": long},
        "/invitations/preview": {"secret": long},
    }
    for path, body in bodies.items():
        answer = await admin.post(path, body)
        assert answer.status_code == 422, path
        assert len(answer.content) < 3000, path


async def test_password_that_is_long_is_not_hashed(visitor: ApiClient) -> None:
    answer = await visitor.post("/session", {"provider": "local", "name": "admin", "password": "x" * 257})
    assert answer.status_code == 422


async def test_thousands_of_filters_are_refused(admin: ApiClient) -> None:
    """As many as fit into the longest address that servers take."""
    for query in ("action=&" * 8_000, "a=&" * 20_000, "&".join(f"f{number}=" for number in range(8_000))):
        answer = await admin.get(f"/audit?{query}")
        assert answer.status_code == 422
        assert len(answer.content) < 8000


async def test_ten_thousand_fields_are_refused_with_a_short_answer(admin: ApiClient) -> None:
    body = {f"field{number}": number for number in range(10_000)}
    answer = await admin.post("/me/tokens", body)
    assert answer.status_code == 422
    assert len(answer.content) < 8000


async def test_numbers_out_of_range_are_refused(admin: ApiClient) -> None:
    for limit in ("0", "-1", "201", "9" * 400, "1e3", "0x10", "٣"):
        assert (await admin.get("/users", params={"limit": limit})).status_code == 422, limit
    root = (await admin.get("/organisations")).json()["items"][0]["id"]
    for seats in (0, -1, 2**63, 10**300, 1.5):
        body = {"organisation_id": root, "role_id": root, "seats": seats}
        answer = await admin.request("POST", "/join-codes", content=json.dumps(body), headers=JSON)
        assert answer.status_code == 422, seats


async def test_wrong_cursors_are_refused(admin: ApiClient) -> None:
    for path in ("/users", "/invitations", "/join-codes", "/audit"):
        for cursor in ("x", "W10", "a" * 600, "bnVsbA", "WyJuYW1lIiwxXQ", "\x00"):
            answer = await admin.get(path, params={"cursor": cursor})
            assert answer.status_code == 422, (path, cursor)


async def test_import_of_too_many_people_is_refused(admin: ApiClient) -> None:
    root = (await admin.get("/organisations")).json()["items"][0]["id"]
    role = (await admin.get("/roles")).json()["items"][-1]["id"]
    csv = "name\n" + "".join(f"p{number}\n" for number in range(5_001))
    body = {"organisation_id": root, "role_id": role, "csv": csv, "dry_run": True}
    assert (await admin.post("/users/import", body)).status_code == 422


async def test_header_that_is_huge_does_not_reach_the_database(admin: ApiClient) -> None:
    huge = "x" * 60_000
    for name in ("Idempotency-Key", "User-Agent", "X-Request-Id"):
        answer = await admin.post("/me/tokens", {"name": f"for {name}"}, headers={name: huge})
        assert answer.status_code in {201, 422}, name
    assert (
        await admin.get("/session", headers={"Cookie": f"__Host-corral_session={huge}"})
    ).status_code == 401
    assert (await admin.patch("/me", {}, match=huge)).status_code in {412, 422}
