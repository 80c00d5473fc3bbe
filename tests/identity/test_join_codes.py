"""Join codes: as many people as there are seats, however the code is typed."""

import asyncio
from typing import Any

import httpx2
from sqlalchemy import func, select

from corral.identity.tables import user
from corral.store.database import Transaction
from tests.campus import ADMINISTRATOR, PASSWORD, Campus, made, refused


async def make_code(campus: Campus, organisation: str | None = None, **fields: Any) -> Any:
    new = {
        "organisation_id": organisation or campus.root,
        "role_id": campus.presets["user"],
        "seats": 2,
        **fields,
    }
    return made(await campus.admin.post("/join-codes", new))


async def join(campus: Campus, code: str, name: str, **more: str) -> httpx2.Response:
    wish = {"code": code, "name": name, "display_name": name.title(), "password": PASSWORD, **more}
    return await campus.visitor().post("/join", wish)


async def test_join_code_from_blackboard_to_account(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    code = await make_code(campus, lab)
    assert (code["seats"], code["seats_taken"]) == (2, 0)
    preview = made(await campus.visitor().post("/join/preview", {"code": code["code"]}))
    assert preview == {
        "organisation_name": "Vision Lab",
        "role_name": "User",
        "role_key": "user",
        "seats_left": 2,
        "expires_at": code["expires_at"],
        "role_expires_at": None,
    }
    session = made(await join(campus, code["code"], "mei", mail="mei@example.org"))
    assert session["user"]["mail"] == "mei@example.org"
    assert [one["id"] for one in session["user"]["organisations"]] == [lab]
    made(await join(campus, code["code"], "ann"))
    refused(await join(campus, code["code"], "bob"), 404, "not-found")
    refused(await campus.visitor().post("/join/preview", {"code": code["code"]}), 404, "not-found")
    (listed,) = made(await campus.admin.get("/join-codes"))["items"]
    assert listed["seats_taken"] == 2
    await campus.sign_in("ann")


async def test_code_is_read_however_it_is_typed(campus: Campus) -> None:
    code = (await make_code(campus))["code"]
    visitor = campus.visitor()
    left, right = code.split("-")
    for typed in (code.lower(), left + right, f" {left} {right} ", f"{left}--{right}.", " ".join(code)):
        made(await visitor.post("/join/preview", {"code": typed}))
    for wrong in (left, code + "B", right + left, "-"):
        refused(await visitor.post("/join/preview", {"code": wrong}), 404, "not-found")
    for odd in ("", "x" * 41, "日本語", "a\x00b"):
        refused(await visitor.post("/join/preview", {"code": odd}), 422, "invalid", "body.code")


async def test_twenty_who_join_at_once_get_the_five_seats(campus: Campus) -> None:
    code = await make_code(campus, seats=5)
    answers = await asyncio.gather(*(join(campus, code["code"], f"student{n}") for n in range(20)))
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [201] * 5 + [404] * 15
    (listed,) = made(await campus.admin.get("/join-codes"))["items"]
    assert listed["seats_taken"] == 5

    def count(transaction: Transaction) -> int:
        students = user.c.name.like("student%")
        return int(transaction.scalar(select(func.count()).select_from(user).where(students)))

    assert await campus.database.read(count) == 5


async def test_a_taken_name_takes_no_seat(campus: Campus) -> None:
    code = await make_code(campus)
    refused(await join(campus, code["code"], "admin"), 409, "conflict", "body.name")
    both = await asyncio.gather(*(join(campus, code["code"], "mei") for _ in range(2)))
    assert sorted(answer.status_code for answer in both) == [201, 409]
    (listed,) = made(await campus.admin.get("/join-codes"))["items"]
    assert listed["seats_taken"] == 1


async def test_someone_with_an_account_joins_one_more_organisation(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    code = await make_code(campus, lab)
    await campus.person("mei")
    client = await campus.sign_in("mei")
    joined = made(await client.post("/me/join", {"code": code["code"].lower()}))
    assert {one["id"] for one in joined["organisations"]} == {campus.root, lab}
    refused(await client.post("/me/join", {"code": code["code"]}), 409, "conflict")
    refused(await client.post("/me/join", {"code": "BBBBB-BBBBB"}), 404, "not-found")
    (listed,) = made(await campus.admin.get("/join-codes"))["items"]
    assert listed["seats_taken"] == 1


async def test_code_ends_by_time_by_withdrawal_and_with_its_makers_authority(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    lead = await campus.person("lead", lab, ADMINISTRATOR)
    client = await campus.sign_in("lead")
    new = {"organisation_id": lab, "role_id": campus.presets["user"], "seats": 3, "expires_in_hours": 2}
    codes = [made(await client.post("/join-codes", new)) for _ in range(2)]
    made(await client.delete(f"/join-codes/{codes[0]['id']}"))
    refused(await join(campus, codes[0]["code"], "mei"), 404, "not-found")
    refused(await client.delete(f"/join-codes/{codes[0]['id']}"), 404, "not-found")
    made(await campus.admin.patch(f"/users/{lead}", {"state": "disabled"}, match="*"))
    refused(await join(campus, codes[1]["code"], "mei"), 404, "not-found")
    made(await campus.admin.patch(f"/users/{lead}", {"state": "active"}, match="*"))
    made(await join(campus, codes[1]["code"], "mei"))
    campus.clock.advance(hours=2, seconds=1)
    refused(await join(campus, codes[1]["code"], "ann"), 404, "not-found")


async def test_seats_are_bounded(campus: Campus) -> None:
    for seats in (0, 10_001, -1):
        new = {"organisation_id": campus.root, "role_id": campus.presets["user"], "seats": seats}
        refused(await campus.admin.post("/join-codes", new), 422, "invalid", "body.seats")
