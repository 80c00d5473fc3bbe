"""Bounds what an attempt keeps on disk, by looking: now and then, sooner when the disk fills quickly.

Between two looks it can write more than it may; what is found to be too much is paused, counted again, and
ended. At its end a workspace is counted once more: some work is too short for a look. `du`
counts, as it follows no link and is not led astray by what hostile programs build.

A home belongs to all work of a person: who has counted it last tells the others by a file.
"""

import contextlib
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

from corral.engines.local import tally
from corral.engines.local.loop import Loop, boot_time
from corral.engines.local.namespaces import fork_and_exit
from corral.engines.local.replica import Supervised
from corral.engines.local.spec import Spec

_DU = "/usr/bin/du"
_MIB = 2**20
_LOOKS_AT_LEAST = 6  # a look at the tree at least at every sixth look at the disk
_REST = 50  # looking takes at most a fiftieth of the time
_MUCH = 4  # losing a fourth of the bound is a reason to look at a home at the end, too
_FEW = 256
_BLOCK_BYTES = 512
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_GENTLE = 19

Then = Callable[[], None]


class DiskWatch:
    """The replicas of an attempt share a workspace and a home, so they share their bounds."""

    def __init__(self, loop: Loop, spec: Spec, replicas: Sequence[Supervised], directory: Path) -> None:
        self._watched: list[_Watched] = [_Workspace(loop, spec, replicas, directory)]
        if spec.home is not None and spec.home_mib:
            self._watched.append(_Home(loop, spec, replicas))

    def start(self) -> None:
        for watched in self._watched:
            watched.start()

    def look_at_the_end(self, then: Then) -> None:
        """Nothing runs any more; `then` follows at once unless there is much to count."""

        def look(rest: list["_Watched"]) -> None:
            if rest:
                rest[0].look_at_the_end(lambda: look(rest[1:]))
            else:
                then()

        look(self._watched)


