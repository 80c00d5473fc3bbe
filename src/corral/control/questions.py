"""Who may ask the planner, and how much: it plans for everybody, and answers one question at a time.

Each person has some seconds of its time, which come back slowly, and few questions open at once; all others
wait in a line of their own, so that a turn of planning waits for one question at most.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from corral.core.concurrency import ConcurrencyLimit
from corral.core.refusals import Refusal

OPEN_AT_ONCE = 4
MOST_SECONDS = 10.0
REGAINED_PER_SECOND = 0.25
LEAST_COST_SECONDS = 0.02
_MOST_PEOPLE = 10_000


class AskedTooMuch(Refusal):
    slug, title, status = "asked-too-much", "Too many questions", 429


class Questions:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._line = asyncio.Lock()
        self._open = ConcurrencyLimit(OPEN_AT_ONCE, "questions to the planner", "Wait for their answers.")
        self._left: dict[str, tuple[float, float]] = {}  # seconds, as of when

    @asynccontextmanager
    async def turn(self, person: str) -> AsyncIterator[None]:
        """The planner is this person's for the length of the block, which is counted."""
        with self._open.taken(person):
            if (left := self._seconds_left(person)) <= 0:
                wait = max(1, round(-left / REGAINED_PER_SECOND) + 1)
                raise AskedTooMuch(
                    "You have asked the planner too much.",
                    f"Ask again in {wait} s.",
                    headers={"Retry-After": str(wait)},
                )
            async with self._line:
                begun = self._clock()
                try:
                    yield
                finally:
                    now = self._clock()
                    cost = max(LEAST_COST_SECONDS, now - begun)
                    self._left[person] = (self._seconds_left(person) - cost, now)

    def _seconds_left(self, person: str) -> float:
        now = self._clock()
        if len(self._left) > _MOST_PEOPLE:
            self._left = {one: kept for one, kept in self._left.items() if self._at(kept, now) < MOST_SECONDS}
        return self._at(self._left.get(person, (MOST_SECONDS, now)), now)

    @staticmethod
    def _at(kept: tuple[float, float], now: float) -> float:
        seconds, then = kept
        return min(MOST_SECONDS, seconds + (now - then) * REGAINED_PER_SECOND)
