"""Feasibility: a set of victims that certainly cannot work is not rehearsed, so refusing is fast.

Every test is a necessary condition: how many replicas of a class would fit, and how much may be lost in sum,
whatever else has to be true. Emptying more never frees less.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.scheduling.actions.feasibility_moves import nodes_to_clear
from corral.scheduling.actions.victim_order import Candidates
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.placing.free_capacity import Flags, Integers
from corral.scheduling.state.queue_tree import GPU, QueueState
from corral.scheduling.state.request_classes import RequestClass
from corral.scheduling.state.slots import Spot
from corral.scheduling.state.workload_state import Chunk

MostLost = Callable[[Mapping[QueueState, int]], int | None]


class Feasibility:
    """Of one chunk of one taker, as the board is before the first rehearsal, with `freed` evicted."""

    def __init__(
        self,
        cycle: Cycle,
        chunk: Chunk,
        candidates: Candidates,
        most_lost: MostLost | None,
        freed: Iterable[Chunk] = (),
    ) -> None:
        self._capacity = cycle.placer.capacity
        self._chunk = chunk
        self._candidates = candidates
        self._most_lost = most_lost
        self._needed = Counter(slot.request for slot in chunk.slots)
        self._first = chunk.slots[0].request
        self._freed = _spots_of(freed)
        self._rooms = (
            self._capacity.without(self._freed, self._needed)
            if self._freed
            else [self._capacity.of(request)[1] for request in self._needed]
        )
        self._missing: dict[RequestClass, int] = {}
        for (request, needed), room in zip(self._needed.items(), self._rooms, strict=True):
            missing = needed - int(room.sum())
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

    def could_fit_by_losing(self, victims: Iterable[Chunk]) -> bool:
        """Whether the chunk could fit if these lost what they have; of one device it is not worth asking."""
        if not self._missing or sum(slot.request.count for slot in self._chunk.slots) <= 1:
            return True
        lost = _spots_of(victims)
        on = {spot.node for spot in lost}
        spots = [*lost, *(spot for spot in self._freed if spot.node in on)]
        if not self._frees_enough(spots, on):
            return False
        nodes = np.array(sorted(on), np.int64)
        after = self._capacity.without(spots, self._needed, nodes)
        return all(
            int(room.sum() - before[nodes].sum()) >= self._missing.get(request, 0)
            for request, room, before in zip(self._needed, after, self._rooms, strict=True)
        )

    def _frees_enough(self, spots: Iterable[Spot], nodes: Iterable[int]) -> bool:
        """Whether there would be devices enough on these nodes; of whole ones that is quickly counted."""
        if len(self._needed) > 1 or self._first.sliced or not self._first.count:
            return True
        freed = Counter(spot.node for spot in spots for _ in spot.devices)
        free, count, before = self._capacity.untouched(), self._first.count, self._rooms[0]
        gained = sum(int((free[node] + freed[node]) // count - before[node]) for node in nodes)
        return gained >= self._missing[self._first]

    def could_fit_by_moving(self, victims: Sequence[Chunk]) -> bool:
        """Whether any of these could go elsewhere: who can only come back to its node makes no room there.

        Only of whole devices is that certain, and of victims on one node.
        """
        slots = [slot for chunk in victims for slot in chunk.slots]
        nodes = {slot.spot.node for slot in slots if slot.spot is not None}
        classes = {slot.request for slot in slots}
        if not self._missing or len(nodes) != 1 or any(each.sliced for each in (*classes, *self._needed)):
            return True
        (node,) = nodes
        rooms = (self._capacity.of(request)[1] for request in classes)
        return any(room.any() and int(room.sum()) > room[node] for room in rooms)

    def nodes_to_clear(self) -> Flags | None:
        """On which nodes the first replica could get room by moving others; None where it has room."""
        if self._rooms[0].any():
            return None
        leaves, candidates = self._candidates.leaves, self._candidates
        settled = (rest for leaf in leaves for rest in candidates.settled(leaf))
        holdings = (holding for leaf in leaves for holding in candidates.holdings(leaf))
        return nodes_to_clear(self._capacity, self._first, settled, holdings)

    def could_fit(self) -> bool:
        """Whether the chunk could fit if every candidate lost everything that it may lose."""
        spots: list[Spot] = []
        largest: dict[QueueState, int] = {}
        whole = all(not request.sliced for request in self._needed)
        for leaf in self._candidates.leaves:
            settled = list(self._candidates.settled(leaf))
            spots += [rest.spot for rest in settled]
            most = max([rest.spot.amount[0] for rest in settled], default=0)
            whole = whole and not any(request.sliced for request in {rest.request for rest in settled})
            for holding in self._candidates.holdings(leaf):
                spots += [spot for _, spot in holding]
                most = max(most, sum(spot.amount[0] for _, spot in holding))
                whole = whole and not any(request.sliced for request, _ in holding)
            if most:
                largest[leaf] = most
        if whole and self._too_much_lost(largest):
            return False
        return self._suffices(self._capacity.without(spots, self._needed))

    def _suffices(self, rooms: Sequence[Integers]) -> bool:
        """Whether there is room for what is needed of each class."""
        counts = self._needed.values()
        return all(int(room.sum()) >= needed for room, needed in zip(rooms, counts, strict=True))

    def _too_much_lost(self, largest: Mapping[QueueState, int]) -> bool:
        """Whether more devices are needed than are free or may be lost; what moves still needs its own."""
        needed = self._chunk.amount[GPU]
        most = self._most_lost(largest) if self._most_lost is not None else None
        if most is None or most >= needed:
            return False
        return int(self._capacity.untouched().sum()) * WHOLE_DEVICE_MILLI + most < needed


def _spots_of(chunks: Iterable[Chunk]) -> list[Spot]:
    return [slot.spot for chunk in chunks for slot in chunk.slots if slot.spot is not None]
