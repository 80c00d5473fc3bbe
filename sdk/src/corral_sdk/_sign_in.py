"""Signing in with name and password, to make a token that is then used instead of them."""

from dataclasses import replace
from http.cookies import SimpleCookie
from types import TracebackType
from typing import Self

from corral_sdk._decode import decode
from corral_sdk._me import Me, Tokens
from corral_sdk._problems import UnexpectedAnswerError
from corral_sdk._transport import API, Transport
from corral_sdk.models import Session

__all__ = ["SignedIn", "sign_in"]


class SignedIn:
    """A login session, as a browser has one. Close it when the token is made."""

    def __init__(self, transport: Transport, session: Session) -> None:
        self._transport = transport
        self.session = session
        self.me = Me(transport)
        self.tokens = Tokens(transport)

    def close(self) -> None:
        self._transport.request("DELETE", f"{API}/session")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def sign_in(
    url: str,
    name: str,
    password: str,
    *,
    provider: str = "local",
    timeout_seconds: float = 30.0,
    allow_plain_http: bool = False,
    ca_file: str | None = None,
) -> SignedIn:
    """Starts a session; raises `Problem` with kind `login-failed` or `too-many-tries`."""
    transport = Transport(url.rstrip("/"), None, timeout_seconds, allow_plain_http, ca_file)
    body = {"provider": provider, "name": name, "password": password}
    answer = transport.request("POST", f"{API}/session", body=body)
    session = decode(Session, answer.json())
    cookies = SimpleCookie(answer.headers.get("set-cookie", ""))
    if not cookies or session.csrf_token is None:
        raise UnexpectedAnswerError("Signing in returned no session.")
    headers = {
        "Cookie": "; ".join(f"{key}={morsel.value}" for key, morsel in cookies.items()),
        "X-CSRF-Token": session.csrf_token,
    }
    return SignedIn(replace(transport, extra_headers=headers), session)
