"""The supervisor's loop: what can be read, and what is due. No asyncio: it would double its memory."""

import heapq
import itertools
import os
import select
import time
from collections.abc import Callable
from pathlib import Path


def boot_time() -> float:
    """Seconds since the machine was started, sleep included; nobody can set this clock."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot_id() -> str:
    """Another one after every start of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


class Clock:
    """Instants in microseconds of UTC that never go back: the wall clock once, then the time since.

    A mark is the same moment on the clock of this boot, which nobody can set.
    """

    def __init__(self) -> None:
        self.boot_id = boot_id()
        self._began_wall = time.time_ns() // 1000
        self._began_boot = _boot_microseconds()

    def instant(self) -> int:
        return self._began_wall + _boot_microseconds() - self._began_boot

    def mark_of(self, instant: int) -> tuple[str, int]:
        return self.boot_id, instant - self._began_wall + self._began_boot


def _boot_microseconds() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


class Loop:
    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._readers: dict[int, Callable[[], None]] = {}
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._count = itertools.count()

    def watch(self, descriptor: int, callback: Callable[[], None]) -> None:
        self._readers[descriptor] = callback
        self._epoll.register(descriptor, select.EPOLLIN)

    def unwatch(self, descriptor: int) -> None:
        if self._readers.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)

    def watch_once(self, descriptor: int, callback: Callable[[], None]) -> None:
        """Calls back when it can be read, then closes it."""

        def call() -> None:
            self.unwatch(descriptor)
            os.close(descriptor)
            callback()

        self.watch(descriptor, call)

    def after(self, seconds: float, callback: Callable[[], None]) -> None:
        heapq.heappush(self._due, (boot_time() + seconds, next(self._count), callback))

    def turn(self) -> None:
        """Waits for something to happen and lets it."""
        timeout = max(0.0, self._due[0][0] - boot_time()) if self._due else -1
        for descriptor, _ in self._epoll.poll(timeout):
            # One callback may have ended what another waits for.
            callback = self._readers.get(descriptor)
            if callback is not None:
                callback()
        while self._due and self._due[0][0] <= boot_time():
            heapq.heappop(self._due)[2]()
