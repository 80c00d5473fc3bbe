"""The archives themselves: one file for each content, under its SHA-256, in a directory of Corral's own.

A file is written beside its place, and gets its name when it is whole and found to be harmless. Whoever gives
or takes a name holds the lock, so that sweeping never removes what has just arrived again.
"""

import asyncio
import fcntl
import hashlib
import os
import tempfile
import time
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from corral.core.refusals import Malformed, TooLarge
from corral.training.archives import Contents, check_archive

_PIECE_BYTES = 1024 * 1024
# Between an archive's arrival and its row in the database; nothing takes that long.
_SETTLED_SECONDS = 120.0
# Between two pieces of one that is still arriving, over the slowest line.
_ARRIVING_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Arrived:
    """An archive that is in its place."""

    sha256: str
    size_bytes: int
    contents: Contents


class UploadFiles:
    def __init__(self, directory: Path, most_mib: int) -> None:
        self._directory = directory
        self.most_bytes = most_mib * 1024**2

    def path(self, sha256: str) -> Path:
        return self._directory / sha256

    async def receive(self, pieces: AsyncIterator[bytes]) -> Arrived:
        """Writes what comes, checks it and puts it in its place; of a refused one nothing stays."""
        draft = await asyncio.to_thread(self._draft)
        try:
            arrived = await self._take(pieces, draft)
            contents = await asyncio.to_thread(check_archive, draft)
            await asyncio.to_thread(self._place, draft, arrived[0])
        finally:
            draft.unlink(missing_ok=True)
        return Arrived(*arrived, contents)

    async def _take(self, pieces: AsyncIterator[bytes], draft: Path) -> tuple[str, int]:
        digest, size, gathered = hashlib.sha256(), 0, bytearray()

        def write() -> None:
            digest.update(gathered)
            file.write(gathered)
            gathered.clear()

        with draft.open("wb") as file:
            async for piece in pieces:
                size += len(piece)
                if size > self.most_bytes:
                    raise self.too_large()
                gathered += piece
                if len(gathered) >= _PIECE_BYTES:
                    await asyncio.to_thread(write)
            await asyncio.to_thread(write)
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
        if not self._directory.is_dir():
            return 0
        removed, now = 0, time.time()
        with self._locked():
            for entry in os.scandir(self._directory):
                if removed >= most:
                    break
                kept = _ARRIVING_SECONDS if entry.name.startswith(_DRAFT) else _SETTLED_SECONDS
                if entry.name in known or entry.name == _LOCK or entry.stat().st_mtime > now - kept:
                    continue
                Path(entry.path).unlink(missing_ok=True)
                removed += 1
        return removed

    def _draft(self) -> Path:
        self._directory.mkdir(mode=0o700, exist_ok=True, parents=True)
        handle, name = tempfile.mkstemp(prefix=_DRAFT, dir=self._directory)
        os.close(handle)
        return Path(name)

    def _place(self, draft: Path, sha256: str) -> None:
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        with self._locked():
            draft.replace(self.path(sha256))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self._directory / _LOCK).open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


_LOCK = ".lock"
_DRAFT = ".new-"
