"""Content of another host: nothing but the very bytes that were asked for gets a place here."""

import hashlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert
from websockets.asyncio.server import ServerConnection, serve

from corral.core.refusals import NotFound, Unavailable
from corral.hosts.content import RemoteContent
from corral.hosts.credentials import HostCredentials
from corral.hosts.link import ANSWER_HEADER
from corral.hosts.links import HostLinks
from corral.hosts.service import Host
from corral.hosts.tables import host
from corral.store.database import Database, Transaction
from corral.store.keyring import Keyring

KEYS = Keyring([b"k" * 32])
OTHER_KEYS = Keyring([b"o" * 32])
DATA = b"code of somebody " * 50_000
DIGEST = hashlib.sha256(DATA).hexdigest()
MOST_BYTES = 4 * 1024**2

Serve = Callable[[ServerConnection], Awaitable[None]]


@asynccontextmanager
async def another_host(answer: Serve, keys: Keyring = KEYS) -> AsyncIterator[Host]:
    """Whatever it sends, it sends after the handshake of a host that has `keys`."""
    credentials = HostCredentials(keys, "there", time.time)

    def prove(_: ServerConnection, request: Any, response: Any) -> None:
        # An impostor cannot check a call; it answers as well as it can.
        call = HostCredentials(KEYS, "there", time.time).accept(request.headers["Authorization"])
        response.headers[ANSWER_HEADER] = credentials.answer(call)

    async with serve(answer, "127.0.0.1", 0, process_response=prove) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield Host("there", "gpu-2", f"http://127.0.0.1:{port}")


def sends(*messages: dict[str, Any] | bytes) -> Serve:
    async def answer(connection: ServerConnection) -> None:
        assert json.loads(await connection.recv()) == {"call": "content", "digest": DIGEST}
        for message in messages:
            await connection.send(message if isinstance(message, bytes) else json.dumps(message))
        await connection.wait_closed()

    return answer


def add(transaction: Transaction, one: Host) -> None:
    at = transaction.now
    transaction.run(
        insert(host).values(id=one.id, name=one.name, url=one.url, version="1", started_at=at, seen_at=at)
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "uploads"


@pytest.fixture
async def content(database: Database, folder: Path) -> AsyncIterator[RemoteContent]:
    links = HostLinks(HostCredentials(KEYS, "here", time.time))

    def place(draft: Path, digest: str) -> None:
        draft.replace(folder / digest)

    made = RemoteContent(database, "here", links, folder, place, MOST_BYTES)
    yield made
    await made.close()
    await links.close()


def files_in(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir()] if folder.exists() else []


def pieces(data: bytes = DATA, size: int = 200_000) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


async def test_content_is_fetched_whole_and_checked(
    database: Database, content: RemoteContent, folder: Path
) -> None:
    async with another_host(sends({"size": len(DATA)}, *pieces())) as other:
        await database.write(add, other)
        await content.fetch(DIGEST, len(DATA))
    assert (folder / DIGEST).read_bytes() == DATA
    assert files_in(folder) == [DIGEST]


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([{"size": len(DATA)}, *pieces(DATA[:-1] + b"!")], "what it sent is not"),
        ([{"size": len(DATA) + 1}, *pieces(DATA + b"!")], "instead of"),
        ([{"size": len(DATA)}, *pieces(DATA + b"!", len(DATA) + 1)], "more or less"),
        ([{"size": len(DATA)}, b""], "more or less"),
        ([{"size": "many"}], "instead of"),
        ([{"size": len(DATA)}, {"over": True}], "was lost"),
        ([b"something"], "was lost"),
    ],
)
async def test_anything_else_is_refused_and_leaves_nothing(
    database: Database, content: RemoteContent, folder: Path, messages: list[Any], words: str
) -> None:
    async with another_host(sends(*messages)) as other:
        await database.write(add, other)
        with pytest.raises(Unavailable, match=words) as refused:
            await content.fetch(DIGEST, len(DATA))
    assert "gpu-2" in refused.value.detail
    assert files_in(folder) == []


async def test_a_host_without_our_keys_is_told_nothing(
    database: Database, content: RemoteContent, folder: Path
) -> None:
    heard: list[Any] = []

    async def listen(connection: ServerConnection) -> None:
        heard.extend([message async for message in connection])

    async with another_host(listen, OTHER_KEYS) as impostor:
        await database.write(add, impostor)
        with pytest.raises(Unavailable, match="does not have the keys"):
            await content.fetch(DIGEST, len(DATA))
    assert heard == []
    assert files_in(folder) == []


@pytest.mark.parametrize("url", ["http://192.0.2.1:8710", "ftp://127.0.0.1/", "", "http://evil.example"])
async def test_only_https_or_loopback_is_called(database: Database, content: RemoteContent, url: str) -> None:
    await database.write(add, Host("there", "gpu-2", url))
    with pytest.raises(Unavailable, match="gpu-2 cannot be reached"):
        await content.fetch(DIGEST, len(DATA))


async def test_what_no_host_has_is_not_found_and_what_is_too_large_is_not_asked_for(
    database: Database, content: RemoteContent
) -> None:
    refusal = {"slug": "not-found", "detail": "gpu-2 has no content.", "remedy": "Upload it again."}
    async with another_host(sends({"refused": refusal})) as other:
        await database.write(add, other)
        with pytest.raises(NotFound, match="No host has"):
            await content.fetch(DIGEST, len(DATA))
    with pytest.raises(NotFound, match="upload_mib"):
        await content.fetch(DIGEST, MOST_BYTES + 1)
