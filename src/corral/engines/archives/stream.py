"""The bytes of a tar archive in order, plain or out of gzip, never more than the limits allow."""

import os
import zlib
from typing import BinaryIO

from corral.engines.archives.limits import BadArchive, Form, Limits, UnreadableArchive

_PIECE = 64 * 1024
_HEADERS_BYTES = 4096  # beside the content, for each entry
# What tar programs fill up their last record with; more than that is something else.
_MOST_PADDING = 1024 * 1024
_GZIP = 31  # the window of zlib, and a gzip header around it


class Stream:
    def __init__(self, file: BinaryIO, form: Form, limits: Limits) -> None:
        self._file = file
        self._limits = limits
        self._inflate = zlib.decompressobj(_GZIP) if form is Form.GZIP else None
        self._pending = False  # whether the decompressor has more to give before it needs more
        self._buffer = b""
        self._at = 0
        self._bytes_read = 0
        packed = os.fstat(file.fileno()).st_size
        self._most = limits.unpacked_bytes + limits.entries * _HEADERS_BYTES
        if self._inflate is not None:
            self._most = min(self._most, limits.free_bytes + limits.ratio * packed)

    def read(self, size: int) -> bytes:
        """Exactly so many bytes; nothing if it ended before the first. `size` is bounded by who asks."""
        parts: list[bytes] = []
        while size:
            part = self.some(size)
            if not part:
                if parts:
                    raise unreadable("it is cut off")
                return b""
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def some(self, most: int) -> bytes:
        """At least one byte and up to `most`; nothing at the end."""
        if self._at == len(self._buffer):
            self._buffer, self._at = self._next(), 0
            self._bytes_read += len(self._buffer)
            if self._bytes_read > self._most:
                raise self._too_much()
        part = self._buffer[self._at : self._at + most]
        self._at += len(part)
        return part

    def finish(self) -> None:
        """After the last entry: nothing but zeros, so that no other reader finds more in it than we did."""
        left = _MOST_PADDING
        while part := self.some(_PIECE):
            left -= len(part)
            if left < 0 or part.count(0) != len(part):
                raise BadArchive("Something follows the end of the archive in the same file.")

    def _next(self) -> bytes:
        if self._inflate is None:
            return self._file.read(_PIECE)
        while not self._inflate.eof:
            packed = self._inflate.unconsumed_tail
            if not packed and not self._pending:
                packed = self._file.read(_PIECE)
                if not packed:
                    raise unreadable("its gzip data is cut off")
            try:
                piece = self._inflate.decompress(packed, _PIECE)
            except zlib.error:
                raise unreadable("it was sent as gzip, and its gzip data is broken") from None
            self._pending = len(piece) == _PIECE
            if piece:
                return piece
        if self._inflate.unused_data or self._file.read(1):
            raise BadArchive("Something follows the end of its gzip data in the same file.")
        return b""

    def _too_much(self) -> BadArchive:
        if self._inflate is not None and self._most < self._limits.unpacked_bytes:
            free, ratio = self._limits.free_bytes // 2**20, self._limits.ratio
            return BadArchive(
                f"It unpacks to more than {free} MiB and {ratio} times the size it was sent with."
            )
        return too_large(self._limits)


def unreadable(why: str) -> UnreadableArchive:
    return UnreadableArchive(f"It cannot be read as a tar archive ({why}).")


def too_large(limits: Limits) -> BadArchive:
    whole, rest = divmod(limits.unpacked_bytes, 2**30)
    size = f"{whole} GiB" if whole and not rest else f"{limits.unpacked_bytes // 2**20} MiB"
    return BadArchive(f"It is larger than {size} when it is unpacked.")
