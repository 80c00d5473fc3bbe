"""What the local engine can give to work on this machine."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from corral.engines.local.machine.bundled_tools import Tools
from corral.engines.local.machine.hardware import Hardware
from corral.engines.local.records.spec import Spec


@dataclass(frozen=True, slots=True)
class HostCapabilities:
    """What this engine can give. `refusal` says why it can give nothing, `notes` what every run must know."""

    hardware: Hardware
    runtime: Path
    mode: str
    groups: Mapping[str, object]
    tools: Tools
    allowed: tuple[str, ...] = ()
    disk_look_seconds: float = 10
    notes: tuple[str, ...] = ()
    refusal: str | None = None


def allocated_mib_of(specs: Iterable[Spec], hardware: Hardware) -> dict[str, int]:
    """MiB of each device that these attempts hold."""
    allocated: dict[str, int] = {}
    for spec in specs:
        for replica in spec.replicas:
            for name, mib in replica.held:
                device = hardware.devices.get(name)
                whole = 0 if device is None else device.memory_mib
                allocated[name] = allocated.get(name, 0) + (whole if mib is None else mib)
    return allocated
