"""Checks that only read files, such as a linter, are not run again while none of these files changed.

A check names what it reads (`Check.reads`). Its key is the content of all of that, its command, and what runs
it: the versions of Node and Python, the platform. The packages of both are what their lock files say, and
these are read. What passed is kept under `$CORRAL_CACHE/checks`, for every checkout of this person; a failure
never is. Standard library only.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

KEPT_DAYS = 30
# Made from what is read, or installed as a lock file says.
_MADE = {"node_modules", "dist", "__pycache__", "console"}


def key(root: Path, command: Sequence[str], reads: Sequence[str]) -> str:
    """A digest of everything the check depends on, the same in every checkout."""
    digest = hashlib.sha256()

    def add(*parts: bytes) -> None:
        for part in parts:
            digest.update(len(part).to_bytes(8, "big") + part)

    words = (word.replace(str(root), "") for word in command)
    add(*(word.encode() for word in words), b"", *(word.encode() for word in _runs_on()), b"")
    for path in _files(root, reads):
        add(os.fsencode(path.relative_to(root)), path.read_bytes())
    return digest.hexdigest()


def _files(root: Path, reads: Sequence[str]) -> Iterator[Path]:
    for one in reads:
        if (root / one).is_file():
            yield root / one
            continue
        if not (root / one).is_dir():
            raise ValueError(f"a check says that it reads {one}, which is not there")
        for folder, folders, names in os.walk(root / one):
            folders[:] = sorted(set(folders) - _MADE)
            yield from (Path(folder) / name for name in sorted(names))


@functools.cache
def _runs_on() -> tuple[str, ...]:
    node = shutil.which("node")
    asked = [node, "-p", "process.version"] if node else ["true"]
    version = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return version, sys.version, platform.platform()


def has_passed(kept: Path, digest: str) -> bool:
    return (kept / digest).is_file()


def keep(kept: Path, digest: str) -> None:
    """The check passed. What nobody looked for in a month goes."""
    kept.mkdir(parents=True, exist_ok=True)
    (kept / digest).touch()
    old = time.time() - KEPT_DAYS * 86400
    for one in kept.iterdir():
        if one.stat().st_mtime < old:
            one.unlink(missing_ok=True)
