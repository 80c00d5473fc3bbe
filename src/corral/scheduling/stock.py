"""Stock: what is left on every node, as arrays, read from the board where it changed.

Placement scores many nodes at once; the board's own states stay the truth. What is left is counted for the
time when everything that is leaving has left; only nodes where that differs from now are also counted now.
"""

import numpy as np
import numpy.typing as npt

from corral.scheduling.board import Board, DeviceState, NodeState
from corral.scheduling.requests import RequestClass

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Left:
    """Left of each node's CPU, memory and pods, and of its devices' MiB and compute (-1: no device).

    `slices` are the bits of free MIG slices, kept where some device has any.
    """

    __slots__ = ("compute", "cpu", "memory", "mib", "pods", "slices")

    def __init__(self, nodes: int, devices: int) -> None:
        self.cpu: Integers = np.zeros(nodes, np.int64)
        self.memory: Integers = np.zeros(nodes, np.int64)
        self.pods: Integers = np.zeros(nodes, np.int64)
        self.mib: Integers = np.full((nodes, devices), -1, np.int64)
        self.compute: Integers = np.full((nodes, devices), -1, np.int64)
        self.slices: Integers = np.zeros((nodes, devices), np.int64)

    def copy(self) -> "Left":
        copied = Left(*self.mib.shape)
        for name in self.__slots__:
            getattr(copied, name)[...] = getattr(self, name)
        return copied


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
        self._is_cut = any(device.grid is not None for node in nodes for device in node.devices)
        self.changes = 0
        self.changed_at: Integers = np.zeros(len(nodes), np.int64)
        # Devices that are alike for every request are one kind; the number after the last means no device.
        known = {device.kind: device for node in nodes for device in node.node.devices}
        self.kinds = [known[kind] for kind in sorted(known)]
        numbers = {kind: number for number, kind in enumerate(sorted(known))}
        self.kinds_on = [tuple(numbers[device.kind] for device in node.node.devices) for node in nodes]
        self.sizes_on = [tuple(device.memory_mib for device in node.devices) for node in nodes]
        # What the arrays hold of each node, for those who read one node at a time.
        self.rows: list[tuple[int, int, int, list[int], list[int]]] = [(0, 0, 0, [], [])] * len(nodes)
        self.kind: Integers = np.full((len(nodes), width), len(self.kinds), np.int64)
        for index, kinds in enumerate(self.kinds_on):
            self.kind[index, : len(kinds)] = kinds
        for node in nodes:
            self._read(node)
        board.dirty.clear()

    def refresh(self) -> list[int]:
        """Reads what changed since the last time; returns the numbers of those nodes."""
        dirty = self._board.dirty
        if not dirty:
            return []
        changed = sorted(dirty)
        dirty.clear()
        self.changes += 1
        for index in changed:
            self._read(self._board.nodes[index])
            self.changed_at[index] = self.changes
        return changed

    def nothing_held(self) -> Left:
        """What would be left if every node were empty."""
        left = Left(*self.later.mib.shape)
        for node in self._board.nodes:
            left.cpu[node.index], left.memory[node.index], left.pods[node.index] = node.size
            count = len(node.devices)
            left.mib[node.index, :count] = [device.memory_mib for device in node.devices]
            left.compute[node.index, :count] = 100
            left.slices[node.index, :count] = [_all_slices(device) for device in node.devices]
        return left

    def allowed_on(self, request: RequestClass) -> Flags | None:
        """Where labels, taints and named nodes allow the request; None means everywhere."""
        if not request.is_choosy and not any(node.node.taints for node in self._board.nodes):
            return None
        return np.array([request.allowed_on(node.node) for node in self._board.nodes], np.bool_)

    def missing_on(self, request: RequestClass) -> Integers | None:
        """How many of the things that the request wants each node lacks; None if it wants none."""
        if not request.wants_things:
            return None
        return np.array([request.missing_on(node.node) for node in self._board.nodes], np.int64)

    def _read(self, node: NodeState) -> None:
        index, size, used, leaving, promised = node.index, node.size, node.used, node.leaving, node.promised
        later = self.later
        later.cpu[index] = cpu = size[0] - used[0] + leaving[0] - promised[0]
        later.memory[index] = memory = size[1] - used[1] + leaving[1] - promised[1]
        later.pods[index] = pods = size[2] - used[2] + leaving[2] - promised[2]
        devices = node.devices
        mib = [each.memory_mib - each.mib + each.leaving_mib - each.promised_mib for each in devices]
        compute = [100 - each.compute + each.leaving_compute - each.promised_compute for each in devices]
        if devices:
            untouched = [left == size for left, size in zip(mib, self.sizes_on[index], strict=True)]
            later.mib[index, : len(mib)] = mib
            later.compute[index, : len(mib)] = compute
            self.untouched[index, : len(mib)] = untouched
            self.free[index] = sum(untouched)
            if self._is_cut:
                _read_slices(self.later, node, later=True)
        self.rows[index] = cpu, memory, pods, mib, compute
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
        if self._is_cut:
            _read_slices(now, node, later=False)


def _all_slices(device: DeviceState) -> int:
    return 0 if device.grid is None else device.grid.full


def _read_slices(left: Left, node: NodeState, *, later: bool) -> None:
    for number, device in enumerate(node.devices):
        if device.grid is not None:
            left.slices[node.index, number] = device.free_slices(later=later)
