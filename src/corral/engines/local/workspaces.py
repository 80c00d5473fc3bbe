"""Directories of workloads and people. They belong to their owner's uid; nobody else can look inside.

What a person can write to is never followed as root: an upload is unpacked into a directory of our own, given
to its owner, and only then put in its place.
"""

import os
import shutil
import tempfile
from pathlib import Path

from corral.engines.local.layout import is_name
from corral.engines.local.unpack import BadUpload, unpack

_OWN = 0o700


class Workspaces:
    def __init__(self, data: Path) -> None:
        self.root = data / "workspaces"
        self._homes = data / "homes"
        self._counts = data / "home-counts"
        self._counts.mkdir(mode=_OWN, exist_ok=True)
        for directory in (self.root, self._homes):
            directory.mkdir(mode=0o711, exist_ok=True)
            directory.chmod(0o711)

    def workspace(self, name: str) -> Path:
        if not is_name(name):
            raise BadUpload(f"{name!r} cannot be the name of a workspace")
        return self.root / name

    def provide(self, name: str, uid: int, upload: Path | None, most_bytes: int) -> Path:
        """The workspace, with the upload in it; one that is there already stays as it is."""
        place = self.workspace(name)
        if place.is_dir():
            return place
        fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=self.root))
        try:
            if upload is not None:
                unpack(upload, fresh, most_bytes=most_bytes)
            _give(fresh, uid)
            fresh.rename(place)
        except BaseException:
            shutil.rmtree(fresh)
            raise
        return place

    def home(self, owner: str) -> Path:
        if not is_name(owner):
            raise BadUpload(f"{owner!r} cannot be the name of a home")
        return self._homes / owner

    def provide_home(self, owner: str, uid: int) -> Path:
        home = self.home(owner)
        if not home.is_dir():
            home.mkdir(mode=_OWN)
            _give(home, uid)
        return home

    def home_count(self, owner: str) -> Path:
        """The file with how much the home was last found to hold; see `disk`."""
        return self._counts / owner

    def environment(self, name: str) -> Path:
        """Where a workload with this workspace builds an environment, or has built it."""
        return self.workspace(name) / "env"

    def remove(self, name: str) -> None:
        place = self.workspace(name)
        if place.is_dir():
            shutil.rmtree(place)

    def tidy(self) -> None:
        """Removes what an interrupted unpacking left."""
        for path in self.root.glob(".new-*"):
            shutil.rmtree(path)


def _give(directory: Path, uid: int) -> None:
    directory.chmod(_OWN)
    if uid == os.getuid():
        return
    os.chown(directory, uid, uid)
    for parent, directories, files in os.walk(directory):
        for name in (*directories, *files):
            os.chown(Path(parent, name), uid, uid, follow_symlinks=False)
