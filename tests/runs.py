"""What the processes of one test run share: a folder, and locks in it."""

import fcntl
import os
import select
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_VARIABLE = "CORRAL_TEST_RUN"
_STOP_SECONDS = 30
_MEMORY_BYTES = 2 * 1024**3


@dataclass(frozen=True)
class TestRun:
    __test__ = False  # a name that pytest would take for a test class

    folder: Path
    pid: int

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Only one process of the run is inside at a time."""
        with (self.folder / f"{name}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def fast_folder() -> str | None:
    """Memory instead of a disk, if there is enough of it: copying a database is ten times faster there."""
    memory = Path("/dev/shm")
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > _MEMORY_BYTES:
        return str(memory)
    return None


def begin_run() -> None:
    """Called in the run's first process; workers inherit the variable."""
    folder = tempfile.mkdtemp(prefix="corral-test-", dir=fast_folder())
    os.environ[_VARIABLE] = f"{os.getpid()}:{folder}"


def current_run() -> TestRun:
    pid, _, folder = os.environ[_VARIABLE].partition(":")
    return TestRun(Path(folder), int(pid))


def end_run() -> None:
    run = current_run()
    del os.environ[_VARIABLE]
    with suppress(FileNotFoundError):
        _stop(int((run.folder / "postgresql.pid").read_text()))
    shutil.rmtree(run.folder, ignore_errors=True)  # the supervisor may be removing it too


def _stop(pid: int) -> None:
    with suppress(ProcessLookupError):
        process = os.pidfd_open(pid)
        signal.pidfd_send_signal(process, signal.SIGTERM)
        select.select([process], [], [], _STOP_SECONDS)
        os.close(process)
