"""What is known about one accelerator before anything runs on it."""

from dataclasses import dataclass

__all__ = ["Device"]


@dataclass(frozen=True)
class Device:
    vendor: str
    model: str
    memory_mib: int
    uuid: str
