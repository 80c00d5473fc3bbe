"""What went through an attempt's doors and lies on its disk, in a small file that outlives who counts.

It has two pages. The first is mapped by the proxy, which runs as the workload's user and counts what it
relays; the second is written by Corral (connections into the run) and by the supervisor (the workspace). So
nobody has to be asked: a sample is a read of a few bytes. The pages are written once when the file is made,
because a page that cannot be stored would end whoever touches it.

Imported by the supervisor and the proxy, so it uses the standard library only.
"""

import contextlib
import mmap
import os
import struct
from pathlib import Path

NAME = "tally"
_PAGE = mmap.PAGESIZE
_DIALS = struct.Struct("<2Q")  # received, sent
_DISK = struct.Struct("<Q")
_DISK_AT = _PAGE + _DIALS.size


class RelayedBytes:
    """The proxy's page: bytes that the work received from outside and sent there."""

    def __init__(self, page: mmap.mmap) -> None:
        self._counts = memoryview(page).cast("Q")

    def receive(self, count: int) -> None:
        self._counts[0] += count

    def send(self, count: int) -> None:
        self._counts[1] += count


def make(directory: Path) -> mmap.mmap:
    """Makes the file and maps the proxy's page, also for children that are forked."""
    descriptor = os.open(directory / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.pwrite(descriptor, bytes(2 * _PAGE), 0)
        return mmap.mmap(descriptor, _PAGE)
    finally:
        os.close(descriptor)


def write_dials(directory: Path, received: int, sent: int) -> None:
    """Of connections into the run, from its point of view, since it began."""
    _write(directory, _DIALS.pack(received, sent), _PAGE)


def read_dials(directory: Path) -> tuple[int, int]:
    """What an earlier Corral counted."""
    content = _read(directory)
    return _DIALS.unpack_from(content, _PAGE) if content else (0, 0)


def write_disk(directory: Path, count: int) -> None:
    _write(directory, _DISK.pack(count), _DISK_AT)


def counters(directory: Path) -> dict[str, int]:
    """By the names of `reports.Counters`; nothing of attempts whose supervisor does not count yet."""
    content = _read(directory)
    if not content:
        return {}
    relayed, dialled = _DIALS.unpack_from(content), _DIALS.unpack_from(content, _PAGE)
    (disk,) = _DISK.unpack_from(content, _DISK_AT)
    found = {"received_bytes": relayed[0] + dialled[0], "sent_bytes": relayed[1] + dialled[1]}
    return found | ({"disk_bytes": disk} if disk else {})


def _write(directory: Path, data: bytes, offset: int) -> None:
    # It is gone with an attempt that is forgotten, and nobody counts for that any more.
    with contextlib.suppress(FileNotFoundError):
        descriptor = os.open(directory / NAME, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.pwrite(descriptor, data, offset)
        finally:
            os.close(descriptor)


def _read(directory: Path) -> bytes:
    with contextlib.suppress(FileNotFoundError):
        content = (directory / NAME).read_bytes()
        return content if len(content) == 2 * _PAGE else b""
    return b""
