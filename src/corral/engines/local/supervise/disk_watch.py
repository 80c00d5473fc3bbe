"""Bounds what an attempt keeps on disk, by looking: now and then, sooner when the disk fills quickly.

Between two looks it can write more than it may; what is found to be too much is paused, counted again, and
ended. At its end a workspace is counted once more: some work is too short for a look. Files count too, as a
disk can be full of empty ones, and so does what was deleted and is still open, mapped or in flight between
sockets. Where the file system has quotas the kernel keeps the same limits (`quotas`), and nothing is found.

A home belongs to all work of a person: who has counted it last tells the others by a file.
"""

import contextlib
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

from corral.engines.local.files.disk_count import (
    Count,
    Unnamed,
    count_tree,
    decode,
    devices_of,
    find_unnamed,
    read_count,
    sum_counts,
)
from corral.engines.local.records import tally
from corral.engines.local.records.spec import Spec
from corral.engines.local.sandbox.namespaces import fork_and_exit
from corral.engines.local.supervise.event_loop import Loop, boot_time
from corral.engines.local.supervise.replica import SupervisedReplica
from corral.engines.local.supervise.verdict import over_home, over_person, over_workspace, unseen_in_flight

_MIB = 2**20
_LOOKS_AT_LEAST = 6  # a look at the tree at least at every sixth look at the disk
_REST = 50  # looking takes at most a fiftieth of the time,
_MOST_REST_SECONDS = 60  # as long as that is no way to be looked at hardly ever
_MUCH = 4  # losing a fourth of the bound is a reason to look at a home at the end, too
_FEW = 256
_SLACK_BYTES = 8 * _MIB  # work that does not let a person's files grow by more than this goes on
_GENTLE = 19

Then = Callable[[], None]


class DiskWatch:
    """The replicas of an attempt share a workspace and a home, so they share their bounds."""

    def __init__(
        self, loop: Loop, spec: Spec, replicas: Sequence[SupervisedReplica], directory: Path
    ) -> None:
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
    """One directory and its bounds; `most_files` 0 sets none."""

    def __init__(
        self,
        loop: Loop,
        path: str,
        bounds: tuple[int, int],
        replicas: Sequence[SupervisedReplica],
        every: float,
    ) -> None:
        self._loop = loop
        self._path = path
        self._most_mib, self._most_files = bounds
        self._replicas = replicas
        self._every = every
        self._used_mib = self._most_mib  # until it was counted
        self._free_mib = _free_mib(path)
        self._skipped = 0

    def start(self) -> None:
        self._loop.after(self._every, self._look)

    def look_at_the_end(self, then: Then) -> None:
        if not self._is_worth_a_look():
            then()
            return

        def counted(count: Count, _: float) -> None:
            self._note(count)
            if (words := self._excess(count)) is not None:
                for replica in self._replicas:
                    replica.over_bound = words
            then()

        self._count(counted)

    @abstractmethod
    def _is_worth_a_look(self) -> bool:
        """Whether to count once more at the end."""

    @abstractmethod
    def _excess(self, count: Count) -> str | None:
        """What is too much, in words."""

    @abstractmethod
    def _note(self, count: Count) -> None:
        """Tells others what was counted."""

    def _last_count(self) -> Count | None:
        """What another has counted just now."""
        return None

    def _unnamed(self, most: int | None) -> Unnamed | None:  # noqa: ARG002
        """What is open and has no name; None if there is too much to look at here."""
        return Unnamed()

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
        elif (counted := self._last_count()) is not None:
            self._counted(counted, 0)
        else:
            self._count(self._counted)

    def _counted(self, count: Count, seconds: float) -> None:
        self._skipped, self._used_mib, self._free_mib = 0, count.bytes // _MIB, _free_mib(self._path)
        if seconds:
            self._note(count)
        if self._over:
            return
        if self._excess(count) is None:
            self._loop.after(max(self._every, min(seconds * _REST, _MOST_REST_SECONDS)), self._look)
            return
        self._pause(True)
        self._count(self._counted_again)

    def _counted_again(self, count: Count, _: float) -> None:
        self._note(count)
        words = self._excess(count)
        if words is None:
            self._pause(False)
            self._loop.after(self._every, self._look)
            return
        for replica in self._replicas:
            if not replica.ended:
                replica.over_bound = words
                replica.kill()
        self._pause(False)

    def _pause(self, paused: bool) -> None:
        for replica in self._replicas:
            if not replica.ended:
                with contextlib.suppress(OSError):  # without control groups nothing can be paused
                    replica.group.freeze(paused)

    def _count(self, then: Callable[[Count, float], None]) -> None:
        """At once where there is little; else by another process, for which nobody waits."""
        began = boot_time()
        few, unnamed = count_tree(self._path, _FEW), self._unnamed(_FEW)
        if few is not None and unnamed is not None:
            then(few.plus_unnamed(unnamed), boot_time() - began)
            return
        reading, writing = os.pipe()

        def count() -> None:
            os.nice(_GENTLE)
            found = (count_tree(self._path) or Count()).plus_unnamed(self._unnamed(None) or Unnamed())
            os.write(writing, found.encode().encode())

        child = fork_and_exit(count)
        os.close(writing)

        def finish() -> None:
            self._loop.unwatch(reading)
            result = os.read(reading, 4096)
            os.close(reading)
            os.waitpid(child, 0)
            found = decode(result.decode("ascii", "replace"))
            then(found or Count(self._used_mib * _MIB), boot_time() - began)

        self._loop.watch(reading, finish)


