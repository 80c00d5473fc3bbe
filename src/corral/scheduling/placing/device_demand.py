"""Device demand: what a request makes of every condition that a device can be in.

The key of a condition is one number, smaller is better: the fragmentation it causes, then the milli-GPU left,
so that a slice goes to the fullest device that it fits.
"""

from collections.abc import Sequence

import numpy as np

from corral.core.devices import Device
from corral.scheduling.placing.free_capacity import FreeCapacity, Integers
from corral.scheduling.state.mig_grid import mig_grid_of
from corral.scheduling.state.request_classes import RequestClass

LEVEL_BITS = 11
LEVEL_MASK = (1 << LEVEL_BITS) - 1
NO_FIT = 1 << 50
TOO_MUCH = 1 << 60


class DeviceDemand:
    """The keys of all conditions of a stock; `cuts` are the losses by kind and level, if there is a mix."""

    def __init__(
        self, free_capacity: FreeCapacity, request: RequestClass, cuts: Sequence[Sequence[int]] | None
    ) -> None:
        self._free_capacity = free_capacity
        self._cuts = cuts
        self.takes = [request.takes_device(device) for device in free_capacity.kinds]
        demands = [
            request.share_of(device) if takes else (TOO_MUCH, 0)
            for takes, device in zip(self.takes, free_capacity.kinds, strict=True)
        ]
        # By kind, and last for no device.
        self.mib: Integers = np.array([mib for mib, _ in demands] + [TOO_MUCH], np.int64)
        self.compute: Integers = np.array([compute for _, compute in demands] + [0], np.int64)
        # [kind, free slices]: how many instances of the profile fit.
        self.mig_counts = (
            _carvable(free_capacity.kinds, request.profile) if request.profile is not None else None
        )
        # By kind: MiB, compute % and milli-GPU that each device gives to it.
        self.shares = [
            (*share, request.charge(device.memory_mib) if takes else 0)
            for takes, share, device in zip(self.takes, demands, free_capacity.kinds, strict=True)
        ]
        self._demands = demands
        self.keys: list[int] = [NO_FIT]
        self._array: Integers = np.array(self.keys, np.int64)

    def current(self) -> list[int]:
        """The keys by the number of the condition, with those that are new."""
        keys, conditions = self.keys, self._free_capacity.conditions
        if len(keys) < len(conditions):
            keys.extend(self._key(number) for number in range(len(keys), len(conditions)))
        return keys

    def array(self) -> Integers:
        """The same as an array."""
        keys = self.current()
        if len(self._array) < len(keys):
            self._array = np.array(keys, np.int64)
        return self._array

    def _key(self, number: int) -> int:
        kind, mib, compute, slices = self._free_capacity.conditions[number]
        asked_mib, asked_compute = self._demands[kind]
        if mib < asked_mib or compute < asked_compute:
            return NO_FIT
        if self.mig_counts is not None and not self.mig_counts[kind, slices]:
            return NO_FIT
        level = self._free_capacity.levels[number]
        return level if self._cuts is None else (self._cuts[kind][level] << LEVEL_BITS) + level


def _carvable(kinds: Sequence[Device], profile: str) -> Integers:
    """One row for each kind of device, and one for no device."""
    none = np.zeros(256, np.int64)
    grids = [mig_grid_of(device) for device in kinds]
    return np.stack([none if grid is None else grid.table(profile) for grid in grids] + [none])
