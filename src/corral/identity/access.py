"""Who is calling: a session cookie or a bearer token becomes a `Caller`, or the request is refused."""

import hmac
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import Select, bindparam, select
from starlette.requests import HTTPConnection

from corral.api.callers import Authority, Caller, Origin, Via, request_origin
from corral.core.ids import Kind
from corral.core.refusals import CrossSite, PasswordChangeRequired, TooMany, Unauthenticated
from corral.identity.accounts import touch
from corral.identity.credentials import TOKEN, csrf_token, hash_secret
from corral.identity.lookups import authorities_of
from corral.identity.memory import Memory
from corral.identity.tables import password, session, token, user
from corral.store.database import AnyRow, Database, Transaction

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
SIGN_IN_REMEDY = "Sign in to the console, run `corral login`, or send a token as Authorization: Bearer."
# What someone may do who must choose a password first: see that, do it, or leave.
BEFORE_PASSWORD = frozenset({"/api/v1/session", "/api/v1/me/password", "/api/v1/me"})


@dataclass(frozen=True, slots=True)
class Credential:
    """What the database has on a presented secret."""

    via: Via
    id: str
    user_id: str
    user_name: str
    authorities: tuple[Authority, ...]
    expires_at: datetime | None
    scopes: frozenset[str] | None = None
    must_change_password: bool = False
    provider: str = ""


@dataclass(slots=True)
class Seen:
    """When credentials were last used; collected here, written by a chore."""

    sessions: dict[str, datetime] = field(default_factory=dict)
    tokens: dict[str, datetime] = field(default_factory=dict)
    users: dict[str, datetime] = field(default_factory=dict)

    async def flush(self, database: Database) -> int:
        sessions, tokens, users = self.sessions, self.tokens, self.users
        self.sessions, self.tokens, self.users = {}, {}, {}
        if users:
            await database.write(touch, sessions, tokens, users)
        return len(users)


class Changes:
    """How many changes each person made in this hour: each may write to the audit log."""

    def __init__(self) -> None:
        self._hour: datetime | None = None
        self._counts: Counter[str] = Counter()

    def count(self, user_id: str, now: datetime, most: int) -> None:
        """Refuses one more than `most`."""
        hour = now.replace(minute=0, second=0, microsecond=0)
        if hour != self._hour:
            self._hour, self._counts = hour, Counter()
        if self._counts[user_id] >= most:
            raise TooMany(
                f"You made {most} changes within an hour, which is the limit.",
                "Wait for the next hour; /workloads/actions changes many workloads in one call.",
                headers={"Retry-After": str(int((hour + timedelta(hours=1) - now).total_seconds()) + 1)},
            )
        self._counts[user_id] += 1


class Access:
    """The authenticator of the API."""

    def __init__(self, database: Database, *, cookie: str, origins: frozenset[str], idle: timedelta) -> None:
        self._database = database
        self._cookie = cookie
        self._origins = origins
        self._idle = idle
        self._memory: Memory[Credential] = Memory(database)
        self.seen = Seen()
        self.changes = Changes()

    async def __call__(self, request: HTTPConnection) -> Caller:
        header = request.headers.get("authorization")
        if header is not None:
            caller = await self._by_token(request, header)
        else:
            secret = request.cookies.get(self._cookie)
            if secret is None:
                raise Unauthenticated("This needs an account.", SIGN_IN_REMEDY)
            caller = await self._by_session(request, secret)
        if request.scope["type"] == "http" and request.scope["method"] not in SAFE_METHODS:
            most = self._database.bounds.changes_per_hour
            self.changes.count(caller.user_id, self._database.now(), most)
        return caller

    async def by_credential(self, credential_id: str) -> Caller | None:
        """Who holds a session or token, while it is good; an app's visitor has no other proof."""
        look_up = partial(self._database.read, _find_by_id, credential_id, self._idle)
        credential = await self._memory.find(credential_id, look_up)
        if credential is None or credential.must_change_password:
            return None
        return _caller(Origin("", ""), credential, self._database.now())

    def session_secret(self, request: HTTPConnection) -> str | None:
        return request.cookies.get(self._cookie)

    def check_origin(self, request: HTTPConnection) -> None:
        """A browser says where a request was made; only the console's own pages may change things."""
        origin = request.headers.get("origin")
        site = request.headers.get("sec-fetch-site")
        if (origin is not None and origin not in self._origins) or site in {"cross-site", "same-site"}:
            raise CrossSite(
                f"The request comes from a page of {(origin or 'another site')[:100]}.",
                "Use the console at its own address.",
            )

    async def _by_session(self, request: HTTPConnection, secret: str) -> Caller:
        secret_hash = hash_secret(secret[:256])
        look_up = partial(self._database.read, _find_session, secret_hash, self._idle)
        credential = await self._memory.find(secret_hash, look_up)
        if credential is None:
            raise Unauthenticated("The session has ended.", "Sign in again.")
        if request.scope["type"] == "websocket":
            # A page of any site can open one with our cookie; browsers say of which site it is.
            self.check_origin(request)
            if "origin" not in request.headers:
                raise CrossSite(
                    "The request does not say which page it comes from.", "Send Origin, or use a token."
                )
        elif request.scope["method"] not in SAFE_METHODS:
            self.check_origin(request)
            given = request.headers.get("x-csrf-token", "")
            if not hmac.compare_digest(given.encode(), csrf_token(secret).encode()):
                raise CrossSite(
                    "The header X-CSRF-Token is missing or does not belong to this session.",
                    "Read csrf_token from GET /api/v1/session and send it with every change.",
                )
        if credential.must_change_password and request.url.path not in BEFORE_PASSWORD:
            raise PasswordChangeRequired(
                "Your first password must be replaced by one that only you know.",
                "Choose a new password: POST /api/v1/me/password.",
            )
        if not getattr(request.state, "passive", False):
            self.seen.sessions[credential.id] = self.seen.users[credential.user_id] = self._database.now()
        return _caller(request_origin(request), credential, self._database.now())

    async def _by_token(self, request: HTTPConnection, header: str) -> Caller:
        scheme, _, text = header.partition(" ")
        match = TOKEN.fullmatch(text.strip()) if scheme.lower() == "bearer" else None
        credential = None
        if match is not None:
            secret_hash = hash_secret(match[2])
            look_up = partial(self._database.read, _find_token, match[1], secret_hash)
            credential = await self._memory.find(f"{match[1]}:{secret_hash}", look_up)
        if credential is None:
            raise Unauthenticated(
                "The token is unknown, has expired or was revoked.",
                "Create one in the console under Profile, or with `corral login`.",
                headers={"WWW-Authenticate": "Bearer"},
            )
        if not getattr(request.state, "passive", False):
            self.seen.tokens[credential.id] = self.seen.users[credential.user_id] = self._database.now()
        return _caller(request_origin(request), credential, self._database.now())


