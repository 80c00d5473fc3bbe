"""Doubt: what certainly cannot work is not rehearsed, so that saying no is as fast as saying yes.

Every test here is a necessary condition: for how many replicas of a class there would be room, and how
much may be lost in sum, whatever else has to be true. Emptying more never makes less room.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.scheduling.cycle import Cycle
from corral.scheduling.requests import RequestClass
from corral.scheduling.stock import Integers
from corral.scheduling.tree import GPU, QueueState
from corral.scheduling.victims import Candidates
from corral.scheduling.work import Chunk, Spot

MostLost = Callable[[Mapping[QueueState, int]], int | None]


class Doubt:
    """About one chunk of one taker, as the board is before the first trial."""

    def __init__(
        self, cycle: Cycle, chunk: Chunk, candidates: Candidates, most_lost: MostLost | None
    ) -> None:
        self._capacity = cycle.placer.capacity
        self._chunk = chunk
        self._candidates = candidates
        self._most_lost = most_lost
        self._needed = Counter(slot.request for slot in chunk.slots)
        self._missing: dict[RequestClass, int] = {}
        for request, needed in self._needed.items():
            missing = needed - int(self._capacity.of(request)[1].sum())
            if missing > 0:
                self._missing[request] = missing

    def needs_many_nodes(self) -> bool:
        """Whether more is missing than any node could hold."""
        return any(
            missing > max(self._capacity.on_empty_nodes(request), default=0)
            for request, missing in self._missing.items()
        )

    def could_fit_by(self, nodes: Iterable[int]) -> bool:
        """Whether the chunk could fit if these nodes were empty."""
        for request, missing in self._missing.items():
            rooms = self._capacity.on_empty_nodes(request)
            if sum(rooms[node] for node in nodes) < missing:
                return False
        return True

    def could_fit(self) -> bool:
        """Whether the chunk could fit if every candidate lost everything that it may lose."""
        spots: list[Spot] = []
        largest: dict[QueueState, int] = {}
        whole = all(not request.sliced for request in self._needed)
        for leaf in self._candidates.leaves:
            for work in self._candidates.works(leaf):
                gpu_milli = 0
                for slot in work.slots:
                    spot = slot.spot
                    if spot is not None and slot.group.preemptible:
                        spots.append(spot)
                        gpu_milli += spot.amount[0]
                        whole = whole and not slot.request.sliced
                if gpu_milli > largest.get(leaf, 0):
                    largest[leaf] = gpu_milli
        if whole and self._too_much_lost(largest):
            return False
        return self._suffices(self._capacity.without(spots, self._needed))

    def _suffices(self, rooms: Sequence[Integers]) -> bool:
        """Whether there is room for what is needed of each class."""
        asked = self._needed.values()
        return all(int(room.sum()) >= needed for room, needed in zip(rooms, asked, strict=True))

    def _too_much_lost(self, largest: Mapping[QueueState, int]) -> bool:
        """Whether more devices are needed than are free or may be lost; what moves still needs its own."""
        needed = self._chunk.amount[GPU]
        most = self._most_lost(largest) if self._most_lost is not None else None
        if most is None or most >= needed:
            return False
        return self._capacity.untouched_devices() * WHOLE_DEVICE_MILLI + most < needed
