"""Unpacking, in its own process: what was checked is made, as its owner, and nothing is written elsewhere."""

import os
import stat
import tarfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

from corral.engines.archives import asking
from corral.engines.archives.limits import USUAL, Archive, BadArchive, Contents, Form, Limits
from corral.engines.local.files.quotas import Bounds, DiskQuotas
from corral.engines.local.files.workspaces import BadUpload, Workspaces
from tests.engines.archives.tars import directory, entry, link, polyglot, tar_of

MIB = 2**20
HARD = tarfile.LNKTYPE
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to somebody else")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    made = tmp_path / "outer" / "workspace"
    made.mkdir(parents=True)
    return made


def written(tmp_path: Path, content: bytes, form: Form = Form.TAR) -> Archive:
    path = tmp_path / "archive"
    path.write_bytes(content)
    return Archive(path, form)


def unpack(archive: Archive, target: Path, *, most_bytes: int = MIB, limits: Limits = USUAL) -> Contents:
    descriptor = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return asking.unpack(archive, descriptor, uid=os.getuid(), most_bytes=most_bytes, limits=limits)
    finally:
        os.close(descriptor)


def test_files_directories_and_links_inside_are_unpacked(tmp_path: Path, target: Path) -> None:
    content = tar_of(
        directory("./"),
        entry("code/train.py", b"print(1)", mode=0o755),
        entry("code/key", b"", mode=0o600),
        link("code/main.py", "train.py"),
        link("data", "code"),
        link("up/here", "../code/train.py"),
        link("same", "code/train.py", HARD),
        packed=True,
    )
    archive = written(tmp_path, content, Form.GZIP)
    assert unpack(archive, target) == asking.check(archive) == Contents(7, 8)
    assert (target / "data" / "main.py").read_text() == "print(1)"
    assert (target / "same").read_text() == (target / "up" / "here").read_text() == "print(1)"
    assert (target / "same").stat().st_nlink == 2
    modes = {
        name: stat.S_IMODE((target / name).stat().st_mode) for name in ("code/train.py", "code/key", "up")
    }
    assert modes == {"code/train.py": 0o755, "code/key": 0o600, "up": 0o755}


BAD = {
    "parent": [entry("../evil", b"x")],
    "hidden parent": [entry("a/../../evil", b"x")],
    "absolute": [entry("/tmp/evil-upload", b"x")],
    "absolute link": [link("a", "/etc")],
    "link out": [link("a/b", "../../evil")],
    "write through a link": [link("a", "."), entry("a/../../evil", b"x")],
    "file over a link": [link("a", "b"), entry("a", b"x")],
    "directory through a link": [directory("real/"), link("a", "real"), entry("a/x", b"x")],
    "link to a link out of it": [link("a", "b", HARD), entry("b", b"x")],
    "hard link out": [link("a", "../../../etc/passwd", HARD)],
    "device": [entry("null", type=tarfile.CHRTYPE, devmajor=1, devminor=3)],
    "pipe": [entry("pipe", type=tarfile.FIFOTYPE)],
    "twice": [entry("a", b"x"), entry("a", b"y")],
    "setuid": [entry("a", b"x", mode=0o6777)],
    "chain of links": [link("a", "b"), link("b", f"{'d' * 200}/.."), entry("a/evil", b"x")],
}


def around(target: Path) -> set[Path]:
    """What lies beside the target and above."""
    return {path for directory in (target.parent, target.parent.parent) for path in directory.iterdir()}


@pytest.mark.parametrize("name", BAD)
def test_what_leads_out_or_is_no_file_is_refused(tmp_path: Path, target: Path, name: str) -> None:
    archive = written(tmp_path, tar_of(*BAD[name]))
    before = around(target)
    with pytest.raises(BadArchive) as refusal:
        unpack(archive, target)
    with pytest.raises(BadArchive) as refused_before:
        asking.check(archive)
    assert str(refused_before.value) == str(refusal.value), "the check would have let it through"
    assert around(target) == before
    assert not Path("/tmp/evil-upload").exists()


def test_what_is_there_already_is_not_written_through(tmp_path: Path, target: Path) -> None:
    (target / "a").symlink_to(target.parent)
    with pytest.raises(BadArchive, match="contradicts"):
        unpack(written(tmp_path, tar_of(entry("a/evil", b"x"))), target)
    assert not (target.parent / "evil").exists()


@pytest.mark.parametrize("form", Form)
def test_archive_that_is_another_one_for_other_readers_is_never_unpacked_as_that(
    tmp_path: Path, target: Path, form: Form
) -> None:
    """It passed the check as tar, and was unpacked as xz."""
    hidden = tar_of(entry("a", bytes(64 * 1024 - 1024)), entry("evil.py", b"evil"))
    archive = written(tmp_path, polyglot(tar_of(entry("shown.txt", b"harmless")), hidden), form)
    with pytest.raises(BadArchive):
        asking.check(archive)
    with pytest.raises(BadArchive):
        unpack(archive, target)
    assert not (target / "evil.py").exists()


