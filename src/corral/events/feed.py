"""The journal of changes, read once for all who listen in this process."""

import asyncio
import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import structlog
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from corral.api.callers import Caller
from corral.core.refusals import Refusal, Unavailable
from corral.events.record import TOPIC
from corral.events.subscription import Subscription, encode
from corral.events.tables import event
from corral.events.visibility import may_see
from corral.store.database import Database, Transaction

_BATCH = 500
_MOST_REPLAYED = 1000
_FIRST_DELAY_SECONDS = 0.5
_LONGEST_DELAY_SECONDS = 30.0

log = structlog.get_logger(__name__)


class TooManyStreams(Refusal):
    slug, title, status = "too-many-streams", "Too many open event streams", 429


@dataclass(frozen=True, slots=True)
class Event:
    id: int
    kind: str
    scope: str | None
    user_id: str | None
    message: bytes  # encoded once, however many listen


@dataclass(frozen=True, slots=True)
class Opened:
    """A subscription and where it begins: after `resumed_from`, or with a reset, or afresh."""

    subscription: Subscription
    current_id: int
    resumed_from: int | None
    missed: list[bytes]
    reset: bool


class EventFeed:
    """One per process. `stopping` ends every stream at once: an open one would hold up the server."""

    def __init__(
        self,
        database: Database,
        stopping: asyncio.Event,
        *,
        capacity: int = 256,
        most_per_person: int = 8,
        period_seconds: float = 10.0,
    ) -> None:
        self._database = database
        self._stopping = stopping
        self._capacity = capacity
        self._most_per_person = most_per_person
        self._period_seconds = period_seconds
        self._wake = asyncio.Event()
        self._reading = asyncio.Lock()
        self._subscriptions: set[Subscription] = set()
        self._per_person: Counter[str] = Counter()
        self._position: int | None = None  # the last event that was handed out; None while nobody listens

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Hands out events inside the block."""
        unsubscribe = self._database.hints.subscribe(TOPIC, self._wake.set)
        tasks = [asyncio.create_task(self._hand_out()), asyncio.create_task(self._end_when_stopping())]
        try:
            yield
        finally:
            unsubscribe()
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            self._end_all()

    async def open(self, caller: Caller, last_event_id: str | None) -> Opened:
        """Subscribes; whoever gets it must close the subscription."""
        if self._stopping.is_set():
            raise Unavailable(
                "Corral is stopping.", "Reconnect in a few seconds.", headers={"Retry-After": "3"}
            )
        if self._per_person[caller.user_id] >= self._most_per_person:
            raise TooManyStreams(
                f"You have {self._most_per_person} event streams open, which is the limit.",
                "Close other windows of the console, or read all events from one stream.",
                headers={"Retry-After": "15"},
            )
        self._per_person[caller.user_id] += 1
        subscription = Subscription(caller, self._capacity, self._closed)
        try:
            return await self._begin(subscription, last_event_id)
        except BaseException:  # a cancelled request, too, must not keep its place
            subscription.close()
            raise

    async def _begin(self, subscription: Subscription, last_event_id: str | None) -> Opened:
        last = _parse(last_event_id)
        async with self._reading:
            if self._position is None or not self._subscriptions:
                self._position = await self._database.read(_newest_id)
            elif last is not None and last > self._position:
                # Another process may have told the client of an event that has not reached us yet.
                await self._read_on()
            current = subscription.position = self._position
            self._subscriptions.add(subscription)
        if last_event_id is None:
            return Opened(subscription, current, None, [], reset=False)
        missed = None if last is None else await self._database.read(_between, last, current)
        if last is None or missed is None:
            return Opened(subscription, current, None, [], reset=True)
        return Opened(
            subscription, current, last, [e.message for e in missed if _sees(subscription, e)], reset=False
        )

    def _closed(self, subscription: Subscription) -> None:
        self._subscriptions.discard(subscription)
        self._per_person[subscription.caller.user_id] -= 1
        if not self._per_person[subscription.caller.user_id]:
            del self._per_person[subscription.caller.user_id]

    async def _hand_out(self) -> None:
        failures = 0
        while True:
            self._wake.clear()
            try:
                async with self._reading:
                    await self._read_on()
                failures, delay = 0, self._period_seconds
            except SQLAlchemyError as error:
                delay = min(_LONGEST_DELAY_SECONDS, _FIRST_DELAY_SECONDS * 2 ** min(failures, 20))
                delay *= random.uniform(0.5, 1.0)  # noqa: S311
                failures += 1
                log.warning(
                    "events cannot be read", error=repr(error)[:400], again_in_seconds=round(delay, 1)
                )
                await asyncio.sleep(delay)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._wake.wait()

    async def _read_on(self) -> None:
        """Reads what is new and offers it to all; the caller holds the lock."""
        if not self._subscriptions:
            self._position = None
        while self._position is not None:
            events = await self._database.read(_after, self._position)
            if events:
                self._position = events[-1].id
            for subscription in tuple(self._subscriptions):
                seen = [one.message for one in events if _sees(subscription, one)]
                subscription.offer(seen, self._position)
            if len(events) < _BATCH:
                return

    async def _end_when_stopping(self) -> None:
        await self._stopping.wait()
        self._end_all()

    def _end_all(self) -> None:
        for subscription in tuple(self._subscriptions):
            subscription.end()


def _sees(subscription: Subscription, one: Event) -> bool:
    return may_see(subscription.caller, one.kind, one.scope, one.user_id)


def _parse(last_event_id: str | None) -> int | None:
    """The id as a number, or None where it is none of ours."""
    if last_event_id is None or not re.fullmatch(r"[0-9]{1,18}", last_event_id):
        return None
    return int(last_event_id)


def _newest_id(transaction: Transaction) -> int:
    return int(transaction.scalar(select(func.max(event.c.id))) or 0)


def _after(transaction: Transaction, position: int) -> list[Event]:
    return _events(
        transaction.rows(select(event).where(event.c.id > position).order_by(event.c.id).limit(_BATCH))
    )


def _between(transaction: Transaction, last: int, current: int) -> list[Event] | None:
    """The events after `last`; None if it is from the future, or what followed is gone or too much."""
    oldest = transaction.scalar(select(func.min(event.c.id)))
    if last > current or (last < current and (oldest is None or oldest > last + 1)):
        return None
    missed = event.c.id.between(last + 1, current)
    rows = transaction.rows(select(event).where(missed).order_by(event.c.id).limit(_MOST_REPLAYED + 1))
    return None if len(rows) > _MOST_REPLAYED else _events(rows)


def _events(rows: Sequence[Any]) -> list[Event]:
    return [Event(row.id, row.kind, row.scope, row.user_id, _message(row)) for row in rows]


def _message(row: Any) -> bytes:
    data = {"kind": row.kind, "id": row.object_id, "generation": row.generation, "scope": row.scope}
    return encode("changed", row.id, data)
