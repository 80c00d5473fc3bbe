"""How long an answer may be waited for: until the time is up, the client goes away, or Corral stops.

Or until whoever asked may not have it any more: then the refusal is raised.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Request

from corral.api.standing import Check, while_allowed


class Patience:
    """`left` is what is left of it, in seconds; 0 when there is no reason to wait any more."""

    def __init__(self, seconds: float, ends: set[asyncio.Task[Any]]) -> None:
        self._clock = asyncio.get_running_loop().time
        self._until = self._clock() + seconds
        self._ends = ends

    @property
    def left(self) -> float:
        return 0.0 if self._is_over() else max(0.0, self._until - self._clock())

    def _is_over(self) -> bool:
        """Raises the refusal, if there is one."""
        over = [task for task in self._ends if task.done()]
        for task in over:
            task.result()
        return bool(over)

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
            self._is_over()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def patience(request: Request, seconds: float, check: Check) -> AsyncIterator[Patience]:
    """The patience of whoever made this request; its body must have been read."""
    ends: set[asyncio.Task[Any]] = set()
    if seconds > 0:
        watch = asyncio.ensure_future(while_allowed(request, check))
        ends = {watch, asyncio.ensure_future(_gone(request))}
    try:
        yield Patience(seconds, ends)
    finally:
        for task in ends:
            task.cancel()
        await asyncio.gather(*ends, return_exceptions=True)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
