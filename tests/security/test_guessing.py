"""Answers do not tell who exists, and guessing is slow."""

from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI

from corral.core.ids import Kind, new_id
from corral.identity.passwords import Passwords
from tests.apps import ADMIN_NAME, ApiClient
from tests.clocks import ShiftedClock


async def try_password(client: ApiClient, name: str, password: str = "not-the-password") -> Any:
    return await client.post("/session", {"provider": "local", "name": name, "password": password})


async def create_person(admin: ApiClient, name: str) -> dict[str, Any]:
    root = (await admin.get("/organisations")).json()["items"][0]["id"]
    roles = {role["key"]: role["id"] for role in (await admin.get("/roles")).json()["items"]}
    body = {"name": name, "display_name": name, "organisation_id": root, "role_id": roles["user"]}
    answer = await admin.post("/users", body)
    assert answer.status_code == 201, answer.text
    person: dict[str, Any] = answer.json()["user"]
    return person


async def test_failed_login_looks_and_costs_the_same_for_everyone(
    admin: ApiClient, visitor: ApiClient, passwords: Passwords
) -> None:
    """A person, one who never had a password, one who is disabled, nobody, and names nobody can have."""
    await create_person(admin, "newcomer")
    gone = await create_person(admin, "gone")
    disabled = await admin.patch(f"/users/{gone['id']}", {"state": "disabled"}, match="*")
    assert disabled.status_code == 200
    seen = set()
    for name in (ADMIN_NAME, "newcomer", "gone", "nobody-here", "a--b", "Ünknown", "x" * 100, "a'; --"):
        before = passwords.verifications
        answer = await try_password(visitor, name)
        body = answer.json()
        assert body.pop("request_id")
        assert body.pop("tries_left") == 9
        assert passwords.verifications == before + 1, name
        seen.add((answer.status_code, str(sorted(body.items())), tuple(sorted(answer.headers))))
    assert len(seen) == 1, seen


async def test_person_of_another_organisation_is_as_unknown_as_nobody(admin: ApiClient, app: FastAPI) -> None:
    """Ids cannot be tried out by those who may not see the people behind them."""
    person = await create_person(admin, "hidden")
    root = (await admin.get("/organisations")).json()["items"][0]["id"]
    lab = (await admin.post("/organisations", {"parent_id": root, "name": "Lab"})).json()["id"]
    roles = {role["key"]: role["id"] for role in (await admin.get("/roles")).json()["items"]}
    code = await admin.post(
        "/join-codes",
        {"organisation_id": lab, "role_id": roles["organisation_administrator"], "seats": 1},
    )
    lead = ApiClient(app, address="192.0.2.40")
    joined = await lead.post(
        "/join",
        {
            "code": code.json()["code"],
            "name": "lead",
            "display_name": "Lead",
            "password": "four-quiet-words-here",
        },
    )
    lead.csrf_token = joined.json()["csrf_token"]
    nobody = new_id(Kind.USER, datetime.now(UTC))
    for suffix in ("", "/sessions"):
        answers = [await lead.get(f"/users/{one}{suffix}") for one in (person["id"], nobody)]
        assert [answer.status_code for answer in answers] == [404, 404]
        bodies = [answer.json() for answer in answers]
        assert bodies[0]["detail"].replace(person["id"], "…") == bodies[1]["detail"].replace(nobody, "…")
    await lead.close()


async def test_guessing_links_and_codes_is_bounded(app: FastAPI) -> None:
    guesses = {
        "/session/link": {"secret": "guess"},
        "/invitations/preview": {"secret": "guess"},
        "/join/preview": {"code": "BCDFG-23456"},
    }
    for number, (path, body) in enumerate(guesses.items()):
        guesser = ApiClient(app, address=f"192.0.2.{100 + number}")
        statuses = [(await guesser.post(path, body)).status_code for _ in range(61)]
        assert set(statuses[:60]) <= {401, 404}
        assert statuses[60] == 429
        await guesser.close()


async def test_login_is_refused_after_ten_tries_until_the_window_is_over(
    visitor: ApiClient, clock: ShiftedClock
) -> None:
    left = [(await try_password(visitor, ADMIN_NAME)).json()["tries_left"] for _ in range(10)]
    assert left == list(range(9, -1, -1))
    refused = await try_password(visitor, ADMIN_NAME)
    assert (refused.status_code, refused.json()["type"]) == (429, "/problems/too-many-tries")
    seconds = refused.json()["retry_after_seconds"]
    assert 0 < seconds <= 901
    assert refused.headers["retry-after"] == str(seconds)
    clock.advance(seconds=seconds)
    assert (await try_password(visitor, ADMIN_NAME)).status_code == 401


async def test_refused_try_is_not_even_checked(visitor: ApiClient, passwords: Passwords) -> None:
    """Else a flood of tries would cost a flood of password hashes."""
    for _ in range(10):
        await try_password(visitor, ADMIN_NAME)
    before = passwords.verifications
    assert (await try_password(visitor, ADMIN_NAME)).status_code == 429
    assert passwords.verifications == before


async def test_someone_elses_tries_do_not_lock_a_person_out(
    visitor: ApiClient, app: FastAPI, admin: ApiClient
) -> None:
    for _ in range(11):
        last = await try_password(visitor, ADMIN_NAME)
    assert last.status_code == 429
    elsewhere = ApiClient(app, address="192.0.2.77")
    assert (await try_password(elsewhere, ADMIN_NAME)).status_code == 401
    await elsewhere.close()
    assert (await admin.get("/session")).status_code == 200


async def test_many_names_from_one_place_leave_fewer_tries_for_each(visitor: ApiClient) -> None:
    statuses = [(await try_password(visitor, f"person{number}")).status_code for number in range(100)]
    assert statuses == [401] * 100
    last = [(await try_password(visitor, "another")).status_code for _ in range(4)]
    assert last == [401, 401, 401, 429]


async def test_failed_tries_are_in_the_audit_log(admin: ApiClient, visitor: ApiClient) -> None:
    await try_password(visitor, ADMIN_NAME, "a-secret-typed-wrong")
    answer = await admin.get("/audit?action=session.create&result=refused")
    (entry,) = answer.json()["items"]
    assert (entry["object_name"], entry["address"]) == (ADMIN_NAME, "192.0.2.10")
    assert "a-secret-typed-wrong" not in answer.text
