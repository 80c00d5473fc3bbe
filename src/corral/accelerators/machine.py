"""This machine: processors, memory, accelerators. Read once at start and by `corral doctor`."""

import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corral.accelerators import nvidia
from corral.accelerators.device import Device

__all__ = ["Machine", "detect_machine"]


@dataclass(frozen=True)
class Machine:
    """Facts of one machine. `gpus_simulated`: it has no GPU, so Corral shows how one would behave.

    `cpu_count` is what this process may use, which in a container is less than what the hardware has.
    """

    host_name: str
    operating_system: str
    architecture: str
    cpu_count: int
    cpu_model: str
    memory_mib: int
    gpus: tuple[Device, ...]
    gpus_simulated: bool
    gpu_driver: str | None
    gpu_note: str | None

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready: the shape of `machine` in the ready report and in GET /system."""
        return {**asdict(self), "gpus": [asdict(gpu) for gpu in self.gpus]}


def detect_machine() -> Machine:
    """Reads the facts. Blocks for some milliseconds, so call it in a thread."""
    found = nvidia.discover()
    if isinstance(found, nvidia.NvidiaDevices):
        gpus, driver = found.devices, f"NVIDIA {found.driver_version}"
        note = "; ".join(found.faults) or None
    else:
        gpus, driver, note = (), None, found.reason
    return Machine(
        host_name=platform.node(),
        operating_system=_operating_system(),
        architecture=platform.machine(),
        cpu_count=len(os.sched_getaffinity(0)),
        cpu_model=_cpu_model(),
        memory_mib=_memory_mib(),
        gpus=gpus,
        gpus_simulated=not gpus,
        gpu_driver=driver,
        gpu_note=note,
    )


def _operating_system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{platform.system()} {platform.release()}"


def _cpu_model() -> str:
    # x86 says "model name"; most ARM kernels name no model, only the architecture is certain there.
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model"):
            return " ".join(value.split())
    return platform.machine()


def _memory_mib() -> int:
    """The machine's memory, or the limit of this process's cgroup where that is less."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limits = [total]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(path).read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            limits.append(int(text))
    return min(limits) // (1024 * 1024)
