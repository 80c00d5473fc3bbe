"""What lies in a directory that users write to, and what is open and has no name any more.

Imported by the supervisor, so it uses the standard library only.
"""

import contextlib
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cmp_to_key
from pathlib import Path

from corral.engines.local.files import in_flight, user_files
from corral.engines.local.kernel import syscalls

_BLOCK_BYTES = 512
_TRIES = 3  # of counting a tree whose directories are moved meanwhile
_DELETED = b" (deleted)"


@dataclass(frozen=True, slots=True)
class Count:
    """Bytes on disk and how many files, directories and links they are in. `unnamed_bytes` are among them:
    those of files that were deleted and are still open. `unseen` descriptors are on their way through
    sockets where nobody can look at them."""

    bytes: int = 0
    files: int = 0
    unnamed_bytes: int = 0
    unseen: int = 0

    def plus_unnamed(self, unnamed: "Unnamed") -> "Count":
        return Count(self.bytes + unnamed.bytes, self.files, unnamed.bytes, unnamed.unseen)

    def encode(self) -> str:
        return f"{self.bytes} {self.files} {self.unnamed_bytes} {self.unseen}"


@dataclass(frozen=True, slots=True)
class Unnamed:
    bytes: int = 0
    unseen: int = 0


def decode(text: str) -> Count | None:
    words = text.split()
    if not words or not all(word.isdigit() for word in words):
        return None
    return Count(*(int(word) for word in words[:4]))


def count_tree(path: str, most: int | None = None) -> Count | None:
    """Of a tree, also of one that changes; None if there is more in it than `most`.

    Of one that is moved about again and again, what was seen of it at best.
    """
    best = Count()
    for _ in range(_TRIES):
        used = files = 0
        linked: set[tuple[int, int]] = set()
        try:
            with user_files.opened_directory(path) as directory:
                for entry in user_files.walk(directory, most):
                    found = entry.status
                    if found.st_nlink > 1 and not entry.is_directory:
                        if (found.st_dev, found.st_ino) in linked:
                            continue
                        linked.add((found.st_dev, found.st_ino))
                    used += found.st_blocks * _BLOCK_BYTES
                    files += 1
            return Count(used, files)
        except user_files.TreeMoved:
            best = max(best, Count(used, files), key=lambda one: one.bytes)
        except OSError:
            if most is not None:
                return None
            return max(best, Count(used, files), key=lambda one: one.bytes)
    return best


def find_unnamed(
    processes: Iterable[int], devices: set[int], most: int | None = None, ours: Iterable[int] = ()
) -> Unnamed | None:
    """What these processes keep open or mapped, or have sent each other, and no directory names any more.

    Only on these devices: what lies in memory has its own limit. None if there is more than `most`, or
    something in flight, which takes a while to look at. `ours` are sockets of this process on which they
    talk to us.
    """
    seen = _Seen(devices)
    for process in processes:
        # A process may end while we look; one that hides is of another user, and not of this attempt.
        with contextlib.suppress(OSError):
            for place in _open_places(process):
                if most is not None and (most := most - 1) < 0:
                    return None
                with contextlib.suppress(OSError):
                    seen.look_at(place)
    seen.sockets += [(os.getpid(), number) for number in ours]
    waiting = [(*socket, count) for socket in seen.sockets if (count := in_flight.waiting(*socket))]
    if waiting and most is not None:
        return None
    flight = in_flight.look(waiting, seen.note)
    return Unnamed(sum(seen.files.values()), flight)


class _Seen:
    """Files without a name, each counted once; and the sockets, in which there may be more."""

    def __init__(self, devices: set[int]) -> None:
        self.files: dict[tuple[int, int], int] = {}
        self.sockets: list[tuple[int, int]] = []
        self._devices = devices

    def look_at(self, place: "_Place") -> None:
        if place.mapped is not None:
            device, inode, end = place.mapped
            try:
                self.note(Path(place.path).stat())
            except PermissionError:
                # Only root learns how large it is: it is at least as large as what is mapped of it.
                if device in self._devices:
                    self.files[device, inode] = max(end, self.files.get((device, inode), 0))
            return
        found = Path(place.path).stat()
        if stat.S_ISSOCK(found.st_mode):
            self.sockets.append((place.thread, int(place.path.rpartition("/")[2])))
        self.note(found)

    def note(self, found: os.stat_result) -> None:
        if found.st_nlink == 0 and stat.S_ISREG(found.st_mode) and found.st_dev in self._devices:
            self.files[found.st_dev, found.st_ino] = found.st_blocks * _BLOCK_BYTES


@dataclass(frozen=True, slots=True)
class _Place:
    """Something that a thread has open, or (device, inode, last byte) of what it has mapped."""

    thread: int
    path: str
    mapped: tuple[int, int, int] | None = None


def _open_places(process: int) -> Iterable[_Place]:
    """As its threads have them: the first one may have ended, and each may have descriptors of its own."""
    maps = b""
    for thread in _threads_apart(process):
        with contextlib.suppress(OSError), os.scandir(f"/proc/{thread}/fd") as entries:
            yield from (_Place(thread, entry.path) for entry in entries)
        if not maps:  # the memory is the same for all that are not over
            with contextlib.suppress(OSError):
                maps = Path(f"/proc/{thread}/maps").read_bytes()
            for line in maps.splitlines():
                if line.endswith(_DELETED):
                    yield _mapped(thread, line)


def _mapped(thread: int, line: bytes) -> _Place:
    """Of a line of `maps`: from-to rights offset device inode name."""
    addresses, _, offset, device, inode, _ = line.split(maxsplit=5)
    begin, end = (int(address, 16) for address in addresses.split(b"-"))
    major, minor = (int(number, 16) for number in device.split(b":"))
    mapped = (os.makedev(major, minor), int(inode), int(offset, 16) + end - begin)
    return _Place(thread, f"/proc/{thread}/map_files/{addresses.decode()}", mapped)


def _threads_apart(process: int) -> Iterable[int]:
    """One thread for each table of descriptors."""
    threads = [int(task.name) for task in Path(f"/proc/{process}/task").iterdir()]
    threads.sort(key=cmp_to_key(syscalls.compare_descriptors))
    for before, thread in zip([0, *threads], threads, strict=False):
        if before == 0 or syscalls.compare_descriptors(before, thread) != 0:
            yield thread


def devices_of(paths: Iterable[str | None]) -> set[int]:
    found = set()
    for path in paths:
        with contextlib.suppress(OSError):
            if path is not None:
                found.add(Path(path).stat().st_dev)
    return found


def read_count(path: Path) -> Count | None:
    """What somebody wrote down; None if nobody did."""
    with contextlib.suppress(OSError):
        return decode(path.read_text())
    return None


def sum_counts(directory: Path) -> Count:
    """Of all workspaces of a person, as they were last counted."""
    used = files = 0
    with contextlib.suppress(OSError):
        for path in directory.iterdir():
            count = read_count(path)
            if count is not None:
                used, files = used + count.bytes, files + count.files
    return Count(used, files)
