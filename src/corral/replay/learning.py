"""What is learnt of run times from the work that finished, per queue."""

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import replace

from corral.core.queues import Queue

# Fewer say little about the next one.
_ENOUGH = 5
# So many equally likely run times are told of a queue.
_LIKELY = 99


class RunTimes:
    """Told of every workload that finishes; says what is typical of its queue."""

    def __init__(self) -> None:
        self._finished: dict[str, list[int]] = {}
        self._uses: dict[str, list[int]] = {}

    def finished(self, queue: str, seconds: int, limit_seconds: int | None = None) -> None:
        insort(self._finished.setdefault(queue, []), seconds)
        if limit_seconds:
            insort(self._uses.setdefault(queue, []), min(1000, seconds * 1000 // limit_seconds))

    def typical(self, queue: str) -> int | None:
        """The median; None until enough has finished."""
        seconds = self._finished.get(queue, [])
        return seconds[len(seconds) // 2] if len(seconds) >= _ENOUGH else None

    def applied_to(
        self, queues: tuple[Queue, ...], running: Mapping[str, Sequence[int]] | None = None
    ) -> tuple[Queue, ...]:
        """The queues with what was learnt; `running` has how long work runs that did not finish yet."""
        still = running or {}
        return tuple(
            replace(
                queue,
                typical_runtime_seconds=self.typical(queue.name),
                runtimes_seconds=likely(self._finished.get(queue.name, []), still.get(queue.name, ())),
                limit_uses_milli=likely(self._uses.get(queue.name, [])),
            )
            for queue in queues
        )


def likely(ended: Sequence[int], still: Sequence[int] = ()) -> tuple[int, ...]:
    """Equally likely values, growing; none until enough are known.

    What is `still` under way will come to more than it has: who left out the long ones that did not end yet
    would expect too little. As Kaplan and Meier do it, each hands its part to those that came to more; what
    is left beyond the last is put at twice that.
    """
    if len(ended) < _ENOUGH:
        return ()
    known = sorted([*((value, 0) for value in ended), *((value, 1) for value in still)])
    found: list[int] = []
    share, left = 1 / len(known), 1.0  # of the whole: what each is worth, and what came to more
    for number, (value, unfinished) in enumerate(known):
        if unfinished:
            behind = len(known) - number - 1
            share = left / behind if behind else 0.0
            continue
        left -= share
        while len(found) < _LIKELY and 1 - left >= (2 * len(found) + 1) / (2 * _LIKELY):
            found.append(value)
    rest = known[-1][0] * (2 if known[-1][1] else 1)
    return (*found, *[rest] * (_LIKELY - len(found)))
