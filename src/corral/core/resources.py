"""Quantities: whole numbers of milli-GPU, millicores and MiB, in this order everywhere."""

from enum import StrEnum
from typing import NamedTuple, Self

WHOLE_DEVICE_MILLI = 1000
UNLIMITED = -1


class Resource(StrEnum):
    GPU_MILLI = "gpu_milli"
    CPU_MILLI = "cpu_milli"
    MEMORY_MIB = "memory_mib"


class Amount(NamedTuple):
    """What a queue is charged for. `plus` and `minus` work per resource; `+` would join the tuples."""

    gpu_milli: int = 0
    cpu_milli: int = 0
    memory_mib: int = 0

    def plus(self, other: "Amount") -> Self:
        return type(self)(self[0] + other[0], self[1] + other[1], self[2] + other[2])

    def minus(self, other: "Amount") -> Self:
        return type(self)(self[0] - other[0], self[1] - other[1], self[2] - other[2])


NOTHING = Amount()
RESOURCES = tuple(Resource)
