"""Remembers who a secret belongs to, so that most requests ask the database nothing about their caller.

What is remembered is dropped at every hint that identity changed: at once in the process that changed it,
within the time of a notification in others, and after `LONGEST` in any case, should a notification be lost.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Generic, Protocol, TypeVar

from corral.api.callers import IDENTITY
from corral.store.database import Database

LONGEST = timedelta(seconds=5)
MOST = 10_000


class Expiring(Protocol):
    @property
    def expires_at(self) -> datetime | None: ...


T = TypeVar("T", bound=Expiring)


class Memory(Generic[T]):
    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, tuple[datetime, T]] = {}
        self._changes = 0
        database.hints.subscribe(IDENTITY, self._forget)

    async def find(self, key: str, look_up: Callable[[], Awaitable[T | None]]) -> T | None:
        """What is known under `key`, or what `look_up` finds; nothing that has expired meanwhile."""
        now = self._database.now()
        remembered = self._known.get(key)
        if remembered is not None:
            until, found = remembered
            if now < until and (found.expires_at is None or now < found.expires_at):
                return found
        changes = self._changes
        looked_up = await look_up()
        # A change while we looked may be newer than what we saw: then it is used once and not remembered.
        if looked_up is not None and changes == self._changes:
            if len(self._known) >= MOST:
                self._known.clear()
            self._known[key] = (now + LONGEST, looked_up)
        return looked_up

    def _forget(self) -> None:
        self._changes += 1
        self._known.clear()
