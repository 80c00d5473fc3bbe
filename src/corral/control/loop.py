"""The one loop: woken by a hint and periodically anyway, under a leadership, slower while it fails.

    loop = Loop("chores", database, turn, period_seconds=60, topics=["identity"])

`turn(term)` looks at what is there, does what is missing and returns a `Done`. Doing it twice must change
nothing; a crash in the middle is repaired by the next turn. Everything the loop does (taking and
renewing the leadership, turns, waiting) happens in one task, one step after the other, except that the
leadership is renewed while a long turn runs.
"""

import asyncio
import os
import random
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Literal

import structlog
from sqlalchemy.exc import SQLAlchemyError

from corral.control import metrics
from corral.control.pace import Pace
from corral.control.term import Term
from corral.control.timing import SystemTiming, Timing
from corral.core.failures import in_words
from corral.store import leadership
from corral.store.database import Database, Transaction
from corral.store.leadership import Leadership, LeadershipLost

# The holder stops acting this part of the leadership before others may take it: clocks differ in speed.
_SLACK = 0.1
# One failed turn may be chance, and the next one repairs it. These are not.
FAILING_TURNS = 3
LATE_SECONDS = 90.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Done:
    """How many things a turn did, and whether it left some for a next turn at once."""

    things: int = 0
    more: bool = False


@dataclass(frozen=True, slots=True)
class Failing:
    """A loop that does not do its work: since when, and why in words that may be shown."""

    name: str
    since: datetime
    detail: str


Turn = Callable[[Term], Awaitable[Done]]
MayLead = Callable[[Transaction], bool]


class CutOff(Enum):
    """Why a turn must end before it is done."""

    TOO_LONG = "too_long"
    LEADERSHIP_LOST = "leadership_lost"


