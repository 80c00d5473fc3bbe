"""What may be in an uploaded archive, and what is refused by name."""

import gzip
import tarfile
from pathlib import Path

import pytest

from corral.core.refusals import Invalid
from corral.training import archives
from corral.training.archives import Contents, check_archive
from tests.training.tars import directory, entry, link, tar_of

HARD = tarfile.LNKTYPE
Entry = tuple[tarfile.TarInfo, bytes]


def checked(tmp_path: Path, content: bytes) -> Contents:
    path = tmp_path / "archive"
    path.write_bytes(content)
    return check_archive(path)


@pytest.mark.parametrize("packed", [False, True])
def test_files_directories_and_links_inside_are_taken_and_counted(tmp_path: Path, packed: bool) -> None:
    content = tar_of(
        directory("."),
        directory("src"),
        entry("src/train.py", b"print()"),
        entry("deep/er/data.bin", b"x" * 1000),
        link("latest", "src/train.py"),
        link("deep/up", "../src"),
        link("copy", "src/train.py", HARD),
        packed=packed,
    )
    assert checked(tmp_path, content) == Contents(7, 1007)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([entry("/etc/passwd")], "leads out"),
        ([entry("../x")], "leads out"),
        ([entry("a/../../x")], "leads out"),
        ([link("a", "/etc/passwd")], "out of the directory"),
        ([link("a", "..")], "out of the directory"),
        ([link("d/a", "../../x")], "out of the directory"),
        # d is the top itself, so this would go up three times from there.
        ([link("d", "."), link("e", "d/d/d/../../..")], "out of the directory"),
        ([link("d", "."), entry("d/x")], "needs a directory"),
        ([entry("x"), entry("x/y")], "needs a directory"),
        ([entry("x"), directory("x")], "needs a directory"),
        ([directory("x"), entry("x")], "twice"),
        ([entry("x"), entry("./x")], "twice"),
        ([link("a", "b", HARD)], "hard link"),
        ([link("a", "../b", HARD)], "leads out"),
        ([link("l", "x"), link("a", "l", HARD)], "hard link"),
        ([entry("a", type=tarfile.CHRTYPE)], "neither a file"),
        ([entry("a", type=tarfile.FIFOTYPE)], "neither a file"),
        ([entry("a", mode=0o4755)], "somebody else's rights"),
        ([entry("a", mode=0o2755)], "somebody else's rights"),
        ([entry("a\nb")], "control characters"),
        ([entry("b" * 300)], "too long"),
        ([entry("/".join(["c" * 200] * 6))], "too long"),
        ([entry("")], "no name"),
    ],
)
def test_what_could_do_harm_is_refused(tmp_path: Path, entries: list[Entry], words: str) -> None:
    with pytest.raises(Invalid, match=words) as refusal:
        checked(tmp_path, tar_of(*entries))
    assert refusal.value.errors[0].field == "body"
    assert ".corralignore" in refusal.value.remedy


def test_name_that_is_no_text_is_refused_in_ascii(tmp_path: Path) -> None:
    content = bytearray(tar_of(entry("aXb")))
    content[1] = 0xFF
    header = bytes(content[:512])
    checksum = sum(header[:148]) + 8 * 32 + sum(header[156:512])
    content[148:156] = f"{checksum:06o}\0 ".encode()
    with pytest.raises(Invalid, match="not UTF-8") as refusal:
        checked(tmp_path, bytes(content))
    assert refusal.value.detail.isascii()


def test_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_ENTRIES", 3)
    with pytest.raises(Invalid, match="more than 3 entries"):
        checked(tmp_path, tar_of(*(entry(str(number)) for number in range(4))))
    monkeypatch.setattr(archives, "MOST_UNPACKED_BYTES", 2**30)
    bomb = entry("zeros")[0]
    bomb.size = 2**31
    with pytest.raises(Invalid, match="larger than 1 GiB"):
        checked(tmp_path, gzip.compress(bomb.tobuf(tarfile.GNU_FORMAT) + bytes(1024)))


def test_name_of_a_gigabyte_is_not_read(tmp_path: Path) -> None:
    """Names of that kind are read whole by `tarfile`, packed they cost the sender nothing."""
    for kind in (tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE):
        header = tarfile.TarInfo("long")
        header.type, header.size = kind, 2**30
        with pytest.raises(Invalid, match="too long"):
            checked(tmp_path, gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(4096)))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"no archive at all", id="text"),
        pytest.param(b"\x1f\x8bno gzip", id="no gzip"),
        pytest.param(tar_of(entry("a", b"x" * 5000))[:2000], id="cut off"),
        pytest.param(gzip.compress(b"x" * 600), id="packed text"),
    ],
)
def test_what_is_no_whole_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(Invalid, match="cannot be read as a tar archive"):
        checked(tmp_path, content)
