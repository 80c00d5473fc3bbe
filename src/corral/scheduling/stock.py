"""Stock: what is left on every node, as arrays, read from the board where it changed.

Placement scores many nodes at once; the board's own states stay the truth. What is left is counted for the
time when everything that is leaving has left; only nodes where that differs from now are also counted now.
"""

import numpy as np
import numpy.typing as npt

from corral.core.devices import Device
from corral.scheduling.board import Board, NodeState
from corral.scheduling.requests import RequestClass

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Left:
    """Left of each node's CPU, memory and pods, and of its devices' MiB and compute (-1: no device)."""

    __slots__ = ("compute", "cpu", "memory", "mib", "pods")

    def __init__(self, nodes: int, devices: int) -> None:
        self.cpu: Integers = np.zeros(nodes, np.int64)
        self.memory: Integers = np.zeros(nodes, np.int64)
        self.pods: Integers = np.zeros(nodes, np.int64)
        self.mib: Integers = np.full((nodes, devices), -1, np.int64)
        self.compute: Integers = np.full((nodes, devices), -1, np.int64)


class Stock:
    """The arrays of one board; `refresh` brings them up to date."""

    def __init__(self, board: Board) -> None:
        self._board = board
        nodes = board.nodes
        width = max((len(node.devices) for node in nodes), default=0)
        self.later = Left(len(nodes), width)
        self.now = Left(len(nodes), width)  # only where `differs`
        self.differs: Flags = np.zeros(len(nodes), np.bool_)
        self.untouched: Flags = np.zeros((len(nodes), width), np.bool_)
        self.free: Integers = np.zeros(len(nodes), np.int64)  # untouched devices of each node
        self._tainted = any(node.node.taints for node in nodes)
        self.changes = 0
        self.changed_at: Integers = np.zeros(len(nodes), np.int64)
        # Devices that are alike for every request are one kind; the last kind is that of no device.
        self.kinds: list[Device] = []
        self.kinds_on: list[tuple[int, ...]] = []
        self._number_kinds()
        self.kind: Integers = np.full((len(nodes), width), len(self.kinds), np.int64)
        for index, kinds in enumerate(self.kinds_on):
            self.kind[index, : len(kinds)] = kinds
        for node in nodes:
            self._read(node)
        board.dirty.clear()

    def refresh(self) -> None:
        """Reads what changed since the last time."""
        dirty = self._board.dirty
        if not dirty:
            return
        self.changes += 1
        for index in dirty:
            self._read(self._board.nodes[index])
            self.changed_at[index] = self.changes
        dirty.clear()

    def allowed_on(self, request: RequestClass) -> Flags | None:
        """Where labels, taints and named nodes allow the request; None means everywhere."""
        if not self._tainted and not request.is_choosy:
            return None
        return np.array([request.allowed_on(node.node) for node in self._board.nodes], np.bool_)

    def _number_kinds(self) -> None:
        known: dict[tuple[object, ...], int] = {}
        for node in self._board.nodes:
            numbers = []
            for device in node.node.devices:
                kind = device.kind
                number = known.get(kind)
                if number is None:
                    number = known[kind] = len(self.kinds)
                    self.kinds.append(device)
                numbers.append(number)
            self.kinds_on.append(tuple(numbers))

    def _read(self, node: NodeState) -> None:
        index, size, used, leaving, promised = node.index, node.size, node.used, node.leaving, node.promised
        later = self.later
        later.cpu[index] = size[0] - used[0] + leaving[0] - promised[0]
        later.memory[index] = size[1] - used[1] + leaving[1] - promised[1]
        later.pods[index] = size[2] - used[2] + leaving[2] - promised[2]
        devices = node.devices
        if devices:
            count = len(devices)
            mib = [each.memory_mib - each.mib + each.leaving_mib - each.promised_mib for each in devices]
            untouched = [left == each.memory_mib for left, each in zip(mib, devices, strict=True)]
            later.mib[index, :count] = mib
            later.compute[index, :count] = [
                100 - each.compute + each.leaving_compute - each.promised_compute for each in devices
            ]
            self.untouched[index, :count] = untouched
            self.free[index] = sum(untouched)
        differs = bool(leaving[2] or promised[2])
        self.differs[index] = differs
        if differs:
            self._read_now(node)

    def _read_now(self, node: NodeState) -> None:
        """What can be used at once, without standing in the way of what was promised."""
        index, now, later = node.index, self.now, self.later
        now.cpu[index] = min(node.size[0] - node.used[0], int(later.cpu[index]))
        now.memory[index] = min(node.size[1] - node.used[1], int(later.memory[index]))
        now.pods[index] = min(node.size[2] - node.used[2], int(later.pods[index]))
        for number, device in enumerate(node.devices):
            now.mib[index, number] = min(device.memory_mib - device.mib, int(later.mib[index, number]))
            now.compute[index, number] = min(100 - device.compute, int(later.compute[index, number]))
