"""What an archive would make, judged without looking at a disk.

`..` may only begin a link's target, and no entry may lie below a link, so every `..` goes up through real
directories and never above the top.
"""

import re
from enum import StrEnum
from pathlib import PurePosixPath

from corral.engines.archives.limits import BadArchive, Limits
from corral.engines.archives.stream import too_large

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Kind(StrEnum):
    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    HARD_LINK = "hard link"


class Tree:
    """What was seen so far: which paths are directories, which are something else."""

    def __init__(self, limits: Limits) -> None:
        self.count = 0
        self.unpacked_bytes = 0
        self._limits = limits
        self._directories: set[str] = {""}
        self._files: set[str] = set()
        self._links: set[str] = set()

    def parts(self, name: str) -> tuple[str, ...]:
        """The names on the way to an entry; refuses what leads out or cannot be a name here."""
        path = PurePosixPath(name)
        parts = path.parts
        if path.is_absolute() or ".." in parts:
            raise BadArchive(f"{shown(name)} leads out of the directory.")
        self._check_text(name)
        limits, longest = self._limits, max((len(one.encode()) for one in parts), default=0)
        if len(name.encode()) > limits.path_bytes or longest > limits.name_bytes:
            raise BadArchive(f"The name {shown(name)} is too long.")
        if len(parts) > limits.depth:
            raise BadArchive(f"{shown(name)} lies more than {limits.depth} directories deep.")
        return parts

    def add(self, kind: Kind, parts: tuple[str, ...], size: int = 0) -> None:
        self.count += 1
        if not parts and kind is not Kind.DIRECTORY:
            raise BadArchive("An entry has no name.")
        place = "/".join(parts)
        for depth in range(1, len(parts)):
            self._make_directory("/".join(parts[:depth]), place)
        if kind is Kind.DIRECTORY:
            self._make_directory(place, place)
        elif place in self._directories or place in self._files or place in self._links:
            raise BadArchive(f"{shown(place)} is in it twice.")
        elif kind is Kind.SYMLINK:
            self._links.add(place)
        elif kind is Kind.FILE:
            self._files.add(place)
            self.unpacked_bytes += size
            if self.unpacked_bytes > self._limits.unpacked_bytes:
                raise too_large(self._limits)
        made = len(self._directories) - 1 + len(self._files) + len(self._links)
        if max(made, self.count) > self._limits.entries:
            raise BadArchive(f"It has more than {self._limits.entries} entries.")

    def check_symlink(self, parts: tuple[str, ...], target: str) -> None:
        self._check_text(target)
        path = PurePosixPath(target)
        ups = next((index for index, part in enumerate(path.parts) if part != ".."), len(path.parts))
        if not target or path.is_absolute() or ups > len(parts) - 1 or ".." in path.parts[ups:]:
            raise BadArchive(f"{shown('/'.join(parts))} links to {shown(target)}, out of the directory.")
        if len(target.encode()) > self._limits.path_bytes:
            raise BadArchive(f"The name {shown(target)} is too long.")

    def check_hard_link(self, parts: tuple[str, ...], target: str) -> tuple[str, ...]:
        source = self.parts(target)
        if "/".join(source) not in self._files:
            raise BadArchive(f"{shown('/'.join(parts))} is a hard link to no file that comes before it.")
        self._files.add("/".join(parts))
        return source

    def _make_directory(self, place: str, name: str) -> None:
        if place in self._files or place in self._links:
            raise BadArchive(f"{shown(name)} needs a directory where the archive has a file or a link.")
        self._directories.add(place)

    @staticmethod
    def _check_text(name: str) -> None:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise BadArchive(f"The name {shown(name)} is not UTF-8.") from None
        if _CONTROL.search(name):
            raise BadArchive(f"The name {shown(name)} has control characters.")


def shown(name: str) -> str:
    text = name.encode("ascii", "backslashreplace").decode()
    return text if len(text) <= 120 else f"{text[:117]}…"
