"""Disk limits that the kernel keeps, where the file system of the data directory has quotas on.

A project bounds a workspace or a home: what is made in a directory belongs to the directory's project, and
work cannot change that (`seccomp`). A user quota bounds all files of one person. Both count inodes, so also
files that were deleted and are open, mapped or on their way through a socket. Whether quotas are on is asked
of the kernel, never read from mount options. Without them limits work by looking (`disk`).

Imported by the supervisor, so it uses the standard library only.
"""

import contextlib
import errno
import fcntl
import os
import struct
import threading
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from corral.engines.local.files import user_files
from corral.engines.local.kernel import syscalls
from corral.engines.local.records import durable_json

FIRST_PROJECT = 200_000_000  # far from those that administrators give by hand
WORKSPACES, HOMES = "workspaces", "homes"  # what is bounded, below the data directory
_LAST_PROJECT = 2**32 - 2
_FILE = "projects.json"

_GET_STATE = ord("X") << 8 | 8  # Q_XGETQSTATV, which every file system with quotas answers
_GET, _SET = 0x800007, 0x800008
_STATE = struct.Struct("=bxH")
_STATE_BYTES = 256
_USERS_ENFORCED, _PROJECTS_ENFORCED = 0x03, 0x30  # accounted and enforced
# Hard limit, soft limit, used: of KiB (used: bytes), then of files; two times; which fields are meant.
_QUOTA = struct.Struct("=8QI4x")
_LIMITS = 0x1 | 0x4

_GET_ATTRIBUTES, _SET_ATTRIBUTES = 0x801C581F, 0x401C5820
_ATTRIBUTES = struct.Struct("=5I8x")  # flags, extent size, extents, project, extent size of copies
_INHERIT = 0x200

_MIB = 2**20
_KIB_PER_MIB = 1024
_NEARLY_BYTES = _MIB  # what was refused room did not fit into the last of it


class Kind(IntEnum):
    USER = 0
    PROJECT = 2


@dataclass(frozen=True, slots=True)
class Bounds:
    """What may lie there; 0 sets no bound."""

    mib: int
    files: int


@dataclass(frozen=True, slots=True)
class Quotas:
    """Which of them the file system keeps."""

    projects: bool = False
    people: bool = False

    @property
    def in_words(self) -> str:
        if self.projects and self.people:
            return "enforced by quotas of the file system"
        if self.projects:
            return "enforced by project quotas of the file system; sums of people by looking"
        if self.people:
            return "sums of people enforced by user quotas of the file system; the rest by looking"
        return "by looking: the file system has no quotas that Corral can set"


def find_quotas(directory: Path) -> Quotas:
    """Asks the kernel. Only root may set them, and not in a container of its own users."""
    if os.geteuid() != 0:
        return Quotas()
    state = bytearray(_STATE_BYTES)
    state[0] = 1  # the version of the answer
    try:
        with user_files.opened_directory(directory) as descriptor:
            syscalls.control_quota(descriptor, _GET_STATE, Kind.USER, 0, state)
            _, flags = _STATE.unpack_from(state)
            return Quotas(
                projects=flags & _PROJECTS_ENFORCED == _PROJECTS_ENFORCED
                and _may_set(descriptor, Kind.PROJECT, FIRST_PROJECT - 1),
                people=flags & _USERS_ENFORCED == _USERS_ENFORCED
                and _may_set(descriptor, Kind.USER, FIRST_PROJECT - 1),
            )
    except OSError:  # a file system or a kernel without quotas
        return Quotas()


def reached(path: str, uid: int) -> str | None:
    """Which limit of the kernel's leaves no room there, in words; None if none does, or there are none."""
    if os.geteuid() != 0:
        return None
    with contextlib.suppress(OSError), user_files.opened_directory(path) as directory:
        project = _project_of(directory)
        if project >= FIRST_PROJECT:
            full = _full(directory, Kind.PROJECT, project)
            if full is not None:
                return f"its disk limit of {full} was reached"
        full = _full(directory, Kind.USER, uid)
        if full is not None:
            return f"the limit of {full} for all files of its owner was reached: delete work that is over"
    return None