def test_upload_that_grows_beyond_its_bound_is_refused(tmp_path: Path, target: Path) -> None:
    archive = written(tmp_path, tar_of(entry("zeros", bytes(2 * MIB)), packed=True), Form.GZIP)
    assert archive.path.stat().st_size < 20_000
    with pytest.raises(BadArchive, match="larger than 1 MiB"):
        unpack(archive, target)


def test_bomb_is_given_up_early(tmp_path: Path) -> None:
    bomb = tar_of(entry("zeros", bytes(400 * MIB)), packed=True)
    with pytest.raises(BadArchive, match="100 times"):
        asking.check(written(tmp_path, bomb, Form.GZIP))


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        pytest.param(replace(USUAL, memory_bytes=24 * MIB), "24 MiB of memory", id="memory"),
        pytest.param(replace(USUAL, wall_seconds=0), "given up", id="time"),
    ],
)
def test_reader_that_needs_too_much_is_ended_and_said_so(tmp_path: Path, limits: Limits, words: str) -> None:
    many = tar_of(*(entry(f"{number:05}-{'n' * 240}") for number in range(20_000)))
    began = time.monotonic()
    with pytest.raises(BadArchive, match=words):
        asking.check(written(tmp_path, many), limits)
    assert time.monotonic() - began < 60


def test_reader_that_is_killed_is_a_refusal(
    tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking.child, "__file__", str(tmp_path / "killed.py"))
    (tmp_path / "killed.py").write_text("import os; os.kill(os.getpid(), 9)")
    with pytest.raises(BadArchive, match="given up"):
        unpack(written(tmp_path, tar_of(entry("a"))), target)


def test_full_disk_is_not_the_fault_of_the_archive(tmp_path: Path, target: Path) -> None:
    descriptor = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
    target.rmdir()
    try:
        with pytest.raises((OSError, BadArchive)):
            asking.unpack(
                written(tmp_path, tar_of(entry("a", b"x"))), descriptor, uid=os.getuid(), most_bytes=MIB
            )
    finally:
        os.close(descriptor)


def limits_of_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uid: int) -> dict[str, str]:
    """What the process says of itself once it is confined."""
    script = tmp_path / "told.py"
    script.write_text(
        "import json, sys; sys.path.append(sys.argv[1]);"
        "from corral.engines.archives.child import confine;"
        "confine(json.loads(sys.argv[2]));"
        "told = open('/proc/self/limits').read() + open('/proc/self/status').read();"
        "print(json.dumps({'refused': told, 'unreadable': False}))"
    )
    tmp_path.chmod(0o755)
    monkeypatch.setattr(asking.child, "__file__", str(script))
    with pytest.raises(BadArchive) as told:
        asking._ask(written(tmp_path, b""), USUAL, target=None, uid=uid)
    lines = str(told.value).splitlines()
    return {line[:17].partition(":")[0].strip(): line for line in lines}


def test_reader_is_confined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = limits_of_child(tmp_path, monkeypatch, asking.NOBODY)
    assert str(USUAL.memory_bytes) in told["Max address space"]
    assert str(USUAL.cpu_seconds) in told["Max cpu time"]
    assert "256" in told["Max open files"]
    assert told["Max core file siz"].split()[4] == "0"
    assert told["CapEff"].split()[1].strip("0") == ""
    assert told["NoNewPrivs"].split()[1] == "1"
    if os.geteuid() == 0:
        assert told["Uid"].split()[1:] == [str(asking.NOBODY)] * 4
        assert told["Gid"].split()[1:] == [str(asking.NOBODY)] * 4
        assert told["Groups"].split()[1:] == []


def test_deepest_links_are_made(tmp_path: Path, target: Path) -> None:
    deep, other = "/".join(["d"] * 63), "/".join(["e"] * 63)
    content = tar_of(entry(f"{deep}/a", b"x"), link(f"{other}/b", f"{deep}/a", HARD))
    unpack(written(tmp_path, content), target)
    assert (target / other / "b").read_text() == "x"


@as_root
def test_workspace_is_unpacked_by_its_owner(tmp_path: Path) -> None:
    workspaces = Workspaces(tmp_path, DiskQuotas(tmp_path))
    archive = written(tmp_path, tar_of(entry("src/a.py", b"x"), link("b", "src"), packed=True), Form.GZIP)
    place = workspaces.provide("w1", 54321, lambda: archive, Bounds(1, 0))
    for path in (place, place / "src", place / "src" / "a.py", place / "b"):
        assert (path.lstat().st_uid, path.lstat().st_gid) == (54321, 54321)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_workspace_that_cannot_be_unpacked_leaves_nothing(tmp_path: Path) -> None:
    workspaces = Workspaces(tmp_path, DiskQuotas(tmp_path))
    archive = written(tmp_path, tar_of(entry("a", b"x"), entry("../evil")))
    with pytest.raises(BadUpload, match=r"not unpacked: \.\./evil leads out"):
        workspaces.provide("w1", os.getuid(), lambda: archive, Bounds(1, 0))
    assert [one.name for one in workspaces.root.iterdir() if one.name != ".removing"] == []
