"""Counters of the machine, read where the kernel keeps them. It blocks a little: call it in a thread."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corral.accelerators import nvidia
from corral.core.failures import in_words
from corral.engines.local.attempts.run_states import counters_from
from corral.engines.local.context import EngineContext
from corral.engines.local.kernel.cgroups import Group
from corral.engines.local.machine.hardware import Hardware
from corral.engines.local.records import tally
from corral.engines.local.records.spec import NO_SANDBOX, Spec
from corral.engines.reports import Counters, DeviceUsage, NodeUse, Usage

Held = tuple[tuple[str, int | None], ...]

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_SECTOR_BYTES = 512
_IDLE_FIELDS = (3, 4)  # idle, iowait


@dataclass(frozen=True, slots=True)
class Live:
    """Where a run is counted: its group, and with the first replica what the attempt shares."""

    group: Group
    spec: Spec
    index: int
    directory: Path

    def counters(self) -> dict[str, int]:
        own = self.group.counters()
        shares = self.index == 0 and self.spec.mode != NO_SANDBOX
        return own | (tally.counters(self.directory) if shares else {})


def everything(
    context: EngineContext,
    ended: Mapping[str, Counters],
    live: Mapping[str, Live],
    allocated_mib: Mapping[str, int],
) -> tuple[Usage, dict[str, str | None]]:
    """One sample of runs, the machine and its devices; and how it went with each attempt."""
    hardware = context.host.hardware
    devices = device_use(hardware, allocated_mib)
    by_name = {device.device: device for device in devices}
    counters = dict(ended)
    went: dict[str, str | None] = {}
    for run, one in live.items():
        try:
            of_devices = _use_of_held(one.spec.replicas[one.index].held, by_name)
            counters[run] = replace(counters_from(one.counters()), **of_devices)
            went.setdefault(one.spec.attempt, None)
        except (OSError, ValueError, KeyError, TypeError) as error:
            went[one.spec.attempt] = in_words(error, with_names=True)
    nodes = {hardware.node.name: node_use(context.settings.data)}
    return Usage(time.time_ns() // 1000, counters, nodes, devices), went


def _use_of_held(slices: Held, devices: Mapping[str, DeviceUsage]) -> dict[str, int | None]:
    """What a run uses of its devices: all of one that it has alone; of a slice, what it was given.

    Nobody tells the users of a shared device apart, so nothing is known of how busy a slice is.
    """
    if not slices or not all(name in devices for name, _ in slices):
        return {}
    memory = [devices[name].memory_used_mib if mib is None else mib for name, mib in slices]
    alone = {name for name, mib in slices if mib is None or devices[name].simulated}
    busy = [devices[name].busy_percent if name in alone else None for name, _ in slices]
    return {"gpu_memory_mib": _sum(memory), "gpu_busy_percent": _sum(busy)}


def _sum(values: Sequence[int | None]) -> int | None:
    numbers = [value for value in values if value is not None]
    return sum(numbers) if len(numbers) == len(values) else None


def node_use(data: Path) -> NodeUse:
    busy, total = _processors(Path("/proc/stat").read_text())
    memory = _fields(Path("/proc/meminfo").read_text())
    disk = os.statvfs(data)
    read, written = _disks(Path("/proc/diskstats").read_text())
    received, sent = _network(Path("/proc/net/dev").read_text())
    return NodeUse(
        cpu_busy_microseconds=busy,
        cpu_total_microseconds=total,
        memory_used_bytes=(memory["MemTotal"] - memory["MemAvailable"]) * 1024,
        memory_total_bytes=memory["MemTotal"] * 1024,
        disk_used_bytes=(disk.f_blocks - disk.f_bfree) * disk.f_frsize,
        disk_total_bytes=disk.f_blocks * disk.f_frsize,
        read_bytes=read,
        written_bytes=written,
        received_bytes=received,
        sent_bytes=sent,
    )


def device_use(hardware: Hardware, allocated_mib: Mapping[str, int]) -> tuple[DeviceUsage, ...]:
    """Of every device. A simulated one is never busy, and holds what was given away of it."""
    real = any(not device.facts.simulated for device in hardware.devices.values())
    samples = {f"gpu{sample.index}": sample for sample in (nvidia.sample() if real else ())}
    reported = []
    for name, device in hardware.devices.items():
        usage = DeviceUsage(
            hardware.node.name,
            name,
            simulated=device.facts.simulated,
            busy_percent=0 if device.facts.simulated else None,
            memory_used_mib=allocated_mib.get(name, 0) if device.facts.simulated else None,
            memory_total_mib=device.memory_mib,
        )
        if (sample := samples.get(name)) is not None:
            usage = replace(
                usage,
                busy_percent=sample.busy_percent,
                memory_used_mib=sample.memory_used_mib,
                temperature_celsius=sample.temperature_celsius,
                power_milliwatts=sample.power_milliwatts,
            )
        reported.append(usage)
    return tuple(reported)


def _processors(text: str) -> tuple[int, int]:
    """(busy, total) in microseconds; guests are counted in user time already."""
    ticks = [int(word) for word in text.splitlines()[0].split()[1:9]]
    idle = sum(ticks[field] for field in _IDLE_FIELDS)
    scale = 1_000_000 // _TICKS_PER_SECOND
    return (sum(ticks) - idle) * scale, sum(ticks) * scale


def _fields(text: str) -> dict[str, int]:
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        found[name] = int(value.split()[0])
    return found


def _disks(text: str) -> tuple[int, int]:
    """Bytes (read, written) of whole disks: a partition is part of one, a mapped device stands on one."""
    read = written = 0
    for line in text.splitlines():
        words = line.split()
        name = words[2].replace("/", "!")
        if name.startswith(("loop", "ram", "zram", "dm-", "md")) or not Path("/sys/block", name).exists():
            continue
        read += int(words[5]) * _SECTOR_BYTES
        written += int(words[9]) * _SECTOR_BYTES
    return read, written


def _network(text: str) -> tuple[int, int]:
    """Bytes (received, sent) of everything but the loopback."""
    received = sent = 0
    for line in text.splitlines()[2:]:
        name, _, values = line.partition(":")
        words = values.split()
        if name.strip() != "lo":
            received += int(words[0])
            sent += int(words[8])
    return received, sent