class _Workspace(_Watched):
    def __init__(
        self, loop: Loop, spec: Spec, replicas: Sequence[SupervisedReplica], directory: Path
    ) -> None:
        most = max(replica.disk_mib for replica in spec.replicas)
        super().__init__(loop, spec.workspace, (most, spec.files), replicas, spec.disk_look_seconds)
        self._spec = spec
        self._directory = directory
        self._counts = Path(spec.person_counts) if spec.person_counts else None
        self._devices = devices_of((spec.workspace, spec.home))
        self._began = self._written() or Count()
        self._began_free_mib = self._free_mib

    def _is_worth_a_look(self) -> bool:
        return True  # some work is too short for any other

    def _unnamed(self, most: int | None) -> Unnamed | None:
        inside: list[int] = []
        ours: list[int] = []
        for replica in self._replicas:
            if not replica.ended:
                ours += replica.workload_socket.connections
                with contextlib.suppress(OSError):
                    inside += replica.group.processes()
                inside += [] if replica.process is None else [replica.process.main]
        return find_unnamed(dict.fromkeys(inside), self._devices, most, ours)

    def _excess(self, count: Count) -> str | None:
        words = over_workspace(count, self._most_mib, self._most_files)
        if words is None and count.unseen:
            uncounted = self._began_free_mib - _free_mib(self._path) - count.bytes // _MIB
            words = unseen_in_flight(count, uncounted, self._most_mib)
        if words is not None or self._counts is None:
            return words
        if count.bytes - self._began.bytes <= _SLACK_BYTES and count.files <= self._began.files:
            return None  # somebody else made it too much
        return over_person(sum_counts(self._counts), self._spec.person_mib, self._spec.person_files)

    def _note(self, count: Count) -> None:
        tally.write_disk(self._directory, count.bytes)
        if self._counts is not None:
            with contextlib.suppress(OSError):  # a full disk: the count before stays
                self._counts.mkdir(mode=0o700, exist_ok=True)
                (self._counts / Path(self._path).name).write_text(count.encode())

    def _written(self) -> Count | None:
        return None if self._counts is None else read_count(self._counts / Path(self._path).name)


class _Home(_Watched):
    def __init__(self, loop: Loop, spec: Spec, replicas: Sequence[SupervisedReplica]) -> None:
        assert spec.home is not None
        super().__init__(loop, spec.home, (spec.home_mib, spec.files), replicas, spec.disk_look_seconds)
        self._count_file = Path(spec.home_count)
        self._began_free_mib = self._free_mib

    def _is_worth_a_look(self) -> bool:
        return self._began_free_mib - _free_mib(self._path) > self._most_mib / _MUCH

    def _excess(self, count: Count) -> str | None:
        return over_home(count, self._most_mib, self._most_files)

    def _note(self, count: Count) -> None:
        with contextlib.suppress(OSError):  # a full disk: the others count for themselves
            self._count_file.write_text(str(count.bytes // _MIB))

    def _last_count(self) -> Count | None:
        mib = read_home_count(self._count_file, self._every)
        return None if mib is None else Count(mib * _MIB)


def read_home_count(path: Path, youngest_seconds: float | None = None) -> int | None:
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
