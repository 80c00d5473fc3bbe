"""Environments that were built, taken away from who built them before anybody uses them.

Who builds an environment can write everything in it, also while it is being looked at. So when a build has
ended well and none of its processes is left, it is copied into a fresh tree of Corral's own: file by file
from open directories (`user_files`), hard links broken, rights reduced to "read" and "execute". Only the copy
is ever shown to work, read-only, at the place where it was built: an environment works only there. What that
place is stands in a record beside it. Nothing in the environment is followed or believed.

`data/runtimes/<workspace>/` holds `env` and `seal.json`. Imported by the supervisor: standard library only.
"""

import errno
import os
import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from corral.engines.local.files import user_files
from corral.engines.local.files.user_files import NotAFile, opened_directory
from corral.engines.local.kernel import syscalls
from corral.engines.local.records import durable_json

ENVIRONMENT = "env"  # in the workspace of the build, and in the sealed tree
MOST_ENTRIES = 500_000
MOST_DEPTH = 100
_RECORD = "seal.json"
_MIB = 2**20
_PIECE_BYTES = 16 * _MIB
_SYSTEM = "/usr"  # the same for all work, and read-only


class SealRefused(Exception):
    """An environment that cannot be kept, in words for whoever built it."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """An environment that can be used: where it lies, and the path at which it works."""

    source: str
    prefix: str


class Runtimes:
    """The sealed environments, by the name of the workspace in which each was built."""

    def __init__(self, data: Path) -> None:
        self._root = data / "runtimes"
        self._workspaces = data / "workspaces"
        self._root.mkdir(mode=0o700, exist_ok=True)
        self._root.chmod(0o700)
        self._sealing = threading.Lock()

    def place(self, name: str) -> Path:
        """Where the build of this workspace is sealed."""
        return self._root / name

    def find(self, name: str) -> Sealed:
        """Where it is, or will be: that of an older Corral lies in its workspace and is not sealed yet."""
        content = self._record(name)
        prefix = str(self._workspaces / name / ENVIRONMENT) if content is None else str(content["prefix"])
        return Sealed(str(self._root / name / ENVIRONMENT), prefix)

    def provide(self, name: str, most_bytes: int) -> bool:
        """Whether it is there; one that an older Corral left in its workspace is sealed now."""
        with self._sealing:
            if self._record(name) is not None:
                return True
            with opened_directory(self._workspaces) as workspaces:
                if not user_files.is_directory(workspaces, f"{name}/{ENVIRONMENT}"):
                    return False
            seal(self._workspaces / name, self._root / name, self._root, most_bytes)
            return True

    def remove(self, name: str) -> None:
        with opened_directory(self._root) as root:
            user_files.remove(root, name)

    def tidy(self) -> list[str]:
        """Removes what an interrupted sealing or removal left; says what stays, and why."""
        return user_files.tidy_up(self._root)

    def _record(self, name: str) -> dict[str, object] | None:
        try:
            return durable_json.read(self._root / name, _RECORD)
        except (OSError, ValueError):  # damaged: it is as if it were not there
            return None


def seal(workspace: Path, place: Path, draft: Path, most_bytes: int) -> None:
    """Copies the environment of a workspace in which nothing runs any more, whole or not at all.

    `draft` is a directory of Corral's own on the same disk, in which the copy is made.
    """
    with (
        opened_directory(workspace.parent) as workspaces,
        opened_directory(place.parent) as root,
        opened_directory(draft) as drafts,
    ):
        try:
            source = user_files.open_directory(workspaces, f"{workspace.name}/{ENVIRONMENT}", open_up=True)
        except OSError as error:
            raise SealRefused(f"the build left no environment in its place ({error.strerror})") from error
        fresh = user_files.make_fresh(drafts)
        try:
            with opened_directory(fresh, drafts) as directory:
                target = user_files.make_directory(directory, ENVIRONMENT, 0o755)
                prefix = str(workspace / ENVIRONMENT)
                try:
                    copied = _Copy(prefix, most_bytes)
                    copied.tree(source, target)
                finally:
                    os.close(target)
                facts = {"prefix": prefix, "bytes": copied.bytes, "entries": copied.entries}
                durable_json.write_once(draft / fresh, _RECORD, facts)
                syscalls.sync_file_system(directory)
            user_files.remove(root, place.name)  # of an attempt that was told to go after it had sealed
            os.rename(fresh, place.name, src_dir_fd=drafts, dst_dir_fd=root)
            os.fsync(root)
        except BaseException:
            user_files.remove(drafts, fresh)
            raise
        finally:
            os.close(source)


class _Copy:
    """Counts what it copies, and refuses what has no place in an environment."""

    def __init__(self, prefix: str, most_bytes: int) -> None:
        self.bytes = 0
        self.entries = 0
        self._prefix = prefix
        self._most_bytes = most_bytes

    def tree(self, source: int, target: int) -> None:
        """Depth first; a pair of directories is open for every level, of which there are not many."""
        way = [_Level(os.dup(source), os.dup(target), ())]
        try:
            while way:
                level = way[-1]
                if level.unseen is None:
                    level.unseen = self._entries(level)
                elif level.unseen:
                    if len(way) > MOST_DEPTH:
                        raise SealRefused(f"{_shown(level.names)} is deeper than {MOST_DEPTH} directories")
                    name = level.unseen.pop()
                    made = user_files.make_directory(level.target, name, 0o755)
                    try:
                        opened = user_files.open_directory(level.source, name, open_up=True)
                    except OSError:
                        os.close(made)
                        raise
                    way.append(_Level(opened, made, (*level.names, name)))
                else:
                    way.pop().close()
        finally:
            for level in way:
                level.close()

    def _entries(self, level: "_Level") -> list[str]:
        """Copies what is in a directory, and names the directories in it."""
        directories = []
        with os.scandir(level.source) as entries:
            for entry in entries:
                self.entries += 1
                if self.entries > MOST_ENTRIES:
                    raise SealRefused(f"it has more than {MOST_ENTRIES} files")
                mode = entry.stat(follow_symlinks=False).st_mode
                names = (*level.names, entry.name)
                if stat.S_ISDIR(mode):
                    directories.append(entry.name)
                elif stat.S_ISLNK(mode):
                    self._link(level, names)
                elif stat.S_ISREG(mode):
                    self._file(level, names)
                else:
                    raise _odd(names)
        return directories

    def _link(self, level: "_Level", names: tuple[str, ...]) -> None:
        target = os.readlink(names[-1], dir_fd=level.source)
        if not stays_inside(target, len(names) - 1, self._prefix):
            raise SealRefused(f"{_shown(names)} links out of the environment, to {_shown((target,))}")
        os.symlink(target, names[-1], dir_fd=level.target)

    def _file(self, level: "_Level", names: tuple[str, ...]) -> None:
        try:
            source = user_files.open_file(level.source, names[-1])
        except NotAFile as error:
            raise _odd(names) from error
        except PermissionError as error:
            raise SealRefused(f"{_shown(names)} is closed to its owner") from error
        try:
            mode = 0o755 if os.fstat(source).st_mode & 0o111 else 0o644
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            target = user_files.open_below(level.target, names[-1], flags, mode)
            try:
                self._content(source, target)
                os.fchmod(target, mode)
            finally:
                os.close(target)
        finally:
            os.close(source)

    def _content(self, source: int, target: int) -> None:
        # What it says it holds, before a byte is copied: a file may be all holes.
        if self.bytes + os.fstat(source).st_size > self._most_bytes:
            raise SealRefused(f"it has more than {self._most_bytes // _MIB} MiB")
        while copied := os.sendfile(target, source, None, _PIECE_BYTES):
            self.bytes += copied
            if self.bytes > self._most_bytes:
                raise SealRefused(f"it has more than {self._most_bytes // _MIB} MiB")


@dataclass(slots=True)
class _Level:
    source: int
    target: int
    names: tuple[str, ...]
    unseen: list[str] | None = None

    def close(self) -> None:
        os.close(self.source)
        os.close(self.target)


def stays_inside(target: str, depth: int, prefix: str) -> bool:
    """Whether a link in a directory `depth` below the top leads to what is there, or to the system's own.

    It is judged by its words: `..` may only begin them, so that no other link on the way can turn it.
    """
    parts = PurePosixPath(target).parts
    if target.startswith("/"):
        path = PurePosixPath(target)
        return ".." not in parts and (path.is_relative_to(prefix) or path.is_relative_to(_SYSTEM))
    ups = next((index for index, part in enumerate(parts) if part != ".."), len(parts))
    return ups <= depth and ".." not in parts[ups:]


def words_for(act: Callable[[], None]) -> str | None:
    """Why this could not be sealed; None if it was."""
    try:
        act()
    except SealRefused as refused:
        return str(refused)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        return "the disk is full" if full else f"it could not be copied: {error.strerror or error}"
    return None


def _odd(names: tuple[str, ...]) -> SealRefused:
    return SealRefused(f"{_shown(names)} is neither a file, a directory nor a link")


def _shown(names: tuple[str, ...]) -> str:
    text = "/".join(names).encode("ascii", "backslashreplace").decode()
    return text if len(text) <= 100 else f"…{text[-99:]}"
