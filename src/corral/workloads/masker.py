"""Where output is masked: in threads of its own, one part at a time for each person who reads."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")

_THREADS = 2
# Bytes that are searched for one answer, over all secrets: with many of them, an answer has less.
_MOST_SEARCHED = 256 * 1024 * 1024
_LEAST_PART = 4096


class Masker:
    """One per process. Someone with much to mask waits for themselves, not others for them."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="corral-mask")
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(self, person: str, work: Callable[[], T]) -> T:
        """Does the work outside the event loop, when it is this person's turn."""
        turn = self._turns.get(person)
        if turn is None:
            turn = self._turns[person] = asyncio.Lock()
        async with turn:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def part_limit(limit: int, secrets: int) -> int:
    """How much of the output one answer has, when so many secrets are looked for in it."""
    return min(limit, max(_LEAST_PART, _MOST_SEARCHED // max(1, secrets)))
