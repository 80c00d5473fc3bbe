"""Feasibility of consolidating: on which nodes one replica of a taker could fit because others move away.

Victims of one node at a time: each needs a free place elsewhere, of which there are only so many per class,
and what they release together has to be enough. Counted for all nodes at once, before any rehearsal.
"""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from corral.scheduling.actions.victim_order import Holding
from corral.scheduling.placing.free_capacity import Flags, Integers
from corral.scheduling.placing.replica_capacity import ReplicaCapacity
from corral.scheduling.state.request_classes import RequestClass
from corral.scheduling.state.slots import SettledReplica

_MOST_CLASSES = 64  # of victims; counting more would cost more than it saves


def nodes_to_clear(
    capacity: ReplicaCapacity,
    request: RequestClass,
    settled: Iterable[SettledReplica],
    holdings: Iterable[Holding],
) -> Flags | None:
    """On which nodes a replica could find room if some of the settled work, or the holders, moved.

    None where that cannot be said: certain is it only of whole devices.
    """
    if request.sliced:
        return None
    on: dict[RequestClass, list[int]] = defaultdict(list)
    uncertain: set[int] = set()
    for _, each, spot, _ in settled:
        on[each].append(spot.node)
    for holding in holdings:
        for each, spot in holding:
            on[each].append(spot.node)
        # Who is on several nodes clears them all.
        nodes = {spot.node for _, spot in holding}
        if len(nodes) > 1:
            uncertain |= nodes
    if len(on) > _MOST_CLASSES:
        return None
    for each, on_nodes in on.items():
        if each.sliced:
            # Slices can move together inside a node.
            uncertain.update(on_nodes)
    possible = _enough_leaves(capacity, request, on)
    possible[list(uncertain)] = True
    return possible


def _enough_leaves(
    capacity: ReplicaCapacity, request: RequestClass, on: dict[RequestClass, list[int]]
) -> Flags:
    """Where what is left and what those give up who could go elsewhere is enough in every resource."""
    left = capacity.left()
    devices = capacity.untouched().copy()
    cpu, memory, pods = left.cpu.copy(), left.memory.copy(), left.pods.copy()
    for each, nodes in on.items():
        room = capacity.of(each)[1]
        here: Integers = np.bincount(nodes, minlength=len(devices))
        leaving = np.minimum(here, int(room.sum()) - room)
        devices += leaving * each.count
        cpu += leaving * each.cpu_milli
        memory += leaving * each.memory_mib
        pods += leaving
    enough: Flags = (devices >= request.count) & (cpu >= request.cpu_milli) & (memory >= request.memory_mib)
    return enough & (pods >= 1)
