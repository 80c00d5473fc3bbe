"""The outermost layer: names we answer to, whom we take a request to be from, what every answer carries."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from corral.identity.passwords import Passwords
from corral.server.app import Parts, create_app
from corral.server.console_files import NOT_BUILT, install_console
from corral.server.settings import Settings
from corral.store.database import Database
from corral.store.keyring import Keyring
from tests.apps import ORIGIN, ApiClient
from tests.campus import made, refused
from tests.server.quiet_logs import logged

pytestmark = pytest.mark.sqlite


@pytest.fixture
def database_kind() -> str:
    """The database plays no part here."""
    return "sqlite"


async def address_of(app: FastAPI, connection: str, forwarded: str | None) -> str:
    """Where the sign-in came from, as the session list shows it."""
    client = ApiClient(app, address=connection)
    if forwarded is not None:
        client.http.headers["X-Forwarded-For"] = forwarded
    made(await client.sign_in("admin", "quiet-harbour-lantern-42"))
    items = made(await client.get("/me/sessions"))["items"]
    await client.close()
    return str(next(one["address"] for one in items if one["current"]))


async def test_a_trusted_proxy_tells_the_address_and_nobody_else_does(app: FastAPI) -> None:
    for connection, forwarded, expected in (
        ("127.0.0.1", "198.51.100.4", "198.51.100.4"),
        # What stands left of the proxy's own word was written by the caller.
        ("127.0.0.1", "203.0.113.99, 198.51.100.4", "198.51.100.4"),
        ("127.0.0.1", "198.51.100.4, 127.0.0.1", "198.51.100.4"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("127.0.0.1", None, "127.0.0.1"),
        ("192.0.2.9", "198.51.100.4", "192.0.2.9"),
        ("127.0.0.1", "x" * 500, "x" * 64),
    ):
        assert await address_of(app, connection, forwarded) == expected


async def test_without_a_proxy_nobody_tells_the_address(
    app: FastAPI, database: Database, passwords: Passwords, machine: Any, tmp_path: Path
) -> None:
    """A program on the same machine must not choose whom its tries are counted against."""
    settings = Settings(home=tmp_path / "home", port=8710)
    plain = create_app(Parts(settings, database, Keyring.open(tmp_path / "keyring"), machine, passwords))
    transport = httpx2.ASGITransport(app=plain, client=("127.0.0.1", 1))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8710") as client:
        client.headers["X-Forwarded-For"] = "198.51.100.4"
        given = {"name": "admin", "password": "quiet-harbour-lantern-42"}
        answer = await client.post("/api/v1/session", json=given)
        assert answer.status_code == 201
        assert "corral_session_8710=" in answer.headers["set-cookie"]
        items = (await client.get("/api/v1/me/sessions")).json()["items"]
    assert items[0]["address"] == "127.0.0.1"


async def test_only_known_host_names_are_answered(visitor: ApiClient) -> None:
    for host in ("corral.test", "corral.test:443", "CORRAL.TEST", "localhost:8710", "[::1]:8710"):
        assert (await visitor.get("//healthz", headers={"Host": host})).status_code == 200, host
    evil = ("evil.test", "corral.test.evil.test", "", "[::2]", "x" * 5000)
    for host in (*evil, "corral.test:443@evil.test", "corral.test:x", "[::1]evil.test", "localhost:8710:1"):
        answer = await visitor.get("//healthz", headers={"Host": host})
        assert len(answer.text) < 1000
        problem = refused(answer, 400, "malformed")
        assert "host_names" in problem["remedy"]
        assert answer.headers["x-request-id"] == problem["request_id"]


async def test_a_request_is_one_line_in_the_log_and_one_measurement(admin: ApiClient) -> None:
    with logged("debug") as log:
        answer = await admin.get("/users?search=somebody")
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    (line,) = [one for one in lines if one["event"] == "request"]
    assert (line["method"], line["path"], line["status"]) == ("GET", "/api/v1/users", 200)
    assert line["request_id"] == answer.headers["x-request-id"]
    assert line["address"] == "192.0.2.1"
    assert "somebody" not in str(line)
    metrics = (await admin.get("//metrics")).text
    assert 'corral_http_requests_total{method="GET",route="/api/v1/users",status="2xx"}' in metrics
    made(await admin.get("/users/summary"))
    refused(await admin.get("/users/u" + "0" * 22), 404)
    metrics = (await admin.get("//metrics")).text
    assert 'route="/api/v1/users/{user_id}",status="4xx"' in metrics


@pytest.fixture
def console(tmp_path: Path) -> Path:
    folder = tmp_path / "console"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>Corral</title>")
    (folder / "favicon.svg").write_text("<svg/>")
    (folder / ".secret.txt").write_text("hidden")
    (folder / "assets" / "main-1a2b.js").write_text("console.log('corral')\n" * 200)
    (tmp_path / "outside.txt").write_text("outside")
    return folder


def served(app: FastAPI, folder: Path) -> httpx2.AsyncClient:
    """The application with another console: its routes come last, so the old ones go first."""
    app.router.routes[:] = app.router.routes[:-2]
    app.middleware_stack = None
    install_console(app, folder)
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=ORIGIN)


async def test_console_page_answers_for_every_address_of_its_own(app: FastAPI, console: Path) -> None:
    async with served(app, console) as browser:
        for path in ("/", "/login", "/people/u01", "/deep/er/page", "/unknown.html", "/.secret.txt"):
            answer = await browser.get(path)
            assert "<title>Corral</title>" in answer.text, path
            assert answer.headers["cache-control"] == "no-cache"
            assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert (await browser.get("/favicon.svg")).text == "<svg/>"
        for sneaky in ("/..%2foutside.txt", "/%2e%2e/outside.txt", "/assets/..%2f..%2foutside.txt"):
            assert "outside" not in (await browser.get(sneaky)).text
        assert (await browser.head("/login")).status_code == 200
        assert (await browser.post("/login")).status_code == 405
        assert (await browser.get("/api/unknown")).json()["type"] == "/problems/not-found"


async def test_assets_are_kept_for_good_and_a_missing_one_is_no_page(app: FastAPI, console: Path) -> None:
    async with served(app, console) as browser:
        answer = await browser.get("/assets/main-1a2b.js", headers={"Accept-Encoding": "gzip"})
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.text.startswith("console.log")
        missing = await browser.get("/assets/main-old.js")
        refused(missing, 404)
        assert "immutable" not in missing.headers.get("cache-control", "")


async def test_a_console_that_is_not_built_says_how_to_build_it(app: FastAPI, tmp_path: Path) -> None:
    folder = tmp_path / "later"
    async with served(app, folder) as browser:
        answer = await browser.get("/login")
        assert (answer.status_code, answer.text) == (503, NOT_BUILT)
        assert "make console" in answer.text
        refused(await browser.get("/assets/main.js"), 404)
        (folder / "assets").mkdir(parents=True)
        (folder / "assets" / "main.js").write_text("1")
        (folder / "index.html").write_text("<title>Corral</title>")
        assert (await browser.get("/login")).status_code == 200
        assert (await browser.get("/assets/main.js")).text == "1"


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("Host", "127.0.0.1:8710", "evil.example"),
        ("Host", "127.0.0.1:8710", "127.0.0.1:8710"),
        ("Authorization", "Bearer corral_a", "Bearer corral_b"),
        ("Origin", ORIGIN, "https://evil.example"),
        ("X-Csrf-Token", "a", "b"),
        ("Content-Length", "2", "2"),
        ("Idempotency-Key", "a", "b"),
        ("If-Match", '"1"', '"2"'),
        ("Last-Event-Id", "1", "2"),
        ("Sec-Fetch-Site", "same-origin", "cross-site"),
        ("X-Forwarded-Proto", "https", "http"),
        ("X-Forwarded-Host", "a", "b"),
        ("Cookie", "corral_session_8710=a", "corral_session_8710=b"),
        ("Cookie", "corral_session_8710=a; x=y; corral_session_8710=b", "z=1"),
    ],
)
async def test_a_header_that_decides_is_refused_when_it_is_there_twice(
    app: FastAPI, name: str, first: str, second: str
) -> None:
    """Whoever stands in front of Corral may have looked at the other one."""
    headers = [(b"host", b"127.0.0.1:8710")] if name != "Host" else []
    lower = name.lower().encode()
    headers += [(lower, first.encode()), (lower, second.encode())]
    answer = await _ask(app, headers)
    assert answer["status"] == 400
    assert answer["body"]["errors"][0]["field"] == f"header.{name}"
    assert name in answer["body"]["detail"]


async def test_lines_of_the_same_list_are_read_as_one(app: FastAPI) -> None:
    """Browsers may send cookies in several lines, and every proxy adds to X-Forwarded-For."""
    several = [(b"cookie", b"a=1"), (b"cookie", b"b=2"), (b"accept", b"*/*"), (b"accept", b"text/html")]
    answer = await _ask(app, [(b"host", b"127.0.0.1:8710"), *several])
    assert answer["status"] == 200


async def _ask(app: FastAPI, headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    """A request with exactly these headers."""
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/healthz",
        "raw_path": b"/healthz",
        "root_path": "",
        "query_string": b"",
        "headers": headers,
        "client": ("192.0.2.10", 5000),
        "server": ("127.0.0.1", 8710),
    }
    got: dict[str, Any] = {"body": b""}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        got["status"] = message.get("status", got.get("status"))
        got["body"] += message.get("body", b"")

    await app(scope, receive, send)
    got["body"] = json.loads(got["body"])
    return got
