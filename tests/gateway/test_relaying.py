"""Requests and answers pass through the gateway whole, whatever their size and framing."""

import asyncio
import hashlib
import os

import pytest

from tests.gateway.street import read_all, says, street

BODY = os.urandom(3_000_000)
DIGEST = hashlib.sha256(BODY).hexdigest().encode()


async def _digest_of_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int) -> None:
    found = hashlib.sha256(await reader.readexactly(size)).hexdigest().encode()
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(found), found))


async def test_an_answer_arrives_with_its_headers() -> None:
    async with street(says(b"hello", b"x-made-by: notebook")) as at:
        answer = await at.send(at.head())
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"x-made-by: notebook\r\n" in answer
        assert answer.endswith(b"\r\n\r\nhello")


async def test_a_large_body_reaches_the_workload_unchanged() -> None:
    async with street(lambda reader, writer: _digest_of_body(reader, writer, len(BODY))) as at:
        head = at.head("POST /upload HTTP/1.1", f"Content-Length: {len(BODY)}")
        assert (await at.send(head + BODY)).endswith(DIGEST)


async def test_a_body_in_chunks_reaches_the_workload_in_chunks() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = b""
        while size := int(await reader.readline(), 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readexactly(2)
        found = hashlib.sha256(body).hexdigest().encode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(found), found))

    async with street(answer) as at:
        pieces = [BODY[begin : begin + 70_000] for begin in range(0, len(BODY), 70_000)]
        chunks = b"".join(b"%x;note=1\r\n%b\r\n" % (len(each), each) for each in pieces)
        head = at.head("POST /upload HTTP/1.1", "Transfer-Encoding: chunked")
        assert (await at.send(head + chunks + b"0\r\nTrailer: x\r\n\r\n")).endswith(DIGEST)
        assert b"Trailer" not in at.requests[0]


@pytest.mark.parametrize("framing", ["length", "chunks", "end of connection"])
async def test_a_large_answer_arrives_unchanged(framing: str) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if framing == "length":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(BODY) + BODY)
        elif framing == "chunks":
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY))
        else:
            writer.write(b"HTTP/1.0 200 OK\r\n\r\n" + BODY)
            writer.close()

    async with street(answer) as at:
        got = await at.send(at.head("GET / HTTP/1.1", "Connection: close"))
        head, _, body = got.partition(b"\r\n\r\n")
        if b"transfer-encoding: chunked" in head:
            body = _joined(body)
        assert hashlib.sha256(body).hexdigest().encode() == DIGEST


def _joined(body: bytes) -> bytes:
    whole = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        if not (count := int(size, 16)):
            return whole
        whole, body = whole + rest[:count], rest[count + 2 :]
    raise AssertionError("the last chunk is missing")


async def test_an_answer_that_breaks_off_is_seen_to_break_off() -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n")
        await writer.drain()
        writer.close()

    async with street(answer) as at:
        got = await at.send(at.head())
        assert b"abc" in got
        assert not got.endswith(b"0\r\n\r\n")


@pytest.mark.parametrize(
    ("method", "answered"),
    [
        ("HEAD", b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n"),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\ncontent-length: 12\r\n\r\n"),
    ],
)
async def test_answers_without_a_body_leave_the_connection_usable(method: str, answered: bytes) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answered)

    async with street(answer) as at:
        reader, writer = await at.dial()
        for _ in range(2):
            writer.write(at.head(f"{method} / HTTP/1.1", keep=True))
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(answered[:12])
        writer.close()


async def test_a_client_that_waits_for_leave_to_send_its_body_gets_it() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await reader.readexactly(3)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")

    async with street(answer) as at:
        reader, writer = await at.dial()
        writer.write(at.head("PUT / HTTP/1.1", "Content-Length: 3", "Expect: 100-continue", keep=True))
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
        writer.write(b"abc")
        assert (await read_all(reader)).endswith(b"ok")
        writer.close()


async def test_requests_share_connections_to_the_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corral.gateway.router.FRESH_SECONDS", 60.0)
    async with street(says(b"hello")) as at:
        reader, writer = await at.dial()
        for _ in range(20):
            writer.write(at.head(keep=True))
            await reader.readuntil(b"hello")
        writer.close()
        assert (len(at.requests), at.desk.connections, at.desk.asked) == (20, 1, 1)


async def test_a_kept_connection_that_the_workload_closed_is_replaced() -> None:
    served = 0

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        served += 1
        if served == 2:  # as a server does that has just decided to close
            writer.close()
            raise ConnectionError
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")

    async with street(answer) as at:
        reader, writer = await at.dial()
        for _ in range(2):
            writer.write(at.head(keep=True))
            assert await reader.readuntil(b"hello")
        writer.close()
        assert at.desk.connections == 2


async def test_a_request_that_changes_something_is_never_sent_twice() -> None:
    served = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        served += 1
        if served > 1:
            await reader.readexactly(1)
            writer.close()
            raise ConnectionError
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")

    async with street(answer) as at:
        reader, writer = await at.dial()
        writer.write(at.head(keep=True))
        await reader.readuntil(b"hello")
        writer.write(at.head("POST /pay HTTP/1.1", "Content-Length: 1") + b"x")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 502")
        writer.close()
        assert served == 2


async def test_a_slow_reader_holds_up_only_its_own_workload() -> None:
    sent = 0
    stopped = asyncio.Event()

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % 10**10)
        try:
            while True:
                writer.write(bytes(100_000))
                await asyncio.wait_for(writer.drain(), 0.5)
                sent += 100_000
        except TimeoutError:
            stopped.set()
        await asyncio.sleep(60)

    async with street(answer) as at:
        _, writer = await at.dial()
        writer.write(at.head(keep=True))
        await asyncio.wait_for(stopped.wait(), 30)
        assert sent < 60_000_000  # what sockets and one reader hold, of ten gigabytes
        writer.close()


async def test_nothing_that_listens_is_an_answer_that_says_so() -> None:
    async with street(says(b"hello")) as at:
        at.desk.workload_port = 1
        answer = await at.send(at.head())
        assert answer.startswith(b"HTTP/1.1 502")
        assert b"Nothing listens on port 1 of nb" in answer


async def test_what_is_no_http_is_an_answer_that_says_so() -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")

    async with street(answer) as at:
        answer_ = await at.send(at.head())
        assert answer_.startswith(b"HTTP/1.1 502")
        assert b"no HTTP" in answer_


async def test_a_connection_is_given_back_when_it_closes() -> None:
    async with street(says(b"hello", b"connection: close")) as at:
        await at.send(at.head())
        for _ in range(100):
            if at.desk.given_back:
                break
            await asyncio.sleep(0.01)
        assert (at.desk.connections, at.desk.given_back) == (1, 1)
