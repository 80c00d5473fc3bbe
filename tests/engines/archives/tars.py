"""Archives as an attacker or a careless program would make them."""

import io
import lzma
import tarfile
import zlib


def entry(name: str, content: bytes = b"", **more: object) -> tuple[tarfile.TarInfo, bytes]:
    made = tarfile.TarInfo(name)
    made.size = len(content)
    for key, value in more.items():
        setattr(made, key, value)
    return made, content


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    return entry(name, type=kind, linkname=target)


def directory(name: str) -> tuple[tarfile.TarInfo, bytes]:
    return entry(name, type=tarfile.DIRTYPE, mode=0o755)


def pax(values: dict[str, str], kind: bytes = tarfile.XHDTYPE) -> bytes:
    """A header that says these of the entry that follows it."""
    records = b""
    for key, value in values.items():
        rest = f" {key}={value}\n".encode()
        length = next(one for one in range(999) if len(str(one)) + len(rest) == one)
        records += str(length).encode() + rest
    header = tarfile.TarInfo("attributes")
    header.type, header.size = kind, len(records)
    return header.tobuf() + records + bytes(-len(records) % 512)


def tar_of(
    *entries: tuple[tarfile.TarInfo, bytes], packed: bool = False, written: int = tarfile.PAX_FORMAT
) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz" if packed else "w", format=written) as tar:
        for made, content in entries:
            tar.addfile(made, io.BytesIO(content))
    return file.getvalue()


def polyglot(shown: bytes, hidden: bytes) -> bytes:
    """A file that is the tar archive `shown`, and to who tries xz first the tar archive `hidden`.

    The first header is that of a long name, whose own name nobody reads: there an xz stream begins. It holds
    `hidden`, then the rest of `shown` as it stands, and ends behind it.
    """
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6}]
    flags = bytes(2)
    start = b"\xfd7zXZ\0" + flags + _crc(flags)
    block = b"\x02\x00\x21\x01\x16" + bytes(3)
    start += block + _crc(block)
    first = lzma.compress(hidden[:512], lzma.FORMAT_RAW, filters=filters)[:-1]
    begin = start + first
    assert len(begin) + 3 <= 100, "it must fit into the field for the name"

    long_name = tarfile.TarInfo("shown.txt")
    long_name.type, long_name.size = tarfile.GNUTYPE_LONGNAME, 10
    carrier = bytearray(long_name.tobuf(tarfile.GNU_FORMAT)) + b"shown.txt\0".ljust(512, b"\0") + shown
    covered = len(carrier) - len(begin) - 3
    carrier[: len(begin) + 3] = begin + b"\x02" + (covered - 1).to_bytes(2, "big")
    carrier[148:156] = b" " * 8
    carrier[148:156] = f"{sum(carrier[:512]):06o}\0 ".encode()
    # Of the hidden archive the carrier is the content of its first file.
    rest = hidden[512:]
    assert rest[:covered] == bytes(covered), "its first file must be large enough to hold the carrier"
    body = bytes(carrier) + lzma.compress(rest[covered:], lzma.FORMAT_RAW, filters=filters)
    unpadded = len(body) - 12
    body += bytes(-unpadded % 4)
    index = b"\0\x01" + _number(unpadded) + _number(len(hidden))
    index += bytes(-len(index) % 4)
    index += _crc(index)
    footer = ((len(index) // 4) - 1).to_bytes(4, "little") + flags
    return body + index + _crc(footer) + footer + b"YZ"


def _crc(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "little")


def _number(value: int) -> bytes:
    """As xz writes numbers: seven bits in a byte."""
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])
