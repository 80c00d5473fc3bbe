"""What attackers send through the gateway, or make a browser send, and what a hostile workload answers."""

import asyncio

import pytest

from corral.net.connections import Limits
from tests.gateway.street import CONSOLE, OTHER, says, street

SMUGGLED = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: 5", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Content-Length: 5"),
        ("Content-Length: 5", "Content-Length: 6"),
        ("Content-Length: 5, 6",),
        ("Content-Length: +5",),
        ("Content-Length: -1",),
        ("Content-Length: 0x5",),
        ("Content-Length:\x0b5",),
        ("Transfer-Encoding: xchunked",),
        ("Transfer-Encoding: gzip, chunked",),
        ("Transfer-Encoding: chunked, chunked",),
        ("Transfer-Encoding: identity", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding : chunked",),
        (" Transfer-Encoding: chunked",),
        ("X: y\r\n Transfer-Encoding: chunked",),
        ("X: y\nTransfer-Encoding: chunked",),
        ("X: y\rTransfer-Encoding: chunked",),
        ("X: a\x00b",),
        ("Host: other.localhost",),
        ("X y: z",),
        ("Origin: null", "Origin: http://x"),
    ],
)
async def test_no_request_hides_in_another(lines: tuple[str, ...]) -> None:
    async with street(says(b"hello")) as at:
        answer = await at.send(at.head("POST / HTTP/1.1", *lines) + b"0\r\n\r\n" + SMUGGLED.encode())
        assert answer.startswith(b"HTTP/1.1 400")
        assert answer.count(b"HTTP/1.1") == 1
        assert at.requests == []


@pytest.mark.parametrize(
    "start",
    [
        "GET http://evil.example/ HTTP/1.1",
        "CONNECT evil.example:443 HTTP/1.1",
        "GET evil HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        "GET /\x00 HTTP/1.1",
        "GET / HTTP/1.1 HTTP/1.1",
        "GET / HTTP/2.0",
        "GET / HTTP/1.1\r\n",
        "get / HTTP/1.1",
    ],
)
async def test_a_request_names_a_path_of_its_host(start: str) -> None:
    async with street(says(b"hello")) as at:
        assert not (await at.send(at.head(start))).startswith(b"HTTP/1.1 200")
        assert at.requests == []


@pytest.mark.parametrize("size", ["9" * 30, "fffffffffffffffff", "-1", "1 ", "0x1", ""])
async def test_a_chunk_of_an_odd_size_ends_the_request(size: str) -> None:
    async with street(says(b"hello")) as at:
        sent = at.head("POST / HTTP/1.1", "Transfer-Encoding: chunked") + f"{size}\r\nx\r\n0\r\n\r\n".encode()
        await at.send(sent + SMUGGLED.encode())
        assert not any(b"/hidden" in each for each in at.requests)


async def test_a_request_behind_another_is_not_read_into_it() -> None:
    async with street(says(b"hello")) as at:
        answer = await at.send(at.head("GET /first HTTP/1.1", keep=True) + at.head("GET /second HTTP/1.1"))
        assert answer.count(b"hello") == 1
        assert [each.split(b" ")[1] for each in at.requests] == [b"/first"]


async def test_a_header_without_end_is_refused() -> None:
    async with street(says(b"hello")) as at:
        assert (await at.send(b"GET / HTTP/1.1\r\nX: " + b"a" * 2_000_000)).startswith(b"HTTP/1.1 431")


async def test_what_is_the_gateways_own_never_reaches_the_workload() -> None:
    async with street(says(b"hello")) as at:
        at.desk.headers = ((b"authorization", b"token of-the-notebook"),)
        await at.send(
            at.head(
                "GET / HTTP/1.1",
                "Cookie: _xsrf=1; __Host-corral-app=stolen; theme=dark",
                "Authorization: Bearer corral_token",
                "Proxy-Authorization: Basic x",
                "X-Forwarded-For: 1.2.3.4",
                "X-Forwarded-User: admin",
                "Forwarded: for=1.2.3.4",
                "TE: trailers",
                "Connection: keep-alive, X-Hop, Host, Origin",
                "X-Hop: 1",
            )
        )
        [seen] = at.requests
        for secret in (
            b"corral-app",
            b"stolen",
            b"corral_token",
            b"1.2.3.4",
            b"X-Forwarded-User",
            b"x-hop",
            b"Basic",
        ):
            assert secret.lower() not in seen.lower()
        assert b"cookie: _xsrf=1; theme=dark\r\n" in seen
        assert b"authorization: token of-the-notebook\r\n" in seen
        assert f"host: {at.host}".encode() in seen
        assert b"x-forwarded-for: 127.0.0.1\r\n" in seen


