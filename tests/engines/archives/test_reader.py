"""What may be in an uploaded archive, and what is refused by name."""

import gzip
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from corral.engines.archives.limits import USUAL, BadArchive, Contents, Form, Limits
from corral.engines.archives.reader import check
from tests.engines.archives.tars import directory, entry, link, pax, polyglot, tar_of

HARD = tarfile.LNKTYPE
Entry = tuple[tarfile.TarInfo, bytes]


def checked(tmp_path: Path, content: bytes, form: Form = Form.TAR, limits: Limits = USUAL) -> Contents:
    path = tmp_path / "archive"
    path.write_bytes(content)
    with path.open("rb") as file:
        return check(file, form, limits)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("written", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_files_directories_and_links_inside_are_taken_and_counted(
    tmp_path: Path, packed: bool, written: int
) -> None:
    content = tar_of(
        directory("."),
        directory("src"),
        entry("src/train.py", b"print()"),
        entry("deep/er/data.bin", b"x" * 1000),
        entry(f"long/{'n' * 120}/{'資' * 60}", b"y" * 512),
        link("latest", "src/train.py"),
        link("deep/up", "../src"),
        link("far", f"long/{'n' * 120}"),
        link("copy", "src/train.py", HARD),
        packed=packed,
        written=written,
    )
    assert checked(tmp_path, content, Form.GZIP if packed else Form.TAR) == Contents(9, 1519)


def test_comment_for_the_whole_archive_is_passed_over(tmp_path: Path) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", pax_headers={"comment": "5d8e7f12"}) as tar:
        tar.addfile(*_as_file(entry("a", b"x")))
    assert checked(tmp_path, file.getvalue()) == Contents(1, 1)


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
        ([entry("x"), entry("x", b"other")], "twice"),
        ([link("a", "b", HARD)], "hard link"),
        ([link("a", "a", HARD)], "hard link"),
        ([link("a", "../b", HARD)], "leads out"),
        ([link("l", "x"), link("a", "l", HARD)], "hard link"),
        ([entry("a", type=tarfile.CHRTYPE)], "neither a file"),
        ([entry("a", type=tarfile.BLKTYPE)], "neither a file"),
        ([entry("a", type=tarfile.FIFOTYPE)], "neither a file"),
        ([entry("a", type=tarfile.GNUTYPE_SPARSE)], "neither a file"),
        ([entry("a", type=b"M")], "neither a file"),
        ([entry("a", mode=0o4755)], "somebody else's rights"),
        ([entry("a", mode=0o2755)], "somebody else's rights"),
        ([entry("a\nb")], "control characters"),
        ([entry("a\x1b[2Jb")], "control characters"),
        ([link("a", "b\x1b]52;c;x\x07")], "control characters"),
        ([link("a", "")], "out of the directory"),
        ([entry("b" * 300)], "too long"),
        ([entry("/".join(["c" * 200] * 6))], "too long"),
        ([entry("/".join(["d"] * 65))], "more than 64 directories deep"),
        ([entry("")], "no name"),
    ],
)
def test_what_could_do_harm_is_refused(tmp_path: Path, entries: list[Entry], words: str) -> None:
    with pytest.raises(BadArchive, match=words):
        checked(tmp_path, tar_of(*entries))


@pytest.mark.parametrize("headers", [{"GNU.sparse.major": "1"}, {"GNU.sparse.size": "9"}])
def test_sparse_files_are_refused(tmp_path: Path, headers: dict[str, str]) -> None:
    with pytest.raises(BadArchive, match="sparse"):
        checked(tmp_path, pax(headers) + tar_of(entry("a", b"x")))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(pax({"size": "99999999999"}) + tar_of(entry("a")), "larger than 10 GiB", id="size"),
        pytest.param(pax({"size": "-1"}) + tar_of(entry("a")), "size of an entry", id="size below zero"),
        pytest.param(pax({"path": "../x"}) + tar_of(entry("a")), "leads out", id="path"),
        pytest.param(pax({"path": "a"}) * 2 + tar_of(entry("b")), "two names", id="two headers"),
        pytest.param(pax({"path": "a"}, kind=b"g") + tar_of(entry("b")), "one name", id="path for all"),
        pytest.param(pax({"hdrcharset": "BINARY"}) + tar_of(entry("a")), "UTF-8", id="other encoding"),
        pytest.param(pax({"linkpath": "/etc"}) + tar_of(link("a", "b")), "out of", id="target"),
        pytest.param(pax({"path": "a"}) + bytes(1024), "no entry", id="name alone"),
        pytest.param(pax({"path": "a"}) + tar_of(), "no entry", id="name before the end"),
    ],
)
def test_attributes_cannot_say_what_a_header_may_not(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(BadArchive, match=words):
        checked(tmp_path, content)


def test_content_hidden_in_a_link_is_refused(tmp_path: Path) -> None:
    """Some readers skip it as content, some take it for the next header."""
    made = tarfile.TarInfo("a")
    made.type, made.linkname, made.size = tarfile.SYMTYPE, "b", 512
    with pytest.raises(BadArchive, match="has content"):
        checked(tmp_path, made.tobuf() + tar_of(entry("hidden")))


@pytest.mark.parametrize("headers", [None, {"path": "ignored"}])
def test_name_that_is_no_text_is_refused_in_ascii(tmp_path: Path, headers: dict[str, str] | None) -> None:
    content = bytearray(tar_of(entry("aXb")))
    content[1] = 0xFF
    content[148:156] = b" " * 8
    content[148:156] = f"{sum(content[:512]):06o}\0 ".encode()
    if headers:
        raw = bytearray(pax({"path": "aXb"}))
        raw[raw.index(b"X", 512)] = 0xFF
        content = raw + content
    with pytest.raises(BadArchive, match="not UTF-8") as refusal:
        checked(tmp_path, bytes(content))
    assert str(refusal.value).isascii()


def test_too_much_is_refused(tmp_path: Path) -> None:
    few = replace(USUAL, entries=3)
    with pytest.raises(BadArchive, match="more than 3 entries"):
        checked(tmp_path, tar_of(*(entry(str(number)) for number in range(4))), limits=few)
    # Directories that nobody names are made all the same.
    with pytest.raises(BadArchive, match="more than 3 entries"):
        checked(tmp_path, tar_of(entry("a/b/c/d")), limits=few)
    bomb = entry("zeros")[0]
    bomb.size = 2**31
    packed = gzip.compress(bomb.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    with pytest.raises(BadArchive, match="larger than 1 GiB"):
        checked(tmp_path, packed, Form.GZIP, replace(USUAL, unpacked_bytes=2**30))


def test_what_unpacks_to_many_times_its_size_is_refused(tmp_path: Path) -> None:
    limits = replace(USUAL, free_bytes=2**20)
    packed = tar_of(entry("zeros", bytes(4 * 2**20)), packed=True)
    with pytest.raises(BadArchive, match="1 MiB and 100 times"):
        checked(tmp_path, packed, Form.GZIP, limits)
    assert checked(tmp_path, packed, Form.GZIP).unpacked_bytes == 4 * 2**20
    assert checked(tmp_path, tar_of(entry("zeros", bytes(4 * 2**20))), limits=limits).entries == 1


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, b"g"])
def test_name_of_a_gigabyte_is_not_read(tmp_path: Path, kind: bytes) -> None:
    header = tarfile.TarInfo("long")
    header.type, header.size = kind, 2**30
    with pytest.raises(BadArchive, match="too long"):
        checked(tmp_path, gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(4096)), Form.GZIP)


