"""The time that loops live in, so that tests can bring their own."""

import asyncio
import time
from typing import Protocol


class Timing(Protocol):
    def now(self) -> float:
        """Seconds on a clock that never goes back."""
        ...

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        """Returns once the event is set, at the latest after `seconds`."""
        ...


class SystemTiming:
    """Time as it passes, also while the machine sleeps: a leadership expires with the lid closed."""

    def now(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return
