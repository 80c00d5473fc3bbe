"""One HTTP exchange with Corral: headers, time-outs, safe retries, problems as exceptions."""

import http.client
import ipaddress
import json
import random
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urlencode, urlsplit

from corral_sdk._decode import encode
from corral_sdk._problems import (
    NotConfiguredError,
    Problem,
    UnexpectedAnswerError,
    UnreachableError,
    UntrustedError,
)
from corral_sdk._version import __version__

if TYPE_CHECKING:
    import ssl

__all__ = ["Answer", "Transport"]

API = "/api/v1"
_TRIES = 3
_FIRST_WAIT_SECONDS = 0.2
_LONGEST_WAIT_SECONDS = 5.0
_CHECK_ADDRESS = "Check the address: is it Corral's?"
_TRANSIENT = (429, 502, 503, 504)

Query = Mapping[str, object]


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError:
            raise UnexpectedAnswerError("The answer is no JSON.", remedy=_CHECK_ADDRESS) from None


@dataclass(frozen=True)
class Transport:
    """Where to ask and as whom. Safe to use from several threads: every exchange has its own connection."""

    url: str
    token: str | None = field(repr=False)
    timeout_seconds: float = 30.0
    allow_plain_http: bool = False
    ca_file: str | None = None
    extra_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    find_token: Callable[[], str | None] | None = field(default=None, repr=False)
    _tokens: list[str | None] = field(default_factory=list, repr=False)  # a newer one, once found

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise NotConfiguredError(
                f"{self.url!r} is no address of a Corral.", remedy="It looks like https://corral.example.edu."
            )
        if parts.scheme == "http" and not self.allow_plain_http and not _is_loopback(parts.hostname):
            raise NotConfiguredError(
                f"{self.url} would send your credentials unencrypted over the network.",
                remedy=f"Use https, or a tunnel: ssh -L 8710:127.0.0.1:8710 <user>@{parts.hostname}, "
                "then http://127.0.0.1:8710.",
            )

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        create: bool = False,
    ) -> Answer:
        """Asks and returns what a 2xx status brought.

        Reads are tried again after a failure on the way; so are creates, because their Idempotency-Key makes
        a second one harmless. Nothing else is: whether it took effect cannot be known.
        """
        given = dict(headers or {})
        payload = None
        if body is not None:
            payload = json.dumps(body).encode()
            given["Content-Type"] = "application/json"
        if create:
            given["Idempotency-Key"] = str(uuid.uuid4())
        target = _target(path, query)
        tries = _TRIES if method == "GET" or create else 1
        for attempt in range(1, tries + 1):
            try:
                answer = self._exchange(method, target, payload, given)
                if answer.status == 401 and self.has_newer_token():
                    answer = self._exchange(method, target, payload, given)
            except UnreachableError as error:
                if attempt == tries or isinstance(error, UntrustedError):
                    raise
                time.sleep(_wait_seconds(attempt))
                continue
            wait = _wait_seconds(attempt, answer.headers.get("retry-after"))
            if answer.status in _TRANSIENT and attempt < tries and wait <= _LONGEST_WAIT_SECONDS:
                time.sleep(wait)
                continue
            return _checked(answer)
        raise AssertionError("unreachable: the last try returns or raises")

    def send(self, path: str, file: BinaryIO, size: int, media_type: str) -> Answer:
        """Sends a file as the body of a POST, piece by piece, once: who asks may ask again."""
        headers = {**self._headers(), "Content-Type": media_type, "Content-Length": str(size)}
        return _checked(self._exchange("POST", path, file, headers))

    @contextmanager
    def stream(
        self,
        path: str,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_seconds: float | None = None,
    ) -> Iterator[http.client.HTTPResponse]:
        """A long answer, to be read piece by piece."""
        connection = self._connection(timeout_seconds or self.timeout_seconds)
        try:
            response = self._send(connection, "GET", _target(path, query), None, headers or {})
            if response.status >= 300:
                _checked(Answer(response.status, _lower(response), response.read()))
            yield response
        finally:
            connection.close()

    def connect(self) -> tuple[str, socket.socket]:
        """A new connection, and the name to send as Host."""
        parts = urlsplit(self.url)
        connection = self._connection(self.timeout_seconds)
        try:
            connection.connect()
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        return parts.netloc.rpartition("@")[2], connection.sock

    def headers(self) -> dict[str, str]:
        """What every request carries."""
        return self._headers()

    def _exchange(
        self, method: str, target: str, payload: bytes | BinaryIO | None, headers: Mapping[str, str]
    ) -> Answer:
        connection = self._connection(self.timeout_seconds)
        try:
            response = self._send(connection, method, target, payload, headers)
            try:
                body = response.read()
            except (OSError, http.client.HTTPException) as error:
                raise self._unreachable(error) from error
            return Answer(response.status, _lower(response), body)
        finally:
            connection.close()

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        payload: bytes | BinaryIO | None,
        headers: Mapping[str, str],
    ) -> http.client.HTTPResponse:
        try:
            connection.request(method, target, payload, {**self._headers(), **headers})
            return connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error

    def _connection(self, timeout_seconds: float) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        if parts.scheme == "http":
            return http.client.HTTPConnection(host, parts.port or 80, timeout=timeout_seconds)
        return http.client.HTTPSConnection(
            host, parts.port or 443, timeout=timeout_seconds, context=self._tls
        )

    @cached_property
    def _tls(self) -> "ssl.SSLContext":
        import ssl  # a hundredth of a second that plain loopback does not need

        context = ssl.create_default_context()
        if self.ca_file:
            # The file may hold Corral's own certificate instead of the authority that signed it.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            try:
                context.load_verify_locations(self.ca_file)
            except OSError as error:  # which ssl.SSLError is, too
                raise NotConfiguredError(
                    f"The CA file {self.ca_file} cannot be used.",
                    "It holds no certificate." if isinstance(error, ssl.SSLError) else f"{error.strerror}.",
                    "Name a PEM file with the certificate of the authority: CORRAL_CA_FILE or --ca-file.",
                ) from None
        return context

    def _headers(self) -> dict[str, str]:
        headers = {
            "Accept": "application/json, application/problem+json",
            "User-Agent": f"corral-sdk/{__version__}",
            "Connection": "close",
        }
        token = self._tokens[-1] if self._tokens else self.token
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return {**headers, **self.extra_headers}

    def has_newer_token(self) -> bool:
        """Whether another token than the refused one is known by now; it is used from then on."""
        refused = self._tokens[-1] if self._tokens else self.token
        found = None if self.find_token is None else self.find_token()
        if found is None or found == refused:
            return False
        self._tokens[:] = [found]
        return True

    def _unreachable(self, error: Exception) -> UnreachableError:
        untrusted = getattr(error, "verify_message", None)
        if untrusted:
            other_name = "mismatch" in untrusted
            return UntrustedError(
                f"The certificate of {self.url} is not trusted.",
                f"{str(untrusted).rstrip('.')}.",
                "Use a name that is in the certificate."
                if other_name
                else "If a private authority signed it, name its certificate: CORRAL_CA_FILE=<file>, "
                "or corral login --ca-file <file>.",
            )
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return UnreachableError(
            f"Corral does not answer at {self.url}.",
            f"{reason}.",
            "Check the address and that Corral runs there (corral up).",
        )


