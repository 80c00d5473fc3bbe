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

from corral.engines.local import kernel, user_files

_BLOCK_BYTES = 512
_TRIES = 3  # of counting a tree whose directories are moved meanwhile
_DELETED = b" (deleted)"


@dataclass(frozen=True, slots=True)
class Count:
    """Bytes on disk and how many files, directories and links they are in. `unnamed_bytes` are among them:
    those of files that were deleted and are still open."""

    bytes: int = 0
    files: int = 0
    unnamed_bytes: int = 0

    def plus_unnamed(self, count: int) -> "Count":
        return Count(self.bytes + count, self.files, count)

    def encode(self) -> str:
        return f"{self.bytes} {self.files} {self.unnamed_bytes}"


def decode(text: str) -> Count | None:
    words = text.split()
    if not words or not all(word.isdigit() for word in words):
        return None
    return Count(*(int(word) for word in words[:3]))


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


def unnamed_bytes(processes: Iterable[int], devices: set[int], most: int | None = None) -> int | None:
    """Bytes of files that these processes keep open or mapped and that no directory names any more.

    Only on these devices: what lies in memory has its own limit. None if there are more than `most`.
    """
    seen: dict[tuple[int, int], int] = {}
    for process in processes:
        # A process may end while we look; one that hides is of another user, and not of this attempt.
        with contextlib.suppress(OSError):
            for place in _open_places(process):
                if most is not None and (most := most - 1) < 0:
                    return None
                with contextlib.suppress(OSError):
                    found = Path(place).stat()
                    if found.st_nlink == 0 and stat.S_ISREG(found.st_mode) and found.st_dev in devices:
                        seen[found.st_dev, found.st_ino] = found.st_blocks * _BLOCK_BYTES
    return sum(seen.values())


def _open_places(process: int) -> Iterable[str]:
    """As its threads have them: the first one may have ended, and each may have descriptors of its own."""
    maps = b""
    for thread in _threads_apart(process):
        with contextlib.suppress(OSError), os.scandir(f"/proc/{thread}/fd") as entries:
            yield from (entry.path for entry in entries)
        if not maps:  # the memory is the same for all that are not over
            with contextlib.suppress(OSError):
                maps = Path(f"/proc/{thread}/maps").read_bytes()
            for line in maps.splitlines():
                if line.endswith(_DELETED):
                    yield f"/proc/{thread}/map_files/{line.split(b' ', 1)[0].decode()}"


def _threads_apart(process: int) -> Iterable[int]:
    """One thread for each table of descriptors."""
    threads = [int(task.name) for task in Path(f"/proc/{process}/task").iterdir()]
    threads.sort(key=cmp_to_key(kernel.compare_descriptors))
    for before, thread in zip([0, *threads], threads, strict=False):
        if before == 0 or kernel.compare_descriptors(before, thread) != 0:
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
