"""Other sites cannot act in someone's name, nor get their cookie, nor be where we send people."""

from http.cookies import SimpleCookie
from pathlib import Path

import httpx2
from fastapi import FastAPI

from corral.accelerators.machine import Machine
from corral.identity.passwords import Passwords
from corral.server.app import Parts, create_app
from corral.server.settings import Settings
from corral.store.database import Database
from corral.store.keyring import Keyring
from tests.apps import ADMIN_NAME, ADMIN_PASSWORD, ORIGIN, ApiClient, found

LOGIN = {"provider": "local", "name": ADMIN_NAME, "password": ADMIN_PASSWORD}


async def token_names(client: ApiClient) -> list[str]:
    return [item["name"] for item in (await client.get("/me/tokens")).json()["items"]]


async def test_change_without_the_csrf_token_is_refused(admin: ApiClient) -> None:
    admin.csrf_token = None
    answer = await admin.post("/me/tokens", {"name": "planted"})
    assert (answer.status_code, answer.json()["type"]) == (403, "/problems/cross-site")
    assert await token_names(admin) == []


async def test_change_with_a_wrong_csrf_token_is_refused(admin: ApiClient) -> None:
    for wrong in (b"", b"x", b"0" * 64, b"\xe9"):
        answer = await admin.http.post(
            "/api/v1/me/tokens", json={"name": "planted"}, headers=[(b"X-CSRF-Token", wrong)]
        )
        assert (answer.status_code, answer.json()["type"]) == (403, "/problems/cross-site")


async def test_csrf_token_of_another_session_is_refused(app: FastAPI, admin: ApiClient) -> None:
    other = ApiClient(app, address="192.0.2.2")
    assert (await other.sign_in(ADMIN_NAME, ADMIN_PASSWORD)).is_success
    assert other.csrf_token != admin.csrf_token
    admin.csrf_token = other.csrf_token
    assert (await admin.post("/me/tokens", {"name": "planted"})).status_code == 403
    await other.close()


async def test_page_of_another_origin_cannot_change_things(admin: ApiClient) -> None:
    """Even with the right token: it may have leaked."""
    origins = ["https://evil.example", "null", "http://corral.test", "https://corral.test:444"]
    origins += ["https://corral.test.evil.example", "https://corral.test@evil.example", ""]
    signs = [{"Origin": one} for one in origins]
    signs += [{"Sec-Fetch-Site": one} for one in ("cross-site", "same-site")]
    for headers in signs:
        answer = await admin.post("/me/tokens", {"name": "planted"}, headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (403, "/problems/cross-site"), headers
    assert await token_names(admin) == []


async def test_page_of_another_origin_cannot_sign_someone_in(visitor: ApiClient) -> None:
    """Else a victim would work in the attacker's account."""
    answer = await visitor.post("/session", LOGIN, headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


async def test_form_of_another_site_is_not_taken_for_json(visitor: ApiClient) -> None:
    """Forms cannot send application/json; text that looks like it is refused."""
    answer = await visitor.http.post(
        "/api/v1/session",
        content='{"provider":"local","name":"admin","password":"x"}',
        headers={"Content-Type": "text/plain"},
    )
    assert answer.status_code == 422


async def test_bearer_token_needs_no_csrf_token(admin: ApiClient, visitor: ApiClient) -> None:
    """Browsers do not send it by themselves."""
    secret = (await admin.post("/me/tokens", {"name": "script"})).json()["secret"]
    token = {"Authorization": f"Bearer {secret}"}
    assert (await visitor.post("/me/tokens", {"name": "second"}, headers=token)).status_code == 201


async def test_reading_does_not_change_anything_for_another_site(admin: ApiClient) -> None:
    """No GET ends a session, makes a token or the like: it would need no CSRF token."""
    before = (await admin.get("/me/sessions")).json()
    for path in ("/session", "/me", "/me/tokens", "/me/sessions", "/users", "/organisations"):
        assert (await admin.get(path)).status_code == 200
    after = (await admin.get("/me/sessions")).json()
    assert [one["id"] for one in after["items"]] == [one["id"] for one in before["items"]]


async def test_no_answer_allows_another_origin_to_read_it(admin: ApiClient) -> None:
    for method in ("GET", "OPTIONS"):
        answer = await admin.request(method, "/session", headers={"Origin": "https://evil.example"})
        assert not [name for name in answer.headers if name.startswith("access-control-")]


def cookies(answer: httpx2.Response) -> dict[str, dict[str, str]]:
    """The flags of each cookie that an answer sets, by its name."""
    return {
        name: {key: str(value) for key, value in morsel.items() if value}
        for header in answer.headers.get_list("set-cookie")
        for name, morsel in SimpleCookie(header).items()
    }


async def test_cookie_under_tls_cannot_be_read_or_planted_by_others(visitor: ApiClient) -> None:
    given = cookies(await visitor.post("/session", LOGIN))
    assert given.keys() == {"__Host-corral_session", "__Host-corral_device"}
    for flags in given.values():
        assert flags["path"] == "/"
        assert flags["samesite"].lower() == "strict"
        assert {"secure", "httponly"} <= flags.keys()
        assert "domain" not in flags  # the __Host- prefix forbids it


async def test_cookie_on_loopback_is_one_that_every_browser_keeps(
    database: Database, passwords: Passwords, machine: Machine, tmp_path: Path
) -> None:
    """Without Secure, which Safari drops on http, and with the port in its name: ports share cookies."""
    await found(database, passwords)
    settings = Settings(home=tmp_path / "home", port=8123)
    app = create_app(Parts(settings, database, Keyring.open(tmp_path / "keyring"), machine, passwords))
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8123") as client:
        given = cookies(await client.post("/api/v1/session", json=LOGIN))
        assert (await client.get("/api/v1/session")).status_code == 200
    assert given.keys() == {"corral_session_8123", "corral_device_8123"}
    for flags in given.values():
        assert "httponly" in flags
        assert flags["samesite"].lower() == "strict"
        assert "secure" not in flags
        assert "domain" not in flags


async def test_sign_out_ends_the_session_and_takes_the_cookie(admin: ApiClient) -> None:
    cookie = dict(admin.http.cookies)
    answer = await admin.delete("/session")
    assert answer.status_code == 204
    (flags,) = cookies(answer).values()
    assert flags["max-age"] == "0"
    admin.http.cookies.update(cookie)
    assert (await admin.get("/session")).status_code == 401


async def test_nobody_is_sent_elsewhere(visitor: ApiClient) -> None:
    """Open redirect: an address of ours must never lead to a page of theirs."""
    for target in (
        "/login?next=https://evil.example",
        "/login?return=//evil.example",
        "//evil.example",
        "//evil.example/..",
        "/\\evil.example",
        "/%5cevil.example",
        "/https://evil.example",
        "/api/v1/users/",
        "/api/v1//evil.example/",
        "/assets",
        "/assets//evil.example/",
        "/assets/..%2f..%2f..%2fetc/passwd",
    ):
        answer = await visitor.http.get(httpx2.URL(ORIGIN).copy_with(raw_path=target.encode()))
        assert answer.status_code < 500, target
        location = answer.headers.get("location", "")
        assert httpx2.URL(ORIGIN).join(location).host == "corral.test", (target, location)
        assert b"root:" not in answer.content


async def test_answers_carry_the_headers_that_confine_a_page(visitor: ApiClient) -> None:
    for path in ("//", "//login", "/login-options"):
        headers = (await visitor.get(path)).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "script-src 'self';" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "strict-transport-security" in headers
