"""Affinity counts: per node, how many replicas match a term of affinity, and how many carry it.

The board updates the counts with every move; workloads without affinity cost nothing.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from corral.core.workloads import Affinity, AffinityKind
from corral.scheduling.state.request_classes import RequestClass

Integers = npt.NDArray[np.int64]


class Count:
    """Replicas on each node: those that are or will be there, and those that are leaving."""

    __slots__ = ("here", "leaving")

    def __init__(self, nodes: int) -> None:
        self.here: Integers = np.zeros(nodes, np.int64)
        self.leaving: Integers = np.zeros(nodes, np.int64)

    def renumber(self, before: Integers) -> None:
        """`before` has the number that each node had, -1 for those that are new."""
        self.here = np.where(before >= 0, self.here.take(before, mode="clip"), 0)
        self.leaving = np.where(before >= 0, self.leaving.take(before, mode="clip"), 0)


class Term:
    """One affinity, shared by all workloads that ask for the same of the same neighbours."""

    def __init__(self, affinity: Affinity, nodes: int) -> None:
        self.affinity = affinity
        self.labels = frozenset(affinity.labels.items())
        self.members = Count(nodes)  # replicas that it is about
        self.holders = Count(nodes)  # replicas that carry it
        self.carriers = 0  # workloads that have it
        self.keeps_away = affinity.required and affinity.kind is AffinityKind.APART


class AffinityCounts:
    """The terms of one workload: those of each of its requests, and those that are about it."""

    def __init__(self) -> None:
        self.own: dict[RequestClass, list[Term]] = {}
        self.about: list[Term] = []

    def move(self, request: RequestClass, node: int, here: int, leaving: int) -> None:
        """A replica comes or goes, begins or ceases to leave."""
        for count in self._counts(request):
            count.here[node] += here
            count.leaving[node] += leaving

    def _counts(self, request: RequestClass) -> Iterator[Count]:
        for term in self.about:
            yield term.members
        for term in self.own.get(request, ()):
            yield term.holders
