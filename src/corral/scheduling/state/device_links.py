"""Links: which devices of a node a replica gets, so that they talk fast and the rest still do.

Of all sets, that whose links have the largest sum; of those, the one that leaves the largest sum among the
rest; then the first. All sets are compared while at most eight devices are to choose from. Above that, a set
is grown from each device in turn by the one with most links into the set, then fewest out of it, then the
first; the best set so grown is taken.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import combinations

from corral.core.nodes import Node

MOST_COMPARED = 8
_Rank = tuple[int, int, tuple[int, ...]]


class Links:
    """The links among the devices of a node, by their numbers."""

    def __init__(self, devices: int, links: Iterable[tuple[int, int, int]]) -> None:
        self._scores = [[0] * devices for _ in range(devices)]
        for one, other, score in links:
            self._scores[one][other] = self._scores[other][one] = score
        self._cache: dict[tuple[tuple[int, ...], tuple[int, ...], int], tuple[int, ...]] = {}

    def best_of(self, ranks: Mapping[int, tuple[int, int]], count: int) -> list[int]:
        """The `count` devices of best rank; among those of one rank, links decide."""
        last = sorted(ranks.values())[count - 1]
        fixed = [device for device, rank in ranks.items() if rank < last]
        equal = [device for device, rank in ranks.items() if rank == last]
        return list(self.choose(fixed, equal, count))

    def choose(self, fixed: Iterable[int], among: Iterable[int], count: int) -> tuple[int, ...]:
        """The `fixed` devices and as many of the others as make `count`, in the node's order."""
        key = tuple(sorted(fixed)), tuple(sorted(among)), count
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._choose(*key)
        return found

    def _choose(self, fixed: tuple[int, ...], among: tuple[int, ...], count: int) -> tuple[int, ...]:
        more = count - len(fixed)
        sets: Iterable[tuple[int, ...]]
        if len(among) <= MOST_COMPARED:
            sets = combinations(among, more)
        else:
            sets = (self._grow(fixed, start, among, more) for start in among)
        everything = {*fixed, *among}
        return min(self._rank((*fixed, *each), everything) for each in sets)[2]

    def _rank(self, chosen: tuple[int, ...], everything: set[int]) -> _Rank:
        return -self._sum(chosen), -self._sum(everything.difference(chosen)), tuple(sorted(chosen))

    def _grow(self, fixed: tuple[int, ...], start: int, among: tuple[int, ...], more: int) -> tuple[int, ...]:
        chosen, rest = [*fixed, start], [each for each in among if each != start]
        for _ in range(more - 1):
            best = min(rest, key=lambda each: (-self._to(each, chosen), self._to(each, rest), each))
            chosen.append(best)
            rest.remove(best)
        return tuple(chosen[len(fixed) :])

    def _to(self, device: int, others: Iterable[int]) -> int:
        row = self._scores[device]
        return sum(row[other] for other in others)

    def _sum(self, devices: Iterable[int]) -> int:
        return sum(self._scores[one][other] for one, other in combinations(devices, 2))


def links_of(node: Node) -> Links | None:
    """The links of a node, shared by nodes that are wired alike."""
    if not node.links:
        return None
    number = {device.id: index for index, device in enumerate(node.devices)}
    wired = sorted((*sorted((number[link.one], number[link.other])), link.score) for link in node.links)
    return _links(len(node.devices), tuple((one, other, score) for one, other, score in wired))


@cache
def _links(devices: int, wired: tuple[tuple[int, int, int], ...]) -> Links:
    return Links(devices, wired)