def _caller(origin: Origin, credential: Credential, now: datetime) -> Caller:
    # What is remembered for some seconds may have ended in them.
    authorities = tuple(one for one in credential.authorities if one.until is None or now < one.until)
    if credential.scopes is not None:
        authorities = tuple(
            Authority(one.path, frozenset(p for p in one.permissions if p in credential.scopes), one.until)
            for one in authorities
        )
    return Caller(
        credential.user_id,
        credential.user_name,
        credential.via,
        credential.id,
        origin,
        authorities,
        token_scopes=credential.scopes,
        provider=credential.provider,
        expires_at=credential.expires_at,
    )


def _find_session(transaction: Transaction, secret_hash: str, idle: timedelta) -> Credential | None:
    return _session(transaction, transaction.first(_SESSIONS, {"secret_hash": secret_hash}), idle)


def _find_by_id(transaction: Transaction, credential_id: str, idle: timedelta) -> Credential | None:
    if credential_id.startswith(Kind.SESSION):
        row = transaction.first(_ALL_SESSIONS.where(session.c.id == credential_id))
        return _session(transaction, row, idle)
    return _token(transaction, transaction.first(_ALL_TOKENS.where(token.c.id == credential_id)))


def _session(transaction: Transaction, row: AnyRow | None, idle: timedelta) -> Credential | None:
    if row is None or row.state != "active":
        return None
    if row.expires_at <= transaction.now or row.last_seen_at + idle <= transaction.now:
        return None
    must_change = row.provider in {"local", "link"} if row.must_change is None else row.must_change
    return Credential(
        "session",
        row.id,
        row.user_id,
        row.name,
        authorities_of(transaction, row.user_id),
        row.expires_at,
        must_change_password=must_change,
        provider=row.provider,
    )


def _find_token(transaction: Transaction, token_id: str, secret_hash: str) -> Credential | None:
    row = transaction.first(_TOKENS, {"secret_hash": secret_hash})
    return _token(transaction, row) if row is not None and row.id == token_id else None


def _token(transaction: Transaction, row: AnyRow | None) -> Credential | None:
    if row is None or row.state != "active":
        return None
    if row.expires_at is not None and row.expires_at <= transaction.now:
        return None
    scopes = None if "*" in row.scopes else frozenset(row.scopes)
    return Credential(
        "local" if row.local else "token",
        row.id,
        row.user_id,
        row.name,
        authorities_of(transaction, row.user_id),
        row.expires_at,
        scopes=scopes,
    )


def expiry_of_session(transaction: Transaction, session_id: str) -> datetime | None:
    at: datetime | None = transaction.scalar(select(session.c.expires_at).where(session.c.id == session_id))
    return at


def expiry_of_token(transaction: Transaction, token_id: str) -> datetime | None:
    at: datetime | None = transaction.scalar(select(token.c.expires_at).where(token.c.id == token_id))
    return at


_ALL_SESSIONS: Select[*tuple[Any, ...]] = (
    select(
        session.c.id,
        session.c.user_id,
        session.c.expires_at,
        session.c.last_seen_at,
        session.c.provider,
        user.c.name,
        user.c.state,
        password.c.must_change,
    )
    .join(user, user.c.id == session.c.user_id)
    .outerjoin(password, password.c.user_id == session.c.user_id)
)
_SESSIONS = _ALL_SESSIONS.where(session.c.secret_hash == bindparam("secret_hash"))
_ALL_TOKENS: Select[*tuple[Any, ...]] = select(
    token.c.id,
    token.c.user_id,
    token.c.expires_at,
    token.c.scopes,
    token.c.local,
    user.c.name,
    user.c.state,
).join(user, user.c.id == token.c.user_id)
_TOKENS = _ALL_TOKENS.where(token.c.secret_hash == bindparam("secret_hash"))