async def test_the_token_of_a_notebook_never_reaches_the_browser() -> None:
    async with street(says(b"hello")) as at:
        at.desk.headers = ((b"authorization", b"token of-the-notebook"),)
        assert b"of-the-notebook" not in await at.send(at.head())


async def test_a_workload_sets_no_cookie_for_others_and_none_of_ours() -> None:
    cookies = (
        b"set-cookie: a=1; Domain=localhost; Path=/",
        b"set-cookie: corral-app=planted; Path=/",
        b"set-cookie: b=2; DOMAIN = .localhost",
    )
    async with street(says(b"hello", *cookies)) as at:
        answer = await at.send(at.head())
        assert b"set-cookie: a=1; Path=/\r\n" in answer
        assert b"set-cookie: b=2\r\n" in answer
        assert b"planted" not in answer
        assert b"omain" not in answer


async def test_an_app_is_shown_in_no_frame_of_others() -> None:
    async with street(says(b"hello", b"content-security-policy: default-src *")) as at:
        answer = await at.send(at.head())
        assert b"content-security-policy: frame-ancestors 'self'\r\n" in answer
        assert b"cross-origin-resource-policy: same-origin\r\n" in answer


@pytest.mark.parametrize(
    "lines",
    [
        (f"Origin: {CONSOLE}",),
        ("Origin: null",),
        (f"Origin: http://{OTHER}.localhost",),
        ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"),
        ("Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors"),
    ],
)
async def test_another_page_cannot_use_an_app(lines: tuple[str, ...]) -> None:
    async with street(says(b"hello")) as at:
        assert (await at.send(at.head("GET / HTTP/1.1", *lines))).startswith(b"HTTP/1.1 403")
        assert at.requests == []


async def test_a_link_on_another_page_opens_the_app_but_posts_nothing() -> None:
    async with street(says(b"hello")) as at:
        navigates = ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate")
        assert (await at.send(at.head("GET / HTTP/1.1", *navigates))).endswith(b"hello")
        assert (await at.send(at.head("POST / HTTP/1.1", *navigates))).startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize(
    "answered",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd",
        b"HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: a\x00b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"a" * 1_000_000,
        b"HTTP/9.9 999 x\r\n\r\n",
    ],
)
async def test_a_malformed_answer_is_a_plain_error(answered: bytes) -> None:
    async def answer(_: object, writer: object) -> None:
        writer.write(answered)  # type: ignore[attr-defined]

    async with street(answer) as at:
        got = await at.send(at.head())
        assert got.startswith(b"HTTP/1.1 502")
        assert got.count(b"HTTP/1.1") == 1


async def test_more_than_was_announced_does_not_become_the_next_answer() -> None:
    async def answer(_: object, writer: object) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\nplanted")  # type: ignore[attr-defined]

    async with street(answer) as at:
        for _ in range(3):
            got = await at.send(at.head())
            assert b"planted" not in got


@pytest.mark.parametrize(
    "sent",
    [
        b"POST /.corral/enter HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n\r\nticket=",
        b"GET / HTTP/1.1\r\nHost: {host}\r\nX: half a header",
    ],
)
async def test_whoever_does_not_go_on_is_dropped(sent: bytes) -> None:
    limits = Limits(header_seconds=0.5, stalled_seconds=0.5)
    async with street(says(b"hello"), limits) as at:
        reader, writer = await at.dial()
        writer.write(sent.replace(b"{host}", at.host.encode()))
        assert await asyncio.wait_for(reader.read(), 10) == b""
        writer.close()


async def test_a_large_form_is_refused() -> None:
    async with street(says(b"hello")) as at:
        form = b"ticket=" + b"a" * 50_000
        head = f"POST /.corral/enter HTTP/1.1\r\nHost: {at.host}\r\nContent-Length: {len(form)}\r\n\r\n"
        assert (await at.send(head.encode() + form)).startswith(b"HTTP/1.1 400")
