"""What this machine has: the inventory of the local engine."""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from corral.accelerators import simulated
from corral.accelerators.device import Device as Accelerator
from corral.accelerators.machine import Machine, detect_machine
from corral.core.devices import Device
from corral.core.nodes import Node
from corral.engines.interface import DeviceFacts, NodeFacts, NumaFacts

# How many replicas fit on one machine besides what they need; supervisors and namespaces cost little.
MOST_REPLICAS = 1000
_NUMA = Path("/sys/devices/system/node")
_SHARED_FILES = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset")


@dataclass(frozen=True, slots=True)
class LocalDevice:
    """A device as work gets it: how it is named to CUDA, and its files."""

    id: str
    memory_mib: int
    model: str
    facts: DeviceFacts
    visible_as: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hardware:
    node: Node
    facts: NodeFacts
    devices: dict[str, LocalDevice]


def find_hardware(
    name: str,
    data: Path,
    simulated_gpus: str | None,
    *,
    isolation: str,
    disk_limits: str,
    notes: tuple[str, ...],
) -> Hardware:
    """Looks at everything. Blocks for some milliseconds."""
    machine = detect_machine()
    if simulated_gpus is None:
        devices = [_real(gpu) for gpu in machine.gpus]
    else:
        devices = [_simulated(number, gpu) for number, gpu in enumerate(simulated.parse(simulated_gpus))]
    hardware = _describe(name, machine, devices, data)
    facts = replace(hardware.facts, isolation=isolation, disk_limits=disk_limits, notes=notes)
    return replace(hardware, facts=facts)


def _describe(name: str, machine: Machine, devices: list[LocalDevice], data: Path) -> Hardware:
    node = Node(
        name,
        machine.cpu_count * 1000,
        machine.memory_mib,
        pods=MOST_REPLICAS,
        devices=tuple(Device(device.id, device.memory_mib, device.model) for device in devices),
    )
    disk = os.statvfs(data)
    facts = NodeFacts(
        operating_system=machine.operating_system,
        architecture=machine.architecture,
        cpu_model=machine.cpu_model,
        disk_mib=disk.f_blocks * disk.f_frsize // 2**20,
        numa=find_numa(_NUMA),
        devices={device.id: device.facts for device in devices},
    )
    return Hardware(node, facts, {device.id: device for device in devices})


def _real(gpu: Accelerator) -> LocalDevice:
    # By its uuid: the number changes with the set of devices that a process can see.
    return LocalDevice(
        f"gpu{gpu.index}",
        gpu.memory_mib,
        gpu.model,
        DeviceFacts(gpu.vendor, gpu.uuid, numa=_numa_of(gpu.bus)),
        gpu.uuid,
        (f"/dev/nvidia{gpu.index}", *(path for path in _SHARED_FILES if Path(path).exists())),
    )


def _simulated(number: int, gpu: Accelerator) -> LocalDevice:
    facts = DeviceFacts(gpu.vendor, gpu.uuid, simulated=True)
    return LocalDevice(f"gpu{number}", gpu.memory_mib, gpu.model, facts, str(number), ())


def find_numa(root: Path) -> tuple[NumaFacts, ...]:
    """None where the kernel knows of none; a machine with one group is a machine without."""
    groups = []
    for path in sorted(root.glob("node[0-9]*"), key=lambda path: int(path.name[4:])):
        memory = re.search(r"MemTotal:\s+(\d+) kB", (path / "meminfo").read_text())
        cpus = (path / "cpulist").read_text().strip()
        groups.append(NumaFacts(int(path.name[4:]), cpus, int(memory[1]) // 1024 if memory else 0))
    return tuple(groups) if len(groups) > 1 else ()


def _numa_of(bus: str) -> int | None:
    try:
        number = int(Path("/sys/bus/pci/devices", bus.lower()[-12:], "numa_node").read_text())
    except (OSError, ValueError):
        return None
    return None if number < 0 else number
