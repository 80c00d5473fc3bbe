"""Uploads that try to get out of their directory, and those that do not."""

import io
import stat
import tarfile
from pathlib import Path

import pytest

from corral.engines.local.unpack import BadUpload, unpack

MIB = 2**20


def entry(name: str, **fields: object) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(made, field, value)
    return made


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    return entry(name, type=kind, linkname=target)


def archive(path: Path, *entries: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for info, content in entries:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    made = tmp_path / "outer" / "workspace"
    made.mkdir(parents=True)
    return made


def test_files_directories_and_links_inside_are_unpacked(tmp_path: Path, target: Path) -> None:
    upload = archive(
        tmp_path / "upload.tar.gz",
        (entry("./", type=tarfile.DIRTYPE), b""),
        (entry("code/train.py", mode=0o755), b"print(1)"),
        (link("code/main.py", "train.py"), b""),
        (link("data", "code/../code"), b""),
        (link("same", "code/train.py", tarfile.LNKTYPE), b""),
        (entry("setuid", mode=0o6777), b"x"),
    )
    unpack(upload, target, most_bytes=MIB)
    assert (target / "data" / "main.py").read_text() == "print(1)"
    assert (target / "same").read_text() == "print(1)"
    assert stat.S_IMODE((target / "code" / "train.py").stat().st_mode) == 0o755
    assert stat.S_IMODE((target / "setuid").stat().st_mode) == 0o755


BAD = {
    "parent": [(entry("../evil"), b"x")],
    "hidden parent": [(entry("a/../../evil"), b"x")],
    "absolute": [(entry("/tmp/evil-upload"), b"x")],
    "absolute link": [(link("a", "/etc"), b"")],
    "link out": [(link("a/b", "../../evil"), b"")],
    "write through a link": [(link("a", "."), b""), (entry("a/../../evil"), b"x")],
    "file over a link": [(link("a", "b"), b""), (entry("a"), b"x")],
    "directory through a link": [
        (entry("real/", type=tarfile.DIRTYPE), b""),
        (link("a", "real"), b""),
        (entry("a/x"), b"x"),
    ],
    "link to a link out of it": [(link("a", "b", tarfile.LNKTYPE), b""), (entry("b"), b"x")],
    "hard link out": [(link("a", "../../../etc/passwd", tarfile.LNKTYPE), b"")],
    "device": [(entry("null", type=tarfile.CHRTYPE, devmajor=1, devminor=3), b"")],
    "pipe": [(entry("pipe", type=tarfile.FIFOTYPE), b"")],
    "twice": [(entry("a"), b"x"), (entry("a"), b"y")],
}


def around(target: Path) -> set[Path]:
    """What lies beside the target and above."""
    return {path for directory in (target.parent, target.parent.parent) for path in directory.iterdir()}


@pytest.mark.parametrize("name", BAD)
def test_what_leads_out_or_is_no_file_is_refused(tmp_path: Path, target: Path, name: str) -> None:
    upload = archive(tmp_path / "upload.tar.gz", *BAD[name])
    before = around(target)
    with pytest.raises(BadUpload):
        unpack(upload, target, most_bytes=MIB)
    assert around(target) == before
    assert not Path("/tmp/evil-upload").exists()


def test_chain_of_links_does_not_lead_out(tmp_path: Path, target: Path) -> None:
    deep = "/".join(["d" * 200] * 15)
    upload = archive(
        tmp_path / "upload.tar.gz",
        (link("a", "b"), b""),
        (link("b", f"{deep}/.."), b""),
        (entry("a/evil"), b"x"),
    )
    with pytest.raises(BadUpload):
        unpack(upload, target, most_bytes=MIB)


def test_upload_that_grows_beyond_its_bound_is_refused(tmp_path: Path, target: Path) -> None:
    upload = archive(tmp_path / "upload.tar.gz", (entry("zeros"), bytes(2 * MIB)))
    assert upload.stat().st_size < 20_000
    with pytest.raises(BadUpload, match="larger than 1 MiB"):
        unpack(upload, target, most_bytes=MIB)


def test_what_is_no_archive_is_refused(tmp_path: Path, target: Path) -> None:
    upload = tmp_path / "upload.tar.gz"
    upload.write_bytes(b"no archive at all" * 100)
    with pytest.raises(BadUpload, match="cannot be read"):
        unpack(upload, target, most_bytes=MIB)
