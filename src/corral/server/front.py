"""The outermost layer: what holds for every request, whatever answers it.

Request ids, the caller's address, host names we answer to, size limits, security headers, an answer for what
nobody caught, one log line and one measurement. Plain ASGI: it is on every path, so it does little.
"""

import ipaddress
import re
import secrets
import time
from collections.abc import Mapping, Sequence

import structlog
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from corral.api import metrics
from corral.api.callers import Origin
from corral.api.problems import internal_error_response, refusal_response
from corral.core.refusals import FieldError, Malformed, Refusal, TooLarge

LARGEST_BODY = 2 * 1024 * 1024

log = structlog.get_logger("corral.request")

_HOST = re.compile(r"(?:\[(?P<bracketed>[^\]]+)\]|(?P<plain>[^:]+))(?::[0-9]{0,5})?", re.ASCII)
_LENGTH = re.compile("[0-9]{1,10}")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Front:
    def __init__(
        self,
        app: ASGIApp,
        *,
        allowed_hosts: Sequence[str],
        trusted_proxies: Sequence[Network],
        headers: Sequence[tuple[bytes, bytes]],
        larger: Mapping[str, int] | None = None,
    ) -> None:
        """`larger` are paths that take bodies of more than `LARGEST_BODY` bytes, and how many."""
        self._app = app
        self._larger = dict(larger or {})
        self._allowed_hosts = frozenset(allowed_hosts)
        self._trusted_proxies = tuple(trusted_proxies)
        self._headers = tuple(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._open_websocket(scope, receive, send)
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        request_id = secrets.token_hex(8)
        headers = _Headers(scope)
        address = self._address(scope, headers)
        scope.setdefault("state", {})["origin"] = Origin(address, request_id, headers.get(b"user-agent"))
        answer = _Answer(send, self._headers, request_id, private=scope["path"].startswith("/api/"))
        with metrics.in_progress():
            try:
                most = (
                    self._larger.get(scope["path"], LARGEST_BODY)
                    if scope["method"] == "POST"
                    else LARGEST_BODY
                )
                self._check(headers, most)
                await self._app(scope, _bounded(receive, most), answer)
            except Refusal as refusal:
                await self._refuse(refusal, scope, receive, answer, request_id)
            except Exception:
                # The last net: whatever happened, the caller gets an answer and the log the reason.
                log.exception("unhandled error", request_id=request_id, path=scope["path"])
                if not answer.started:
                    await internal_error_response(request_id)(scope, receive, answer)
                else:
                    raise
            finally:
                self._note(scope, answer.status, started, request_id, address)

    async def _open_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = secrets.token_hex(8)
        headers = _Headers(scope)
        address = self._address(scope, headers)
        scope.setdefault("state", {})["origin"] = Origin(address, request_id, headers.get(b"user-agent"))
        try:
            self._check(headers, LARGEST_BODY)
        except Refusal as refusal:
            await refusal_response(refusal, request_id)(scope, receive, send)
            return
        log.debug("websocket", path=scope["path"][:200], address=address, request_id=request_id)
        await self._app(scope, receive, send)

    def _check(self, headers: "_Headers", most: int) -> None:
        if headers.twice is not None:
            name = headers.twice.decode().title()
            said = "names a session twice" if name == "Cookie" else "is there twice"
            message, remedy = f"The header {name} {said}.", "Send it once."
            raise Malformed(message, remedy, errors=[FieldError(f"header.{name}", message, remedy)])
        host = headers.get(b"host")
        if _host_name(host) not in self._allowed_hosts:
            raise Malformed(
                f"Corral does not answer under the name {host[:100]}.",
                "Use the address that it printed at start, or add the name to host_names in corral.toml.",
            )
        length = headers.get(b"content-length")
        if length and not (_LENGTH.fullmatch(length) and int(length) <= most):
            raise _too_large(most)

    @staticmethod
    async def _refuse(
        refusal: Refusal, scope: Scope, receive: Receive, answer: "_Answer", request_id: str
    ) -> None:
        if not answer.started:
            await refusal_response(refusal, request_id)(scope, receive, answer)

    def _address(self, scope: Scope, headers: "_Headers") -> str:
        address = scope["client"][0] if scope.get("client") else ""
        if not self._trusted_proxies or not self._trusts(address):
            return str(address)
        # The rightmost address that is not one of our proxies; what stands left of it anyone can write.
        for hop in reversed([part.strip() for part in headers.get(b"x-forwarded-for").split(",")]):
            if hop and not self._trusts(hop):
                return hop[:64]
        return str(address)

    def _trusts(self, address: str) -> bool:
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in self._trusted_proxies)

    @staticmethod
    def _note(scope: Scope, status: int, started: float, request_id: str, address: str) -> None:
        seconds = time.perf_counter() - started
        # An included router's routes do not know their prefix; FastAPI leaves the whole template here.
        route = scope.get("fastapi", {}).get("effective_route_context") or scope.get("route")
        metrics.observe(getattr(route, "path_format", None), scope["method"], status, seconds)
        log.debug(
            "request",
            method=scope["method"],
            path=scope["path"][:200],
            status=status,
            milliseconds=round(seconds * 1000, 1),
            address=address,
            request_id=request_id,
        )


