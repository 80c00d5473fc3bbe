"""Doubt: what certainly cannot work is not rehearsed, so that saying no is as fast as saying yes.

Every test here is a necessary condition: how many replicas of a class there would be room for, counted
node by node, whatever else has to be true. Emptying more never makes less room.
"""

from collections import Counter
from collections.abc import Iterable

from corral.scheduling.board import NodeState
from corral.scheduling.cycle import Cycle
from corral.scheduling.fit import usable_devices
from corral.scheduling.requests import RequestClass
from corral.scheduling.victims import Candidates
from corral.scheduling.work import Chunk, Spot


class Doubt:
    """About one chunk of one taker, as the board is before the first trial."""

    def __init__(self, cycle: Cycle, chunk: Chunk, candidates: Candidates) -> None:
        self._cycle = cycle
        self._candidates = candidates
        self._needed = Counter(slot.request for slot in chunk.slots)
        self._found: dict[RequestClass, int] = {}
        self._most: dict[RequestClass, dict[int, int]] = {request: {} for request in self._needed}

    def could_fit_by(self, nodes: Iterable[int]) -> bool:
        """Whether the chunk could fit if these nodes were empty."""
        for request, needed in self._needed.items():
            missing = needed - self._room_now(request)
            if missing <= 0:
                continue
            for node in nodes:
                missing -= self._most_on(node, request)
                if missing <= 0:
                    break
            if missing > 0:
                return False
        return True

    def could_fit(self) -> bool:
        """Whether the chunk would fit if every candidate lost everything."""
        freed = self._freed()
        for request, needed in self._needed.items():
            missing = needed - sum(
                room_on(self._cycle.board.nodes[node], request, ())
                for node in self._cycle.placer.nodes_with_room(request)
                if node not in freed
            )
            for node, spots in freed.items():
                if missing <= 0:
                    break
                missing -= room_on(self._cycle.board.nodes[node], request, spots)
            if missing > 0:
                return False
        return True

    def _freed(self) -> dict[int, list[Spot]]:
        """What the candidates hold and could lose, by node."""
        freed: dict[int, list[Spot]] = {}
        for leaf in self._candidates.leaves:
            for _, chunk in self._candidates.in_leaf(leaf):
                for slot in chunk.work.slots:
                    if slot.group.preemptible and (spot := slot.spot) is not None:
                        freed.setdefault(spot.node, []).append(spot)
        return freed

    def _room_now(self, request: RequestClass) -> int:
        known = self._found.get(request)
        if known is None:
            cycle = self._cycle
            known = sum(
                room_on(cycle.board.nodes[node], request, ())
                for node in cycle.placer.nodes_with_room(request)
            )
            self._found[request] = known
        return known

    def _most_on(self, number: int, request: RequestClass) -> int:
        """How many replicas the node would hold if it were empty."""
        known = self._most[request].get(number)
        if known is None:
            empty = NodeState(self._cycle.board.nodes[number].node, number)
            known = self._most[request][number] = room_on(empty, request, ())
        return known


def room_on(node: NodeState, request: RequestClass, freed: Iterable[Spot]) -> int:
    """For how many replicas there is room once what is leaving and `freed` have left; never too few."""
    if not request.allowed_on(node.node):
        return 0
    free = [node.size[kind] - node.used[kind] + node.leaving[kind] - node.promised[kind] for kind in range(3)]
    gone: dict[int, list[int]] = {}
    for spot in freed:
        free[0] += spot.amount.cpu_milli
        free[1] += spot.amount.memory_mib
        free[2] += 1
        for index, mib, compute in spot.devices:
            total = gone.setdefault(index, [0, 0, 0])
            total[0] += 1
            total[1] += mib
            total[2] += compute
    asked = (request.cpu_milli, request.memory_mib, 1)
    room = min(free[kind] // asked[kind] for kind in range(3) if asked[kind])
    if room <= 0 or not request.count:
        return max(0, room)
    slices = 0
    for index in usable_devices(request, node.node.devices):
        device = node.devices[index]
        users, mib, compute = gone.get(index, (0, 0, 0))
        if not request.sliced:
            slices += device.users - device.leavers + device.promises == users
            continue
        wanted_mib, wanted_compute = request.slice_on(device.memory_mib)
        free_mib = device.memory_mib - device.mib + device.leaving_mib - device.promised_mib + mib
        free_compute = 100 - device.compute + device.leaving_compute - device.promised_compute + compute
        fits = free_mib // wanted_mib
        if wanted_compute:
            fits = min(fits, free_compute // wanted_compute)
        slices += max(0, fits)
    return min(room, slices // request.count)
