"""Replica capacity: how many replicas of a class fit on each node, and what is idle in sum.

Exact for replicas of one class that ask for whole devices or one slice, an upper bound otherwise.
"""

from collections.abc import Callable, Iterable
from itertools import chain

import numpy as np

from corral.core.resources import WHOLE_DEVICE_MILLI, Amount
from corral.scheduling.placing.free_capacity import FreeArrays, FreeCapacity, Integers
from corral.scheduling.placing.node_scores import NodeScores
from corral.scheduling.state.request_classes import RequestClass
from corral.scheduling.state.slots import Spot


class ReplicaCapacity:
    """Counts once for each class and state of the board."""

    def __init__(
        self, scores_of: Callable[[RequestClass], NodeScores], free_capacity: Callable[[], FreeCapacity]
    ) -> None:
        self._scores_of = scores_of
        self._free_capacity = free_capacity
        self._cache: dict[int, tuple[int, Integers, Integers]] = {}
        self._empty: FreeArrays | None = None
        self._on_empty: dict[int, list[int]] = {}
        self._idle: tuple[int, Amount] = -1, Amount()

    def of(self, request: RequestClass) -> tuple[Integers, Integers]:
        """How many fit on each node, now and later."""
        scores = self._scores_of(request)
        free_capacity = scores.free_capacity
        cached = self._cache.get(request.index)
        if cached is None or cached[0] != free_capacity.changes:
            later = scores.replica_counts(free_capacity.later)
            now = (
                np.where(free_capacity.differs, scores.replica_counts(free_capacity.now), later)
                if free_capacity.differs.any()
                else later
            )
            cached = self._cache[request.index] = free_capacity.changes, now, later
        return cached[1], cached[2]

    def missing(self, request: RequestClass) -> Integers | None:
        """How many of the data and images that it wants each node lacks; None if it wants none."""
        return self._scores_of(request).missing

    def on_empty_nodes(self, request: RequestClass) -> list[int]:
        """How many would fit on each node if it were empty."""
        cached = self._on_empty.get(request.index)
        if cached is None:
            cached = self._scores_of(request).replica_counts(self._nothing_held()).tolist()
            self._on_empty[request.index] = cached
        return cached

    def without(
        self, spots: Iterable[Spot], requests: Iterable[RequestClass], among: Integers | None = None
    ) -> list[Integers]:
        """How many of each class would fit on each node, or `among` these, if `spots` were left too."""
        left = (
            self._free_capacity().later.copy() if among is None else self._free_capacity().later.take(among)
        )
        freed = list(spots)
        nodes = _integers(spot.node for spot in freed)
        if among is not None:
            nodes = np.searchsorted(among, nodes)
        _, cpu, memory = _integers(chain.from_iterable(spot.amount for spot in freed)).reshape(-1, 3).T
        np.add.at(left.cpu, nodes, cpu)
        np.add.at(left.memory, nodes, memory)
        np.add.at(left.pods, nodes, 1)
        uses = _integers(chain.from_iterable(chain.from_iterable(spot.devices for spot in freed)))
        device, mib, compute = uses.reshape(-1, 3).T
        on = nodes.repeat(_integers(len(spot.devices) for spot in freed))
        np.add.at(left.mib, (on, device), mib)
        np.add.at(left.compute, (on, device), compute)
        for index, spot in enumerate(freed):
            for mig_allocation in spot.mig_allocations:
                left.slices[nodes[index], mig_allocation.device] |= mig_allocation.bits
        return [self._scores_of(request).replica_counts(left, among) for request in requests]

    def idle(self) -> Amount:
        """What is idle or leaving in sum."""
        free_capacity = self._free_capacity()
        if self._idle[0] != free_capacity.changes:
            later, sizes = free_capacity.later, self._nothing_held().mib
            shares = later.mib * WHOLE_DEVICE_MILLI // sizes
            # An instance may be charged more than its memory.
            shares[(self._nothing_held().slices > 0) & (shares > 0)] = WHOLE_DEVICE_MILLI
            gpu = int(shares[sizes > 0].sum())
            self._idle = free_capacity.changes, Amount(gpu, int(later.cpu.sum()), int(later.memory.sum()))
        return self._idle[1]

    def left(self) -> FreeArrays:
        """What is left of each node when what is leaving has left."""
        return self._free_capacity().later

    def untouched(self) -> Integers:
        """How many devices of each node nobody will be on."""
        return self._free_capacity().free

    def _nothing_held(self) -> FreeArrays:
        if self._empty is None:
            self._empty = self._free_capacity().nothing_held()
        return self._empty


def _integers(values: Iterable[int]) -> Integers:
    return np.fromiter(values, np.int64)
