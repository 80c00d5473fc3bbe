"""Whether an uploaded archive can be unpacked without harm: decided once, when it arrives.

What it may hold: directories, files, and links that stay inside. Links are judged without looking at a disk:
`..` may only begin a link's target, and no entry may lie below a link, so every `..` goes up through real
directories and never above the top.
"""

import gzip
import io
import tarfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from corral.core.refusals import Invalid

MOST_ENTRIES = 100_000
MOST_UNPACKED_BYTES = 10 * 1024**3
MOST_NAME_BYTES = 255
MOST_PATH_BYTES = 1024
# Names and attributes of entries are read whole; a longer one would fill our memory.
_MOST_HEADER_BYTES = 1024 * 1024
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Contents:
    """What an archive amounts to."""

    entries: int
    unpacked_bytes: int


def check_archive(path: Path) -> Contents:
    """Looks at every entry of a tar archive, plain or gzipped; refuses with what is wrong with which."""
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
    try:
        with path.open("rb") as file:
            if not packed:
                return _check(file)
            with gzip.GzipFile(fileobj=file) as unpacked:
                return _check(unpacked)
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise _refused(f"It cannot be read as a tar archive ({_words(error)}).") from error


def _check(file: IO[bytes] | gzip.GzipFile) -> Contents:
    found = _Tree()
    with tarfile.open(fileobj=_Bounded(file), mode="r:") as tar:
        for entry in tar:
            found.add(entry)
            tar.members.clear()  # type: ignore[attr-defined]  # it would keep all it has seen
    return Contents(found.count, found.unpacked_bytes)


class _Bounded(io.RawIOBase):
    """The file as `tarfile` may read it: headers, not megabytes that an entry claims to be its name."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MOST_HEADER_BYTES:
            raise tarfile.ReadError("an entry's name or attributes are too long")
        return self._file.read(size)

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)


class _Tree:
    """What was seen so far: which paths are directories, which are something else."""

    def __init__(self) -> None:
        self.count = 0
        self.unpacked_bytes = 0
        self._directories: set[tuple[str, ...]] = {()}
        self._files: set[tuple[str, ...]] = set()
        self._links: set[tuple[str, ...]] = set()

    def add(self, entry: tarfile.TarInfo) -> None:
        self.count += 1
        if self.count > MOST_ENTRIES:
            raise _refused(f"It has more than {MOST_ENTRIES} entries.")
        parts = _parts(entry.name)
        if not parts and not entry.isdir():
            raise _refused("An entry has no name.")
        self._make_parents(parts, entry.name)
        if entry.isdir():
            self._make_directory(parts, entry.name)
            return
        if parts in self._directories or parts in self._files or parts in self._links:
            raise _refused(f"{_shown(entry.name)} is in it twice.")
        self._make(entry, parts)

    def _make(self, entry: tarfile.TarInfo, parts: tuple[str, ...]) -> None:
        if entry.issym():
            _check_link(entry, parts)
            self._links.add(parts)
        elif entry.islnk():
            if _parts(entry.linkname) not in self._files:
                raise _refused(f"{_shown(entry.name)} is a hard link to no file that comes before it.")
            self._files.add(parts)
        elif entry.isreg() and not entry.issparse():
            if entry.mode & 0o6000:
                raise _refused(
                    f"{_shown(entry.name)} would run with somebody else's rights (setuid or setgid)."
                )
            self.unpacked_bytes += entry.size
            if self.unpacked_bytes > MOST_UNPACKED_BYTES:
                raise _refused(f"It is larger than {MOST_UNPACKED_BYTES // 2**30} GiB when it is unpacked.")
            self._files.add(parts)
        else:
            raise _refused(f"{_shown(entry.name)} is neither a file, a directory nor a link.")

    def _make_parents(self, parts: tuple[str, ...], name: str) -> None:
        for depth in range(1, len(parts)):
            self._make_directory(parts[:depth], name)

    def _make_directory(self, parts: tuple[str, ...], name: str) -> None:
        if parts in self._files or parts in self._links:
            raise _refused(f"{_shown(name)} needs a directory where the archive has a file or a link.")
        self._directories.add(parts)


def _parts(name: str) -> tuple[str, ...]:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise _refused(f"{_shown(name)} leads out of the directory.")
    try:
        raw = name.encode()
    except UnicodeEncodeError:
        raise _refused(f"The name {_shown(name)} is not UTF-8.") from None
    if len(raw) > MOST_PATH_BYTES or any(len(part.encode()) > MOST_NAME_BYTES for part in path.parts):
        raise _refused(f"The name {_shown(name)} is too long.")
    if any(ord(character) < 32 or ord(character) == 127 for character in name):
        raise _refused(f"The name {_shown(name)} has control characters.")
    return path.parts


def _check_link(entry: tarfile.TarInfo, parts: tuple[str, ...]) -> None:
    target = PurePosixPath(entry.linkname)
    ups = 0
    for part in target.parts:
        if part != "..":
            break
        ups += 1
    if target.is_absolute() or ups > len(parts) - 1 or ".." in target.parts[ups:]:
        raise _refused(f"{_shown(entry.name)} links to {_shown(entry.linkname)}, out of the directory.")


def _refused(detail: str) -> Invalid:
    return Invalid.field(
        "body", detail, "Leave it out (a line in .corralignore), or pack the directory anew."
    )


def _shown(name: str) -> str:
    text = name.encode("ascii", "backslashreplace").decode()
    return text if len(text) <= 120 else f"{text[:117]}…"


def _words(error: Exception) -> str:
    return (str(error) or type(error).__name__).encode("ascii", "backslashreplace").decode()[:120]
