"""Topology: the members of a group in one domain, the tightest level and the fullest domain that hold them.

Levels are tried from the preferred one upward, to the required one or to the whole pool. In a level come
first the domains that have data and images, then those where nothing has to be waited for, then those with
least room for more of the same work (with most, where the pool spreads), then by name. A group that has
begun goes on where it is.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from corral.core.nodes import NODE_LEVEL, Node, Pool
from corral.core.workloads import TopologyRequest
from corral.scheduling.placing.replica_capacity import ReplicaCapacity
from corral.scheduling.state.board import Board
from corral.scheduling.state.replica_groups import Bond, GroupState
from corral.scheduling.state.slots import Slot
from corral.scheduling.state.workload_state import Chunk

Mask = npt.NDArray[np.bool_]
PutOne = Callable[[Slot, Mask | None], bool]


class Level(NamedTuple):
    """The domains of one level: the number of each node's domain, -1 where it is in none."""

    of_node: npt.NDArray[np.int64]
    names: tuple[str, ...]


class Levels:
    """The levels of a pool's topologies over its nodes, worked out when first asked for."""

    def __init__(self, pool: Pool, nodes: Sequence[Node]) -> None:
        self._keys = {topology.name: topology.levels for topology in pool.topologies}
        self._nodes = nodes
        self._cache: dict[tuple[str, ...] | None, Level] = {}

    def at(self, topology: str | None, name: str) -> Level:
        """A level by its name; that of single nodes needs no topology."""
        if name == NODE_LEVEL:
            return self._level((NODE_LEVEL,))
        keys = self._keys[topology or ""]
        return self._level(keys[: keys.index(name) + 1])

    def upward(self, request: TopologyRequest) -> Iterator[Level]:
        """From the preferred level to the required one, or to the whole pool."""
        keys = self._keys[request.topology]
        order = [NODE_LEVEL, *reversed(keys)]
        first = order.index(request.preferred or request.required or NODE_LEVEL)
        last = len(order) - 1 if request.required is None else order.index(request.required)
        for name in order[first : last + 1]:
            yield self.at(request.topology, name)
        if request.required is None:
            yield self._level(None)

    def _level(self, keys: tuple[str, ...] | None) -> Level:
        level = self._cache.get(keys)
        if level is None:
            level = self._cache[keys] = self._sort(keys)
        return level

    def _sort(self, keys: tuple[str, ...] | None) -> Level:
        if keys is None:
            return Level(np.zeros(len(self._nodes), dtype=np.int64), ("pool",))
        paths: list[tuple[str, ...] | None] = []
        for node in self._nodes:
            if keys == (NODE_LEVEL,):
                paths.append((node.name,))
            elif all(key in node.labels for key in keys):
                paths.append(tuple(node.labels[key] for key in keys))
            else:
                paths.append(None)
        domains = sorted({path for path in paths if path is not None})
        numbers = {path: number for number, path in enumerate(domains)}
        of_node = [-1 if path is None else numbers[path] for path in paths]
        return Level(np.array(of_node, dtype=np.int64), tuple("/".join(path) for path in domains))


class DomainPlacer:
    """Places chunks of workloads of which some members belong together."""

    def __init__(self, board: Board, levels: Levels, capacity: ReplicaCapacity, *, spread: bool) -> None:
        self.board = board
        self.levels = levels
        self.capacity = capacity
        self.sign = -1 if spread else 1

    def put(self, chunk: Chunk, put_one: PutOne, *, rehearsal: bool) -> int:
        """Gives every replica of the chunk a spot; returns how many found one in the best of the domains."""
        bond = chunk.work.bond
        assert bond is not None
        members: dict[GroupState, list[Slot]] = {}
        for slot in chunk.slots:
            members.setdefault(slot.group, []).append(slot)
        return _ChunkPlacement(self, members, put_one, rehearsal=rehearsal).put(bond, None)

    def domains_for(self, bond: Bond, slots: list[Slot]) -> npt.NDArray[np.int64] | None:
        """Of each node the number of the required domain that could take all slots; None if none is."""
        leaves = {slot.group for slot in slots}
        while bond.topology is None or bond.topology.required is None:
            inner = next((below for below in bond.below if leaves <= set(below.leaves)), None)
            if inner is None:
                return None
            bond = inner
        level = self.levels.at(bond.topology.topology, bond.topology.required)
        home = _most_common(level, bond.nodes())
        return level.of_node if home is None else np.where(level.of_node == home, home, -1)

    def most_in_one(self, level: Level, slots: list[Slot]) -> int:
        """How many of the slots the roomiest domain of a level could hold."""
        inside = level.of_node >= 0
        replicas = np.zeros(len(level.names))
        for request, count in Counter(slot.request for slot in slots).items():
            later = self.capacity.of(request)[1]
            room = np.bincount(level.of_node[inside], weights=later[inside], minlength=len(replicas))
            replicas += np.minimum(room, count)
        return int(replicas.max(initial=0))


