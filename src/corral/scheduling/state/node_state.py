"""Nodes and devices while a cycle runs, counted three ways: used, leaving and promised."""

from typing import NamedTuple

from corral.core.nodes import Node
from corral.scheduling.state.device_links import links_of
from corral.scheduling.state.mig_grid import MigGrid, mig_grid_of


class DeviceState:
    __slots__ = (
        "compute",
        "grid",
        "index",
        "leaving_compute",
        "leaving_mib",
        "leaving_slices",
        "memory_mib",
        "mib",
        "promised_compute",
        "promised_mib",
        "promised_slices",
        "slices",
    )

    def __init__(self, index: int, memory_mib: int, grid: MigGrid | None = None) -> None:
        self.index = index
        self.memory_mib = memory_mib
        self.grid = grid
        self.slices = self.leaving_slices = self.promised_slices = 0  # bits of MIG memory slices
        self.mib = self.compute = 0
        self.leaving_mib = self.leaving_compute = 0
        self.promised_mib = self.promised_compute = 0

    def fits_later(self, mib: int, compute: int) -> bool:
        later_mib = self.mib - self.leaving_mib + self.promised_mib
        return (
            later_mib + mib <= self.memory_mib
            and self.compute - self.leaving_compute + self.promised_compute + compute <= 100
        )

    def fits_now(self, mib: int, compute: int) -> bool:
        """Now, and without standing in the way of what was promised."""
        return (
            self.mib + mib <= self.memory_mib
            and self.compute + compute <= 100
            and self.fits_later(mib, compute)
        )

    def free_slices(self, *, later: bool) -> int:
        """The bits of the MIG memory slices that no instance has, nor is promised."""
        assert self.grid is not None
        used = self.slices & ~self.leaving_slices if later else self.slices
        return self.grid.full & ~(used | self.promised_slices)


class NodeState:
    """Totals of a node: [cpu, memory, pods] used, leaving and promised, and its devices."""

    __slots__ = ("devices", "index", "kinds", "leaving", "links", "node", "promised", "shape", "size", "used")

    def __init__(self, node: Node, index: int) -> None:
        self.node = node
        self.index = index
        self.size = (node.cpu_milli, node.memory_mib, node.pods)
        self.links = links_of(node)
        self.kinds = tuple([device.kind for device in node.devices])
        self.shape = 0  # a number that nodes share which have devices of the same kinds
        self.used = [0, 0, 0]
        self.leaving = [0, 0, 0]
        self.promised = [0, 0, 0]
        self.devices = [
            DeviceState(number, device.memory_mib, mig_grid_of(device))
            for number, device in enumerate(node.devices)
        ]


class Shield(NamedTuple):
    """What is kept of a node: (CPU, memory, pods), and (device number, MiB, compute %) of its devices.

    `slices` are (device number, bits) of MIG memory slices.
    """

    node: int
    totals: tuple[int, int, int]
    devices: tuple[tuple[int, int, int], ...]
    slices: tuple[tuple[int, int], ...] = ()
