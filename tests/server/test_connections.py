"""Clients that send too much, too slowly or nothing, on real sockets: they are dropped, others are served."""

import contextlib
import http.client
import json
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from pathlib import Path

import pytest

from corral.net.connections import RESERVED, ConnectionSlots, Limits
from tests.live import LiveCorral, running_corral
from tests.server.authority import Authority

CONNECTIONS = 64
SECONDS = 2
LIMITS = {
    "CORRAL_CONNECTIONS": str(CONNECTIONS),
    "CORRAL_HEADER_SECONDS": str(SECONDS),
    "CORRAL_STALLED_SECONDS": str(SECONDS),
}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCorral]:
    with running_corral(tmp_path_factory.mktemp("limited"), environment=LIMITS) as corral:
        yield corral


def connect(live: LiveCorral) -> socket.socket:
    return socket.create_connection(("127.0.0.1", live.port), timeout=30)


def send(connection: socket.socket, data: bytes) -> None:
    """As much as the other side takes."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(data)


def answer(connection: socket.socket) -> tuple[int, bytes]:
    """Status and the rest; 0 when the connection was closed without a word."""
    received = b""
    try:
        while part := connection.recv(65536):
            received += part
    except ConnectionResetError:
        pass
    return (int(received.split(b" ", 2)[1]) if received else 0), received


def is_answered(live: LiveCorral) -> bool:
    client = http.client.HTTPConnection("127.0.0.1", live.port, timeout=20)
    try:
        client.request("GET", "/healthz")
        return client.getresponse().status == 200
    finally:
        client.close()


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_huge_header_is_refused_and_nobody_waits_for_it(live: LiveCorral) -> None:
    with connect(live) as greedy:
        head = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Filler: "
        greedy.sendall(head)
        for _ in range(160):
            send(greedy, b"a" * 1024)
        status, told = answer(greedy)
        assert status == 431
        assert b"at most 64 KiB" in told
        assert is_answered(live)


@pytest.mark.parametrize("what", ["address", "many headers", "blank lines", "trailers"])
def test_whatever_makes_a_header_huge_is_refused(live: LiveCorral, what: str) -> None:
    host = b" HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    big = b"a" * 200_000
    with connect(live) as greedy:
        match what:
            case "address":
                send(greedy, b"GET /" + big + host + b"\r\n")
            case "many headers":
                send(greedy, b"GET /healthz" + host + b"X-A: b\r\n" * 30_000 + b"\r\n")
            case "blank lines":
                send(greedy, b"\r\n" * 100_000)
            case _:
                chunked = host + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-After: "
                send(greedy, b"POST /api/v1/session" + chunked + big)
        status, _ = answer(greedy)
    assert status == 431
    assert is_answered(live)


def test_what_comes_after_the_body_is_no_header(live: LiveCorral) -> None:
    """A trailer would count as a header that nobody has checked."""
    token = f"Authorization: Bearer {live.local_token}".encode()
    head = b"HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
    with connect(live) as client:
        client.sendall(b"GET /api/v1/me " + head + token + b"\r\n\r\n")
        assert answer(client)[0] == 200
    with connect(live) as client:
        chunked = b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
        client.sendall(b"GET /api/v1/me " + head + chunked + token + b"\r\n\r\n")
        assert answer(client)[0] == 401


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"\r\n"],
    ids=["nothing", "half a header", "a blank line"],
)
def test_a_request_that_does_not_come_is_not_waited_for(live: LiveCorral, sent: bytes) -> None:
    with connect(live) as slow:
        slow.sendall(sent)
        begun = time.monotonic()
        status, _ = answer(slow)
    assert time.monotonic() - begun >= SECONDS * 0.5
    assert status == (408 if sent else 0)


def test_a_header_sent_byte_by_byte_has_no_more_time(live: LiveCorral) -> None:
    with connect(live) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        slow.settimeout(0.2)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            send(slow, b"a")
            try:
                assert slow.recv(65536).startswith(b"HTTP/1.1 408")
                return
            except TimeoutError:
                continue
    raise AssertionError("it is still waited for")


@pytest.mark.parametrize("drips", [False, True])
def test_a_body_that_does_not_come_is_not_waited_for(live: LiveCorral, drips: bool) -> None:
    head = b"POST /api/v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    with connect(live) as slow:
        slow.sendall(head + b"Content-Length: 1000\r\n\r\n{")
        slow.settimeout(0.2)
        deadline = time.monotonic() + 30
        received = b""
        while not received and time.monotonic() < deadline:
            if drips:
                send(slow, b" ")
            try:
                received = slow.recv(65536)
            except TimeoutError:
                continue
    assert received.startswith(b"HTTP/1.1 408")


def test_idle_connections_shut_nobody_out(live: LiveCorral) -> None:
    """Three times as many as there are places: those that waited longest are gone, and others come in."""
    idle = []
    try:
        for number in range(3 * CONNECTIONS):
            one = connect(live)
            one.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" if number % 2 else b"")
            idle.append(one)
            if number % 16 == 0:
                assert is_answered(live)
        assert is_answered(live)
        assert open_sockets(live) <= CONNECTIONS + 20
    finally:
        for one in idle:
            one.close()


def api_process(live: LiveCorral) -> int:
    parent = json.loads((live.home / "endpoints.json").read_text())["pid"]
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return int(children[0])


def open_sockets(live: LiveCorral) -> int:
    count = 0
    for one in Path(f"/proc/{api_process(live)}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed since it was listed
            count += str(one.readlink()).startswith("socket:")
    return count


def test_many_requests_at_once_on_one_connection_are_all_answered(live: LiveCorral) -> None:
    """Also those that came before the first was answered."""
    one = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    last = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    with connect(live) as client:
        client.sendall(one * 1000 + last)
        _, received = answer(client)
    assert received.count(b"HTTP/1.1 200 OK") == 1001


@pytest.mark.parametrize(
    ("headers", "named"),
    [
        (b"Host: evil.example\r\n", b"Host"),
        (b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", b"Content-Length"),
        (b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", b"Transfer-Encoding"),
        (b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}", b"Content-Length"),
    ],
)
def test_a_request_that_can_be_read_in_two_ways_is_refused(
    live: LiveCorral, headers: bytes, named: bytes
) -> None:
    with connect(live) as client:
        client.sendall(
            b"POST /api/v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n" + headers + b"\r\n"
        )
        status, told = answer(client)
    assert (status, named.lower() in told.lower()) == (400, True), told


def test_no_process_writes_core_files_and_many_files_may_be_open(live: LiveCorral) -> None:
    parent = json.loads((live.home / "endpoints.json").read_text())["pid"]
    family = descendants(parent)
    eventually(lambda: len(descendants(parent)) >= 3)  # the planner starts with the first turn
    for process in family | descendants(parent):
        limits = {
            line[:26].strip(): line[26:].split()
            for line in Path(f"/proc/{process}/limits").read_text().splitlines()
        }
        assert limits["Max core file size"][:2] == ["0", "0"]
        soft, hard = limits["Max open files"][:2]
        assert int(soft) == min(int(hard), 65536)


def descendants(process: int) -> set[int]:
    found, todo = set(), [process]
    while todo:
        one = todo.pop()
        found.add(one)
        todo += [int(each) for each in Path(f"/proc/{one}/task/{one}/children").read_text().split()]
    return found


def test_a_tls_handshake_that_does_not_come_is_not_waited_for(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pair = authority.issue("127.0.0.1")
    flags = ["--tls-certificate", str(pair.certificate), "--tls-key", str(pair.key)]
    limits = ["--header-seconds", str(SECONDS), "--connections", str(CONNECTIONS)]
    with running_corral(tmp_path, *flags, *limits) as live:
        silent = [connect(live) for _ in range(2 * CONNECTIONS)]
        try:
            trusted = ssl.create_default_context(cafile=authority.ca_file)
            with trusted.wrap_socket(connect(live), server_hostname="127.0.0.1") as client:
                client.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                assert answer(client)[0] == 200
            assert answer(silent[-1])[0] == 0  # closed, without a word
        finally:
            for one in silent:
                one.close()


class Speaker:
    """A connection's protocol, as far as places are concerned."""

    def __init__(self) -> None:
        self.ended = False

    def look(self, now: float) -> None: ...

    def end(self) -> None:
        self.ended = True


