"""Devices of a node, and what a replica holds on them."""

from dataclasses import dataclass
from enum import StrEnum

from corral.core.mig import MigGeometry, MigInstance
from corral.core.resources import WHOLE_DEVICE_MILLI

DeviceKind = tuple[str, int, "DeviceMode", tuple[MigGeometry, ...], tuple[tuple[MigInstance, ...], ...]]


class DeviceMode(StrEnum):
    """What a device may be used for."""

    ANY = "any"
    WHOLE = "whole"
    SHARED = "shared"
    MIG = "mig"


@dataclass(frozen=True, slots=True)
class Device:
    """With a `geometry` it can be cut into MIG instances: in mode `mig` always, in mode `any` while idle.

    In mode `mig`, `instances` are those that it is cut into; without them new ones are made where there is
    room. In mode `any`, a device with a geometry serves wholes and instances, and no other slices.
    """

    id: str
    memory_mib: int
    model: str = ""
    mode: DeviceMode = DeviceMode.ANY
    geometry: MigGeometry | None = None
    instances: tuple[MigInstance, ...] | None = None

    @property
    def kind(self) -> DeviceKind:
        """Equal for devices that every request finds alike."""
        if self.geometry is None:
            return self.model, self.memory_mib, self.mode, (), ()
        return self.model, self.memory_mib, self.mode, (self.geometry,), (self.instances or (),)


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """A whole device (no `memory_mib`), a slice of one, or the MIG instance of a profile at its start."""

    device: str
    memory_mib: int | None = None
    compute_percent: int = 0
    profile: str | None = None
    start: int | None = None


def slice_milli(memory_mib: int, compute_percent: int, device_memory_mib: int) -> int:
    """What a slice is charged as: the larger of its memory share and its compute share, rounded up."""
    by_memory = -(-memory_mib * WHOLE_DEVICE_MILLI // device_memory_mib)
    return max(by_memory, compute_percent * WHOLE_DEVICE_MILLI // 100)
