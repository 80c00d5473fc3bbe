"""Small files that survive: written whole or not at all, and once where it matters.

Imported by the supervisor too, so it uses the standard library only, and little of it.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

# Old supervisors live across upgrades: a reader must understand every version that was ever written.
VERSION = 1
RECORD_BYTES = 4096


def write_once(directory: Path, name: str, content: Mapping[str, object]) -> bool:
    """Writes a file that is never changed; False if it is there already."""
    temporary = directory / f".{name}.{os.getpid()}"
    _write(temporary, _encode(content))
    try:
        (directory / name).hardlink_to(temporary)
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
    sync_directory(directory)
    return True


def replace(directory: Path, name: str, content: Mapping[str, object]) -> None:
    """Writes a file whose next version takes its place in one step."""
    temporary = directory / f".{name}.{os.getpid()}"
    _write(temporary, _encode(content))
    temporary.rename(directory / name)
    sync_directory(directory)


def reserve(directory: Path, name: str) -> None:
    """Takes the space of a record now, so that it can be written when the disk is full."""
    descriptor = os.open(directory / f".{name}.space", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # Written, not only promised: some file systems allocate again what was never written.
        os.pwrite(descriptor, b" " * RECORD_BYTES, 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def fill_reserved(directory: Path, name: str, content: Mapping[str, object]) -> None:
    """Writes the record into the space that was taken for it."""
    encoded = _encode(content)
    if len(encoded) > RECORD_BYTES:
        raise ValueError(f"a record of {len(encoded)} bytes is longer than {RECORD_BYTES}")
    descriptor = os.open(directory / f".{name}.space", os.O_RDWR | os.O_CLOEXEC)
    try:
        os.pwrite(descriptor, encoded.ljust(RECORD_BYTES), 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    (directory / f".{name}.space").rename(directory / name)
    sync_directory(directory)


def read(directory: Path, name: str) -> dict[str, object] | None:
    """The content, or nothing if there is no such file. ValueError if it is not one of ours."""
    try:
        content = json.loads((directory / name).read_bytes())
    except FileNotFoundError:
        return None
    if not isinstance(content, dict) or not isinstance(content.get("version"), int):
        raise ValueError(f"{directory / name} is not a record")
    return content


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _encode(content: Mapping[str, object]) -> bytes:
    return json.dumps({"version": VERSION, **content}, separators=(",", ":")).encode()


def _write(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    except OSError:
        path.unlink()
        raise
    finally:
        os.close(descriptor)
