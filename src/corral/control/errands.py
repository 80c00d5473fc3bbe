"""What an engine is told about single workloads: side by side, each on its own, again later if it fails.

A turn begins errands and waits a moment for them. One that takes longer goes on behind it, and the workload
that it is about is not told the same again meanwhile; so a workload whose supervisor is silent, or whose
files take an hour to remove, costs others nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection

import structlog

from corral.control.troubles import Key, Troubles
from corral.core.failures import in_words
from corral.core.refusals import Refusal
from corral.core.steps import Step

SIDE_BY_SIDE = 16
TURN_WAITS_SECONDS = 1.0
LONGEST_SECONDS = 120.0

log = structlog.get_logger(__name__)


class Errands:
    """`on_late` is called when one ends for which no turn waited."""

    def __init__(
        self, troubles: Troubles, clock: Callable[[], float], on_late: Callable[[], None] = lambda: None
    ) -> None:
        self._troubles = troubles
        self._clock = clock
        self._on_late = on_late
        # Each kind has places of its own: a hundred trees that are removed do not keep work from starting.
        self._places = {step: asyncio.Semaphore(SIDE_BY_SIDE) for step in Step}
        self._under_way: dict[Key, asyncio.Task[None]] = {}
        self._runs: dict[Key, frozenset[str]] = {}
        self._late: set[Key] = set()  # those that outlived the turn that began them

    @property
    def runs_under_way(self) -> frozenset[str]:
        """Runs that an engine is being asked to start: what it tells of them may be older than that."""
        return frozenset(run for (_, step), runs in self._runs.items() if step is Step.START for run in runs)

    def begin(
        self, workload_id: str, step: Step, work: Callable[[], Awaitable[object]], runs: Collection[str] = ()
    ) -> bool:
        """False if it is under way, or was tried just now in vain."""
        key = (workload_id, step)
        if key in self._under_way or self._troubles.rests(workload_id, step, self._clock()):
            return False
        self._runs[key] = frozenset(runs)
        self._under_way[key] = asyncio.create_task(self._do(key, work), name=f"{step} {workload_id}")
        return True

    async def wait(self, seconds: float = TURN_WAITS_SECONDS) -> None:
        """Until those of this turn have ended, and not longer; those of earlier turns had their time."""
        new = {task for key, task in self._under_way.items() if key not in self._late}
        if new:
            await asyncio.wait(new, timeout=seconds)
        for key in [key for key, task in self._under_way.items() if task.done()]:
            self._forget(key)
        for key in self._under_way.keys() - self._late:
            self._late.add(key)
            self._under_way[key].add_done_callback(self._tell_late)

    async def cancel(self) -> None:
        """Another term, or the end: whoever acts now asks again."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.remove_done_callback(self._tell_late)
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for key in list(self._under_way):
            self._forget(key)

    def _forget(self, key: Key) -> None:
        del self._under_way[key], self._runs[key]
        self._late.discard(key)

    def _tell_late(self, _task: "asyncio.Task[None]") -> None:
        self._on_late()

    async def _do(self, key: Key, work: Callable[[], Awaitable[object]]) -> None:
        workload_id, step = key
        try:
            async with self._places[step], asyncio.timeout(LONGEST_SECONDS):
                await work()
        except Exception as error:
            self._troubles.failed(workload_id, step, in_words(error, with_names=True), self._clock())
            trace = None if isinstance(error, Refusal | OSError) else error
            log.warning(
                "a step failed for one workload; it is tried again",
                workload=workload_id,
                step=step.value,
                error=repr(error)[:400],
                exc_info=trace,
            )
        else:
            self._troubles.over(workload_id, step)
