"""Whether Corral does its work: its loops, its engine, its data directory."""

import asyncio
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from corral.control.loop import Loop
from corral.control.registry import ZoneRegistry
from corral.core.failures import in_words
from corral.core.refusals import FieldError, Unavailable

_ASK_DISK_SECONDS = 5.0
_PROBE = ".writable"
_PROBE_BYTES = 4096
_LOG = "See the log of the server; corral doctor looks at the machine."
_DISK = "Free disk space, or make the data directory writable."


@dataclass(frozen=True, slots=True)
class Problem:
    """What does not work: a name, a sentence, and what to do. Anybody may read it."""

    name: str
    sentence: str
    remedy: str


class Readiness:
    """Of this process: its own loops, and those of the zones that it drives."""

    def __init__(self, home: Path, loops: Iterable[Loop], zones: ZoneRegistry) -> None:
        self.home = home
        self._loops = tuple(loops)
        self._zones = zones
        self._asked = float("-inf")
        self._disk: str | None = None
        self._asking = asyncio.Lock()

    async def check(self) -> None:
        """Refuses with everything that does not work."""
        problems = [*self._of_loops(), *self._of_engine(), *await self._of_disk()]
        if problems:
            raise Unavailable(
                f"Corral is not ready: {' '.join(one.sentence for one in problems)}",
                problems[0].remedy,
                errors=[FieldError(one.name, one.sentence, one.remedy) for one in problems],
                headers={"Retry-After": "5"},
            )

    def _of_loops(self) -> Iterable[Problem]:
        of_zones = (loop for zone in self._zones.driven for loop in zone.loops)
        for loop in (*self._loops, *of_zones):
            if (failing := loop.failing()) is not None:
                since = failing.since.strftime("%Y-%m-%d %H:%M:%S UTC")
                sentence = f"The loop {failing.name} fails since {since}: {failing.detail.rstrip('.')}."
                yield Problem(failing.name, sentence, _LOG)

    def _of_engine(self) -> Iterable[Problem]:
        for zone in self._zones.driven:
            for detail in zone.reconciler.problems:
                yield Problem("engine", detail, _LOG)

    async def _of_disk(self) -> Iterable[Problem]:
        """Whether something can be written. Whoever asks often gets the same answer for a moment."""
        async with self._asking:
            if time.monotonic() - self._asked > _ASK_DISK_SECONDS:
                self._disk = await asyncio.to_thread(_write_something, self.home)
                self._asked = time.monotonic()
        if self._disk is not None:
            sentence = f"The data directory cannot be written: {self._disk}."
            return [Problem("data directory", sentence, _DISK)]
        return ()


def _write_something(home: Path) -> str | None:
    path = home / _PROBE
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, b"x" * _PROBE_BYTES)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
            path.unlink()
    except OSError as error:
        return in_words(error)
    return None
