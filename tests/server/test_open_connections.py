"""Connections that stay open, on real sockets into running work: who reads nothing, who may not stay."""

import contextlib
import http.client
import json
import os
import select
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run_program
from tests.live import LiveCorral, running_corral
from tests.server.test_connections import api_process, connected, eventually, is_answered, memory_kib

STALLED_SECONDS = 8
# What is promised is 5; it leaves a busy machine no room to be taken for a stalled connection.
SECONDS = 5
MOST_GROWTH_KIB = 24 * 1024
# Sends to whoever connects as much as is taken.
POURS = """
import socket, threading
server = socket.create_server(("127.0.0.1", 8888))
print("here", flush=True)
def pour(caller):
    try:
        while True:
            caller.sendall(bytes(65536))
    except OSError:
        pass
while True:
    threading.Thread(target=pour, args=(server.accept()[0],), daemon=True).start()
"""
KINDS = ["shell", "port"]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCorral]:
    limits = {"CORRAL_STALLED_SECONDS": str(STALLED_SECONDS)}
    with running_corral(tmp_path_factory.mktemp("open"), environment=limits) as corral:
        yield corral


@pytest.fixture(scope="module")
def work(live: LiveCorral, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("CORRAL_", "XDG_"))}
    environ = {**kept, "HOME": str(tmp_path_factory.mktemp("person")), "CORRAL_HOME": str(live.home)}

    def corral(*arguments: str) -> str:
        outcome = run_program(*arguments, environ=environ)
        assert outcome.code == 0, outcome.err
        return outcome.out

    corral("run", "--no-upload", "-d", "--name", "pours", "--", "python", "-c", POURS)
    eventually(lambda: "here" in corral("logs", "pours"))
    yield json.loads(corral("describe", "pours", "--json"))["id"]
    corral("stop", "pours")


def call(live: LiveCorral, method: str, path: str, body: Any = None) -> Any:
    client = http.client.HTTPConnection("127.0.0.1", live.port, timeout=30)
    try:
        headers = {"Authorization": f"Bearer {live.local_token}", "Content-Type": "application/json"}
        client.request(method, f"/api/v1{path}", json.dumps(body) if body is not None else None, headers)
        answer = client.getresponse()
        text = answer.read()
        assert answer.status < 300, text
        return json.loads(text) if text else None
    finally:
        client.close()


@pytest.fixture
def token(live: LiveCorral) -> Iterator[tuple[str, str]]:
    """The id and the text of one that may do all."""
    made = call(live, "POST", "/me/tokens", {"name": f"made {time.monotonic_ns()}", "scopes": ["*"]})
    yield made["token"]["id"], made["secret"]
    with contextlib.suppress(AssertionError):  # most tests revoke it
        call(live, "DELETE", f"/me/tokens/{made['token']['id']}")


def opened(live: LiveCorral, path: str, secret: str, *, websocket: bool) -> socket.socket:
    """A connection whose answer has begun, with a small buffer here."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(30)
    connection.connect(("127.0.0.1", live.port))
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    upgrade += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    if not websocket:
        upgrade = "Connection: close\r\n"
    connection.sendall(
        f"GET /api/v1{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {secret}\r\n"
        f"{upgrade}\r\n".encode()
    )
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += connection.recv(1)
    assert head.split()[1] == (b"101" if websocket else b"200"), head
    return connection


def entered(live: LiveCorral, work: str, kind: str, secret: str, command: str) -> socket.socket:
    if kind == "port":
        return opened(live, f"/workloads/{work}/connect?port=8888", secret, websocket=True)
    connection = opened(live, f"/workloads/{work}/execute", secret, websocket=True)
    text = json.dumps({"command": ["sh", "-c", command]}).encode()
    # One text frame, masked with zeros, which leaves it as it is.
    connection.sendall(struct.pack("!BB", 0x81, 0x80 | len(text)) + bytes(4) + text)
    return connection


def ends_within(connection: socket.socket, seconds: float) -> bytes:
    """Reads to the end, which must come in time; what came."""
    deadline, received = time.monotonic() + seconds, b""
    while True:
        left = deadline - time.monotonic()
        assert left > 0, "it is still open"
        connection.settimeout(left)
        try:
            part = connection.recv(65536)
        except (ConnectionError, TimeoutError):
            part = b""
        if not part or (part[:1] == b"\x88" or b"\x88\x02\x03\xf0" in part):  # the frame that closes it
            assert time.monotonic() < deadline, "it is still open"
            return received + part
        received = (received + part)[-100_000:]


@pytest.mark.parametrize("kind", KINDS)
def test_who_reads_nothing_is_let_go_and_keeps_no_memory(
    live: LiveCorral, work: str, token: tuple[str, str], kind: str
) -> None:
    """The work sends without end; no more than small buffers wait, and not for ever."""
    process = api_process(live)
    before = memory_kib(process)
    connections = [entered(live, work, kind, token[1], "cat /dev/zero") for _ in range(8)]
    try:
        begun = time.monotonic()
        most = 0
        while connected(live):  # of the server's side: the end is behind all that nobody reads
            most = max(most, memory_kib(process) - before)
            assert time.monotonic() - begun < 30
            time.sleep(0.1)
        assert time.monotonic() - begun > STALLED_SECONDS * 0.5
        assert most < MOST_GROWTH_KIB
        assert is_answered(live)
    finally:
        for one in connections:
            one.close()
    eventually(lambda: connected(live) == 0)


def test_a_shell_that_is_let_go_ends_its_command(live: LiveCorral, work: str, token: tuple[str, str]) -> None:
    """What nobody reads does not run on."""
    with entered(live, work, "shell", token[1], "cat /dev/zero"):
        eventually(lambda: readers_of_zero() > 0)
        eventually(lambda: readers_of_zero() == 0)


def readers_of_zero() -> int:
    found = 0
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and (process / "cmdline").read_bytes().endswith(b"cat\0/dev/zero\0"):
                found += 1
    return found


@pytest.mark.parametrize("kind", [*KINDS, "events", "output"])
def test_a_revoked_token_ends_what_is_open(
    live: LiveCorral, work: str, token: tuple[str, str], kind: str
) -> None:
    if kind in KINDS:
        connection = entered(live, work, kind, token[1], "sleep 600")
        if kind == "port":
            connection.recv(10)
    elif kind == "events":
        connection = opened(live, "/events", token[1], websocket=False)
    else:
        connection = socket.create_connection(("127.0.0.1", live.port), timeout=30)
        connection.sendall(
            f"GET /api/v1/workloads/{work}/logs?after=5&wait_seconds=25 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Connection: close\r\nAuthorization: Bearer {token[1]}\r\n\r\n".encode()
        )
        assert not select.select([connection], [], [], 1)[0], "it is answered at once"
    with connection:
        call(live, "DELETE", f"/me/tokens/{token[0]}")
        told = ends_within(connection, SECONDS)
    if kind in ("shell", "output"):
        assert b"/problems/unauthenticated" in told


@pytest.mark.parametrize("kind", KINDS)
def test_a_revoked_token_ends_also_what_reads_nothing(
    live: LiveCorral, work: str, token: tuple[str, str], kind: str
) -> None:
    with entered(live, work, kind, token[1], "cat /dev/zero"):
        assert connected(live) == 1
        call(live, "DELETE", f"/me/tokens/{token[0]}")
        begun = time.monotonic()
        eventually(lambda: connected(live) == 0)
        assert time.monotonic() - begun < SECONDS
