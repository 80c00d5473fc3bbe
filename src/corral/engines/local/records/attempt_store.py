"""The directories of attempts in the data directory. All of it blocks: call it in a thread.

run/<attempt>/    the intent, the lock, records, output: until every ending in it was recorded
gone/<attempt>/   the same afterwards, with the output only; emptied when the workload is discarded, and
                  kept as a tombstone: what has run does not run again
"""

import contextlib
import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from corral.core.failures import in_words
from corral.engines.local.records import durable_json, layout, locks
from corral.engines.local.records.spec import Spec, spec_from

_TOMBSTONE_SECONDS = 30 * 86400
_NEW = ".new-"


class AttemptStore:
    def __init__(self, data: Path) -> None:
        self.run = data / "run"
        self.gone = data / "gone"
        for directory in (self.run, self.gone):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def directory(self, attempt: str) -> Path:
        return self.run / attempt

    def attempts(self) -> list[str]:
        return sorted(path.name for path in self.run.iterdir() if not path.name.startswith("."))

    def read_spec(self, attempt: str) -> Spec:
        """ValueError if it cannot be read."""
        return _read_spec(self.run / attempt)

    def was_here(self, attempt: str) -> bool:
        return (self.run / attempt).exists() or (self.gone / attempt).exists()

    def intend(self, spec: Spec, endings: list[dict[str, object]] | None = None) -> bool:
        """Writes the intent down whole, with endings if it is refused; False if one is there already."""
        fresh = Path(tempfile.mkdtemp(prefix=_NEW, dir=self.run))
        (fresh / layout.LOCK).touch(mode=0o600)
        durable_json.replace(fresh, layout.SPEC, spec.as_dict())
        for index, ending in enumerate(endings or []):
            durable_json.write_once(fresh, layout.exit_name(index), ending)
        try:
            fresh.rename(self.run / spec.attempt)
        except OSError as error:
            shutil.rmtree(fresh)
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            return False
        durable_json.sync_directory(self.run)
        return True

    def withdraw(self, attempt: str) -> bool:
        """Removes an intent of which nothing came; False if a supervisor has it. Under the lock, so that one
        that is about to begin either has it or finds nothing."""
        directory = self.run / attempt
        lock = locks.take(directory)
        if lock is None:
            return False
        try:
            if (directory / layout.BEGUN).exists():
                return False
            (directory / layout.LOCK).unlink()
            shutil.rmtree(directory)
        finally:
            os.close(lock)
        return True

    def forget(self, spec: Spec, index: int) -> bool:
        """True if this was the last of its attempt, which is gone now."""
        directory = self.run / spec.attempt
        if not directory.exists():
            return True  # somebody removed it: nothing is left to keep
        (directory / layout.forgotten_name(index)).touch(mode=0o600)
        shutil.rmtree(directory / layout.said_name(index), ignore_errors=True)
        if not all((directory / layout.forgotten_name(each)).exists() for each in range(len(spec.replicas))):
            return False
        directory.rename(self.gone / spec.attempt)
        durable_json.sync_directory(self.gone)
        return True

    def forgotten(self, attempt: str, index: int) -> bool:
        return (self.run / attempt / layout.forgotten_name(index)).exists()

    def gone_specs(self) -> Iterator[Spec]:
        """Attempts that are gone and of which output is kept; what cannot be read is not among them."""
        for path in self.gone.iterdir():
            with contextlib.suppress(OSError, ValueError):
                if (path / layout.SPEC).exists():
                    yield _read_spec(path)

    def strays(self) -> Iterator[tuple[str, str]]:
        """What lies among those that are gone and is not one: name and reason."""
        for path in self.gone.iterdir():
            try:
                if path.is_dir() and (path / layout.SPEC).exists():
                    _read_spec(path)
                elif not path.is_dir():
                    yield path.name, "not a directory"
            except (OSError, ValueError) as error:
                yield path.name, in_words(error) if isinstance(error, OSError) else str(error)

    def discard(self, attempt: str) -> None:
        """The output goes, the tombstone stays."""
        directory = self.gone / attempt
        for path in list(directory.iterdir()):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        os.utime(directory)

    def tidy(self) -> None:
        """Removes what an interrupted intent left, and tombstones that nobody asks for any more."""
        for path in self.run.glob(f"{_NEW}*"):
            shutil.rmtree(path, ignore_errors=True)
        oldest = time.time() - _TOMBSTONE_SECONDS
        for path in self.gone.iterdir():
            with contextlib.suppress(OSError):  # a stray file, or one that cannot be read: it is left alone
                if not any(path.iterdir()) and path.stat().st_mtime < oldest:
                    path.rmdir()


def _read_spec(directory: Path) -> Spec:
    content = durable_json.read(directory, layout.SPEC)
    if content is None:
        raise ValueError("it has no description")
    try:
        return spec_from(content)
    except (KeyError, TypeError, AssertionError) as error:
        raise ValueError(f"its description cannot be read: {error!r}") from error