def _target(path: str, query: Query | None) -> str:
    """Path and query; None is left out, a sequence is repeated, a truth value is written as JSON does."""
    pairs: list[tuple[str, str]] = []
    for key, value in (query or {}).items():
        values = value if isinstance(value, list | tuple) else [value]
        pairs += [(key, _written(each)) for each in values if each is not None]
    return path + ("?" + urlencode(pairs) if pairs else "")


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(encode(value))


def _checked(answer: Answer) -> Answer:
    if 200 <= answer.status < 300:
        return answer
    try:
        document = json.loads(answer.body)
    except ValueError:
        document = None
    if not isinstance(document, dict) or "title" not in document:
        raise UnexpectedAnswerError(
            f"HTTP status {answer.status} without an explanation.",
            remedy=_CHECK_ADDRESS,
        )
    raise Problem(document, answer.status)


def _lower(response: http.client.HTTPResponse) -> dict[str, str]:
    """By name in lower case; of cookies there may be several, each with its attributes."""
    headers = {name.lower(): value for name, value in response.getheaders()}
    if cookies := response.headers.get_all("set-cookie"):
        headers["set-cookie"] = "; ".join(cookies)
    return headers


def _wait_seconds(attempt: int, retry_after: str | None = None) -> float:
    if retry_after and retry_after.isdigit():
        return float(retry_after)
    return float(_FIRST_WAIT_SECONDS * 2 ** (attempt - 1) * random.uniform(0.75, 1.25))  # noqa: S311


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
