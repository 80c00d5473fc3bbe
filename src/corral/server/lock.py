"""One Corral per data directory. Standard library only: the parent of `corral up` stays small."""

import fcntl
import os
import time
from pathlib import Path

__all__ = ["HomeInUseError", "lock_home", "running_corral"]

_RETRY_SECONDS = 0.1


class HomeInUseError(Exception):
    """Another process holds the data directory."""

    def __init__(self, home: Path, pid: int | None) -> None:
        super().__init__(f"{home} is in use by {f'process {pid}' if pid else 'another process'}")
        self.home = home
        self.pid = pid


def lock_home(home: Path, wait_seconds: float = 0.0) -> int:
    """Takes the exclusive lock on a data directory; closing the returned descriptor gives it back.

    A child that inherits the descriptor keeps the lock, so that a parent killed in the middle cannot be
    replaced before its children are gone. `wait_seconds` is the time such children are given.
    """
    path = home / "corral.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            pid = _holder(descriptor)
            if time.monotonic() < deadline and not (pid and _is_alive(pid)):
                time.sleep(_RETRY_SECONDS)
                continue
            os.close(descriptor)
            raise HomeInUseError(home, pid) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


def running_corral(home: Path) -> int | None:
    """The process id of the Corral that uses a data directory, if one does."""
    try:
        descriptor = os.open(home / "corral.lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # no such directory, or one that is not ours: nobody runs there that we could name
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(descriptor)
    finally:
        os.close(descriptor)
    return None


def _holder(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
    return int(text) if text.isdigit() else None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
