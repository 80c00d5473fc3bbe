"""Files below directories that users can write to: the only module that opens, walks or removes them.

Work may run while we look, and exchange anything for anything at any moment. So every step goes from an open
directory to the next and follows no link (`openat2`, see `kernel.open_beneath`); only regular files are read,
without waiting; nothing recurses, and no depth, length or bytes of a name stop it.

Where something begins (`opened_directory`) is a directory whose place only Corral can change. Imported by the
supervisor, so it uses the standard library only.
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from corral.engines.local.kernel.syscalls import open_beneath

NEW = ".new-"  # how directories begin that have not got their name yet
REMOVING = ".removing"  # beside what is removed; made early, as a full disk may have no room for it

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PLACE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_OWNER, _READ_AND_SEARCH = 0o700, 0o500
_OF = "~"  # between the name of what is removed and the number of a part of it
_TRIES = 100  # of emptying a directory that somebody fills


class NotAFile(OSError):
    """Where a regular file was expected there is a directory, a link, a pipe, a socket or a device."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EINVAL, "not a regular file", path)


class TreeMoved(OSError):
    """A directory went elsewhere while it was walked; begin again, or wait until nothing runs."""

    def __init__(self) -> None:
        super().__init__(errno.EAGAIN, "a directory was moved while it was looked at")


@dataclass(frozen=True, slots=True)
class Entry:
    """Something in a tree, as it was when it was seen. `parent` is an open directory until the next step.

    `name` has the bytes of the name that are not UTF-8 as surrogates, as everywhere in Python.
    """

    parent: int
    name: str
    status: os.stat_result
    depth: int

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.status.st_mode)

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.status.st_mode)


@contextmanager
def opened_directory(path: Path | str, below: int | None = None) -> Iterator[int]:
    """A directory; without `below` at a path that only Corral and the administrator can change."""
    if below is None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    else:
        descriptor = open_beneath(below, str(path), _DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_below(directory: int, path: str, flags: int, mode: int = 0) -> int:
    """A descriptor of what is at `path` below; OSError if a link is on the way or at its end."""
    return open_beneath(directory, path, flags, mode)


def open_file(directory: int, path: str) -> int:
    """A regular file, to be read."""
    try:
        descriptor = open_beneath(directory, path, _FILE)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ELOOP):  # a socket, a link
            raise NotAFile(path) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotAFile(path)
    return descriptor


def status(directory: int, path: str) -> os.stat_result | None:
    """Of what is there, also of a link; None if nothing is. A link on the way is an OSError (ELOOP)."""
    try:
        descriptor = open_beneath(directory, path, _PLACE)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return os.fstat(descriptor)
    finally:
        os.close(descriptor)


def is_directory(directory: int, path: str) -> bool:
    found = status(directory, path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def open_directory(directory: int, name: str, *, open_up: bool = False) -> int:
    """A directory below, to be listed; one of ours that is closed to us can be opened up first."""
    if open_up:
        _open_up(directory, name, _READ_AND_SEARCH)
    return open_beneath(directory, name, _DIRECTORY)


def make_directory(directory: int, name: str, mode: int = _OWNER) -> int:
    """An open directory that was not there before, with this mode whatever the umask."""
    os.mkdir(name, _OWNER, dir_fd=directory)
    made = open_beneath(directory, name, _DIRECTORY)
    os.fchmod(made, mode)
    return made


def make_fresh(directory: int) -> str:
    """A new directory that nobody else can enter; returns its name, which begins with `NEW`."""
    while True:
        name = f"{NEW}{secrets.token_hex(8)}"
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, _OWNER, dir_fd=directory)
            return name


def walk(directory: int, most: int | None = None, *, open_up: bool = False) -> Iterator[Entry]:
    """Everything below, each directory before what is in it; OSError (E2BIG) after `most` entries.

    One directory is open at a time, so the depth is bounded by nothing. The way back is `..`, which must be
    the directory that we came from: else `TreeMoved`. What vanishes before it is looked at is left out.
    What is in a directory that is closed to us is not told of, unless it is ours and we may `open_up` it.
    """
    current = os.open(".", _DIRECTORY, dir_fd=directory)
    way, is_new = [_Step.at(current)], True
    try:
        while way:
            if is_new:
                is_new = False
                for entry in _listed(current, way[-1], len(way) - 1):
                    if most is not None and (most := most - 1) < 0:
                        raise OSError(errno.E2BIG, "there is too much in it")
                    yield entry
            elif way[-1].unseen:
                below = _enter(current, way[-1].unseen.pop(), open_up=open_up)
                if below is not None:
                    os.close(current)
                    current, is_new = below, True
                    way.append(_Step.at(current))
            else:
                way.pop()
                if way:
                    above = _go_up(current, way[-1].identity)
                    os.close(current)
                    current = above
    finally:
        os.close(current)


def remove(directory: int, name: str) -> bool:
    """Removes what is there, a tree of any shape included; False if there was nothing.

    `directory` must be one that only Corral can write to. What is removed leaves its name at once: it is
    moved to a directory beside (`REMOVING`), and so is every directory in it, one after the other; so the
    way to everything is short, and links are never followed. Removing it again goes on with what is left.
    """
    with _opened_pit(directory) as pit:
        with contextlib.suppress(FileNotFoundError):
            _move(directory, name, pit, f"{name}{_OF}{secrets.token_hex(8)}")
        return _remove_parts(pit, name)


