"""Capacity: for how many replicas of a class each node has room, and what is idle in sum.

Exact for replicas of one class that ask for whole devices or one slice, an upper bound otherwise.
"""

from collections.abc import Callable, Iterable
from itertools import chain

import numpy as np

from corral.core.resources import WHOLE_DEVICE_MILLI, Amount
from corral.scheduling.requests import RequestClass
from corral.scheduling.scores import Scores
from corral.scheduling.slots import Spot
from corral.scheduling.stock import Integers, Left, Stock


class Capacity:
    """Counts once for each class and state of the board."""

    def __init__(self, scores_of: Callable[[RequestClass], Scores], stock: Callable[[], Stock]) -> None:
        self._scores_of = scores_of
        self._stock = stock
        self._known: dict[int, tuple[int, Integers, Integers]] = {}
        self._empty: Left | None = None
        self._on_empty: dict[int, list[int]] = {}
        self._idle: tuple[int, Amount] = -1, Amount()

    def of(self, request: RequestClass) -> tuple[Integers, Integers]:
        """How many fit on each node, now and later."""
        scores = self._scores_of(request)
        stock = scores.stock
        known = self._known.get(request.index)
        if known is None or known[0] != stock.changes:
            later = scores.rooms(stock.later)
            now = np.where(stock.differs, scores.rooms(stock.now), later) if stock.differs.any() else later
            known = self._known[request.index] = stock.changes, now, later
        return known[1], known[2]

    def missing(self, request: RequestClass) -> Integers | None:
        """How many of the data and images that it wants each node lacks; None if it wants none."""
        return self._scores_of(request).missing

    def on_empty_nodes(self, request: RequestClass) -> list[int]:
        """How many would fit on each node if it were empty."""
        known = self._on_empty.get(request.index)
        if known is None:
            known = self._scores_of(request).rooms(self._nothing_held()).tolist()
            self._on_empty[request.index] = known
        return known

    def without(
        self, spots: Iterable[Spot], requests: Iterable[RequestClass], among: Integers | None = None
    ) -> list[Integers]:
        """How many of each class would fit on each node, or `among` these, if `spots` were left too."""
        left = self._stock().later.copy() if among is None else self._stock().later.take(among)
        given = list(spots)
        nodes = _integers(spot.node for spot in given)
        if among is not None:
            nodes = np.searchsorted(among, nodes)
        _, cpu, memory = _integers(chain.from_iterable(spot.amount for spot in given)).reshape(-1, 3).T
        np.add.at(left.cpu, nodes, cpu)
        np.add.at(left.memory, nodes, memory)
        np.add.at(left.pods, nodes, 1)
        uses = _integers(chain.from_iterable(chain.from_iterable(spot.devices for spot in given)))
        device, mib, compute = uses.reshape(-1, 3).T
        on = nodes.repeat(_integers(len(spot.devices) for spot in given))
        np.add.at(left.mib, (on, device), mib)
        np.add.at(left.compute, (on, device), compute)
        for index, spot in enumerate(given):
            for carving in spot.carvings:
                left.slices[nodes[index], carving.device] |= carving.bits
        return [self._scores_of(request).rooms(left, among) for request in requests]

    def idle(self) -> Amount:
        """What is idle or leaving in sum."""
        stock = self._stock()
        if self._idle[0] != stock.changes:
            later, sizes = stock.later, self._nothing_held().mib
            shares = later.mib * WHOLE_DEVICE_MILLI // sizes
            # An instance may be charged more than its memory.
            shares[(self._nothing_held().slices > 0) & (shares > 0)] = WHOLE_DEVICE_MILLI
            gpu = int(shares[sizes > 0].sum())
            self._idle = stock.changes, Amount(gpu, int(later.cpu.sum()), int(later.memory.sum()))
        return self._idle[1]

    def left(self) -> Left:
        """What is left of each node when what is leaving has left."""
        return self._stock().later

    def untouched(self) -> Integers:
        """How many devices of each node nobody will be on."""
        return self._stock().free

    def _nothing_held(self) -> Left:
        if self._empty is None:
            self._empty = self._stock().nothing_held()
        return self._empty


def _integers(values: Iterable[int]) -> Integers:
    return np.fromiter(values, np.int64)
