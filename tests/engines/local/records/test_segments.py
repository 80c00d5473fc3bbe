"""Streams on disk: bounded, readable from any offset, honest about what is missing."""

import resource
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from corral.engines.local.records.segments import SegmentWriter, end_offset, read_segments


def read_all(directory: Path) -> list[tuple[int, bytes]]:
    chunks = []
    after = 0
    while True:
        offset, data = read_segments(directory, after, 7)
        if not data:
            return chunks
        chunks.append((offset, data))
        after = offset + len(data)


@contextmanager
def full_disk(at_bytes: int) -> Iterator[None]:
    """No file grows beyond this."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (at_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_what_was_written_is_read_from_any_offset(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path / "output", segment_bytes=10, kept_bytes=1000)
    for word in (b"first ", b"second ", b"third ", b"fourth"):
        writer.write(word)
    assert read_segments(tmp_path / "output", 0, 1000) == (0, b"first second third fourth")
    assert read_segments(tmp_path / "output", 6, 6) == (6, b"second")
    assert end_offset(tmp_path / "output") == writer.offset == 25
    assert read_segments(tmp_path / "output", 25, 10) == (25, b"")


def test_oldest_goes_first_and_offsets_stay_true(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path / "output", segment_bytes=100, kept_bytes=400)
    for number in range(1000):
        writer.write(f"{number:09d}\n".encode())
    offset, data = read_segments(tmp_path / "output", 0, 10_000)
    assert sum(path.stat().st_size for path in (tmp_path / "output").iterdir()) <= 400
    assert len(data) >= 300
    assert data.splitlines()[0] == f"{offset // 10:09d}".encode()
    assert offset + len(data) == 10_000


def test_full_disk_drops_counts_and_goes_on_later(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path / "output", segment_bytes=1000, kept_bytes=10_000)
    writer.write(b"before ")
    with full_disk(3):
        writer.write(b"while ")
        assert writer.dropped == 6
        writer.write(b"it is full ")
    writer.write(b"after")
    # Of what was offered while it was full, a new segment still took three bytes.
    assert writer.dropped == 14
    assert writer.offset == len(b"before while it is full after")
    pieces = read_all(tmp_path / "output")
    assert b"".join(data for _, data in pieces) == b"before it after"


@given(st.lists(st.binary(min_size=1, max_size=30), max_size=20), st.integers(1, 40))
def test_any_pieces_are_read_back_whole(pieces: list[bytes], limit: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name, "output")
        writer = SegmentWriter(directory, segment_bytes=16, kept_bytes=100_000)
        for piece in pieces:
            writer.write(piece)
        after, whole = 0, b""
        while True:
            offset, data = read_segments(directory, after, limit)
            assert offset == after
            if not data:
                break
            whole += data
            after += len(data)
        assert whole == b"".join(pieces)
