"""Feasibility of a chunk that needs one domain: the missing capacity is counted per domain."""

from collections.abc import Iterable, Sequence

import numpy as np

from corral.scheduling.actions.feasibility import Feasibility, MostLost
from corral.scheduling.actions.victim_order import Candidates
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.placing.free_capacity import Integers
from corral.scheduling.state.workload_state import Chunk


class DomainFeasibility(Feasibility):
    """`domains` has the number of each node's domain, -1 where the chunk may not go."""

    def __init__(
        self,
        cycle: Cycle,
        chunk: Chunk,
        candidates: Candidates,
        most_lost: MostLost | None,
        domains: Integers,
    ) -> None:
        super().__init__(cycle, chunk, candidates, most_lost)
        self._domains = domains
        self._inside = domains >= 0
        self._count = int(domains.max(initial=-1)) + 1
        self._missing_in = [
            count - self._by_domain(self._capacity.of(request)[1]) for request, count in self._needed.items()
        ]
        self._fits_somewhere = bool(np.all([missing <= 0 for missing in self._missing_in], axis=0).any())

    def needs_many_nodes(self) -> bool:
        """A domain is many nodes: whether the chunk could fit at all is asked first."""
        return not self._fits_somewhere

    def could_fit_by(self, nodes: Iterable[int]) -> bool:
        if self._fits_somewhere:
            return True
        emptied = np.array(sorted(nodes), np.int64)
        gains = []
        for request in self._needed:
            gain = np.zeros_like(self._domains)
            rooms = np.array(self._capacity.on_empty_nodes(request), np.int64)
            gain[emptied] = (rooms - self._capacity.of(request)[1])[emptied]
            gains.append(self._by_domain(gain))
        enough = [gain >= missing for gain, missing in zip(gains, self._missing_in, strict=True)]
        return bool(np.all(enough, axis=0).any())

    def _suffices(self, rooms: Sequence[Integers]) -> bool:
        enough = [
            self._by_domain(room) >= count for room, count in zip(rooms, self._needed.values(), strict=True)
        ]
        return bool(np.all(enough, axis=0).any())

    def _by_domain(self, of_node: Integers) -> Integers:
        inside = self._inside
        sums = np.bincount(self._domains[inside], weights=of_node[inside], minlength=self._count)
        return sums.astype(np.int64)
