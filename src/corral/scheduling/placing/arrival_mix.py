"""The mix of arrivals: counts of what arrives and leaves, from which the fragmentation model is made."""

from __future__ import annotations

from collections.abc import Iterable

from corral.core.mixes import ONE_ARRIVAL, ClassCount, Mix, WorkClass
from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.core.workloads import Request

LEARN_OFTEN_UNTIL = 1024
LEARN_EVERY = 1000
FADE_DIVISOR = 32  # whenever it is time to learn, once many have arrived, counts lose one part in this many


def work_class(request: Request) -> WorkClass:
    """The class that arrives with such a replica."""
    wanted = request.devices
    if wanted is None:
        return WorkClass(request.cpu_milli, request.memory_mib)
    models = tuple(sorted(set(wanted.models)))
    if wanted.profile is not None:
        return WorkClass(
            request.cpu_milli, request.memory_mib, wanted.count, models=models, profile=wanted.profile
        )
    milli = WHOLE_DEVICE_MILLI
    if wanted.memory_mib is not None or wanted.fraction_milli is not None:
        milli = max(wanted.fraction_milli or 0, wanted.compute_percent * WHOLE_DEVICE_MILLI // 100)
    return WorkClass(
        request.cpu_milli,
        request.memory_mib,
        wanted.count,
        milli,
        wanted.memory_mib or 0,
        models,
    )


class Tally:
    """A mix that is being counted: arrivals per class, also of work that finds no place; old ones fade."""

    def __init__(self, mix: Mix | None = None) -> None:
        start = mix or Mix()
        self.counts = {each.work: each.count for each in start.counts}
        self.arrivals = start.arrivals
        self.departures = start.departures  # counted in thousandths and fading, like arrivals

    def note(self, work: WorkClass) -> bool:
        """Counts one arrival; true when enough has arrived since the last time to learn again."""
        self.counts[work] = self.counts.get(work, 0) + ONE_ARRIVAL
        self.arrivals += 1
        since = self.arrivals - LEARN_OFTEN_UNTIL
        if since <= 0:
            return self.arrivals & (self.arrivals - 1) == 0
        if since % LEARN_EVERY:
            return False
        self.fade()
        return True

    def note_departure(self) -> None:
        """Counts that work ended by itself, or was taken away for good."""
        self.departures += ONE_ARRIVAL

    def turnover(self) -> int:
        """How many leave per thousand that arrive: 0 in a cluster that only fills up."""
        return min(1000, 1000 * self.departures // max(sum(self.counts.values()), 1))

    def fade(self, divisor: int = FADE_DIVISOR) -> None:
        """Takes one part in `divisor` from every count; what has faded away is forgotten."""
        self.counts = {work: left for work, n in self.counts.items() if (left := n - -(-n // divisor)) > 0}
        self.departures -= -(-self.departures // divisor)

    def gpu_counts(self) -> tuple[ClassCount, ...]:
        """Counts of the work that uses GPUs, in a fixed order."""
        return tuple(sorted(ClassCount(work, n) for work, n in self.counts.items() if work.gpus))

    def mix(self) -> Mix:
        """What was counted; nothing is learnt from it yet."""
        counts = tuple(sorted(ClassCount(work, n) for work, n in self.counts.items()))
        return Mix(counts, self.arrivals, self.departures)


def after(mix: Mix, arrived: Iterable[WorkClass], left: int = 0) -> tuple[Mix, bool]:
    """The mix after these arrivals and so many departures, and whether it is time to learn from it.

    Until then what was learnt before stays.
    """
    tally = Tally(mix)
    due = False
    for work in arrived:
        due = tally.note(work) or due
    for _ in range(left):
        tally.note_departure()
    counted = tally.mix()
    return Mix(counted.counts, counted.arrivals, counted.departures, mix.learnt), due