def tidy_up(path: Path) -> list[str]:
    """Removes what interrupted work of ours left in a directory of Corral's; says what stays, and why."""
    try:
        with opened_directory(path) as directory:
            with os.scandir(directory) as entries:
                fresh = [entry.name for entry in entries if entry.name.startswith(NEW)]
            with _opened_pit(directory) as pit:
                for name in fresh:
                    with contextlib.suppress(FileNotFoundError):
                        _move(directory, name, pit, f"{name}{_OF}{secrets.token_hex(8)}")
            return [f"{path.name}: {problem}" for problem in _finish_removals(directory)]
    except OSError as error:
        return [f"{path.name}: it cannot be tidied up: {error.strerror}"]


def _finish_removals(directory: int) -> list[str]:
    """Goes on with removals that were interrupted, makes room for those to come, and says what cannot be."""
    problems = []
    with _opened_pit(directory) as pit:
        with os.scandir(pit) as entries:
            names = {entry.name.partition(_OF)[0] for entry in entries}
        for name in sorted(names):
            try:
                _remove_parts(pit, name)
            except OSError as error:
                problems.append(f"{name} cannot be removed: {error.strerror}")
    return problems


@dataclass(frozen=True, slots=True)
class _Step:
    """A directory on the way to where `walk` is, and the directories in it that come later."""

    identity: tuple[int, int]
    unseen: list[str]

    @classmethod
    def at(cls, directory: int) -> Self:
        found = os.fstat(directory)
        return cls((found.st_dev, found.st_ino), [])


def _listed(directory: int, step: _Step, depth: int) -> Iterator[Entry]:
    with contextlib.suppress(FileNotFoundError, PermissionError), os.scandir(directory) as entries:
        for entry in entries:
            try:
                found = entry.stat(follow_symlinks=False)
            except (FileNotFoundError, PermissionError):
                continue
            if stat.S_ISDIR(found.st_mode):
                step.unseen.append(entry.name)
            yield Entry(directory, entry.name, found, depth)


def _enter(directory: int, name: str, *, open_up: bool) -> int | None:
    """None for what is no directory any more, or is closed to us."""
    try:
        below = open_directory(directory, name, open_up=open_up)
    except OSError as error:
        # EXDEV: it was moved out of the tree while it was opened.
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EXDEV):
            return None
        raise
    try:
        os.stat(".", dir_fd=below)  # it can be listed: can it be searched, too?
    except PermissionError:
        os.close(below)
        return None
    return below


def _go_up(directory: int, identity: tuple[int, int]) -> int:
    try:
        above = os.open("..", _DIRECTORY, dir_fd=directory)
    except (FileNotFoundError, PermissionError) as error:
        raise TreeMoved from error
    found = os.fstat(above)
    if (found.st_dev, found.st_ino) != identity:
        os.close(above)
        raise TreeMoved
    return above


@contextmanager
def _opened_pit(directory: int) -> Iterator[int]:
    with contextlib.suppress(FileExistsError):
        os.mkdir(REMOVING, _OWNER, dir_fd=directory)
    with opened_directory(REMOVING, directory) as pit:
        yield pit


def _remove_parts(pit: int, of: str) -> bool:
    """Of something that was moved there; False if there are none."""
    with os.scandir(pit) as entries:
        left = [entry.name for entry in entries if entry.name.startswith(f"{of}{_OF}")]
    _empty_pit(pit, [*left], of)
    return bool(left)


def _empty_pit(pit: int, waiting: list[str], of: str) -> None:
    """Removes what has these names in a directory of ours; `of` is what it was part of."""
    batch, count, tries = f"{of}{_OF}{secrets.token_hex(8)}", 0, 0
    while waiting:
        name = waiting.pop()
        moved: list[str] = []
        try:
            if not _open_up(pit, name, _OWNER):
                os.unlink(name, dir_fd=pit)
                continue
            with opened_directory(name, pit) as directory:
                for below in _unlink_files(directory):
                    with contextlib.suppress(FileNotFoundError):
                        _move(directory, below, pit, f"{batch}-{count}")
                        moved.append(f"{batch}-{count}")
                        count += 1
        except FileNotFoundError:
            continue  # another process removes it, too
        except OSError as error:
            # No room for more names: those that were moved go first.
            if error.errno not in (errno.ENOSPC, errno.EDQUOT) or not moved:
                raise
        if not _removed(pit, name):
            tries += 1
            if tries > _TRIES and not moved:
                raise OSError(errno.ENOTEMPTY, "somebody writes there while it is being removed", name)
            waiting.append(name)
        waiting += moved


def _unlink_files(directory: int) -> Iterator[str]:
    """Removes what is not a directory, and names what is."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield entry.name
                continue
            try:
                os.unlink(entry.name, dir_fd=directory)
            except FileNotFoundError:
                continue
            except IsADirectoryError:  # now it is one
                yield entry.name


def _removed(pit: int, name: str) -> bool:
    try:
        os.rmdir(name, dir_fd=pit)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    return True


def _move(directory: int, name: str, pit: int, place: str) -> None:
    """A directory that is closed to its owner cannot be moved by its owner."""
    try:
        os.rename(name, place, src_dir_fd=directory, dst_dir_fd=pit)
    except PermissionError:
        _open_up(directory, name, _OWNER)
        os.rename(name, place, src_dir_fd=directory, dst_dir_fd=pit)


def _open_up(directory: int, name: str, bits: int) -> bool:
    """False for what is no directory. One that its owner closed is opened again, if the owner is us."""
    place = open_beneath(directory, name, _PLACE)
    try:
        found = os.fstat(place)
        if not stat.S_ISDIR(found.st_mode):
            return False
        if found.st_uid == os.geteuid() and found.st_mode & bits != bits:
            # By the descriptor, as a name could be a link by now; `fchmod` does not take a mere place.
            Path(f"/proc/self/fd/{place}").chmod(stat.S_IMODE(found.st_mode) | bits)
        return True
    finally:
        os.close(place)
