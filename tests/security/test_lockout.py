"""Wrong tries of others behind the same address lock nobody out, and still get nobody in."""

import asyncio

import pytest

from corral.core.refusals import TooMany
from corral.identity.devices import MOST_ACCOUNTS, Devices
from corral.identity.lane import MOST_OF_ONE_ADDRESS, Lane
from corral.identity.passwords import Passwords
from corral.store.keyring import Keyring
from tests.apps import ApiClient
from tests.campus import PASSWORD, Campus, made, refused

TUNNEL = "127.0.0.1"


async def wrong(client: ApiClient, name: str) -> int:
    answer = await client.post(
        "/session", {"provider": "local", "name": name, "password": "no-such-password"}
    )
    return answer.status_code


async def spray(campus: Campus, tries: int = 101) -> ApiClient:
    attacker = campus.visitor(TUNNEL)
    for number in range(tries):
        assert await wrong(attacker, f"name{number}") == 401
    return attacker


async def test_many_wrong_logins_from_one_address_lock_nobody_else_out(campus: Campus) -> None:
    await campus.person("mei")
    await spray(campus)
    await campus.sign_in("mei", address=TUNNEL)


async def test_device_that_was_good_before_passes_while_its_account_is_attacked(campus: Campus) -> None:
    await campus.person("mei")
    laptop = await campus.sign_in("mei", address=TUNNEL)
    made(await laptop.delete("/session"))
    attacker = campus.visitor(TUNNEL)
    for _ in range(10):
        assert await wrong(attacker, "mei") == 401
    assert await wrong(attacker, "mei") == 429
    refused(await campus.visitor(TUNNEL).sign_in("mei", PASSWORD), 429, "too-many-tries")
    made(await laptop.sign_in("mei", PASSWORD))


async def test_device_has_few_tries_of_its_own_and_only_for_its_account(campus: Campus) -> None:
    await campus.person("mei")
    await campus.person("ann")
    laptop = await campus.sign_in("mei", address=TUNNEL)
    assert [await wrong(laptop, "mei") for _ in range(11)] == [401] * 10 + [429]
    attacker = campus.visitor(TUNNEL)
    assert [await wrong(attacker, "ann") for _ in range(11)] == [401] * 10 + [429]
    assert await wrong(laptop, "ann") == 429


async def test_device_cookie_opens_nothing_and_is_out_of_reach_of_scripts(campus: Campus) -> None:
    await campus.person("mei")
    client = campus.visitor(TUNNEL)
    answer = await client.sign_in("mei", PASSWORD)
    (cookie,) = [one for one in answer.headers.get_list("set-cookie") if "_device" in one.split("=")[0]]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    stranger = campus.visitor(TUNNEL)
    stranger.http.headers["Cookie"] = cookie.split(";")[0]
    refused(await stranger.get("/session"), 401, "unauthenticated")


async def test_wrong_codes_do_not_keep_right_ones_from_working(campus: Campus) -> None:
    attacker = campus.visitor(TUNNEL)
    for _ in range(60):
        refused(await attacker.post("/join/preview", {"code": "BBBBB-BBBBB"}), 404)
    refused(await attacker.post("/join/preview", {"code": "BBBBB-BBBBB"}), 429)
    new = {"organisation_id": campus.root, "role_id": campus.presets["user"], "seats": 1}
    code = made(await campus.admin.post("/join-codes", new))["code"]
    made(await campus.visitor(TUNNEL).post("/join/preview", {"code": code}))
    me = made(await campus.admin.get("/me"))["id"]
    link = made(await campus.admin.post(f"/users/{me}/login-link"))["secret"]
    made(await campus.visitor(TUNNEL).post("/session/link", {"secret": link}))


async def test_someone_elses_tries_do_not_keep_one_from_changing_the_password(campus: Campus) -> None:
    await campus.person("mei")
    mei = await campus.sign_in("mei", address=TUNNEL)
    attacker = campus.visitor(TUNNEL)
    for _ in range(11):
        await wrong(attacker, "mei")
    change = {"current_password": PASSWORD, "new_password": "another-calm-stone-18"}
    made(await mei.post("/me/password", change))


async def test_audit_log_keeps_so_many_wrong_logins_from_one_address(campus: Campus) -> None:
    await spray(campus, 105)
    kept = await campus.audit(action="session.create", result="refused")
    assert len(kept) == 100


async def test_flood_of_wrong_logins_is_checked_one_at_a_time(
    campus: Campus, passwords: Passwords, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = most = 0
    verify = passwords.verify

    async def watched(password: str, stored: str | None) -> bool:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        try:
            return await verify(password, stored)
        finally:
            at_once -= 1

    monkeypatch.setattr(passwords, "verify", watched)
    attacker = campus.visitor(TUNNEL)
    await asyncio.gather(*(wrong(attacker, f"name{number}") for number in range(12)))
    assert most == 1


async def test_line_of_strangers_is_bounded_and_one_address_leaves_room() -> None:
    lane, done = Lane(), asyncio.Event()

    async def stand(address: str) -> None:
        async with lane.place(address):
            await done.wait()

    waiting = [asyncio.create_task(stand("a")) for _ in range(MOST_OF_ONE_ADDRESS)]
    await asyncio.sleep(0)
    with pytest.raises(TooMany, match="right now"):
        await stand("a")
    waiting.append(asyncio.create_task(stand("b")))
    done.set()
    await asyncio.gather(*waiting)


def test_device_cookie_holds_few_accounts_and_no_forged_one() -> None:
    devices = Devices(Keyring([b"k" * 32]), "corral_device")
    cookies: dict[str, str] = {}
    for number in range(MOST_ACCOUNTS + 1):
        cookies["corral_device"] = devices.remember(cookies, f"u{number}")
    assert list(devices.known(cookies)) == ["u5", "u4", "u3", "u2", "u1"]
    other = Devices(Keyring([b"x" * 32]), "corral_device")
    for forged in (other.remember({}, "u5"), "", "x", "Zm9v", "é", "A" * 5000):
        assert devices.known({"corral_device": forged}) == {}