def test_headers_without_end_are_refused(tmp_path: Path) -> None:
    comment = pax({"comment": "x"}, kind=b"g")
    with pytest.raises(BadArchive, match="more than 10 entries"):
        checked(tmp_path, comment * 50 + tar_of(entry("a")), limits=replace(USUAL, entries=10))


@pytest.mark.parametrize("form", Form)
def test_archive_that_is_another_one_for_other_readers_is_refused(tmp_path: Path, form: Form) -> None:
    hidden = tar_of(entry("a", bytes(64 * 1024 - 1024)), entry("evil.py", b"evil"))
    content = polyglot(tar_of(entry("shown.txt", b"harmless")), hidden)
    (tmp_path / "both").write_bytes(content)
    with tarfile.open(tmp_path / "both") as guessed:  # it is what it says
        assert guessed.getnames() == ["a", "evil.py"]
    with pytest.raises(BadArchive, match=r"Something follows|cannot be read"):
        checked(tmp_path, content, form)


@pytest.mark.parametrize(
    ("content", "form"),
    [
        pytest.param(tar_of(entry("a"), packed=True), Form.TAR, id="gzip said to be tar"),
        pytest.param(tar_of(entry("a")), Form.GZIP, id="tar said to be gzip"),
        pytest.param(gzip.compress(tar_of(entry("a"), packed=True)), Form.GZIP, id="gzip in gzip"),
        pytest.param(b"no archive at all", Form.TAR, id="text"),
        pytest.param(b"", Form.TAR, id="nothing"),
        pytest.param(b"", Form.GZIP, id="nothing as gzip"),
        pytest.param(b"\x1f\x8bno gzip", Form.GZIP, id="no gzip"),
        pytest.param(tar_of(entry("a", b"x" * 5000))[:2000], Form.TAR, id="cut off"),
        pytest.param(tar_of(entry("a", b"x" * 512))[:1024], Form.TAR, id="no end"),
        pytest.param(tar_of(entry("a", b"x"), packed=True)[:-5], Form.GZIP, id="gzip cut off"),
        pytest.param(gzip.compress(b"x" * 600), Form.GZIP, id="packed text"),
    ],
)
def test_only_what_was_declared_is_read(tmp_path: Path, content: bytes, form: Form) -> None:
    with pytest.raises(BadArchive, match="cannot be read as a tar archive"):
        checked(tmp_path, content, form)


@pytest.mark.parametrize(
    ("content", "form"),
    [
        pytest.param(tar_of(entry("a")) + b"more", Form.TAR, id="after the end"),
        pytest.param(tar_of(entry("a")) * 2, Form.TAR, id="a second archive"),
        pytest.param(tar_of(entry("a"), packed=True) * 2, Form.GZIP, id="a second member"),
        pytest.param(tar_of(entry("a"), packed=True) + gzip.compress(b"") * 9, Form.GZIP, id="empty members"),
        pytest.param(tar_of(entry("a")) + bytes(2 * 2**20), Form.TAR, id="much padding"),
    ],
)
def test_nothing_may_follow_the_end(tmp_path: Path, content: bytes, form: Form) -> None:
    with pytest.raises(BadArchive, match="Something follows"):
        checked(tmp_path, content, form)


def _as_file(made: Entry) -> tuple[tarfile.TarInfo, io.BytesIO]:
    return made[0], io.BytesIO(made[1])