class _ChunkPlacement:
    """One chunk on its way to its domains."""

    def __init__(
        self,
        domain_placer: DomainPlacer,
        members: dict[GroupState, list[Slot]],
        put_one: PutOne,
        *,
        rehearsal: bool,
    ) -> None:
        self._domain_placer = domain_placer
        self._members = members
        self._put_one = put_one
        self._rehearsal = rehearsal

    def put(self, bond: Bond, mask: Mask | None) -> int:
        """How many of the bond's members found a spot: all, or none is left on the board."""
        slots = self._slots(bond)
        if bond.topology is None or not slots:
            return self._put_members(bond, mask)
        board = self._domain_placer.board
        most = 0
        for domain in self._domains(bond, slots, mask):
            mark = board.mark
            found = self._put_members(bond, domain)
            if found == len(slots):
                return found
            board.undo(mark)
            most = max(most, found)
        return most

    def _put_members(self, bond: Bond, mask: Mask | None) -> int:
        found = 0
        for below in bond.below:
            placed = self.put(below, mask)
            found += placed
            if placed < len(self._slots(below)):
                return found
        if bond.below:
            return found
        for slot in self._slots(bond):
            if not self._put_one(slot, mask):
                return found
            found += 1
        return found

    def _slots(self, bond: Bond) -> list[Slot]:
        return [slot for leaf in bond.leaves for slot in self._members.get(leaf, ())]

    def _domains(self, bond: Bond, slots: list[Slot], mask: Mask | None) -> Iterator[Mask]:
        """Where the slots may go together, best first: the nodes of each domain that has room for them."""
        assert bond.topology is not None
        begun = bond.nodes()
        # What this cycle evicts goes back to where it was, if it can.
        before = [slot.base.node for slot in slots if slot.base is not None]
        tried: set[bytes] = set()
        for level in self._domain_placer.levels.upward(bond.topology):
            home = _most_common(level, begun or before)
            for number in self._candidates(level, slots, mask, home, only_home=bool(begun)):
                domain = level.of_node == number
                if mask is not None:
                    domain &= mask
                # Where a level adds nothing to the tighter one, its domains are the same nodes.
                if (key := domain.tobytes()) not in tried:
                    tried.add(key)
                    yield domain

    def _candidates(
        self, level: Level, slots: list[Slot], mask: Mask | None, home: int | None, *, only_home: bool
    ) -> list[int]:
        """The domains of a level that have room for the slots, in order."""
        size = len(level.names)
        inside = level.of_node >= 0 if mask is None else mask & (level.of_node >= 0)
        where = level.of_node[inside]
        fits = np.ones(size, dtype=np.bool_)
        waits = np.zeros(size, dtype=np.bool_)
        rooms = []
        unmet = np.zeros(size, np.int64)
        for request, count in Counter(slot.request for slot in slots).items():
            now, later = self._domain_placer.capacity.of(request)
            rooms.append(np.bincount(where, weights=later[inside], minlength=size))
            fits &= rooms[-1] >= count
            missing = self._domain_placer.capacity.missing(request)
            if missing is not None:
                unmet += _least(missing, later > 0, level.of_node, size)
            if not self._rehearsal:
                waits |= np.bincount(where, weights=now[inside], minlength=size) < count
        if only_home:
            return [home] if home is not None and fits[home] else []
        room = self._domain_placer.sign * rooms[0]
        found = [int(number) for number in np.flatnonzero(fits)]
        found.sort(key=lambda each: (each != home, unmet[each], waits[each], room[each], each))
        return found


def _least(
    missing: npt.NDArray[np.int64], has_room: Mask, of_node: npt.NDArray[np.int64], size: int
) -> npt.NDArray[np.int64]:
    """What is missing on the best node with room of each domain."""
    least = np.full(size, np.iinfo(np.int64).max >> 1, np.int64)
    usable = has_room & (of_node >= 0)
    np.minimum.at(least, of_node[usable], missing[usable])
    return least


def _most_common(level: Level, nodes: list[int]) -> int | None:
    """The domain in which most of the nodes are, the first by name of several."""
    counts = Counter(int(level.of_node[node]) for node in nodes)
    del counts[-1]
    return min(counts, key=lambda number: (-counts[number], number)) if counts else None