# Two of these, and who reads the first believes something else than who reads the last. `X-Forwarded-For` is
# not among them: every proxy may add a line of its own, and they are read as one.
_ONCE = frozenset(
    name.lower().encode()
    for name in (
        "Host",
        "Authorization",
        "Origin",
        "X-CSRF-Token",
        "Content-Length",
        "Content-Type",
        "Transfer-Encoding",
        "Idempotency-Key",
        "If-Match",
        "Last-Event-ID",
        "Sec-Fetch-Site",
        "X-Forwarded-Proto",
        "X-Forwarded-Host",
        "Sec-WebSocket-Key",
        "Sec-WebSocket-Version",
    )
)


class _Headers:
    def __init__(self, scope: Scope) -> None:
        self._headers: dict[bytes, bytes] = {}
        self.twice: bytes | None = None
        for name, value in scope["headers"]:
            if name in self._headers:
                if name in _ONCE:
                    self.twice = name
                value = self._headers[name] + (b"; " if name == b"cookie" else b", ") + value
            self._headers[name] = value
        if self.twice is None and _names_twice(self._headers.get(b"cookie", b"")):
            self.twice = b"cookie"

    def get(self, name: bytes) -> str:
        return self._headers.get(name, b"").decode("latin-1")


class _Answer:
    """Sends, with our headers added; remembers the status."""

    def __init__(
        self, send: Send, headers: tuple[tuple[bytes, bytes], ...], request_id: str, *, private: bool
    ) -> None:
        self._send = send
        self._headers = headers
        self._request_id = request_id.encode()
        self._private = private
        self.status = 500
        self.started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            self.status = message["status"]
            headers = list(message.get("headers", ()))
            if self._private and not any(name == b"cache-control" for name, _ in headers):
                headers.append((b"cache-control", b"no-store"))
            message["headers"] = [*headers, *self._headers, (b"x-request-id", self._request_id)]
        await self._send(message)


def _bounded(receive: Receive, most: int) -> Receive:
    """Counts what arrives, for bodies that do not say their length."""
    size = 0

    async def bounded() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > most:
            raise _too_large(most)
        return message

    return bounded


class _BodyTooLarge(TooLarge, HTTPException):  # type: ignore[misc]  # both have headers
    """Also the kind that passes through whoever reads the body and takes other errors for bad JSON."""


def _too_large(most: int) -> TooLarge:
    return _BodyTooLarge(f"A request here may have at most {most // 1024} KiB.", "Send less at once.")


def _names_twice(cookies: bytes) -> bool:
    """Whether a session's cookie is there twice: a page of a neighbouring name may have set the other one."""
    if b"corral_session" not in cookies:
        return False
    names = [part.partition(b"=")[0].strip() for part in cookies.split(b";")]
    sessions = [name for name in names if b"corral_session" in name]
    return len(set(sessions)) < len(sessions)


def _host_name(host: str) -> str:
    """Without its port; empty where what follows the name is none."""
    found = _HOST.fullmatch(host.lower())
    return (found["bracketed"] or found["plain"]) if found else ""
