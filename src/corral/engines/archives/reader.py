"""Entries of a tar archive, one after the other, each judged before anybody acts on it.

What it may hold: directories, files, and links that stay inside. The header of an entry is decoded by the
standard library; which headers belong together is decided here, so that nothing is read whole, guessed, or
followed without bound. Sparse files and everything that is no file, directory or link are refused.
"""

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from corral.engines.archives.limits import BadArchive, Contents, Form, Limits
from corral.engines.archives.stream import Stream, unreadable
from corral.engines.archives.tree import Kind, Tree, shown

_BLOCK = 512
_PIECE = 64 * 1024
_ZEROS = bytes(_BLOCK)
_KINDS = {
    tarfile.REGTYPE: Kind.FILE,
    tarfile.AREGTYPE: Kind.FILE,
    tarfile.CONTTYPE: Kind.FILE,
    tarfile.DIRTYPE: Kind.DIRECTORY,
    tarfile.SYMTYPE: Kind.SYMLINK,
    tarfile.LNKTYPE: Kind.HARD_LINK,
}
_LONG = {tarfile.GNUTYPE_LONGNAME: "path", tarfile.GNUTYPE_LONGLINK: "linkpath"}
_DECIDING = frozenset({"path", "linkpath", "size", "hdrcharset"})


@dataclass(frozen=True, slots=True)
class Entry:
    kind: Kind
    parts: tuple[str, ...]
    size: int = 0
    mode: int = 0o600
    target: str = ""  # of a symbolic link
    source: tuple[str, ...] = ()  # of a hard link


@dataclass(slots=True)
class _Extra:
    """What stands before an entry's own header."""

    values: dict[str, str] = field(default_factory=dict)
    seen: set[bytes] = field(default_factory=set)


class Reader:
    """Iterate over it; the content of a file is read with `content` before the next entry is asked for."""

    def __init__(self, file: BinaryIO, form: Form, limits: Limits) -> None:
        self._stream = Stream(file, form, limits)
        self._limits = limits
        self._tree = Tree(limits)
        self._headers = 0
        self._left = 0  # of the content of the current file, and what fills its last block

    @property
    def contents(self) -> Contents:
        return Contents(self._tree.count, self._tree.unpacked_bytes)

    def __iter__(self) -> Iterator[Entry]:
        extra = _Extra()
        while True:
            self._skip()
            header = self._header()
            if header is None:
                break
            kind = header.type
            if kind in _LONG or kind in (tarfile.XHDTYPE, tarfile.XGLTYPE):
                self._take_extra(header, extra)
                continue
            yield self._entry(header, extra.values)
            extra = _Extra()
        if extra.seen:
            raise unreadable("a name has no entry")
        self._stream.finish()

    def content(self, entry: Entry) -> Iterator[bytes]:
        left = entry.size
        while left:
            piece = self._stream.some(min(left, _PIECE))
            if not piece:
                raise unreadable("it is cut off")
            left -= len(piece)
            self._left -= len(piece)
            yield piece

    def _skip(self) -> None:
        while self._left:
            piece = self._stream.some(min(self._left, _PIECE))
            if not piece:
                raise unreadable("it is cut off")
            self._left -= len(piece)

    def _header(self) -> tarfile.TarInfo | None:
        block = self._stream.read(_BLOCK)
        if block == _ZEROS:
            if self._stream.read(_BLOCK) != _ZEROS:
                raise unreadable("its end is not whole")
            return None
        self._headers += 1
        if self._headers > 4 * self._limits.entries:
            raise BadArchive(f"It has more than {self._limits.entries} entries.")
        try:
            header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except (tarfile.HeaderError, ValueError) as error:
            raise unreadable(str(error)[:100] if block else "it has no end") from None
        if header.size < 0:
            raise BadArchive("An entry has a size below zero.")
        return header

    def _take_extra(self, header: tarfile.TarInfo, extra: _Extra) -> None:
        if header.type in extra.seen:
            raise BadArchive("An entry has two names.")
        if header.size > self._limits.header_bytes:
            raise BadArchive("The name or the attributes of an entry are too long.")
        raw = self._stream.read(header.size)
        if len(raw) != header.size:
            raise unreadable("it is cut off")
        self._left = -header.size % _BLOCK
        if header.type in _LONG:
            values = {_LONG[header.type]: raw.partition(b"\0")[0].decode("utf-8", "surrogateescape")}
        else:
            values = _attributes(raw)
        if header.type == tarfile.XGLTYPE:
            if _DECIDING & values.keys():
                raise BadArchive("It gives all its entries one name or size.")
            return  # a comment: `git archive` leaves one
        if extra.values.keys() & values.keys() & _DECIDING:
            raise BadArchive("An entry has two names.")
        extra.seen.add(header.type)
        extra.values |= values

    def _entry(self, header: tarfile.TarInfo, values: dict[str, str]) -> Entry:
        name = values.get("path", header.name)
        kind = _KINDS.get(header.type)
        if kind is None:
            raise BadArchive(f"{shown(name)} is neither a file, a directory nor a link.")
        size = _size(values["size"]) if "size" in values else header.size
        target = values.get("linkpath", header.linkname)
        parts = self._tree.parts(name)
        if kind is Kind.FILE:
            if header.mode & 0o6000:
                raise BadArchive(f"{shown(name)} would run with somebody else's rights (setuid or setgid).")
            self._tree.add(kind, parts, size)
            self._left = size + -size % _BLOCK
            return Entry(kind, parts, size, 0o600 | header.mode & 0o755)
        if size:
            raise BadArchive(f"{shown(name)} is no file, but has content.")
        self._tree.add(kind, parts)
        if kind is Kind.SYMLINK:
            self._tree.check_symlink(parts, target)
            return Entry(kind, parts, target=target)
        if kind is Kind.HARD_LINK:
            return Entry(kind, parts, source=self._tree.check_hard_link(parts, target))
        return Entry(kind, parts)


def check(file: BinaryIO, form: Form, limits: Limits) -> Contents:
    """Looks at every entry."""
    reader = Reader(file, form, limits)
    for _ in reader:
        pass
    return reader.contents


def _attributes(raw: bytes) -> dict[str, str]:
    """The records of a pax header: `27 path=…\\n`, of which those are kept that decide something."""
    found: dict[str, str] = {}
    while raw.rstrip(b"\0"):
        digits, space, _ = raw[:8].partition(b" ")
        length = int(digits) if digits.isdigit() else 0
        record = raw[len(digits) + 1 : length]
        key, equals, value = record.partition(b"=")
        if not (space and equals and record.endswith(b"\n") and length <= len(raw)):
            raise BadArchive("The attributes of an entry cannot be read.")
        raw = raw[length:]
        if key.startswith(b"GNU.sparse."):
            raise BadArchive("It has a sparse file, which is not taken.")
        name = key.decode("ascii", "replace")
        if name in found and name in _DECIDING:
            raise BadArchive("An entry has two names.")
        if name == "hdrcharset":
            raise BadArchive("The names in it are not UTF-8.")
        if name in _DECIDING:
            found[name] = value[:-1].decode("utf-8", "surrogateescape")
    return found


def _size(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        raise BadArchive("The size of an entry cannot be read.")
    return int(text)
