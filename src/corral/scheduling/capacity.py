"""Capacity: for how many replicas of a class each node has room, now and when what leaves has left.

Exact for replicas of one class that ask for whole devices or one slice, an upper bound otherwise.
"""

from collections.abc import Callable

import numpy as np

from corral.scheduling.requests import RequestClass
from corral.scheduling.scores import Scores
from corral.scheduling.stock import Integers


class Capacity:
    """Counts once for each class and state of the board."""

    def __init__(self, scores_of: Callable[[RequestClass], Scores]) -> None:
        self._scores_of = scores_of
        self._known: dict[int, tuple[int, Integers, Integers]] = {}

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
