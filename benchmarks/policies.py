"""Placement policies to compare with: Random, BestFit and FGD, and Corral's behind the same interface."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.arrays import NodeArrays
from corral.core.devices import Device
from corral.core.mixes import WorkClass
from corral.core.nodes import Node, Pool
from corral.core.queues import Queue
from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, Request, Workload
from corral.scheduling.placing.arrival_mix import Tally
from corral.scheduling.placing.placer import Placer
from corral.scheduling.state.board import Board
from corral.scheduling.state.queue_tree import QueueState
from corral.scheduling.state.request_classes import RequestClass
from corral.scheduling.state.slots import Slot
from corral.scheduling.state.workload_state import Chunk, WorkState

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
LEVELS = WHOLE_DEVICE_MILLI + 1


class Place(NamedTuple):
    """A node and the devices on it, by their position."""

    node: int
    gpus: tuple[int, ...]


class Policy(Protocol):
    """Takes work one by one; what it accepts stays until it is released."""

    nodes: NodeArrays

    def offer(self, work: WorkClass) -> Place | None: ...

    def release(self, work: WorkClass, place: Place) -> None: ...


class Corral:
    """Corral's own placement, on a board without queues; learns the mix from what it is offered."""

    def __init__(self, nodes: NodeArrays) -> None:
        self.nodes = nodes
        self._board = Board([_node(nodes, index) for index in range(len(nodes))])
        self._placer = Placer(self._board, Pool("default"))
        self._tally = Tally()
        self._kinds = {device.kind: device for state in self._board.nodes for device in state.node.devices}
        self._requests: dict[WorkClass, RequestClass] = {}
        self._queue = QueueState(Queue("all"), "default", None)
        self._held: dict[Place, list[Slot]] = {}

    def offer(self, work: WorkClass) -> Place | None:
        if self._tally.note(work):
            self._placer.use(self._placer.learn(self._tally.mix()))
        slot = self._slot(work)
        if not self._placer.place(Chunk(slot.group.work, [slot])):
            return None
        assert slot.new is not None
        place = Place(slot.new.node, tuple(use[0] for use in slot.new.devices))
        self._held.setdefault(place, []).append(slot)
        return place

    def release(self, work: WorkClass, place: Place) -> None:
        held = self._held[place]
        slot = next(each for each in held if each.request is self._requests[work])
        held.remove(slot)
        self._board.take(slot)
        self._tally.note_departure()

    def _slot(self, work: WorkClass) -> Slot:
        request = self._requests.get(work)
        if request is None:
            request = RequestClass(len(self._requests), request_of(work), self._kinds.values())
            self._requests[work] = request
        group = ReplicaGroup("main", request=request.request, replicas=(Replica("0"),))
        state = WorkState(Workload("work", "all", (group,)), self._queue)
        return Slot("0", state.groups[0], 0, request)


def request_of(work: WorkClass) -> Request:
    """What a replica of this class asks for."""
    if not work.gpus:
        return Request(work.cpu_milli, work.memory_mib)
    devices = DeviceRequest(work.gpus, models=work.models)
    if work.slice_mib:
        devices = replace(devices, memory_mib=work.slice_mib)
    elif work.gpu_milli < WHOLE_DEVICE_MILLI:
        devices = replace(devices, fraction_milli=work.gpu_milli)
    return Request(work.cpu_milli, work.memory_mib, devices)


def _node(nodes: NodeArrays, index: int) -> Node:
    model = nodes.models[nodes.model[index]]
    return Node(
        f"n{index}",
        cpu_milli=int(nodes.cpu[index]),
        memory_mib=int(nodes.memory[index]),
        pods=int(nodes.pods[index]),
        devices=tuple(
            Device(f"g{number}", model.memory_mib, model.name) for number in range(nodes.gpus[index])
        ),
    )


