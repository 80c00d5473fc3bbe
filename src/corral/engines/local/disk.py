"""Bounds what an attempt keeps on disk, by looking: now and then, sooner when the disk fills quickly.

Between two looks it can write more than it may; what is found to be too much is paused, counted again, and
ended. `du` counts, as it follows no link and is not led astray by what hostile programs build.
"""

import contextlib
import os
from collections.abc import Callable, Sequence

from corral.engines.local.loop import Loop, boot_time
from corral.engines.local.namespaces import fork_and_exit
from corral.engines.local.replica import Supervised

_DU = "/usr/bin/du"
_MIB = 2**20
_LOOKS_AT_LEAST = 6  # a look at the tree at least at every sixth look at the disk
_REST = 50  # looking takes at most a fiftieth of the time
_GENTLE = 19


class DiskWatch:
    """The replicas of an attempt share a workspace, so they share its bound."""

    def __init__(
        self, loop: Loop, workspace: str, replicas: Sequence[Supervised], every_seconds: float
    ) -> None:
        self._loop = loop
        self._workspace = workspace
        self._replicas = replicas
        self._every = every_seconds
        self._most_mib = max(replica.spec.disk_mib for replica in replicas)
        self._used_mib = self._most_mib  # until it was counted
        self._free_mib = 0
        self._skipped = 0

    def start(self) -> None:
        self._loop.after(self._every, self._look)

    def _look(self) -> None:
        if all(replica.ended for replica in self._replicas):
            return
        self._skipped += 1
        written = self._free_mib - _free_mib(self._workspace)
        if self._skipped < _LOOKS_AT_LEAST and written < (self._most_mib - self._used_mib) / 2:
            self._loop.after(self._every, self._look)
        else:
            self._count(self._counted)

    def _counted(self, used_mib: int, seconds: float) -> None:
        self._skipped, self._used_mib, self._free_mib = 0, used_mib, _free_mib(self._workspace)
        if used_mib <= self._most_mib:
            self._loop.after(max(self._every, seconds * _REST), self._look)
            return
        self._pause(True)
        self._count(self._counted_again)

    def _counted_again(self, used_mib: int, _: float) -> None:
        if used_mib <= self._most_mib:
            self._pause(False)
            self._loop.after(self._every, self._look)
            return
        for replica in self._replicas:
            if not replica.ended:
                replica.over_disk_mib = used_mib
                replica.kill()
        self._pause(False)

    def _pause(self, paused: bool) -> None:
        for replica in self._replicas:
            if not replica.ended:
                with contextlib.suppress(OSError):  # without control groups nothing can be paused
                    replica.group.freeze(paused)

    def _count(self, then: Callable[[int, float], None]) -> None:
        reading, writing = os.pipe()
        began = boot_time()

        def become_du() -> None:
            os.nice(_GENTLE)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.dup2(writing, 1)
            os.execv(_DU, [_DU, "-sxk", "--", self._workspace])  # noqa: S606

        child = fork_and_exit(become_du)
        os.close(writing)

        def finish() -> None:
            self._loop.unwatch(reading)
            said = os.read(reading, 4096)
            os.close(reading)
            os.waitpid(child, 0)
            kib = said.split(b"\t")[0]
            then(int(kib) // 1024 if kib.isdigit() else self._used_mib, boot_time() - began)

        self._loop.watch(reading, finish)


def _free_mib(path: str) -> int:
    found = os.statvfs(path)
    return found.f_bfree * found.f_frsize // _MIB
