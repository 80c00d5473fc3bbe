"""The archives themselves: one file for each content, under its SHA-256, in a directory of Corral's own.

A file is written beside its place, and gets its name when it is whole and found to be harmless. Whoever gives
or takes a name holds the lock, so that sweeping never removes what has just arrived again.

Uploads have threads of their own, and only a few are checked at a time: however many arrive, everything else
goes on.
"""

import asyncio
import fcntl
import hashlib
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from corral.core.concurrency import ConcurrencyLimit
from corral.core.refusals import Malformed, TooLarge
from corral.engines.archives.asking import check
from corral.engines.archives.limits import USUAL, Archive, BadArchive, Contents, Form
from corral.engines.contents import Content, ContentMissing
from corral.inputs.archives import refused

_PIECE_BYTES = 1024 * 1024
_THREADS = 4
_CHECKS_AT_A_TIME = 2
_AT_A_TIME_EACH = 2  # uploads of one person
# From one piece of an upload to the next.
_SILENCE_SECONDS = 60.0
# Between an archive's arrival and its row in the database; nothing takes that long.
_SETTLED_SECONDS = 120.0
# Between two pieces of one that is still arriving, over the slowest line.
_ARRIVING_SECONDS = 3600.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Arrived:
    """An archive that is in its place."""

    sha256: str
    size_bytes: int
    form: Form
    contents: Contents


class UploadFiles:
    def __init__(self, directory: Path, most_mib: int) -> None:
        self.directory = directory
        self.most_bytes = most_mib * 1024**2
        self.limits = USUAL
        self.places = ConcurrencyLimit(
            _AT_A_TIME_EACH, "uploads", "Wait until one of them has arrived, then try again."
        )
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="upload")
        self._checks = asyncio.Semaphore(_CHECKS_AT_A_TIME)

    def path(self, sha256: str) -> Path:
        return self.directory / sha256

    def find(self, content: Content) -> Archive:
        """Implements `ContentStore`. One that came before forms were declared has that it was read with."""
        path = self.path(content.sha256)
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            raise ContentMissing("it is no longer kept; upload the directory and submit again") from None
        if size != content.size_bytes:
            raise ContentMissing(f"it has {size} of {content.size_bytes} bytes; restore it, or submit again")
        form = content.form or (Form.GZIP if _begins_with(path, _GZIP) else Form.TAR)
        return Archive(path, form)

    async def receive(self, user_id: str, form: Form, pieces: AsyncIterator[bytes]) -> Arrived:
        """Writes what comes, checks it and puts it in its place; of a refused one nothing stays."""
        with self.places.taken(user_id):
            draft = await self._in_thread(self._draft)
            try:
                sha256, size = await self._take(pieces, draft)
                async with self._checks:
                    contents = await self._in_thread(lambda: check(Archive(draft, form), self.limits))
                await self._in_thread(lambda: self.place(draft, sha256))
            except BadArchive as error:
                raise refused(error, form) from error
            finally:
                draft.unlink(missing_ok=True)
        return Arrived(sha256, size, form, contents)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _take(self, pieces: AsyncIterator[bytes], draft: Path) -> tuple[str, int]:
        digest, size, gathered = hashlib.sha256(), 0, bytearray()

        def write() -> None:
            digest.update(gathered)
            file.write(gathered)
            gathered.clear()

        with draft.open("wb") as file:
            async for piece in _without_long_silence(pieces):
                size += len(piece)
                if size > self.most_bytes:
                    raise self.too_large()
                gathered += piece
                if len(gathered) >= _PIECE_BYTES:
                    await self._in_thread(write)
            await self._in_thread(write)
        if not size:
            raise Malformed("The upload is empty.", "Send a tar archive as the body of the request.")
        return digest.hexdigest(), size

    def too_large(self) -> TooLarge:
        return TooLarge(
            f"An upload has at most {self.most_bytes // 1024**2} MiB.",
            "Leave out what the work does not need (.corralignore), or keep data in your home directory.",
        )

    def sweep(self, known: Collection[str], most: int) -> int:
        """Removes files that no row speaks of, and what interrupted uploads left."""
        if not self.directory.is_dir():
            return 0
        removed, now = 0, time.time()
        with self._locked(), os.scandir(self.directory) as entries:
            for entry in entries:
                if removed >= most:
                    break
                kept = _ARRIVING_SECONDS if entry.name.startswith(_DRAFT) else _SETTLED_SECONDS
                if entry.name in known or entry.name == _LOCK or not entry.is_file(follow_symlinks=False):
                    continue
                if _changed_at(entry) > now - kept:
                    continue
                Path(entry.path).unlink(missing_ok=True)
                removed += 1
        return removed

    def _draft(self) -> Path:
        self.directory.mkdir(mode=0o700, exist_ok=True, parents=True)
        handle, name = tempfile.mkstemp(prefix=_DRAFT, dir=self.directory)
        os.close(handle)
        return Path(name)

    def place(self, draft: Path, sha256: str) -> None:
        """Gives a whole and checked file its name."""
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        with self._locked():
            draft.replace(self.path(sha256))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self.directory / _LOCK).open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


async def _without_long_silence(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    while True:
        try:
            async with asyncio.timeout(_SILENCE_SECONDS):
                piece = await anext(pieces)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Malformed(
                f"Nothing of the upload came for {_SILENCE_SECONDS:g} s.", "Send it again."
            ) from None
        yield piece


def _begins_with(path: Path, start: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(start)) == start


def _changed_at(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat(follow_symlinks=False).st_mtime
    except FileNotFoundError:  # an upload that was refused meanwhile
        return time.time()


_LOCK = ".lock"
_DRAFT = ".new-"
_GZIP = b"\x1f\x8b"
