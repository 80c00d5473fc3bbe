"""Strangers' passwords are checked one after the other, so that a flood of them costs one core at most.

Devices that were good before do not stand in this line.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from corral.core.refusals import TooMany

# At a tenth of a second each: nobody waits longer than ten seconds, and one address leaves half to others.
MOST_WAITING = 96
MOST_OF_ONE_ADDRESS = 48
RETRY_SECONDS = 5


class Lane:
    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._waiting: Counter[str] = Counter()

    @asynccontextmanager
    async def place(self, address: str) -> AsyncIterator[None]:
        """Refuses at once where too many wait already: nothing was counted and nothing was checked."""
        if self._waiting.total() >= MOST_WAITING or self._waiting[address] >= MOST_OF_ONE_ADDRESS:
            raise TooMany(
                "Too many people are signing in right now.",
                "Try again in a few seconds, or ask an administrator for a login link.",
                facts={"retry_after_seconds": RETRY_SECONDS},
                headers={"Retry-After": str(RETRY_SECONDS)},
            )
        self._waiting[address] += 1
        try:
            async with self._turn:
                yield
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address]
