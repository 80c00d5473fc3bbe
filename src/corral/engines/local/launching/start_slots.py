"""Whose start comes next: a few at a time, and of one person never so many that nobody else gets a turn."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class StartSlots:
    """`most` at a time, `each` of one person. Next is who has the fewest under way, or came first."""

    def __init__(self, most: int, each: int) -> None:
        self._most = most
        self._each = each
        self._under_way: dict[str, int] = {}
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def taken(self, person: str) -> AsyncIterator[None]:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((person, turn))
        self._call_next()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back(person)  # it was called in the same moment
            else:
                self._waiting.remove((person, turn))
            raise
        try:
            yield
        finally:
            self._give_back(person)

    def _give_back(self, person: str) -> None:
        self._under_way[person] -= 1
        if not self._under_way[person]:
            del self._under_way[person]
        self._call_next()

    def _call_next(self) -> None:
        while sum(self._under_way.values()) < self._most:
            able = [one for one in self._waiting if self._under_way.get(one[0], 0) < self._each]
            if not able:
                return
            person, turn = min(able, key=lambda one: self._under_way.get(one[0], 0))
            self._waiting.remove((person, turn))
            self._under_way[person] = self._under_way.get(person, 0) + 1
            turn.set_result(None)
