"""Who holds the lock of an attempt. Asking does not take it: a supervisor that just starts must get it."""

import fcntl
import os
import struct
from pathlib import Path

from corral.engines.local.records import layout

# struct flock: type, whence, start, length, pid
_LOCK = struct.Struct("hhqqi4x")


def holder(directory: Path) -> int | None:
    """The process that supervises this attempt; None if none does."""
    try:
        descriptor = os.open(directory / layout.LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        question = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = _LOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, question))
    finally:
        os.close(descriptor)
    return None if kind == fcntl.F_UNLCK else int(pid)


def take(directory: Path) -> int | None:
    """Takes the lock, so that no supervisor can begin; None if one holds it. Closing it gives it back."""
    descriptor = os.open(directory / layout.LOCK, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
