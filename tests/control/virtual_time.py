"""Time for loops that passes only when the test says so."""

import asyncio
from collections.abc import Callable


class VirtualTime:
    """Serves one loop: at any moment it either works or waits for an event or a time."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._due: float | None = None
        self._event: asyncio.Event | None = None
        self._elapsed = asyncio.Event()
        # Whether a turn is about to do something by itself; the loop waits while it does.
        self.busy: Callable[[], bool] = lambda: False

    def now(self) -> float:
        return self._now

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        self._due, self._event = self._now + seconds, event
        self._elapsed = asyncio.Event()
        if seconds <= 0:
            self._elapsed.set()
        waiting = [asyncio.ensure_future(one.wait()) for one in (event, self._elapsed)]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()
            self._due = self._event = None

    async def idle(self) -> float:
        """Returns once the loop waits, with the seconds it would wait for."""
        async with asyncio.timeout(20):
            while True:
                if self._due is not None and not self._is_over() and not self.busy():
                    return self._due - self._now
                await asyncio.sleep(0.0005)

    def _is_over(self) -> bool:
        return self._elapsed.is_set() or (self._event is not None and self._event.is_set())

    async def pass_on(self, seconds: float) -> float:
        """Lets time pass, stopping wherever the loop has something to do; returns as `idle` does."""
        end = self._now + seconds
        while True:
            left = await self.idle()
            if self._now + left > end:
                self._now = end
                return await self.idle()
            self._now += left
            self._elapsed.set()

    def jump(self, seconds: float) -> None:
        """The machine slept: time passed without anything running."""
        self._now += seconds
        if self._due is not None and self._now >= self._due:
            self._elapsed.set()
