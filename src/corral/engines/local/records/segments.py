"""A stream on disk that is bounded: segments named by the offset at which they begin, the oldest go first.

Offsets count every byte that was ever offered, also what could not be kept: what a full disk refused is a gap
between two segments. Imported by the supervisor, so it uses the standard library only.
"""

import os
from pathlib import Path

SEGMENT_BYTES = 8 * 1024 * 1024
KEPT_BYTES = 64 * 1024 * 1024


class SegmentWriter:
    """The supervisor's end. `write` never fails or waits: what cannot be kept is dropped and counted."""

    def __init__(
        self, directory: Path, segment_bytes: int = SEGMENT_BYTES, kept_bytes: int = KEPT_BYTES
    ) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.dropped = 0
        self.offset = 0
        self._directory = directory
        self._segment_bytes = segment_bytes
        self._kept_bytes = kept_bytes
        self._segments: list[int] = []
        self._descriptor: int | None = None

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            if self._descriptor is None and not self._open():
                self._drop(len(view))
                return
            assert self._descriptor is not None
            try:
                written = os.write(self._descriptor, view)
            except OSError:
                # A full disk. The next bytes begin another segment, so that the gap is known.
                self._close()
                self._drop(len(view))
                return
            self.offset += written
            view = view[written:]
            if self.offset - self._segments[-1] >= self._segment_bytes:
                self._close()

    def close(self) -> None:
        self._close()

    def _open(self) -> bool:
        self._remove_oldest()
        try:
            self._descriptor = os.open(
                self._directory / f"{self.offset:020d}",
                os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC,
                0o600,
            )
        except OSError:
            return False
        if not self._segments or self._segments[-1] != self.offset:
            self._segments.append(self.offset)
        return True

    def _remove_oldest(self) -> None:
        """Makes room for one more segment."""
        while self._segments and self.offset + self._segment_bytes - self._segments[0] > self._kept_bytes:
            (self._directory / f"{self._segments.pop(0):020d}").unlink(missing_ok=True)

    def _drop(self, count: int) -> None:
        self.dropped += count
        self.offset += count

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def read_segments(directory: Path, after: int, limit: int) -> tuple[int, bytes]:
    """(offset, data): at most `limit` bytes that are kept at or after `after`, without a gap in them."""
    data = b""
    offset = after
    for start in _starts(directory):
        if len(data) >= limit:
            break
        path = directory / f"{start:020d}"
        try:
            size = path.stat().st_size
            position = max(offset + len(data), start)
            if start + size <= position:
                continue
            if position > offset + len(data):
                if data:
                    break  # a gap: what comes after it is another chunk
                offset = position
            with path.open("rb", buffering=0) as file:
                file.seek(position - start)
                data += file.read(limit - len(data)) or b""
        except FileNotFoundError:
            continue  # the oldest one went while we looked
    return (offset, data)


def end_offset(directory: Path) -> int:
    """The offset after the last byte that is kept."""
    starts = _starts(directory)
    while starts:
        try:
            return starts[-1] + (directory / f"{starts[-1]:020d}").stat().st_size
        except FileNotFoundError:
            starts.pop()
    return 0


def _starts(directory: Path) -> list[int]:
    try:
        return sorted(int(path.name) for path in directory.iterdir() if path.name.isdigit())
    except FileNotFoundError:
        return []