class _Plain:
    """The bookkeeping that the simple policies share."""

    def __init__(self, nodes: NodeArrays) -> None:
        self.nodes = nodes

    def fitting(self, work: WorkClass) -> Indices:
        nodes = self.nodes
        fits = (nodes.cpu >= work.cpu_milli) & (nodes.memory >= work.memory_mib) & (nodes.pods > 0)
        if work.gpus:
            milli = self.milli_by_model(work)[nodes.model]
            fits &= (nodes.milli >= milli[:, None]).sum(axis=1) >= work.gpus
        return np.flatnonzero(fits)

    def milli_by_model(self, work: WorkClass) -> Indices:
        models = self.nodes.models
        return np.array([work.milli_on(m.memory_mib) if work.allows(m.name) else LEVELS for m in models])

    def devices(self, work: WorkClass, node: int) -> list[int]:
        """The devices of a node that the work fits on, the fullest first."""
        left = self.nodes.milli[node]
        milli = self.milli_by_model(work)[self.nodes.model[node]]
        return [int(gpu) for gpu in np.argsort(left, kind="stable") if left[gpu] >= milli]

    def place(self, work: WorkClass, place: Place, sign: int = -1) -> None:
        nodes = self.nodes
        nodes.cpu[place.node] += sign * work.cpu_milli
        nodes.memory[place.node] += sign * work.memory_mib
        nodes.pods[place.node] += sign
        milli = work.milli_on(nodes.models[nodes.model[place.node]].memory_mib)
        nodes.milli[place.node, list(place.gpus)] += sign * milli

    def release(self, work: WorkClass, place: Place) -> None:
        self.place(work, place, 1)


class Random(_Plain):
    """Any node on which the work fits, any devices of it."""

    def __init__(self, nodes: NodeArrays, seed: int) -> None:
        super().__init__(nodes)
        self._random = np.random.default_rng([seed, 1])

    def offer(self, work: WorkClass) -> Place | None:
        fitting = self.fitting(work)
        if not len(fitting):
            return None
        node = int(fitting[self._random.integers(len(fitting))])
        devices = self._random.permutation(self.devices(work, node))[: work.gpus]
        place = Place(node, tuple(int(gpu) for gpu in devices))
        self.place(work, place)
        return place


class BestFit(_Plain):
    """The node with least left, CPU and GPU counted as parts of the largest node; the fullest devices."""

    def __init__(self, nodes: NodeArrays) -> None:
        super().__init__(nodes)
        self._most_cpu = int(nodes.cpu.max())
        self._most_milli = nodes.milli.shape[1] * WHOLE_DEVICE_MILLI

    def offer(self, work: WorkClass) -> Place | None:
        fitting = self.fitting(work)
        if not len(fitting):
            return None
        nodes = self.nodes
        left = nodes.cpu[fitting] / self._most_cpu + nodes.milli[fitting].sum(axis=1) / self._most_milli
        node = int(fitting[left.argmin()])
        place = Place(node, tuple(self.devices(work, node)[: work.gpus]))
        self.place(work, place)
        return place


