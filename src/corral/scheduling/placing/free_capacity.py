"""Free capacity of every node, as arrays, refreshed where the board changed.

Placement scores many nodes at once; the board stays the truth. Free means free when everything that is
leaving has left; only nodes where that differs from now are also counted now. Devices of one kind with the
same free capacity are in the same condition: what a request makes of a condition is computed once and looked
up.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.scheduling.state.board import Board
from corral.scheduling.state.mig_grid import mig_grid_of
from corral.scheduling.state.node_state import NodeState
from corral.scheduling.state.request_classes import RequestClass

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


_MOST_CHANGES = 1 << 14  # that are remembered


class Condition(NamedTuple):
    """What is left of a device: its kind, MiB, compute %, and the bits of its free MIG slices."""

    kind: int
    mib: int
    compute: int
    slices: int


class FreeArrays:
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

    def take(self, among: Integers) -> "FreeArrays":
        """Of these nodes alone."""
        part = FreeArrays(0, 0)
        for name in self.__slots__:
            setattr(part, name, getattr(self, name)[among])
        return part

    def copy(self) -> "FreeArrays":
        copied = FreeArrays(*self.mib.shape)
        for name in self.__slots__:
            getattr(copied, name)[...] = getattr(self, name)
        return copied


class NodeRow(NamedTuple):
    """What is left of one node: CPU, memory, untouched devices, and the conditions of all its devices.

    The same that the arrays say, for those who read one node at a time. A node without pods left has less
    than no CPU.
    """

    cpu: int
    memory: int
    free: int
    conditions: list[int]


class FreeCapacity:
    """The arrays of one board; `refresh` brings them up to date."""

    def __init__(self, board: Board) -> None:
        self._board = board
        nodes = board.nodes
        count, width = len(nodes), max((len(node.devices) for node in nodes), default=0)
        self.totals: Floats = np.zeros((count, 2))  # CPU and memory of each node, whole numbers
        self.totals_now: Floats = np.zeros((count, 2))  # only where it `differs`
        self.differs: Flags = np.zeros(count, np.bool_)
        self.free: Integers = np.zeros(count, np.int64)  # untouched devices of each node
        # The numbers of the conditions of each node's devices; 0 is that of no device.
        self.condition: Integers = np.zeros((count, width), np.int64)
        self.condition_now: Integers = np.zeros((count, width), np.int64)
        self.changes = 0
        self._changed: list[int] = []  # the nodes that were read again, in the order of that
        self._forgotten = 0  # how many were there before these
        # Devices that are alike for every request are one kind; the number after the last means no device.
        device_kinds = board.kinds()
        self.kinds = [device_kinds[kind] for kind in sorted(device_kinds)]
        numbers = {kind: number for number, kind in enumerate(sorted(device_kinds))}
        shapes = [tuple(numbers[kind] for kind in kinds) for kinds in board.shapes]
        self.kinds_on = [shapes[node.shape] for node in nodes]
        none = len(self.kinds)
        rows = [(*kinds, *[none] * (width - len(kinds))) for kinds in self.kinds_on]
        self.kind: Integers = np.array(rows, np.int64).reshape(count, width)
        self.conditions = [Condition(len(self.kinds), -1, -1, 0)]
        self.levels = [0]  # milli left in each condition
        self._untouched = [False]  # by the number of the condition
        self._numbers: dict[Condition | tuple[int, int, int, int], int] = {}
        self.rows = [NodeRow(0, 0, 0, [0] * len(node.devices)) for node in nodes]
        self.rows_now: dict[int, NodeRow] = {}  # of the nodes where it `differs`
        self._later, self._now = FreeArrays(count, width), FreeArrays(count, width)
        self._spread_at = -1
        for node in nodes:
            self._read(node, range(len(node.devices)))
        board.dirty.clear()

    def refresh(self) -> list[int]:
        """Reads what changed since the last time; returns the numbers of those nodes."""
        dirty = self._board.dirty
        if not dirty:
            return []
        changed = sorted(dirty)
        self.changes += 1
        for index in changed:
            self._read(self._board.nodes[index], dirty[index])
        dirty.clear()
        if len(self._changed) > _MOST_CHANGES:
            self._forgotten += len(self._changed)
            self._changed.clear()
        self._changed += changed
        return changed

    @property
    def position(self) -> int:
        """Where the list of changes ends now, for `changed_since`."""
        return self._forgotten + len(self._changed)

    def changed_since(self, position: int) -> set[int] | None:
        """The nodes that were read again since then; None if that is too long ago."""
        start = position - self._forgotten
        return None if start < 0 else set(self._changed[start:])

    @property
    def later(self) -> FreeArrays:
        """All that is left when what is leaving has left."""
        self._spread_devices()
        return self._later

    @property
    def now(self) -> FreeArrays:
        """What can be used at once; only where it `differs`."""
        self._spread_devices()
        return self._now

    def nothing_held(self) -> FreeArrays:
        """What would be left if every node were empty."""
        left = FreeArrays(*self.condition.shape)
        sizes = np.array([node.size for node in self._board.nodes], np.int64).reshape(-1, 3)
        left.cpu, left.memory, left.pods = sizes.T.copy()
        grids = [mig_grid_of(kind) for kind in self.kinds]
        left.mib = np.array([*(kind.memory_mib for kind in self.kinds), -1]).take(self.kind)
        left.compute = np.array([*(100 for _ in self.kinds), -1]).take(self.kind)
        left.slices = np.array([*(0 if grid is None else grid.full for grid in grids), 0]).take(self.kind)
        return left

    def allowed_on(self, request: RequestClass) -> Flags | None:
        """Where labels, taints and named nodes allow the request; None means everywhere."""
        if not request.has_selector and not self._board.tainted:
            return None
        return np.array([request.allowed_on(node.node) for node in self._board.nodes], np.bool_)

    def without_taint(self, taint: str) -> Flags:
        """Which nodes do not have it."""
        return np.array([taint not in node.node.taints for node in self._board.nodes], np.bool_)

    def missing_on(self, request: RequestClass) -> Integers | None:
        """How many of the things that the request wants each node lacks; None if it wants none."""
        if not request.prefers_local_files:
            return None
        return np.array([request.missing_on(node.node) for node in self._board.nodes], np.int64)

    def _read(self, node: NodeState, devices: Iterable[int]) -> None:
        """Reads a node and those of its devices that changed."""
        index, size, used, leaving, promised = node.index, node.size, node.used, node.leaving, node.promised
        cpu = size[0] - used[0] + leaving[0] - promised[0]
        memory = size[1] - used[1] + leaving[1] - promised[1]
        pods = size[2] - used[2] + leaving[2] - promised[2]
        left = self._later
        left.cpu[index], left.memory[index], left.pods[index] = cpu, memory, pods
        if pods <= 0:
            cpu = -1
        self.totals[index, 0] = cpu
        self.totals[index, 1] = memory
        _, _, free, conditions = self.rows[index]
        kinds, numbers, untouched, states = self.kinds_on[index], self._numbers, self._untouched, node.devices
        for number in devices:
            each = states[number]
            mib = each.memory_mib - each.mib + each.leaving_mib - each.promised_mib
            compute = 100 - each.compute + each.leaving_compute - each.promised_compute
            slices = each.free_slices(later=True) if each.grid is not None else 0
            condition = kinds[number], mib, compute, slices
            after = numbers.get(condition) or self._number(condition)
            before = conditions[number]
            if after != before:
                free += untouched[after] - untouched[before]
                conditions[number] = self.condition[index, number] = after
        self.free[index] = free
        self.rows[index] = NodeRow(cpu, memory, free, conditions)
        if leaving[2] or promised[2]:
            self._read_now(node, devices)
        elif index in self.rows_now:
            self.differs[index] = False
            del self.rows_now[index]

    def _read_now(self, node: NodeState, devices: Iterable[int]) -> None:
        """What can be used at once; of devices what is idle, promised or not."""
        index, now, later = node.index, self._now, self._later
        cpu = now.cpu[index] = min(node.size[0] - node.used[0], int(later.cpu[index]))
        memory = now.memory[index] = min(node.size[1] - node.used[1], int(later.memory[index]))
        pods = now.pods[index] = min(node.size[2] - node.used[2], int(later.pods[index]))
        if pods <= 0:
            cpu = -1
        self.totals_now[index] = cpu, memory
        if index not in self.rows_now:
            self.differs[index] = True
            self.rows_now[index] = NodeRow(0, 0, 0, [0] * len(node.devices))
            devices = range(len(node.devices))
        conditions = self.rows_now[index].conditions
        for number in devices:
            each = node.devices[number]
            slices = each.free_slices(later=False) if each.grid is not None else 0
            condition = self.kinds_on[index][number], each.memory_mib - each.mib, 100 - each.compute, slices
            after = self._numbers.get(condition) or self._number(condition)
            conditions[number] = self.condition_now[index, number] = after
        self.rows_now[index] = NodeRow(cpu, memory, 0, conditions)

    def _number(self, condition: tuple[int, int, int, int]) -> int:
        """Notes a condition that is seen for the first time."""
        number = self._numbers[condition] = len(self.conditions)
        kind, mib, compute, _ = condition
        size = self.kinds[kind].memory_mib
        share = WHOLE_DEVICE_MILLI if mib == size else min(WHOLE_DEVICE_MILLI * mib // size, 10 * compute)
        self.conditions.append(Condition(*condition))
        self._untouched.append(mib == size)
        self.levels.append(max(share, 0))
        return number

    def _spread_devices(self) -> None:
        """Sets the arrays of what is left of each device, which only some questions need."""
        if self._spread_at == self.changes:
            return
        self._spread_at = self.changes
        _, mib, compute, slices = np.array(self.conditions, np.int64).T
        for left, condition in ((self._later, self.condition), (self._now, self.condition_now)):
            left.mib = mib.take(condition)
            left.compute = compute.take(condition)
            left.slices = slices.take(condition)
        # What was promised is not to be had.
        np.minimum(self._now.mib, self._later.mib, out=self._now.mib)
        np.minimum(self._now.compute, self._later.compute, out=self._now.compute)
