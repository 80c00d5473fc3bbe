"""MIG: where on a device an instance goes, so that the largest profiles stay possible.

What is taken of a device is a number whose bits are its memory slices. A geometry is small (at most eight
slices), so how many instances of a profile fit is looked up in a table over all such numbers.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from corral.core.devices import Device
from corral.core.mig import MigGeometry, MigInstance


class MigAllocation(NamedTuple):
    """An instance on a device of a node, with the bits of its memory slices."""

    device: int
    profile: str
    start: int
    bits: int


class MigGrid:
    """The places of every profile on a device; those of existing instances only, where it is cut already."""

    def __init__(self, geometry: MigGeometry, instances: tuple[MigInstance, ...] | None) -> None:
        self.full = (1 << geometry.memory_slices) - 1
        self._geometry = geometry
        self._places: dict[str, tuple[tuple[int, int], ...]] = {}  # (start, bits) of each profile
        for profile in geometry.profiles:
            starts = profile.starts
            if instances is not None:
                starts = tuple(sorted(each.start for each in instances if each.profile == profile.name))
            row = (1 << profile.memory_slices) - 1
            self._places[profile.name] = tuple((start, row << start) for start in starts)
        largest = sorted(geometry.profiles, key=lambda each: (-each.memory_slices, -each.compute_slices))
        self._largest_first = [profile.name for profile in largest]
        self._starts: dict[tuple[str, int], int | None] = {}

    def offers(self, profile: str) -> bool:
        return bool(self._places.get(profile))

    def share(self, profile: str, device_memory_mib: int) -> tuple[int, int]:
        """MiB and compute % of an instance; what rounding leaves is nobody's."""
        found = self._geometry.profile(profile)
        assert found is not None
        return (
            device_memory_mib * found.memory_slices // self._geometry.memory_slices,
            100 * found.compute_slices // self._geometry.compute_slices,
        )

    def milli(self, profile: str) -> int:
        found = self._geometry.profile(profile)
        assert found is not None
        return self._geometry.milli(found)

    def bits(self, profile: str, start: int) -> int:
        return next(bits for begins, bits in self._places[profile] if begins == start)

    def start(self, profile: str, free: int) -> int | None:
        """Where an instance goes: where most of the largest profiles still fit beside it, then lowest."""
        key = profile, free
        if key not in self._starts:
            fitting = [(start, bits) for start, bits in self._places[profile] if bits & free == bits]
            best = min(fitting, key=lambda place: (self._lost(free & ~place[1]), place[0]), default=None)
            self._starts[key] = None if best is None else best[0]
        return self._starts[key]

    def count(self, profile: str, free: int) -> int:
        """How many instances of a profile fit into the free slices."""
        found = 0
        # All of one length: taking the first that fits leaves most for the rest.
        for _, bits in self._places.get(profile, ()):
            if bits & free == bits:
                free &= ~bits
                found += 1
        return found

    def table(self, profile: str) -> npt.NDArray[np.int64]:
        """`count` for every state of a device with eight slices or fewer."""
        return np.array([self.count(profile, free & self.full) for free in range(256)], np.int64)

    def _lost(self, free: int) -> tuple[int, ...]:
        return tuple(-self.count(profile, free) for profile in self._largest_first)


def mig_grid_of(device: Device) -> MigGrid | None:
    """The grid of a device that can be used by instance."""
    if device.geometry is None:
        return None
    return _grid(device.geometry, device.instances)


@cache
def _grid(geometry: MigGeometry, instances: tuple[MigInstance, ...] | None) -> MigGrid:
    return MigGrid(geometry, instances)
