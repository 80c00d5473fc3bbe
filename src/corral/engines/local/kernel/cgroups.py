"""The control groups of one replica: limits, counters, and an end for everything inside.

Imported by the supervisor, so it uses the standard library only.
"""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from corral.engines.local.kernel.cgroup_roots import UNIFIED, CgroupRoots

_MIB = 1024 * 1024
_PERIOD_MICROSECONDS = 100_000
_LEAST_QUOTA_MICROSECONDS = 1000
_BUILDING_CPU_MILLI = 1000
_SHARES_PER_CPU = 1024
_WEIGHT_PER_CPU = 100
_MOST_AT_ONCE = 65536


class Limits:
    """What a replica may use at most."""

    __slots__ = ("cpu_milli", "memory_mib", "processes")

    def __init__(self, cpu_milli: int, memory_mib: int, processes: int) -> None:
        self.cpu_milli = cpu_milli
        self.memory_mib = memory_mib
        self.processes = processes


class Group:
    """One group in every hierarchy there is. Without any, nothing is limited and nothing is counted."""

    def __init__(self, roots: CgroupRoots, name: str) -> None:
        self._roots = roots
        # Texts, not paths: supervisors handle them at every start, and every sample reads them.
        self._paths = {key: f"{base}/{name}" for key, base in roots.directories.items()}

    def create(self, limits: Limits) -> None:
        """OSError if a limit cannot be set: work does not start without the limits it was promised.

        That of the CPU is a whole core at first: a sandbox is built inside, and with a hundredth of a core
        that would take seconds. `limit_cpu` follows before the work itself begins.
        """
        for path in self._places:
            Path(path).mkdir(parents=True, exist_ok=True)
        memory = limits.memory_mib * _MIB
        if self._has_1("memory"):
            self._write("memory", "memory.limit_in_bytes", memory)
            with contextlib.suppress(OSError):  # absent where swap is not accounted
                self._write("memory", "memory.memsw.limit_in_bytes", memory)
        if self._has_1("cpu"):
            self._write("cpu", "cpu.shares", max(2, limits.cpu_milli * _SHARES_PER_CPU // 1000))
            self._write("cpu", "cpu.cfs_period_us", _PERIOD_MICROSECONDS)
        if self._has_1("pids"):
            self._write("pids", "pids.max", limits.processes)
        self._limit_2(limits, memory)
        self.limit_cpu(max(_BUILDING_CPU_MILLI, limits.cpu_milli))

    def limit_cpu(self, cpu_milli: int) -> None:
        quota = max(_LEAST_QUOTA_MICROSECONDS, cpu_milli * _PERIOD_MICROSECONDS // 1000)
        if self._has_1("cpu"):
            self._write("cpu", "cpu.cfs_quota_us", quota)
        if "cpu" in self._roots.controls_2:
            self._write(UNIFIED, "cpu.max", f"{quota} {_PERIOD_MICROSECONDS}")

    def _limit_2(self, limits: Limits, memory: int) -> None:
        if "memory" in self._roots.controls_2:
            self._write(UNIFIED, "memory.max", memory)
            self._write(UNIFIED, "memory.oom.group", 1)
            with contextlib.suppress(OSError):  # absent where there is no swap
                self._write(UNIFIED, "memory.swap.max", 0)
        if "cpu" in self._roots.controls_2:
            weight = min(10_000, max(1, limits.cpu_milli * _WEIGHT_PER_CPU // 1000))
            self._write(UNIFIED, "cpu.weight", weight)
        if "pids" in self._roots.controls_2:
            self._write(UNIFIED, "pids.max", limits.processes)

    @property
    def entrances(self) -> tuple[str, ...]:
        """The files to write a process id into, in order to be inside."""
        return tuple(f"{path}/cgroup.procs" for path in self._places)

    def processes(self) -> list[int]:
        for key in (UNIFIED, "pids", "memory", "freezer"):
            if key in self._paths:
                return [int(line) for line in self._read(key, "cgroup.procs").split()]
        return []

    def kill(self) -> None:
        """Ends everything inside, in one step where version 2 is there. Also what is frozen."""
        if UNIFIED in self._paths:
            with contextlib.suppress(OSError):
                self._write(UNIFIED, "cgroup.kill", 1)
                return
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, 9)

    def freeze(self, frozen: bool) -> None:
        """In the tree of version 2 if there is one: a task frozen by version 1 would survive its kill."""
        if UNIFIED in self._paths:
            self._write(UNIFIED, "cgroup.freeze", int(frozen))
        elif "freezer" in self._paths:
            self._write("freezer", "freezer.state", "FROZEN" if frozen else "THAWED")

    def out_of_memory_kills(self) -> int:
        with contextlib.suppress(OSError):  # a group that someone removed
            if self._has_1("memory"):
                return self._field("memory", "memory.oom_control", "oom_kill")
            if "memory" in self._roots.controls_2:
                return self._field(UNIFIED, "memory.events", "oom_kill")
        return 0

    def counters(self) -> dict[str, int]:
        """By the names of `reports.Counters`, as far as they are counted here."""
        found: dict[str, int] = {}
        with contextlib.suppress(OSError, ValueError):
            found |= self._cpu()
        with contextlib.suppress(OSError, ValueError):
            found |= self._memory()
        with contextlib.suppress(OSError, ValueError):
            key = "pids" if self._has_1("pids") else UNIFIED if "pids" in self._roots.controls_2 else None
            if key is not None:
                found["processes"] = int(self._read(key, "pids.current"))
        with contextlib.suppress(OSError, ValueError):
            found |= self._io()
        return found

    def remove(self) -> bool:
        """False if something is still inside."""
        gone = True
        for path in self._places:
            try:
                Path(path).rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                gone = False
        return gone

    def _cpu(self) -> dict[str, int]:
        if self._has_1("cpuacct"):
            return {"cpu_microseconds": int(self._read("cpuacct", "cpuacct.usage")) // 1000}
        if "cpu" in self._roots.controls_2:
            return {"cpu_microseconds": self._field(UNIFIED, "cpu.stat", "usage_usec")}
        return {}

    def _memory(self) -> dict[str, int]:
        """Without what the kernel can take back at once: files that were read and not used again."""
        if self._has_1("memory"):
            now = int(self._read("memory", "memory.usage_in_bytes"))
            peak = int(self._read("memory", "memory.max_usage_in_bytes"))
            idle = self._field("memory", "memory.stat", "total_inactive_file")
        elif "memory" in self._roots.controls_2:
            now = int(self._read(UNIFIED, "memory.current"))
            idle = self._field(UNIFIED, "memory.stat", "inactive_file")
            try:
                peak = int(self._read(UNIFIED, "memory.peak"))
            except FileNotFoundError:  # before Linux 5.19
                return {"memory_bytes": max(0, now - idle)}
        else:
            return {}
        return {"memory_bytes": max(0, now - idle), "memory_peak_bytes": peak}

    def _io(self) -> dict[str, int]:
        read = written = 0
        if self._has_1("blkio"):
            for line in self._read("blkio", "blkio.throttle.io_service_bytes").splitlines():
                words = line.split()
                if len(words) == 3:
                    read += int(words[2]) if words[1] == "Read" else 0
                    written += int(words[2]) if words[1] == "Write" else 0
        elif "io" in self._roots.controls_2:
            for word in self._read(UNIFIED, "io.stat").split():
                key, _, value = word.partition("=")
                read += int(value) if key == "rbytes" else 0
                written += int(value) if key == "wbytes" else 0
        else:
            return {}
        return {"read_bytes": read, "written_bytes": written}

    @property
    def _places(self) -> Iterable[str]:
        """Each once: two controllers may be mounted together."""
        return dict.fromkeys(self._paths.values())

    def _has_1(self, controller: str) -> bool:
        return controller in self._paths

    def _field(self, key: str, name: str, field: str) -> int:
        for line in self._read(key, name).splitlines():
            word, _, value = line.partition(" ")
            if word == field:
                return int(value)
        return 0

    def _read(self, key: str, name: str) -> str:
        descriptor = os.open(f"{self._paths[key]}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            read = bytearray()
            while part := os.read(descriptor, _MOST_AT_ONCE):
                read += part
            return read.decode()
        finally:
            os.close(descriptor)

    def _write(self, key: str, name: str, value: int | str) -> None:
        descriptor = os.open(f"{self._paths[key]}/{name}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC)
        try:
            os.write(descriptor, str(value).encode())
        finally:
            os.close(descriptor)