class _Watched(ABC):
    """One directory and its bound."""

    def __init__(
        self, loop: Loop, path: str, most_mib: int, replicas: Sequence[Supervised], every_seconds: float
    ) -> None:
        self._loop = loop
        self._path = path
        self._most_mib = most_mib
        self._replicas = replicas
        self._every = every_seconds
        self._used_mib = most_mib  # until it was counted
        self._free_mib = _free_mib(path)
        self._skipped = 0

    def start(self) -> None:
        self._loop.after(self._every, self._look)

    def look_at_the_end(self, then: Then) -> None:
        if not self._is_worth_a_look():
            then()
            return

        def counted(used_mib: int, _: float) -> None:
            self._note(used_mib)
            if used_mib > self._most_mib:
                for replica in self._replicas:
                    self._mark(replica, used_mib)
            then()

        self._count(counted)

    @abstractmethod
    def _is_worth_a_look(self) -> bool:
        """Whether to count once more at the end."""

    @abstractmethod
    def _mark(self, replica: Supervised, used_mib: int) -> None:
        """Notes at the replica that it is over its bound."""

    @abstractmethod
    def _note(self, used_mib: int) -> None:
        """Tells others what was counted."""

    def _told(self) -> int | None:
        """What another has counted just now."""
        return None

    @property
    def _over(self) -> bool:
        return all(replica.ended for replica in self._replicas)

    def _look(self) -> None:
        if self._over:
            return
        self._skipped += 1
        written = self._free_mib - _free_mib(self._path)
        if self._skipped < _LOOKS_AT_LEAST and written < (self._most_mib - self._used_mib) / 2:
            self._loop.after(self._every, self._look)
        elif (told := self._told()) is not None:
            self._counted(told, 0)
        else:
            self._count(self._counted)

    def _counted(self, used_mib: int, seconds: float) -> None:
        self._skipped, self._used_mib, self._free_mib = 0, used_mib, _free_mib(self._path)
        if seconds:
            self._note(used_mib)
        if self._over:
            return
        if used_mib <= self._most_mib:
            self._loop.after(max(self._every, seconds * _REST), self._look)
            return
        self._pause(True)
        self._count(self._counted_again)

    def _counted_again(self, used_mib: int, _: float) -> None:
        self._note(used_mib)
        if used_mib <= self._most_mib:
            self._pause(False)
            self._loop.after(self._every, self._look)
            return
        for replica in self._replicas:
            if not replica.ended:
                self._mark(replica, used_mib)
                replica.kill()
        self._pause(False)

    def _pause(self, paused: bool) -> None:
        for replica in self._replicas:
            if not replica.ended:
                with contextlib.suppress(OSError):  # without control groups nothing can be paused
                    replica.group.freeze(paused)

    def _count(self, then: Callable[[int, float], None]) -> None:
        """At once where there is little; else by another process, for which nobody waits."""
        began = boot_time()
        few = count_few(self._path, _FEW)
        if few is not None:
            then(few // _MIB, boot_time() - began)
            return
        reading, writing = os.pipe()

        def become_du() -> None:
            os.nice(_GENTLE)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.dup2(writing, 1)
            os.execv(_DU, [_DU, "-sxk", "--", self._path])  # noqa: S606

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


class _Workspace(_Watched):
    def __init__(self, loop: Loop, spec: Spec, replicas: Sequence[Supervised], directory: Path) -> None:
        most = max(replica.disk_mib for replica in spec.replicas)
        super().__init__(loop, spec.workspace, most, replicas, spec.disk_look_seconds)
        self._directory = directory

    def _is_worth_a_look(self) -> bool:
        return True  # some work is too short for any other

    def _mark(self, replica: Supervised, used_mib: int) -> None:
        replica.over_disk_mib = used_mib

    def _note(self, used_mib: int) -> None:
        tally.write_disk(self._directory, used_mib * _MIB)


class _Home(_Watched):
    def __init__(self, loop: Loop, spec: Spec, replicas: Sequence[Supervised]) -> None:
        assert spec.home is not None
        super().__init__(loop, spec.home, spec.home_mib, replicas, spec.disk_look_seconds)
        self._count_file = Path(spec.home_count)
        self._began_free_mib = self._free_mib

    def _is_worth_a_look(self) -> bool:
        return self._began_free_mib - _free_mib(self._path) > self._most_mib / _MUCH

    def _mark(self, replica: Supervised, used_mib: int) -> None:
        replica.over_home_mib = used_mib

    def _note(self, used_mib: int) -> None:
        with contextlib.suppress(OSError):  # a full disk: the others count for themselves
            self._count_file.write_text(str(used_mib))

    def _told(self) -> int | None:
        return read_count(self._count_file, self._every)


def count_few(path: str, most: int) -> int | None:
    """Bytes of a tree, also of one that changes; None if there is more in it than `most`, or it is closed.

    From one open directory to the next, so that nothing leads out of it.
    """
    used, left = 0, most
    linked: set[int] = set()
    waiting: list[int] = []
    try:
        waiting.append(os.open(path, _DIRECTORY))
        while waiting:
            descriptor = waiting.pop()
            try:
                with os.scandir(descriptor) as entries:
                    for entry in entries:
                        left -= 1
                        if left < 0:
                            return None
                        found = entry.stat(follow_symlinks=False)
                        if found.st_nlink > 1 and not entry.is_dir(follow_symlinks=False):
                            if found.st_ino in linked:
                                continue
                            linked.add(found.st_ino)
                        used += found.st_blocks * _BLOCK_BYTES
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(os.open(entry.name, _DIRECTORY, dir_fd=descriptor))
            finally:
                os.close(descriptor)
    except OSError:  # `du` gets further, and counts what it can
        return None
    finally:
        for descriptor in waiting:
            os.close(descriptor)
    return used


def read_count(path: Path, youngest_seconds: float | None = None) -> int | None:
    """What a home was last counted to hold, in MiB; None if nobody did, or not so lately."""
    try:
        if youngest_seconds is not None and time.time() - path.stat().st_mtime > youngest_seconds:
            return None
        text = path.read_text()
    except FileNotFoundError:
        return None
    return int(text) if text.isdigit() else None


def _free_mib(path: str) -> int:
    try:
        found = os.statvfs(path)
    except OSError:  # somebody removed it: there is nothing to bound, and what runs goes on
        return 0
    return found.f_bfree * found.f_frsize // _MIB