class Loop:
    """`exclusive=False` is for work that belongs to each process, such as writing out its buffers.

    `may_lead` is asked in the transaction that takes the leadership: False leaves it to others.
    """

    def __init__(
        self,
        name: str,
        database: Database,
        turn: Turn,
        period_seconds: float,
        *,
        zone: str = "",
        topics: Sequence[str] = (),
        may_lead: MayLead | None = None,
        host: str = "",
        exclusive: bool = True,
        leadership_seconds: float = 30.0,
        longest_turn_seconds: float = 300.0,
        pace: Pace | None = None,
        timing: Timing | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.name = f"{name}/{zone}" if zone else name
        if len(self.name) > leadership.NAME_LENGTH:
            raise ValueError(f"the name {self.name!r} has more than {leadership.NAME_LENGTH} characters")
        self._database = database
        self._turn = turn
        self._topics = tuple(topics)
        self._may_lead = may_lead
        self._exclusive = exclusive
        self._leadership_seconds = leadership_seconds
        self._longest_turn_seconds = longest_turn_seconds
        self._pace = pace or Pace(period_seconds)
        self._timing = timing or SystemTiming()
        self._chance = chance
        self._holder = f"{(host or socket.gethostname())[:40]}/{os.getpid()}/{secrets.token_hex(6)}"
        self._attention = asyncio.Event()
        self._stopping = False
        self._hinted_at: float | None = None
        self._leadership: Leadership | None = None
        self._term: Term | None = None
        self._leadership_due = 0.0
        self._turn_began: tuple[float, datetime] | None = None
        self._failed: Failing | None = None
        self._has_died = False
        self._log = log.bind(loop=self.name)

    def wake(self) -> None:
        """A hint. Any number of them before the next turn are one."""
        if self._hinted_at is None:
            self._hinted_at = self._timing.now()
        self._attention.set()

    def failing(self) -> Failing | None:
        """Why it does not do its work here: turns fail one after the other, or one does not end."""
        if self._turn_began is not None:
            began, at = self._turn_began
            if self._timing.now() - began >= LATE_SECONDS:
                return Failing(self.name, at, "a turn does not end")
        if self._failed is not None and (self._pace.failures >= FAILING_TURNS or self._has_died):
            return self._failed
        return None

    def stop(self) -> None:
        """Ends `run` after the current turn; the leadership is given back."""
        self._stopping = True
        self._attention.set()

    async def run(self) -> None:
        """Runs until `stop`; cancelling cuts the current turn off and lets the leadership expire."""
        self._log.debug("loop starts")
        try:
            with self._listening():
                while not self._stopping:
                    self._attention.clear()
                    await self._step()
            await self._give_back()
        except Exception as error:
            self._has_died = True
            self._note_failure(f"it ended: {in_words(error)}")
            raise
        finally:
            self._end_term()
            self._log.debug("loop ended")

    async def _step(self) -> None:
        """One thing: see to the leadership, take a turn, or wait."""
        now = self._timing.now()
        if now >= self._leadership_due:
            await self._see_to_leadership()
        elif self._term is None:
            await self._wait_until(self._leadership_due)
        elif now < (due := self._pace.due(hinted=self._hinted_at is not None)):
            await self._wait_until(min(due, self._leadership_due))
        else:
            await self._take_turn(self._term)

    async def _wait_until(self, when: float) -> None:
        await self._timing.wait(self._attention, max(0.0, when - self._timing.now()))

    # Leadership

    async def _see_to_leadership(self) -> None:
        """Takes the leadership or renews it, and says when to look again."""
        if not self._exclusive:
            self._leadership_due = float("inf")
            self._begin_term(None, float("inf"))
            return
        third = self._leadership_seconds / 3
        try:
            # A database that hangs must not keep us from noticing that the leadership ends.
            async with asyncio.timeout(third):
                await self._acquire_or_renew()
        except LeadershipLost as lost:
            self._log.warning("another process took over", reason=str(lost))
            self._end_term()
        except (SQLAlchemyError, TimeoutError) as error:
            self._log.warning("the database does not answer about the leadership", error=repr(error)[:400])
            if self._term is not None and self._timing.now() >= self._term.deadline:
                self._end_term()
        # Not all at the same moment: processes that wait for one leadership would ask the database together.
        again = self._timing.now() + third * (0.9 + self._chance() / 10)
        self._leadership_due = again if self._term is None else min(again, self._term.deadline)

    async def _acquire_or_renew(self) -> None:
        asked_at = self._timing.now()
        duration = timedelta(seconds=self._leadership_seconds)
        if self._term is not None and self._leadership is not None:
            await self._database.write(leadership.renew, self._leadership, duration)
            self._term.deadline = self._deadline(asked_at)
            return
        acquired = await self._database.write(self._acquire, duration)
        if acquired is not None:
            self._begin_term(acquired, self._deadline(asked_at))
            self._log.info("this process runs the loop now", epoch=acquired.epoch)

    def _acquire(self, transaction: Transaction, duration: timedelta) -> Leadership | None:
        if self._may_lead is not None and not self._may_lead(transaction):
            return None
        return leadership.acquire(transaction, self.name, self._holder, duration)

    def _deadline(self, asked_at: float) -> float:
        # From before the question was sent: however long the answer took, we stop before others may start.
        return asked_at + self._leadership_seconds * (1 - _SLACK)

    def _begin_term(self, acquired: Leadership | None, deadline: float) -> None:
        self._leadership = acquired
        self._term = Term(self.name, acquired, deadline, self._timing)
        self._hinted_at = None
        self._pace.begin(self._timing.now())
        metrics.leadership_held.labels(self.name).set(1)

    def _end_term(self) -> None:
        if not self._has_died:
            self._failed = None  # whoever holds the leadership now says how it goes
        self._leadership = self._term = None
        metrics.leadership_held.labels(self.name).set(0)

    async def _give_back(self) -> None:
        current = self._leadership
        self._end_term()
        if current is None:
            return
        try:
            await self._database.write(leadership.release, current)
        except SQLAlchemyError as error:
            self._log.warning("the leadership stays until it expires", error=repr(error)[:400])

    # Turns

    async def _take_turn(self, term: Term) -> None:
        started = self._timing.now()
        if self._hinted_at is not None:
            metrics.lag_seconds.labels(self.name).observe(started - self._hinted_at)
        self._hinted_at = None
        self._turn_began = (started, self._database.now())
        turn = asyncio.ensure_future(self._turn(term))
        turn.add_done_callback(lambda _: self._attention.set())
        cut_off: CutOff | None = None
        try:
            while not turn.done() and cut_off is None:
                self._attention.clear()
                cut_off = await self._watch(term, started)
        finally:
            await _end(turn)
            self._turn_began = None
        seconds = self._timing.now() - started
        metrics.turn_seconds.labels(self.name).observe(seconds)
        self._settle(turn, seconds, cut_off)

    async def _watch(self, term: Term, started: float) -> CutOff | None:
        """Waits while a turn runs, renewing the leadership meanwhile; returns why it must end, if it must."""
        gives_up = started + self._longest_turn_seconds
        await self._wait_until(min(self._leadership_due, gives_up))
        now = self._timing.now()
        if now >= gives_up:
            return CutOff.TOO_LONG
        if now >= self._leadership_due:
            await self._see_to_leadership()
            if self._term is not term:
                return CutOff.LEADERSHIP_LOST
        return None

    def _settle(self, turn: "asyncio.Future[Done]", seconds: float, cut_off: CutOff | None) -> None:
        """Counts how a turn ended and sets the pace by it.

        Whatever a turn raises is taken here: a loop that dies of one bad row helps nobody. Nothing
        is hidden by that: it is logged with its trace, counted, and slows the loop down.
        """
        # A turn that was done in the moment it was cut off is done.
        error = None if turn.cancelled() else turn.exception()
        if isinstance(error, LeadershipLost) or (turn.cancelled() and cut_off is CutOff.LEADERSHIP_LOST):
            self._log.warning("turn ended: the leadership was lost", seconds=round(seconds, 3))
            self._end_term()
            self._ended("lost")
        elif turn.cancelled() or error is not None:
            delay = self._pace.failed(self._timing.now())
            reason = ""
            if cut_off is CutOff.TOO_LONG:
                reason = f"it took longer than {self._longest_turn_seconds:.0f} s"
            self._note_failure(reason or (in_words(error) if error else "it was cancelled"))
            self._log.error(
                "turn failed",
                seconds=round(seconds, 3),
                failures=self._pace.failures,
                again_in_seconds=round(delay, 1),
                reason=reason or (repr(error)[:400] if error else "it was cancelled"),
                exc_info=error,
            )
            self._ended("failed")
        else:
            done = turn.result()
            self._failed = None
            self._pace.succeeded(self._timing.now(), more=done.more)
            metrics.things.labels(self.name).inc(done.things)
            level = self._log.info if done.things else self._log.debug
            level("turn done", things=done.things, more=done.more, seconds=round(seconds, 3))
            self._ended("done")

    def _note_failure(self, detail: str) -> None:
        since = self._database.now() if self._failed is None else self._failed.since
        self._failed = Failing(self.name, since, detail)

    def _ended(self, result: Literal["done", "failed", "lost"]) -> None:
        metrics.turns.labels(self.name, result).inc()
        metrics.consecutive_failures.labels(self.name).set(self._pace.failures)

    @contextmanager
    def _listening(self) -> Iterator[None]:
        unsubscribe = [self._database.hints.subscribe(topic, self.wake) for topic in self._topics]
        try:
            yield
        finally:
            for stop in unsubscribe:
                stop()


async def _end(turn: "asyncio.Future[Done]") -> None:
    """Leaves no turn running behind the loop's back."""
    if not turn.done():
        turn.cancel()
        await asyncio.wait([turn])
