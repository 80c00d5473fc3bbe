"""Devices of a node, and what a replica holds on them."""

from dataclasses import dataclass
from enum import StrEnum

from corral.core.resources import WHOLE_DEVICE_MILLI


class DeviceMode(StrEnum):
    """What a device may be used for."""

    ANY = "any"
    WHOLE = "whole"
    SHARED = "shared"


@dataclass(frozen=True, slots=True)
class Device:
    id: str
    memory_mib: int
    model: str = ""
    mode: DeviceMode = DeviceMode.ANY

    @property
    def kind(self) -> tuple[str, int, DeviceMode]:
        """Equal for devices that every request finds alike."""
        return self.model, self.memory_mib, self.mode


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """A whole device (no `memory_mib`), or a slice of one."""

    device: str
    memory_mib: int | None = None
    compute_percent: int = 0


def slice_milli(memory_mib: int, compute_percent: int, device_memory_mib: int) -> int:
    """What a slice is charged as: the larger of its memory share and its compute share, rounded up."""
    by_memory = -(-memory_mib * WHOLE_DEVICE_MILLI // device_memory_mib)
    return max(by_memory, compute_percent * WHOLE_DEVICE_MILLI // 100)
