"""Who gets into an app, with what, and what they see when they do not."""

from urllib.parse import urlencode

import pytest

from corral.gateway.broker import AppState
from corral.gateway.names import AppName
from tests.gateway.street import CONSOLE, OTHER, WORKLOAD, Street, says, street


def _enter(at: Street, ticket: str, path: str = "/lab", host: str | None = None) -> bytes:
    form = urlencode({"ticket": ticket, "path": path})
    lines = ("POST /.corral/enter HTTP/1.1", f"Host: {host or at.host}", f"Origin: {CONSOLE}")
    return "\r\n".join((*lines, f"Content-Length: {len(form)}", "", form)).encode()


async def test_a_ticket_gives_a_cookie_that_opens_the_app() -> None:
    async with street(says(b"hello")) as at:
        at.desk.tickets["good"] = AppName(WORKLOAD)
        entered = (await at.send(_enter(at, "good", "/lab?reset"))).decode()
        assert entered.startswith("HTTP/1.1 303")
        assert "location: /lab?reset\r\n" in entered
        cookie = entered.partition("set-cookie: ")[2].partition("\r\n")[0]
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        assert "Domain" not in cookie
        assert (await at.send(at.head(cookie=cookie.partition(";")[0]))).endswith(b"hello")


async def test_a_ticket_works_once() -> None:
    async with street(says(b"hello")) as at:
        at.desk.tickets["good"] = AppName(WORKLOAD)
        assert b" 303 " in await at.send(_enter(at, "good"))
        again = await at.send(_enter(at, "good"))
        assert again.startswith(b"HTTP/1.1 403")
        assert b"set-cookie" not in again


async def test_a_ticket_for_one_app_opens_no_other() -> None:
    async with street(says(b"hello")) as at:
        at.desk.tickets["good"] = AppName(WORKLOAD)
        other = f"{OTHER}.{at.names.domain}"
        assert (await at.send(_enter(at, "good", host=other))).startswith(b"HTTP/1.1 403")
        port = f"{WORKLOAD}--8888.{at.names.domain}"
        assert (await at.send(_enter(at, "good", host=port))).startswith(b"HTTP/1.1 403")
        assert at.desk.tickets


@pytest.mark.parametrize("path", ["//evil.example", "https://evil.example/", "/\\evil.example", "/a\r\nx: y"])
async def test_a_ticket_leads_nowhere_else(path: str) -> None:
    async with street(says(b"hello")) as at:
        at.desk.tickets["good"] = AppName(WORKLOAD)
        entered = await at.send(_enter(at, "good", path))
        assert b"location: /\r\n" in entered


async def test_without_a_cookie_a_page_leads_to_the_console() -> None:
    async with street(says(b"hello")) as at:
        answer = await at.send(f"GET /lab/tree HTTP/1.1\r\nHost: {at.host}\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 401")
        assert f"{CONSOLE}/open/{WORKLOAD}?path=%2Flab%2Ftree".encode() in answer
        assert at.requests == []


async def test_a_grant_of_another_app_opens_nothing() -> None:
    async with street(says(b"hello")) as at:
        for name in (AppName(OTHER), AppName(WORKLOAD, 8888)):
            answer = await at.send(at.head(cookie=at.cookie(name=name)))
            assert answer.startswith(b"HTTP/1.1 401")
        assert at.requests == []


@pytest.mark.parametrize("change", ["flipped", "cut", "empty", "no base64", "not signed"])
async def test_a_cookie_that_was_changed_opens_nothing(change: str) -> None:
    async with street(says(b"hello")) as at:
        name, _, value = at.cookie().partition("=")
        changed = {
            "flipped": value[:-3] + ("A" if value[-3] != "A" else "B") + value[-2:],
            "cut": value[:20],
            "empty": "",
            "no base64": "%%%",
            "not signed": "A" * 43 + value[43:],
        }[change]
        answer = await at.send(at.head(cookie=f"{name}={changed}"))
        assert answer.startswith(b"HTTP/1.1 401")


async def test_a_planted_cookie_does_not_shut_the_right_one_out() -> None:
    async with street(says(b"hello")) as at:
        planted = at.cookie(name=AppName(OTHER))
        assert (await at.send(at.head(cookie=f"{planted}; {at.cookie()}"))).endswith(b"hello")


async def test_a_grant_ends_after_a_week() -> None:
    async with street(says(b"hello")) as at:
        answer = await at.send(at.head(cookie=at.cookie(age=8 * 24 * 3600)))
        assert answer.startswith(b"HTTP/1.1 401")


async def test_somebody_who_is_shut_out_is_shut_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corral.gateway.router.FRESH_SECONDS", 0.0)
    async with street(says(b"hello")) as at:
        assert (await at.send(at.head())).endswith(b"hello")
        at.desk.shut_out.add("u1")
        assert (await at.send(at.head())).startswith(b"HTTP/1.1 401")


async def test_who_is_inside_stays_while_the_api_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corral.gateway.router.FRESH_SECONDS", 0.0)
    monkeypatch.setattr("corral.gateway.router.PATIENCE_SECONDS", 0.3)
    async with street(says(b"hello")) as at:
        reader, writer = await at.dial()
        writer.write(at.head(keep=True))
        await reader.readuntil(b"hello")
        at.desk.is_down = True
        writer.write(at.head(keep=True))
        assert await reader.readuntil(b"hello")
        writer.close()
        newcomer = await at.send(at.head(cookie=at.cookie("u2")))
        assert newcomer.startswith(b"HTTP/1.1 503")
        assert b"Your work goes on" in newcomer


@pytest.mark.parametrize("state", [each for each in AppState if each is not AppState.READY])
async def test_every_state_has_a_page_that_says_what_to_do(state: AppState) -> None:
    async with street(says(b"hello")) as at:
        at.desk.state = state
        answer = await at.send(at.head())
        assert answer[9:12] in (b"503", b"410")
        assert b"<h1>nb is " in answer or b"<h1>nb has " in answer
        assert (b"http-equiv" in answer) == (state in (AppState.STARTING, AppState.QUEUED))
        assert at.requests == []


async def test_who_may_only_read_only_reads() -> None:
    async with street(says(b"hello")) as at:
        at.desk.read_only = True
        assert (await at.send(at.head())).endswith(b"hello")
        for start in ("POST / HTTP/1.1", "DELETE /x HTTP/1.1", "PATCH / HTTP/1.1"):
            assert (await at.send(at.head(start))).startswith(b"HTTP/1.1 403")
        upgrade = ("Connection: Upgrade", "Upgrade: websocket", f"Origin: {at.origin}")
        assert (await at.send(at.head("GET / HTTP/1.1", *upgrade))).startswith(b"HTTP/1.1 403")
        assert len(at.requests) == 1


@pytest.mark.parametrize(
    "host",
    [
        "localhost:{port}",
        "127.0.0.1:{port}",
        "w0.localhost:{port}",
        f"{WORKLOAD}.example.org",
        f"{WORKLOAD}--0.localhost:{{port}}",
        f"{WORKLOAD}--70000.localhost:{{port}}",
        "",
        "é.localhost",
    ],
)
async def test_a_host_that_is_no_app_is_not_found(host: str) -> None:
    async with street(says(b"hello")) as at:
        sent = f"GET / HTTP/1.1\r\nHost: {host.format(port=at.port)}\r\nCookie: {at.cookie()}\r\n\r\n"
        assert (await at.send(sent.encode()))[9:12] in (b"404", b"400")
        assert at.requests == []