def test_one_address_has_so_many_places_unless_it_is_ours() -> None:
    places = ConnectionSlots(Limits(connections=200, per_address=8), [ip_network("10.0.0.0/8")])
    taken = [places.admit("192.0.2.1") for _ in range(9)]
    assert taken[-1] is None
    assert all(taken[:8])
    assert places.admit("192.0.2.2") is not None
    for address in ("127.0.0.1", "::1", "::ffff:127.0.0.1", "10.1.2.3"):
        assert all(places.admit(address) for _ in range(20)), address


def test_the_one_that_has_waited_longest_makes_room_and_requests_do_not() -> None:
    places = ConnectionSlots(Limits(connections=RESERVED + 3, per_address=100))
    speakers = []
    for _ in range(3):
        connection = places.admit("192.0.2.1")
        assert connection is not None
        connection.speaker = Speaker()
        speakers.append(connection)
    speakers[0].work()
    assert places.admit("192.0.2.2") is not None
    assert [cast_speaker(one.speaker).ended for one in speakers] == [False, True, False]
    for connection in tuple(places.open):
        connection.work()
    assert places.admit("192.0.2.3") is None, "all of them are at work"
    assert places.admit("127.0.0.1") is not None, "there is a reserve for this machine"


def cast_speaker(speaker: object) -> Speaker:
    assert isinstance(speaker, Speaker)
    return speaker