class DiskQuotas:
    """The quotas of one data directory: which project bounds which workspace or home, and how much it allows.

    A project is given once, also when its directory is gone: files of it may still be open somewhere. Where
    the file system has no quotas nothing here does anything.
    """

    def __init__(self, data: Path) -> None:
        self.quotas = find_quotas(data)
        self._data = data
        self._lock = threading.Lock()
        self._last: int | None = None

    def enclose(self, directory: int, kind: str, name: str, bounds: Bounds) -> None:
        """Bounds a fresh directory, which is about to be `data/kind/name`."""
        if self.quotas.projects:
            project = self._give(kind, name)
            _bound(directory, Kind.PROJECT, project, bounds)
            _enclose(directory, project)

    def bound(self, kind: str, name: str, bounds: Bounds) -> None:
        """What a directory may hold from now on; one that was made without a project has no such bound."""
        project = self._project(kind, name) if self.quotas.projects else None
        if project is not None:
            with user_files.opened_directory(self._data) as data:
                _bound(data, Kind.PROJECT, project, bounds)

    def bound_person(self, uid: int, bounds: Bounds) -> None:
        """All files of a person. Without a sandbox work has Corral's own uid, which nobody bounds."""
        if self.quotas.people and uid != os.getuid():
            with user_files.opened_directory(self._data) as data:
                _bound(data, Kind.USER, uid, bounds)

    def forget(self, kind: str, name: str) -> None:
        """The directory is gone: so is its bound."""
        self.bound(kind, name, Bounds(0, 0))
        with contextlib.suppress(FileNotFoundError):
            (self._place(kind) / name).unlink()

    def _project(self, kind: str, name: str) -> int | None:
        content = None
        with contextlib.suppress(OSError, ValueError):  # damaged: it is bounded by looking
            content = durable_json.read(self._place(kind), name)
        project = None if content is None else content.get("project")
        return project if isinstance(project, int) else None

    def _give(self, kind: str, name: str) -> int:
        """Written down before it is used."""
        with self._lock:
            if (known := self._project(kind, name)) is not None:
                return known
            project = self._find_last() + 1
            if project > _LAST_PROJECT:
                raise OSError(errno.ENOSPC, "all project ids are given away")
            durable_json.replace(self._data, _FILE, {"last": project})
            self._last = project
            place = self._place(kind)
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            durable_json.replace(place, name, {"project": project})
            return project

    def _find_last(self) -> int:
        """Also of ids that a lost or older record does not know."""
        if self._last is None:
            projects = [FIRST_PROJECT - 1]
            with contextlib.suppress(OSError, ValueError):
                content = durable_json.read(self._data, _FILE) or {}
                projects += [number for number in (content.get("last"),) if isinstance(number, int)]
            for kind in (WORKSPACES, HOMES):
                projects += self._found_in(kind)
            self._last = max(projects)
        return self._last

    def _found_in(self, kind: str) -> list[int]:
        found = []
        with contextlib.suppress(FileNotFoundError), user_files.opened_directory(self._data / kind) as root:
            with os.scandir(root) as entries:
                names = [entry.name for entry in entries]
            for name in names:
                with contextlib.suppress(OSError), user_files.opened_directory(name, root) as directory:
                    found.append(_project_of(directory))
        return [number for number in found if FIRST_PROJECT <= number < _LAST_PROJECT]

    def _place(self, kind: str) -> Path:
        return self._data / "projects" / kind


def _enclose(directory: int, project: int) -> None:
    """Everything that is made in this empty directory from now on belongs to the project."""
    attributes = bytearray(_ATTRIBUTES.size)
    fcntl.ioctl(directory, _GET_ATTRIBUTES, attributes)
    flags, extent, extents, _, copies = _ATTRIBUTES.unpack(attributes)
    fcntl.ioctl(
        directory, _SET_ATTRIBUTES, _ATTRIBUTES.pack(flags | _INHERIT, extent, extents, project, copies)
    )


def _bound(directory: int, kind: Kind, identity: int, bounds: Bounds) -> None:
    """From now on the kernel gives no more room than this."""
    content = _QUOTA.pack(bounds.mib * _KIB_PER_MIB, 0, 0, bounds.files, 0, 0, 0, 0, _LIMITS)
    syscalls.control_quota(directory, _SET, kind, identity, bytearray(content))


def _may_set(descriptor: int, kind: Kind, identity: int) -> bool:
    """By asking for somebody else's, which takes the same right."""
    try:
        _get(descriptor, kind, identity)
    except PermissionError:
        return False
    except OSError as error:
        return error.errno in (errno.ENOENT, errno.ESRCH)  # nobody has used it yet
    return True


def _get(descriptor: int, kind: Kind, identity: int) -> tuple[int, ...]:
    content = bytearray(_QUOTA.size)
    syscalls.control_quota(descriptor, _GET, kind, identity, content)
    return _QUOTA.unpack(content)


def _full(descriptor: int, kind: Kind, identity: int) -> str | None:
    most_kib, _, used_bytes, most_files, _, used_files, *_ = _get(descriptor, kind, identity)
    if most_kib and used_bytes + _NEARLY_BYTES > most_kib * 1024:
        return f"{most_kib // _KIB_PER_MIB} MiB"
    if most_files and used_files >= most_files:
        return f"{most_files} files"
    return None


def _project_of(directory: int) -> int:
    attributes = bytearray(_ATTRIBUTES.size)
    fcntl.ioctl(directory, _GET_ATTRIBUTES, attributes)
    return int(_ATTRIBUTES.unpack(attributes)[3])
