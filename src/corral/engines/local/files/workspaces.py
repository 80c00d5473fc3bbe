"""Directories of workloads and people. They belong to their owner's uid; nobody else can look inside.

What a person can write to is never followed as root: an upload is unpacked into a directory that nobody has
been shown, by a process with the owner's rights, and only then put in its place.
"""

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

from corral.engines.archives.asking import unpack
from corral.engines.archives.limits import Archive, BadArchive
from corral.engines.local.files import user_files
from corral.engines.local.files.quotas import HOMES, WORKSPACES, Bounds, DiskQuotas
from corral.engines.local.files.sealing import ENVIRONMENT
from corral.engines.local.records.layout import is_name

_OWN = 0o700
_MIB = 2**20


class BadUpload(Exception):
    """A workspace or home that cannot be made as it was asked for, in words."""


class Workspaces:
    def __init__(self, data: Path, disk_quotas: DiskQuotas) -> None:
        self.root = data / WORKSPACES
        self._homes = data / HOMES
        self._disk_quotas = disk_quotas
        self._counts = data / "home-counts"
        self._making_homes = threading.Lock()
        self._counts.mkdir(mode=_OWN, exist_ok=True)
        self._workspace_counts = data / "workspace-counts"
        self._workspace_counts.mkdir(mode=_OWN, exist_ok=True)
        for directory in (self.root, self._homes):
            directory.mkdir(mode=0o711, exist_ok=True)
            directory.chmod(0o711)

    def workspace(self, name: str) -> Path:
        if not is_name(name):
            raise BadUpload(f"{name!r} cannot be the name of a workspace")
        return self.root / name

    def provide(self, name: str, uid: int, find_upload: Callable[[], Archive] | None, bounds: Bounds) -> Path:
        """The workspace, with the upload in it; one that is there already keeps what it has."""
        place = self.workspace(name)
        with user_files.opened_directory(self.root) as root:
            if user_files.is_directory(root, name):
                self._disk_quotas.bound(WORKSPACES, name, bounds)
                return place
            fresh = user_files.make_fresh(root)
            try:
                with user_files.opened_directory(fresh, root) as directory:
                    self._disk_quotas.enclose(directory, WORKSPACES, name, bounds)
                _give(root, fresh, uid)
                if find_upload is not None:
                    _fill(root, fresh, uid, find_upload(), bounds.mib * _MIB)
                os.rename(fresh, name, src_dir_fd=root, dst_dir_fd=root)
            except BaseException:
                user_files.remove(root, fresh)
                raise
        return place

    def home(self, owner: str) -> Path:
        if not is_name(owner):
            raise BadUpload(f"{owner!r} cannot be the name of a home")
        return self._homes / owner

    def provide_home(self, owner: str, uid: int, bounds: Bounds) -> Path:
        home = self.home(owner)
        with self._making_homes, user_files.opened_directory(self._homes) as homes:
            if user_files.is_directory(homes, owner):
                self._disk_quotas.bound(HOMES, owner, bounds)
            else:
                fresh = user_files.make_fresh(homes)
                with user_files.opened_directory(fresh, homes) as directory:
                    self._disk_quotas.enclose(directory, HOMES, owner, bounds)
                _give(homes, fresh, uid)
                os.rename(fresh, owner, src_dir_fd=homes, dst_dir_fd=homes)
        return home

    def counts(self, owner: str) -> Path:
        """The directory with what each workspace of a person was last counted to hold; see `disk`."""
        if not is_name(owner):
            raise BadUpload(f"{owner!r} cannot be the name of an owner")
        return self._workspace_counts / owner

    def forget_count(self, owner: str, name: str) -> None:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            (self.counts(owner) / name).unlink()

    def home_count(self, owner: str) -> Path:
        """The file with how much the home was last found to hold; see `disk`."""
        return self._counts / owner

    def forget_person(self, owner: str) -> None:
        """Of somebody whose home and workspaces are gone: what they were counted to hold."""
        self.home_count(owner).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # it is not there, or has counts of workspaces that are
            self.counts(owner).rmdir()

    def environment(self, name: str) -> Path:
        """Where a workload with this workspace builds an environment, or has built it."""
        return self.workspace(name) / ENVIRONMENT

    def has_environment(self, name: str) -> bool:
        with user_files.opened_directory(self.root) as root:
            return user_files.is_directory(root, f"{name}/{ENVIRONMENT}")

    def remove(self, name: str) -> None:
        with user_files.opened_directory(self.root) as root:
            user_files.remove(root, self.workspace(name).name)

    def tidy(self) -> list[str]:
        """Removes what an interrupted unpacking or removal left; says what stays, and why."""
        return [problem for root in (self.root, self._homes) for problem in user_files.tidy_up(root)]


def _give(parent: int, name: str, uid: int) -> None:
    """An empty directory that nobody but us can enter yet."""
    with user_files.opened_directory(name, parent) as directory:
        os.fchmod(directory, _OWN)
        if uid != os.getuid():
            os.fchown(directory, uid, uid)


def _fill(parent: int, name: str, uid: int, upload: Archive, most_bytes: int) -> None:
    with user_files.opened_directory(name, parent) as target:
        try:
            unpack(upload, target, uid=uid, most_bytes=most_bytes)
        except BadArchive as error:
            raise BadUpload(f"its upload was not unpacked: {error}") from error
