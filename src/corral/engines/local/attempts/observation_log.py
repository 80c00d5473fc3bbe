"""What was reported of runs, in order, and who waits for more."""

import asyncio

from corral.engines.interface import Cursor, Foreign, Observation, Run, Trouble
from corral.engines.local.attempts import run_states


class ObservationLog:
    """The changes since a reader's cursor. A new one of these has a new epoch: it knows no older cursor."""

    def __init__(self, epoch: str) -> None:
        self._epoch = epoch
        self._runs: dict[str, Run] = {}
        self._changes: list[Run] = []
        self._dropped = 0  # changes that were confirmed and are no longer kept
        self._waiting: set[asyncio.Event] = set()

    def __contains__(self, run: str) -> bool:
        return run in self._runs

    def get(self, run: str) -> Run | None:
        return self._runs.get(run)

    def record(self, run: Run) -> None:
        """Adds what is new in it, with the phases that passed unseen."""
        changes = run_states.between(self._runs.get(run.run), run)
        if not changes:
            return
        self._runs[run.run] = run
        self._changes += changes
        self.wake()

    def forget(self, run: str) -> None:
        self._runs.pop(run, None)

    def wake(self) -> None:
        for event in self._waiting:
            event.set()

    def observe(
        self, after: Cursor | None, foreign: tuple[Foreign, ...], troubles: tuple[Trouble, ...] = ()
    ) -> Observation:
        if after is None or not self._covers(after):
            return Observation(self._cursor, True, tuple(self._runs.values()), foreign, troubles)
        del self._changes[: after.sequence - self._dropped]
        self._dropped = after.sequence
        return Observation(self._cursor, False, tuple(self._changes), foreign, troubles)

    async def wait(self, after: Cursor | None, seconds: float) -> None:
        changed = asyncio.Event()
        self._waiting.add(changed)
        try:
            async with asyncio.timeout(seconds):
                while after == self._cursor:
                    await changed.wait()
                    changed.clear()
        except TimeoutError:
            return
        finally:
            self._waiting.remove(changed)

    @property
    def _cursor(self) -> Cursor:
        return Cursor(self._epoch, self._dropped + len(self._changes))

    def _covers(self, cursor: Cursor) -> bool:
        return cursor.epoch == self._epoch and self._dropped <= cursor.sequence <= self._cursor.sequence
