"""What is known about one accelerator: before anything runs on it, and while it does."""

from dataclasses import dataclass

__all__ = ["Device", "DeviceSample"]


@dataclass(frozen=True)
class Device:
    """`index` is how the driver counts it, `bus` where it is plugged in."""

    vendor: str
    model: str
    memory_mib: int
    uuid: str
    index: int = 0
    bus: str = ""


@dataclass(frozen=True)
class DeviceSample:
    """What a device says of itself now; None where it does not say."""

    index: int
    busy_percent: int | None
    memory_used_mib: int | None
    temperature_celsius: int | None
    power_milliwatts: int | None
