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
# Of a text in a record: the rest of it has a fixed size, and both together fit the space that is reserved.
TEXT_BYTES = 2048
_SHORT_BYTES = 200


def write_once(directory: Path, name: str, content: Mapping[str, object]) -> bool:
    """Writes a file that is never changed; False if it is there already."""
    temporary = directory / f".{name}.{os.getpid()}"
    _write(temporary, encode(content))
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
    _write(temporary, encode(content))
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
    encoded = encode(content)
    if len(encoded) > RECORD_BYTES:
        # Whoever made it should have bounded it. How work ended is known all the same, in fewer words.
        encoded = encode(
            {
                key: bounded(value, _SHORT_BYTES) if isinstance(value, str) else value
                for key, value in content.items()
                if not isinstance(value, dict)
            }
        )
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


def bounded(text: str, most_bytes: int = TEXT_BYTES) -> str:
    """A text that can be stored anywhere and takes at most so many bytes in a record.

    Texts come from programs too: their length in characters says little of what they take encoded, and some
    characters (half of a pair, NUL) are refused by a database. What cannot be shown is replaced.
    """
    shown = "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text[:most_bytes])
    if _size(shown) <= most_bytes and len(text) <= most_bytes:
        return shown
    left = most_bytes - _size("…")
    for index, one in enumerate(shown):
        left -= _size(one)
        if left < 0:
            return f"{shown[:index]}…"
    return f"{shown}…"


def _size(text: str) -> int:
    return len(json.dumps(text)) - 2


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def encode(content: Mapping[str, object]) -> bytes:
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
