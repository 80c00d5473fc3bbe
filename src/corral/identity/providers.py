"""Login providers: how people prove who they are. Local passwords are one; others plug in beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import select

from corral.identity.passwords import Passwords
from corral.identity.tables import password, user
from corral.store.database import AnyRow, Database, Transaction


@dataclass(frozen=True, slots=True)
class Field:
    """One input of a provider's form."""

    key: str
    secret: bool


@dataclass(frozen=True, slots=True)
class Form:
    """The console shows these fields and posts them back."""

    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Redirect:
    """The browser goes there and comes back with an answer."""

    url: str


@dataclass(frozen=True, slots=True)
class Proven:
    """Authenticated; `subject` is the provider's permanent name for the person."""

    subject: str
    display_name: str | None = None
    mail: str | None = None


@dataclass(frozen=True, slots=True)
class NotProven:
    """Not authenticated. The same for a wrong password and an unknown name."""


class LoginProvider(Protocol):
    """Contract, tested by one behaviour suite for every provider.

    `start` says how the browser begins and has no effect. `finish` takes what came back: it never raises for
    wrong, missing, odd or huge answers but gives `NotProven`; it does comparable work whether the person
    exists or not; it keeps no state between calls that a restart would lose; it never creates people.
    """

    @property
    def key(self) -> str: ...

    def start(self) -> Form | Redirect: ...

    async def finish(self, answer: Mapping[str, str]) -> Proven | NotProven: ...


class LocalPassword:
    """Accounts of Corral itself. The subject is the user's id."""

    key = "local"

    def __init__(self, database: Database, passwords: Passwords) -> None:
        self._database = database
        self._passwords = passwords

    def start(self) -> Form:
        return Form((Field("name", secret=False), Field("password", secret=True)))

    async def finish(self, answer: Mapping[str, str]) -> Proven | NotProven:
        # Half a surrogate pair is in no password, but must not break the hashing of one.
        given = answer.get("password", "")[:1024].encode(errors="replace").decode()
        row = await self._database.read(_stored, answer.get("name", "").strip().lower())
        if await self._passwords.verify(given, None if row is None else row.hash) and row is not None:
            return Proven(row.id)
        return NotProven()


def _stored(transaction: Transaction, name: str) -> AnyRow | None:
    # Names of people are plain ASCII; what cannot be one is not looked up.
    if not name or len(name) > 64 or not name.isascii() or "\x00" in name:
        return None
    return transaction.first(
        select(user.c.id, password.c.hash)
        .join(password, password.c.user_id == user.c.id)
        .where(user.c.name == name)
    )
