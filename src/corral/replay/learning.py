"""What is learnt of run times: the middle of those that finished, per queue."""

from bisect import insort
from dataclasses import replace

from corral.core.queues import Queue

# Fewer say little about the next one.
_ENOUGH = 5


class RunTimes:
    """Told of every workload that finishes; says what is typical of its queue."""

    def __init__(self) -> None:
        self._finished: dict[str, list[int]] = {}

    def finished(self, queue: str, seconds: int) -> None:
        insort(self._finished.setdefault(queue, []), seconds)

    def typical(self, queue: str) -> int | None:
        """The median; None until enough has finished."""
        seconds = self._finished.get(queue, [])
        return seconds[len(seconds) // 2] if len(seconds) >= _ENOUGH else None

    def applied_to(self, queues: tuple[Queue, ...]) -> tuple[Queue, ...]:
        return tuple(replace(queue, typical_runtime_seconds=self.typical(queue.name)) for queue in queues)
