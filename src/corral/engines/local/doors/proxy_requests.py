"""What a program asks of the proxy, and how it is told no.

Two forms: CONNECT, after which bytes pass unseen, and plain http with the whole address in the first line.
The latter is passed on as an ordinary request that ends the connection, because the next one on the same
connection might be for another host, which would have to be checked as well.
"""

import re
from dataclasses import dataclass
from http import HTTPStatus

LONGEST_HEAD_BYTES = 16384
END_OF_HEAD = b"\r\n\r\n"

_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}\Z")
_LITERAL = re.compile(r"[0-9A-Fa-f:.]{2,45}\Z")
_METHOD = re.compile(rb"[A-Z]{1,20}\Z")
# Meant for the proxy, or replaced by it.
_NOT_PASSED_ON = frozenset({b"host", b"connection", b"keep-alive", b"upgrade", b"proxy-connection"})


class RequestRefused(Exception):
    """Answered with a status, a short reason in the first line (all that many programs show), and words."""

    def __init__(self, status: HTTPStatus, reason: str, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.reason = reason
        self.words = words


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where to. `forward` is what is sent there first; without it the program is told it is connected."""

    host: str
    port: int
    forward: bytes | None


def read_request(head: bytes) -> Wanted:
    """Reads the head of a request, up to and with the empty line."""
    first, *headers = head[: -len(END_OF_HEAD)].split(b"\r\n")
    words = first.split(b" ")
    if len(words) != 3 or not _METHOD.match(words[0]) or words[2] not in (b"HTTP/1.1", b"HTTP/1.0"):
        raise _bad("the first line is not that of an HTTP request")
    method, target, _ = words
    if method == b"CONNECT":
        host, port = _authority(target, None)
        return Wanted(host, port, None)
    scheme, separator, rest = target.partition(b"://")
    if scheme.lower() != b"http" or not separator:
        raise _bad("this is a proxy: it takes CONNECT, and requests whose address begins with http://")
    authority, path = _split(rest)
    host, port = _authority(authority, 80)
    passed = [line for line in headers if line.partition(b":")[0].strip().lower() not in _dropped(headers)]
    lines = [method + b" " + path + b" HTTP/1.1", b"Host: " + authority, *passed, b"Connection: close"]
    return Wanted(host, port, b"\r\n".join(lines) + END_OF_HEAD)


def answer(status: HTTPStatus, reason: str, words: str) -> bytes:
    body = f"Corral: {words}\n".encode()
    head = (
        f"HTTP/1.1 {status.value} {reason}\r\n"
        "Content-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode("ascii", "replace") + body


def _dropped(headers: list[bytes]) -> frozenset[bytes]:
    """Also those that the request itself names as meant for the next hop only."""
    named = set(_NOT_PASSED_ON)
    for line in headers:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"connection":
            named |= {word.strip().lower() for word in value.split(b",")}
        elif name.strip().lower().startswith(b"proxy-"):
            named.add(name.strip().lower())
    return frozenset(named - {b"transfer-encoding", b"content-length"})


def _split(rest: bytes) -> tuple[bytes, bytes]:
    found = re.search(rb"[/?#]", rest)
    if found is None:
        return rest, b"/"
    path = rest[found.start() :].partition(b"#")[0]
    return rest[: found.start()], path if path.startswith(b"/") else b"/" + path


def _authority(authority: bytes, default_port: int | None) -> tuple[str, int]:
    text = authority.decode("ascii", "replace")
    if text.startswith("["):
        host, separator, rest = text[1:].partition("]")
        valid = bool(separator) and bool(_LITERAL.match(host))
        port = rest.removeprefix(":") if rest.startswith(":") else rest and "?"
    else:
        host, _, port = text.partition(":")
        valid = bool(_HOST.match(host))
    if not valid:
        raise _bad("the name of the host is not one")
    if not port and default_port is not None:
        return host, default_port
    if not re.match(r"[0-9]{1,5}\Z", port) or not 0 < int(port) < 65536:
        raise _bad("the port is not a number from 1 to 65535")
    return host, int(port)


def _bad(words: str) -> RequestRefused:
    return RequestRefused(HTTPStatus.BAD_REQUEST, "Bad Request", words)