def test_a_client_that_does_not_read_is_dropped_and_little_is_kept_for_it(live: LiveCorral) -> None:
    """Answers of megabytes that nobody reads: the process does not grow with them, and the client is gone."""
    one = (
        b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        + f"Authorization: Bearer {live.local_token}\r\n\r\n".encode()
    )
    process = api_process(live)
    with connect(live) as client:  # the first answer is made and kept, whoever asks
        client.sendall(one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        _, whole = answer(client)
    assert len(whole) > 100_000
    clients = [socket.socket() for _ in range(8)]
    try:
        before = memory_kib(process)
        for client in clients:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", live.port))
            client.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                for _ in range(400):  # of each, 100 MB and more are to be answered
                    client.send(one)
        eventually(lambda: connected(live) == 0)
        assert memory_kib(process) - before < 48 * 1024
    finally:
        for client in clients:
            client.close()
    assert is_answered(live)


@pytest.mark.parametrize("path", ["/api/v1/events", "/healthz"])
def test_what_is_sent_behind_requests_that_wait_is_not_kept(live: LiveCorral, path: str) -> None:
    """Requests behind one that takes long, or very many of them: no more is read than there is room for."""
    one = (
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {live.local_token}\r\n\r\n".encode()
    )
    process = api_process(live)
    before, sent, most = memory_kib(process), 0, 96 * 2**20
    with connect(live) as greedy:
        greedy.settimeout(SECONDS)
        with contextlib.suppress(TimeoutError, ConnectionError):
            while sent < most:  # the answers are not read, either
                sent += greedy.send(one * 2000)
        assert memory_kib(process) - before < 32 * 1024
        assert sent < most
    assert is_answered(live)


def memory_kib(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def connected(live: LiveCorral) -> int:
    """Connections that the server has open."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    fields = [line.split() for line in lines]
    inodes = {one[9] for one in fields if int(one[1].rpartition(":")[2], 16) == live.port and one[3] == "01"}
    inodes -= {"0"}
    return len(inodes)
