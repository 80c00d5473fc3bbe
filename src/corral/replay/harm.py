"""Whom sharing harmed: work that waited longer than in a fixed partition, though its queue asked for no more
than its guarantee while it waited."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.replay.jobs import Job
from corral.replay.record import JobRecord


@dataclass(frozen=True, slots=True)
class Harmed:
    """`late_seconds` is what it waited beyond its wait in the fixed partition and the allowance."""

    job: Job
    wait_seconds: int
    fixed_wait_seconds: int
    late_seconds: int


@dataclass(frozen=True, slots=True)
class Harm:
    """`owed` counts the work whose queue stayed inside its guarantee while it waited."""

    owed: int
    harmed: tuple[Harmed, ...]


def harm_of_sharing(
    shared: Sequence[JobRecord],
    fixed: Sequence[JobRecord],
    guarantees: Mapping[str, int],
    allowance_seconds: int,
    ended: int,
) -> Harm:
    """Worst first. `guarantees` in GPUs; `ended` is when the shared replay did, for what never started."""
    fixed_waits = {record.job.name: _wait(record) for record in fixed}
    owed = 0
    harmed = []
    for queue, records in _by_queue(shared).items():
        demand = _Demand(records)
        guarantee = guarantees.get(queue, 0) * WHOLE_DEVICE_MILLI
        for record in records:
            start = ended if record.first_start is None else record.first_start
            if demand.most(record.job.arrives, start) > guarantee:
                continue
            owed += 1
            before = fixed_waits[record.job.name]
            wait = start - record.job.arrives
            if before is not None and wait > before + allowance_seconds:
                harmed.append(Harmed(record.job, wait, before, wait - before - allowance_seconds))
    harmed.sort(key=lambda each: (-each.late_seconds, each.job.name))
    return Harm(owed, tuple(harmed))


class _Demand:
    """What a queue asked for over time: all that has arrived and is not done, waiting or not."""

    def __init__(self, records: Sequence[JobRecord]) -> None:
        steps: dict[int, int] = {}
        for record in records:
            milli = record.job.gpu_milli
            steps[record.job.arrives] = steps.get(record.job.arrives, 0) + milli
            if record.ended is not None:
                steps[record.ended] = steps.get(record.ended, 0) - milli
        self._times: NDArray[np.int64] = np.array(sorted(steps), np.int64)
        self._levels: NDArray[np.int64] = np.cumsum([steps[at] for at in sorted(steps)])

    def most(self, begin: int, end: int) -> int:
        """The most that was asked for from `begin` until just before `end`, `begin` included."""
        first = int(np.searchsorted(self._times, begin, side="right")) - 1
        last = max(first + 1, int(np.searchsorted(self._times, end, side="left")))
        return int(self._levels[first:last].max())


def _by_queue(records: Sequence[JobRecord]) -> dict[str, list[JobRecord]]:
    found: dict[str, list[JobRecord]] = {}
    for record in records:
        found.setdefault(record.job.queue, []).append(record)
    return found


def _wait(record: JobRecord) -> int | None:
    return None if record.first_start is None else record.first_start - record.job.arrives