class FGD(_Plain):
    """Fragmentation gradient descent: told the mix beforehand, places where fragments grow least.

    The growth counts in the coarse steps of its authors (whole hundredths of a sigmoid of whole GPUs);
    ties go to the first node.
    """

    def __init__(self, nodes: NodeArrays, mix: Sequence[WorkClass]) -> None:
        super().__init__(nodes)
        counted = sorted(Counter(mix).items())
        works = [work for work, _ in counted]
        self._share = np.array([count for _, count in counted]) / len(mix)
        self._cpu = np.array([work.cpu_milli for work in works])
        self._gpus = np.array([work.gpus for work in works])
        sizes = sorted({work.gpu_milli for work in works})
        self._size = np.array([sizes.index(work.gpu_milli) for work in works])
        self._allowed = np.array(
            [[work.gpus > 0 and work.allows(m.name) for work in works] for m in nodes.models]
        )
        level = np.arange(LEVELS)
        # For each level of a device and each size of work: idle milli of no use to it, and whether it fits.
        self._useless = np.where(level[:, None] < sizes, level[:, None], 0).astype(float)
        self._fits = (level[:, None] >= sizes).astype(np.int64)
        everywhere = np.arange(len(nodes))
        self._fragments = np.zeros(len(nodes))
        self._useless_on = np.zeros((len(nodes), len(sizes)))
        self._fits_on = np.zeros((len(nodes), len(sizes)), np.int64)
        self._changes = 0
        self._changed_at = np.zeros(len(nodes), np.int64)
        self._known: dict[WorkClass, tuple[int, Floats, Indices]] = {}
        self._note(everywhere)

    def offer(self, work: WorkClass) -> Place | None:
        position, scores, device = self._known.get(work) or (
            -1,
            np.full(len(self.nodes), -1.0),
            np.zeros(len(self.nodes), np.int64),
        )
        self._score(work, np.flatnonzero(self._changed_at > position), scores, device)
        self._known[work] = (self._changes, scores, device)
        node = int(scores.argmax())
        if scores[node] < 0:
            return None
        if work.gpus == 1:
            place = Place(node, (int(device[node]),))
        else:
            place = Place(node, tuple(self.devices(work, node)[: work.gpus]))
        self.place(work, place)
        return place

    def place(self, work: WorkClass, place: Place, sign: int = -1) -> None:
        super().place(work, place, sign)
        self._changes += 1
        self._changed_at[place.node] = self._changes
        self._note(np.array([place.node]))

    def _note(self, among: Indices) -> None:
        left = self.nodes.milli[among]
        self._useless_on[among] = self._useless[left].sum(axis=1)
        self._fits_on[among] = self._fits[left].sum(axis=1)
        self._fragments[among] = self._fragment(
            among, self.nodes.cpu[among], left.sum(axis=1), self._useless_on[among], self._fits_on[among]
        )

    def _fragment(
        self, among: Indices, cpu: Indices, idle: Indices, useless: Floats, fits: Indices
    ) -> Floats:
        usable = self._allowed[self.nodes.model[among]]
        usable &= cpu[:, None] >= self._cpu
        usable &= fits[:, self._size] >= self._gpus
        fragments: Floats = np.where(usable, useless[:, self._size], idle[:, None]) @ self._share
        return fragments

    def _score(self, work: WorkClass, among: Indices, scores: Floats, device: Indices) -> None:
        nodes = self.nodes
        scores[among] = -1
        milli = self.milli_by_model(work)[nodes.model[among]] if work.gpus else np.zeros(len(among), np.int64)
        fits = (nodes.cpu[among] >= work.cpu_milli) & (nodes.memory[among] >= work.memory_mib)
        fits &= nodes.pods[among] > 0
        if work.gpus:
            fits &= (nodes.milli[among] >= milli[:, None]).sum(axis=1) >= work.gpus
        among, milli = among[fits], milli[fits]
        if not len(among):
            return
        left = nodes.milli[among]
        if work.gpus == 1:
            row, chosen = np.nonzero(left >= milli[:, None])
        else:
            row, chosen = np.arange(len(among)), np.zeros(len(among), np.int64)
        on = among[row]
        useless, fitting = self._useless_on[on], self._fits_on[on]
        if work.gpus:
            before = left[row, chosen] if work.gpus == 1 else np.full(len(row), WHOLE_DEVICE_MILLI)
            after = before - milli[row]
            useless = useless + work.gpus * (self._useless[after] - self._useless[before])
            fitting = fitting + work.gpus * (self._fits[after] - self._fits[before])
        idle = left[row].sum(axis=1) - work.gpus * milli[row]
        fragments = self._fragment(on, nodes.cpu[on] - work.cpu_milli, idle, useless, fitting)
        growth = fragments - self._fragments[on]
        order = np.lexsort((left[row, chosen], growth, row))
        best = order[np.unique(row[order], return_index=True)[1]]
        device[among] = chosen[best]
        scores[among] = np.floor(100 / (1 + np.exp(growth[best] / WHOLE_DEVICE_MILLI)))
