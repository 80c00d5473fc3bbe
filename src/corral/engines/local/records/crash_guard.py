"""Starts that were begun and not seen to end: what ended Corral itself is not begun again without end.

A note with a count is written before a start begins, and goes when it is through, whatever came of it. One
that is found had a Corral that ended in the middle. Such a workload is started alone, so that only the one at
fault is counted again.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from corral.engines.local.records import durable_json

MOST = 3


class CrashGuard:
    def __init__(self, data: Path) -> None:
        self._directory = data / "starting"
        self._directory.mkdir(mode=0o700, exist_ok=True)
        self._alone = threading.Lock()

    @contextmanager
    def counted(self, workload: str) -> Iterator[str | None]:
        """For the length of a start; gives why it is not begun once more."""
        before = self._count(workload)
        if before >= MOST:
            yield f"Corral ended {before} times while it was being started: submit it again, or leave it"
            return
        if before:
            with self._alone:
                yield from self._noted(workload, before)
        else:
            yield from self._noted(workload, before)

    def forget(self, workload: str) -> None:
        (self._directory / workload).unlink(missing_ok=True)

    def _noted(self, workload: str, before: int) -> Iterator[None]:
        with suppress(OSError):  # a full disk: the start itself will say so
            durable_json.replace(self._directory, workload, {"begun": before + 1})
        try:
            yield None
        finally:
            self.forget(workload)

    def _count(self, workload: str) -> int:
        try:
            noted = durable_json.read(self._directory, workload)
        except ValueError:
            return 1  # cut off: it was begun
        count = 0 if noted is None else noted.get("begun", 1)
        return count if isinstance(count, int) else 1
