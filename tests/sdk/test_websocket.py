"""The client's WebSocket: plain and over TLS, read and written at the same time, refused and cut off."""

import base64
import hashlib
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest
from corral_sdk import Problem, UnexpectedAnswerError
from corral_sdk._transport import Transport
from corral_sdk._websocket import Closed, open_websocket

from tests.server.authority import Authority

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

Answer = Callable[[BinaryIO, BinaryIO, bytes], None]


@contextmanager
def serving(answer: Answer, tls: ssl.SSLContext | None = None, *then: Answer) -> Iterator[int]:
    """One connection is answered, and another for each of `then`, in a thread; the port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for each in (answer, *then):
                serve_one(each)

        def serve_one(answer: Answer) -> None:
            connection, _ = server.accept()
            wrapped = tls.wrap_socket(connection, server_side=True) if tls else connection
            with wrapped, wrapped.makefile("rb") as received, wrapped.makefile("wb") as sent:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    head += received.readline()
                key = next(
                    line.split(b": ")[1]
                    for line in head.split(b"\r\n")
                    if line.startswith(b"Sec-WebSocket-Key")
                )
                answer(received, sent, base64.b64encode(hashlib.sha1(key + GUID).digest()))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(30)
        assert not thread.is_alive()


def accept(sent: BinaryIO, key: bytes) -> None:
    sent.write(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: "
        + key
        + b"\r\n\r\n"
    )
    sent.flush()


def frame(opcode: int, payload: bytes, *, final: bool = True) -> bytes:
    first = (0x80 if final else 0) | opcode
    if len(payload) < 126:
        return struct.pack("!BB", first, len(payload)) + payload
    if len(payload) < 65536:
        return struct.pack("!BBH", first, 126, len(payload)) + payload
    return struct.pack("!BBQ", first, 127, len(payload)) + payload


def read_frame(received: BinaryIO) -> tuple[int, bytes]:
    first, second = received.read(2)
    size = second & 0x7F
    if size == 126:
        (size,) = struct.unpack("!H", received.read(2))
    elif size == 127:
        (size,) = struct.unpack("!Q", received.read(8))
    mask, payload = received.read(4), received.read(size)
    return first & 0x0F, bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))


def echo(received: BinaryIO, sent: BinaryIO, key: bytes) -> None:
    accept(sent, key)
    while True:
        opcode, payload = read_frame(received)
        sent.write(frame(opcode, payload))
        sent.flush()
        if opcode == 8:
            return


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
def test_one_thread_writes_while_another_reads(secure: bool, tmp_path: Path) -> None:
    tls, ca_file, scheme = None, None, "http"
    if secure:
        authority = Authority(tmp_path)
        pair = authority.issue("127.0.0.1")
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(pair.certificate, pair.key)
        ca_file, scheme = str(authority.ca_file), "https"
    messages = [
        bytes([number]) * size for number, size in enumerate([1, 125, 126, 65535, 65536, 300_000] * 3)
    ]
    with serving(echo, tls) as port:
        opened = open_websocket(Transport(f"{scheme}://127.0.0.1:{port}", "secret", ca_file=ca_file), "/x")
        writer = threading.Thread(target=lambda: [opened.send(each) for each in messages])
        writer.start()
        assert [opened.receive() for _ in messages] == messages
        writer.join(30)
        opened.send("text ü")
        assert opened.receive() == "text ü"
        opened.close()


def test_pings_are_answered_and_pieces_put_together() -> None:
    ponged: list[tuple[int, bytes]] = []

    def answer(received: BinaryIO, sent: BinaryIO, key: bytes) -> None:
        accept(sent, key)
        sent.write(frame(2, b"one ", final=False) + frame(9, b"there?") + frame(0, b"message"))
        sent.write(frame(8, struct.pack("!H", 1008) + b"enough"))
        sent.flush()
        ponged.append(read_frame(received))

    with serving(answer) as port:
        opened = open_websocket(Transport(f"http://127.0.0.1:{port}", None), "/x")
        assert opened.receive() == b"one message"
        with pytest.raises(Closed) as closed:
            opened.receive()
        assert (closed.value.code, closed.value.reason) == (1008, "enough")
        opened.close()
    assert ponged == [(10, b"there?")]


def test_lost_connection_is_an_end() -> None:
    with serving(lambda _received, sent, key: accept(sent, key)) as port:
        opened = open_websocket(Transport(f"http://127.0.0.1:{port}", None), "/x")
        with pytest.raises(Closed) as closed:
            opened.receive()
        assert closed.value.code == 1006
        opened.close()


def test_refusal_comes_as_a_problem() -> None:
    body = json.dumps({"type": "/problems/forbidden", "title": "Not allowed", "status": 403}).encode()

    def answer(_received: BinaryIO, sent: BinaryIO, _key: bytes) -> None:
        sent.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        sent.flush()

    with serving(answer) as port, pytest.raises(Problem) as refused:
        open_websocket(Transport(f"http://127.0.0.1:{port}", None), "/x")
    assert refused.value.kind == "forbidden"


def test_token_that_was_renewed_meanwhile_is_tried() -> None:
    """The local token is another one after a restart of Corral."""
    body = json.dumps({"title": "Not signed in", "status": 401}).encode()

    def refuse(_received: BinaryIO, sent: BinaryIO, _key: bytes) -> None:
        sent.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        sent.flush()

    with serving(refuse, None, lambda _received, sent, key: accept(sent, key)) as port:
        transport = Transport(f"http://127.0.0.1:{port}", "older", find_token=lambda: "newer")
        open_websocket(transport, "/x").close()
    assert transport.headers()["Authorization"] == "Bearer newer"


def test_wrong_proof_is_no_websocket() -> None:
    with (
        serving(lambda _received, sent, _key: accept(sent, b"nonsense")) as port,
        pytest.raises(UnexpectedAnswerError),
    ):
        open_websocket(Transport(f"http://127.0.0.1:{port}", None), "/x")
