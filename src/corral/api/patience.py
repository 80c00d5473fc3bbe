"""How long an answer may be waited for: until the time is up, the client goes away, or Corral stops."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Request


class Patience:
    """`left` is what is left of it, in seconds; 0 when there is no reason to wait any more."""

    def __init__(self, seconds: float, ends: set[asyncio.Task[Any]]) -> None:
        self._clock = asyncio.get_running_loop().time
        self._until = self._clock() + seconds
        self._ends = ends

    @property
    def left(self) -> float:
        if any(task.done() for task in self._ends):
            return 0.0
        return max(0.0, self._until - self._clock())

    async def wait_for(self, news: Coroutine[Any, Any, None], at_most: float) -> None:
        """Returns with the news, after `at_most` seconds, or when patience ends."""
        task = asyncio.ensure_future(news)
        try:
            await asyncio.wait(
                {task, *self._ends},
                timeout=min(at_most, self.left),
                return_when=asyncio.FIRST_COMPLETED,
            )
            if task.done():
                task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def patience(request: Request, seconds: float) -> AsyncIterator[Patience]:
    """The patience of whoever made this request; its body must have been read."""
    ends: set[asyncio.Task[Any]] = set()
    if seconds > 0:
        stopping: asyncio.Event = request.app.state.stopping
        ends = {asyncio.ensure_future(stopping.wait()), asyncio.ensure_future(_gone(request))}
    try:
        yield Patience(seconds, ends)
    finally:
        for task in ends:
            task.cancel()
        await asyncio.gather(*ends, return_exceptions=True)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
