"""Doubt about consolidating: where one replica of a taker could get room because others move away.

Victims of one node at a time: who leaves it needs a place that is free elsewhere, of its class there are only
so many, and what they give up together has to be enough. Counted for all nodes at once, before any trial.
"""

from collections.abc import Iterable

import numpy as np

from corral.scheduling.capacity import Capacity
from corral.scheduling.requests import RequestClass
from corral.scheduling.stock import Flags, Integers
from corral.scheduling.work import WorkState

_MOST_CLASSES = 64  # of victims; counting more would cost more than it saves


def nodes_to_clear(capacity: Capacity, request: RequestClass, works: Iterable[WorkState]) -> Flags | None:
    """On which nodes a replica could find room if some of these works went elsewhere.

    None where that cannot be said: certain is it only of whole devices.
    """
    if request.sliced:
        return None
    on: dict[RequestClass, list[int]] = {}
    uncertain: set[int] = set()
    for work in works:
        nodes = set()
        sliced = False
        for slot in work.slots:
            spot = slot.spot
            if spot is not None and slot.group.preemptible:
                nodes.add(spot.node)
                on.setdefault(slot.request, []).append(spot.node)
                sliced = sliced or slot.request.sliced
        # Slices can move together inside a node, and who is on several nodes clears them all.
        if sliced or len(nodes) > 1:
            uncertain |= nodes
    if len(on) > _MOST_CLASSES:
        return None
    possible = _enough_leaves(capacity, request, on)
    possible[list(uncertain)] = True
    return possible


def _enough_leaves(capacity: Capacity, request: RequestClass, on: dict[RequestClass, list[int]]) -> Flags:
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
