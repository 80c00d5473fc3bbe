"""Unpacks an upload that may be anything: nothing is written outside of its directory, and not too much.

Every step goes from one open directory to the next and follows no link, so nothing that an earlier entry made
can lead a later one out. (The filters of `tarfile` decide by path, and were fooled more than once.)
"""

import errno
import os
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

MOST_ENTRIES = 200_000
_CONTRADICTIONS = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENOENT)
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class BadUpload(Exception):
    """An archive that is not unpacked, in words for whoever sent it."""


def unpack(archive: Path, target: Path, *, most_bytes: int) -> None:
    """Files, directories and links that stay inside; anything else is refused."""
    total = count = 0
    root = os.open(target, _DIRECTORY)
    try:
        with tarfile.open(archive, "r:*") as tar:
            for entry in tar:
                count += 1
                total += entry.size if entry.isreg() else 0
                if count > MOST_ENTRIES:
                    raise BadUpload(f"the upload has more than {MOST_ENTRIES} entries")
                if total > most_bytes:
                    raise BadUpload(
                        f"the upload is larger than {most_bytes // 2**20} MiB when it is unpacked"
                    )
                _put(tar, entry, root)
    except (tarfile.TarError, EOFError, UnicodeError) as error:
        raise BadUpload(f"the upload cannot be read as a tar archive: {error}") from error
    finally:
        os.close(root)


def _put(tar: tarfile.TarFile, entry: tarfile.TarInfo, root: int) -> None:
    parts = _parts(entry.name)
    if not parts:
        return  # the directory itself
    try:
        with _inside(root, parts[:-1]) as parent:
            _make(tar, entry, root, parent, parts)
    except OSError as error:
        if error.errno in _CONTRADICTIONS:
            raise BadUpload(f"{entry.name!r} in the upload contradicts another entry") from error
        if error.errno == errno.ENAMETOOLONG:
            raise BadUpload(f"{entry.name[:80]!r}… in the upload is too long a name") from error
        raise


def _make(tar: tarfile.TarFile, entry: tarfile.TarInfo, root: int, parent: int, parts: list[str]) -> None:
    name = parts[-1]
    if entry.isdir():
        os.close(_enter(parent, name))
    elif entry.isreg():
        content = tar.extractfile(entry)
        assert content is not None
        # The owner's bits and whether it can be executed; never setuid.
        mode = 0o600 | entry.mode & 0o755
        with content, os.fdopen(os.open(name, _NEW_FILE, mode, dir_fd=parent), "wb") as file:
            shutil.copyfileobj(content, file)
    elif entry.issym():
        _check_link(entry, parts)
        os.symlink(entry.linkname, name, dir_fd=parent)
    elif entry.islnk():
        source = _parts(entry.linkname)
        if not source:
            raise BadUpload(f"{entry.name!r} in the upload links to a directory")
        with _inside(root, source[:-1]) as directory:
            os.link(source[-1], name, src_dir_fd=directory, dst_dir_fd=parent, follow_symlinks=False)
    else:
        raise BadUpload(f"{entry.name!r} in the upload is a device or a pipe")


def _parts(name: str) -> list[str]:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise BadUpload(f"{name!r} in the upload leads out of its directory")
    return list(path.parts)


def _check_link(entry: tarfile.TarInfo, parts: list[str]) -> None:
    target = PurePosixPath(entry.linkname)
    depth = len(parts) - 1
    for part in target.parts:
        depth += -1 if part == ".." else 1
        if depth < 0 or target.is_absolute():
            raise BadUpload(f"{entry.name!r} in the upload links out of its directory")


@contextmanager
def _inside(root: int, parts: list[str]) -> Iterator[int]:
    """The directory at `parts`, made where it is missing."""
    descriptor = os.dup(root)
    try:
        for part in parts:
            below = _enter(descriptor, part)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def _enter(parent: int, name: str) -> int:
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except FileNotFoundError:
        os.mkdir(name, 0o755, dir_fd=parent)
        return os.open(name, _DIRECTORY, dir_fd=parent)
