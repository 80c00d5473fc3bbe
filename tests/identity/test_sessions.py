"""Sessions: how they end, who sees them, when they were last used."""

from corral.api.parts import part
from corral.identity.access import Access
from corral.identity.context import Identity
from tests.apps import ApiClient
from tests.campus import PASSWORD, Campus, made, refused


def access(campus: Campus) -> Access:
    return part(campus.app, Identity).access


async def test_session_ends_after_its_hours_however_much_it_is_used(campus: Campus) -> None:
    await campus.person("mei")
    client = await campus.sign_in("mei")
    for _ in range(167 // 20):
        campus.clock.advance(hours=20)
        made(await client.get("/me"))
        await access(campus).seen.flush(campus.database)
    campus.clock.advance(hours=7)
    made(await client.get("/me"))
    campus.clock.advance(hours=1, seconds=1)
    refused(await client.get("/me"), 401, "unauthenticated")


async def test_session_ends_when_it_is_not_used(campus: Campus) -> None:
    await campus.person("mei")
    client = await campus.sign_in("mei")
    campus.clock.advance(hours=23, minutes=59)
    made(await client.get("/me"))
    await access(campus).seen.flush(campus.database)
    campus.clock.advance(hours=24, seconds=1)
    refused(await client.get("/me"), 401, "unauthenticated")


async def test_signing_out_ends_the_session_and_the_cookie(campus: Campus) -> None:
    await campus.person("mei")
    client = await campus.sign_in("mei")
    secret = client.http.cookies["__Host-corral_session"]
    answer = await client.delete("/session")
    assert answer.status_code == 204
    assert 'corral_session=""' in answer.headers["set-cookie"]
    assert "Max-Age=0" in answer.headers["set-cookie"]
    again = campus.visitor()
    again.http.headers["Cookie"] = f"__Host-corral_session={secret}"
    refused(await again.get("/me"), 401, "unauthenticated")


async def test_sessions_are_listed_and_ended_one_by_one_or_all_others(campus: Campus) -> None:
    await campus.person("mei")
    here = await campus.sign_in("mei", address="192.0.2.1")
    there = await campus.sign_in("mei", address="192.0.2.2")
    third = await campus.sign_in("mei", address="192.0.2.3")
    items = made(await here.get("/me/sessions"))["items"]
    assert {one["address"]: one["current"] for one in items} == {
        "192.0.2.1": True,
        "192.0.2.2": False,
        "192.0.2.3": False,
    }
    assert all(one["provider"] == "local" and one["user_agent"] for one in items)
    of_there = next(one["id"] for one in items if one["address"] == "192.0.2.2")
    made(await here.delete(f"/me/sessions/{of_there}"))
    refused(await there.get("/me"), 401, "unauthenticated")
    refused(await here.delete(f"/me/sessions/{of_there}"), 404, "not-found")
    assert made(await here.post("/me/sessions/revoke-others")) == {"revoked": 1}
    refused(await third.get("/me"), 401, "unauthenticated")
    made(await here.get("/me"))


async def test_nobody_ends_the_sessions_of_others_by_their_id(campus: Campus) -> None:
    await campus.person("mei")
    await campus.person("ann")
    mei, ann = await campus.sign_in("mei"), await campus.sign_in("ann")
    of_mei = made(await mei.get("/me/sessions"))["items"][0]["id"]
    refused(await ann.delete(f"/me/sessions/{of_mei}"), 404, "not-found")
    made(await mei.get("/me"))


async def test_changing_the_password_ends_all_other_sessions_and_open_links(campus: Campus) -> None:
    mei = await campus.person("mei")
    here, there = await campus.sign_in("mei"), await campus.sign_in("mei")
    link = made(await campus.admin.post(f"/users/{mei}/login-link"))
    # The link asks for a new password, which may be chosen where one is signed in, too.
    made(await here.post("/me/password", {"new_password": "another-quiet-river"}))
    refused(await there.get("/me"), 401, "unauthenticated")
    made(await here.get("/organisations"))
    refused(await campus.visitor().post("/session/link", {"secret": link["secret"]}), 401, "login-failed")


async def test_changing_the_password_needs_the_current_one(campus: Campus) -> None:
    await campus.person("mei")
    client = await campus.sign_in("mei")
    for current in ({}, {"current_password": "wrong-password"}, {"current_password": ""}):
        answer = await client.post("/me/password", {**current, "new_password": "another-quiet-river"})
        refused(answer, 422, "invalid", "body.current_password")
    weak = {"current_password": PASSWORD, "new_password": "mei-12345"}
    for _ in range(12):  # more than there are tries: a refused new password is no guess
        refused(await client.post("/me/password", weak), 422, "invalid", "body.new_password")
    made(await client.post("/me/password", {**weak, "new_password": "another-quiet-river"}))
    await campus.sign_in("mei", "another-quiet-river")


async def test_guessing_the_current_password_ends_like_signing_in(campus: Campus) -> None:
    await campus.person("mei")
    client = await campus.sign_in("mei")
    for _ in range(10):
        guess = {"current_password": "wrong-password", "new_password": "another-quiet-river"}
        refused(await client.post("/me/password", guess), 422, "invalid", "body.current_password")
    guess["current_password"] = PASSWORD
    refused(await client.post("/me/password", guess), 429, "too-many-tries")


async def test_last_use_is_gathered_and_written_down(campus: Campus) -> None:
    mei = await campus.person("mei")
    client = await campus.sign_in("mei")
    await access(campus).seen.flush(campus.database)

    async def last_seen(of: ApiClient) -> tuple[str, str]:
        session = made(await of.get(f"/users/{mei}/sessions"))["items"][0]
        return made(await of.get(f"/users/{mei}"))["last_seen_at"], session["last_seen_at"]

    before = await last_seen(campus.admin)
    campus.clock.advance(minutes=5)
    made(await client.get("/me"))
    assert await last_seen(campus.admin) == before
    await access(campus).seen.flush(campus.database)
    after = await last_seen(campus.admin)
    assert after[0] == after[1] > before[1]


async def test_administrators_see_and_end_sessions_of_their_people(campus: Campus) -> None:
    mei = await campus.person("mei")
    client = await campus.sign_in("mei", address="198.51.100.5")
    await campus.sign_in("mei")
    items = made(await campus.admin.get(f"/users/{mei}/sessions"))["items"]
    assert {one["current"] for one in items} == {False}
    assert "198.51.100.5" in {one["address"] for one in items}
    assert made(await campus.admin.post(f"/users/{mei}/sessions/revoke")) == {"revoked": 2}
    assert made(await campus.admin.post(f"/users/{mei}/sessions/revoke")) == {"revoked": 0}
    refused(await client.get("/me"), 401, "unauthenticated")
    made(await campus.admin.get("/me"))
