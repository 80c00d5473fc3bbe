"""What the work of a zone teaches about run times: drawn from the records once, then from every end.

An end counts for its queue and for all above, so that a person whose first work waits is told what is usual
where that person belongs.
"""

from collections.abc import Collection, Iterable, Iterator

from corral.core.queues import Queue
from corral.core.workloads import Workload
from corral.scheduling.timing.run_time_history import RunTimeHistory, RunTimeStatistics
from corral.store.database import Transaction
from corral.workloads.ends import WorkEnd, ends, newest_ends

# Of each state of ended work so many are read when everything is.
_MOST_READ = 5000


class Lessons:
    """Told what runs and what ended; keeps what was learnt until enough is new."""

    def __init__(self, since: int | None = None) -> None:
        self._run_times = RunTimeHistory(since)
        self._paths: dict[str, tuple[str, ...]] = {}
        self._runs: dict[str, tuple[str, int]] = {}  # by workload: its queue, and since when
        self._running: dict[str, dict[str, int]] = {}  # the same by queue, those above too
        self._drawn: dict[str, RunTimeStatistics] = {}

    def runs(self, workload_id: str) -> bool:
        return workload_id in self._runs

    def follow(self, queues: Iterable[Queue]) -> None:
        """The tree is this one now; what ended before counts where it counted then."""
        parents = {queue.name: queue.parent for queue in queues}
        self._paths = {name: tuple(_path(name, parents)) for name in parents}
        self._running = {}
        for name, (queue, since) in self._runs.items():
            self._place(name, queue, since)

    def note(self, names: Iterable[str], values: Iterable[Workload]) -> None:
        """Of the workloads `names` only those in `values` are anywhere now."""
        for name in names:
            queue, _ = self._runs.pop(name, ("", 0))
            for above in self._path(queue):
                self._running.get(above, {}).pop(name, None)
        for value in values:
            if value.running_since is not None:
                self._runs[value.name] = value.queue, value.running_since
                self._place(value.name, value.queue, value.running_since)

    def learn(self, work_ends: Iterable[WorkEnd]) -> None:
        for end in work_ends:
            self._run_times.ended(self._path(end.queue), end.at, end.seconds, end.limit_seconds)

    def news(self, now: int) -> tuple[RunTimeStatistics, ...]:
        """Lessons of the queues of which enough is new."""
        drawn = {
            queue: self._run_times.statistics(queue, now, self._running.get(queue, {}).values())
            for queue in self._run_times.due
        }
        self._drawn |= drawn
        return tuple(drawn.values())

    def taught(self, queues: Iterable[Queue]) -> tuple[Queue, ...]:
        """The queues with what was learnt so far."""
        return tuple(
            queue
            if (statistics := self._drawn.get(queue.name)) is None
            else statistics.applied_to_queue(queue)
            for queue in queues
        )

    def _place(self, name: str, queue: str, since: int) -> None:
        for above in self._path(queue):
            self._running.setdefault(above, {})[name] = since

    def _path(self, queue: str) -> tuple[str, ...]:
        return self._paths.get(queue, (queue,))


def read_lessons(transaction: Transaction, zone_id: str, queues: Iterable[Queue]) -> Lessons:
    """From the records of what ended last."""
    newest = newest_ends(transaction, zone_id, _MOST_READ)
    lessons = Lessons(newest.since)
    lessons.follow(queues)
    lessons.learn(newest.ends)
    return lessons


def learn_from(transaction: Transaction, lessons: Lessons, workload_ids: Collection[str]) -> None:
    """From those of the workloads that are over; without any, nothing is read."""
    lessons.learn(ends(transaction, workload_ids))


def _path(name: str, parents: dict[str, str | None]) -> Iterator[str]:
    at: str | None = name
    while at is not None:
        yield at
        at = parents.get(at)
