"""What is sampled of what. Values are integers, with the unit in the metric's name."""

from enum import StrEnum
from typing import Literal, NamedTuple

SubjectKind = Literal["node", "device", "workload", "replica"]
SUBJECT_KINDS: tuple[SubjectKind, ...] = ("node", "device", "workload", "replica")


class Metric(StrEnum):
    """Every metric there is: the number of series of a subject is bounded by this list."""

    CPU_MILLI = "cpu_milli"
    MEMORY_BYTES = "memory_bytes"
    DISK_BYTES = "disk_bytes"
    READ_BYTES_PER_SECOND = "read_bytes_per_second"
    WRITTEN_BYTES_PER_SECOND = "written_bytes_per_second"
    RECEIVED_BYTES_PER_SECOND = "received_bytes_per_second"
    SENT_BYTES_PER_SECOND = "sent_bytes_per_second"
    GPU_BUSY_PERCENT = "gpu_busy_percent"
    GPU_MEMORY_MIB = "gpu_memory_mib"
    TEMPERATURE_CELSIUS = "temperature_celsius"
    POWER_MILLIWATTS = "power_milliwatts"


class SeriesKey(NamedTuple):
    """Subjects are a node's id, `<node id>/<device id>`, a workload's id, or the name of a replica's run."""

    kind: SubjectKind
    subject: str
    metric: Metric


class Point(NamedTuple):
    """One value of one series; `at` is in whole seconds since 1970."""

    key: SeriesKey
    at: int
    value: int
