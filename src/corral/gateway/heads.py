"""Heads of requests and responses as they go through the gateway: what is passed on, dropped and added.

Every head is parsed and written anew, never copied: what the gateway understood is what the workload reads,
so that no request hides inside another.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

Header = tuple[bytes, bytes]

# RFC 9110, section 7.6.1: these belong to one connection.
HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
# A workload learns these from the gateway alone, or not at all.
_NOT_FROM_CLIENTS = frozenset({b"authorization", b"cookie", b"forwarded", b"x-real-ip", b"content-length"})
_FORWARDED = b"x-forwarded-"
_BODILESS = frozenset({204, 304})


class MalformedError(Exception):
    """A head that is refused; the text says why."""


@dataclass(slots=True)
class RequestHead:
    method: bytes
    target: bytes
    version: str
    headers: list[Header]  # names in lower case
    host: bytes = b""
    content_length: int | None = None
    is_chunked: bool = False
    cookies: bytes = b""
    origin: bytes | None = None
    fetch_site: bytes = b""
    fetch_mode: bytes = b""
    websocket: bool = False

    @property
    def has_body(self) -> bool:
        return self.is_chunked or bool(self.content_length)

    @property
    def is_repeatable(self) -> bool:
        """It can be sent a second time when the connection turns out to be closed."""
        return self.method in (b"GET", b"HEAD", b"OPTIONS") and not self.has_body


@dataclass(slots=True)
class ResponseHead:
    status: int
    reason: bytes
    headers: list[Header]
    content_length: int | None = None
    is_chunked: bool = False

    def has_body(self, method: bytes) -> bool:
        return not (method == b"HEAD" or self.status < 200 or self.status in _BODILESS)


def read_request(method: bytes, target: bytes, version: str, headers: list[Header]) -> RequestHead:
    """Checks what decides where a request goes and where it ends."""
    if version not in ("1.0", "1.1"):
        raise MalformedError("Send the request as HTTP/1.1.")
    if not target.startswith(b"/") or method == b"CONNECT":
        raise MalformedError("A request names a path of this host, such as GET /lab.")
    head = RequestHead(method, target, version, headers)
    upgrade = connection = b""
    hosts = 0
    for name, value in headers:
        match name:
            case b"host":
                hosts += 1
                head.host = value
            case b"content-length":
                head.content_length = int(value)  # the parser let one number through
            case b"transfer-encoding":
                if value.strip().lower() != b"chunked":
                    raise MalformedError("The only transfer encoding that is understood here is chunked.")
                head.is_chunked = True
            case b"cookie":
                head.cookies = head.cookies + b"; " + value if head.cookies else value
            case b"origin":
                if head.origin is not None:
                    raise MalformedError("A request has one Origin.")
                head.origin = value
            case b"sec-fetch-site":
                head.fetch_site = value
            case b"sec-fetch-mode":
                head.fetch_mode = value
            case b"upgrade":
                upgrade = value.strip().lower()
            case b"connection":
                connection += value.lower() + b","
            case _:
                pass
    if hosts != 1:
        raise MalformedError("A request has one Host.")
    if upgrade == b"websocket" and b"upgrade" in [each.strip() for each in connection.split(b",")]:
        if method != b"GET" or head.has_body:
            raise MalformedError("A WebSocket begins with a GET request that has no body.")
        head.websocket = True
    return head


def read_response(status: int, reason: bytes, headers: list[Header]) -> ResponseHead:
    head = ResponseHead(status, reason, headers)
    for name, value in headers:
        if name == b"content-length":
            head.content_length = int(value)
        elif name == b"transfer-encoding":
            if value.strip().lower() != b"chunked":
                raise MalformedError("The workload answers in a transfer encoding that is not understood.")
            head.is_chunked = True
    return head


@dataclass(frozen=True, slots=True)
class Addition:
    """What the gateway tells a workload about a request."""

    scheme: bytes
    client: bytes
    headers: Sequence[Header] = ()  # such as the token of a notebook server
    own_cookies: frozenset[bytes] = field(default_factory=frozenset)


def request_bytes(head: RequestHead, add: Addition) -> bytes:
    """The head of a request as the workload gets it."""
    dropped = HOP_BY_HOP | _NOT_FROM_CLIENTS | _named_by_connection(head.headers)
    dropped |= {name for name, _ in add.headers}
    lines = [head.method + b" " + head.target + b" HTTP/1.1"]
    for name, value in head.headers:
        if name not in dropped and not name.startswith(_FORWARDED):
            lines.append(name + b": " + value)
    if cookies := _without(head.cookies, add.own_cookies):
        lines.append(b"cookie: " + cookies)
    if head.is_chunked:
        lines.append(b"transfer-encoding: chunked")
    elif head.content_length is not None:
        lines.append(b"content-length: %d" % head.content_length)
    if head.websocket:
        lines += (b"connection: upgrade", b"upgrade: websocket")
    lines += (
        b"x-forwarded-for: " + add.client,
        b"x-forwarded-proto: " + add.scheme,
        b"x-forwarded-host: " + head.host,
    )
    lines += [name + b": " + value for name, value in add.headers]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def response_bytes(
    head: ResponseHead, *, chunked: bool, close: bool, add: Sequence[Header], own_cookies: frozenset[bytes]
) -> bytes:
    """The head of a response as the client gets it."""
    dropped = HOP_BY_HOP | _named_by_connection(head.headers)
    lines = [b"HTTP/1.1 %d " % head.status + head.reason]
    for name, value in head.headers:
        if name in dropped or (name == b"content-length" and chunked):
            continue
        if name == b"set-cookie":
            if (kept := _host_only(value, own_cookies)) is not None:
                lines.append(b"set-cookie: " + kept)
            continue
        lines.append(name + b": " + value)
    if head.status == HTTPStatus.SWITCHING_PROTOCOLS:
        lines += (b"connection: upgrade", b"upgrade: websocket")
    elif head.status >= HTTPStatus.OK:
        if chunked:
            lines.append(b"transfer-encoding: chunked")
        lines.append(b"connection: close" if close else b"connection: keep-alive")
        lines += [name + b": " + value for name, value in add]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def _named_by_connection(headers: Iterable[Header]) -> set[bytes]:
    named: set[bytes] = set()
    for name, value in headers:
        if name == b"connection":
            named.update(each.strip().lower() for each in value.split(b","))
    # Nobody takes away what the gateway itself relies on.
    return named - {b"host", b"origin", b"close", b"keep-alive", b"upgrade"} if named else named


def cookie_values(cookies: bytes, name: bytes) -> list[bytes]:
    """All values of a name: somebody else may have planted one beside the right one."""
    found = []
    for each in cookies.split(b";"):
        key, equals, value = each.strip().partition(b"=")
        if equals and key == name:
            found.append(value)
    return found


def _without(cookies: bytes, own: frozenset[bytes]) -> bytes:
    if not cookies:
        return b""
    kept = [each.strip() for each in cookies.split(b";")]
    return b"; ".join(each for each in kept if each and each.partition(b"=")[0] not in own)


def _host_only(set_cookie: bytes, own: frozenset[bytes]) -> bytes | None:
    """A workload's cookie stays on its own host name, and is none of the gateway's."""
    pair, *attributes = set_cookie.split(b";")
    if pair.partition(b"=")[0].strip() in own:
        return None
    kept = [each for each in attributes if not each.strip().lower().startswith(b"domain")]
    return b";".join([pair, *kept])
