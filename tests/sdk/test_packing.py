"""Packing a working directory: the same bytes for the same content, without what is to be left out."""

import io
import os
import tarfile
from pathlib import Path

import pytest
from corral_sdk._packing import Packed, PackingError, pack

from corral.engines.archives.asking import check
from corral.engines.archives.limits import Archive, Form


def write(root: Path, *names: str, text: str = "x") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def packed(root: Path) -> bytes:
    archive = io.BytesIO()
    pack(root, archive)
    return archive.getvalue()


def names_in(root: Path) -> set[str]:
    with tarfile.open(fileobj=io.BytesIO(packed(root))) as tar:
        return {entry.name for entry in tar if not entry.isdir()}


def test_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, "b.py", "a/c.py", "Ä.txt")
        (tmp_path / name / "run.sh").write_text("#!/bin/sh")
    (tmp_path / "one" / "run.sh").chmod(0o755)
    (tmp_path / "two" / "run.sh").chmod(0o700)
    (tmp_path / "two" / "b.py").chmod(0o600)
    os.utime(tmp_path / "two" / "b.py", (1, 1))
    assert packed(tmp_path / "one") == packed(tmp_path / "two")
    (tmp_path / "two" / "b.py").chmod(0o700)
    assert packed(tmp_path / "one") != packed(tmp_path / "two")


def test_what_is_packed_is_taken_by_the_server(tmp_path: Path) -> None:
    root = tmp_path / "work"
    write(root, "src/train.py", "x" * 120 + "/long.txt")
    (root / "latest").symlink_to("src/train.py")
    (root / "src" / "up").symlink_to("../latest")
    (root / "bin").mkdir()
    (root / "bin" / "tool").write_text("")
    (root / "bin" / "tool").chmod(0o6755)
    archive = tmp_path / "archive"
    with archive.open("wb") as file:
        assert pack(root, file) == Packed(3, 2, 0)
    assert check(Archive(archive, Form.GZIP)).entries == 8


@pytest.mark.parametrize(
    ("lines", "left_out"),
    [
        ("*.log", {"a.log", "d/b.log", "d/e/c.log"}),
        ("/*.log", {"a.log"}),
        ("d/", {"d/b.log", "d/b.txt", "d/e/c.log"}),
        ("a.txt/", set()),
        ("d/*.log", {"d/b.log"}),
        ("d/**", {"d/b.log", "d/b.txt", "d/e/c.log"}),
        ("**/e", {"d/e/c.log"}),
        ("d/**/c.log", {"d/e/c.log"}),
        ("*.log\n!b.log", {"a.log", "d/e/c.log"}),
        ("[ab].log", {"a.log", "d/b.log"}),
        ("[!a].log", {"d/b.log", "d/e/c.log"}),
        ("?.txt", {"a.txt", "d/b.txt"}),
        ("# a.txt\n\n", set()),
        ("\\#odd", {"#odd"}),
    ],
)
def test_ignore_rules_are_those_of_gitignore(tmp_path: Path, lines: str, left_out: set[str]) -> None:
    everything = {"a.log", "a.txt", "d/b.log", "d/b.txt", "d/e/c.log", "#odd"}
    write(tmp_path, *everything)
    write(tmp_path, ".corralignore", text=lines)
    assert names_in(tmp_path) - {".corralignore"} == everything - left_out


def test_ignore_files_below_count_for_what_lies_below(tmp_path: Path) -> None:
    write(tmp_path, "a.log", "d/a.log", "d/keep.log")
    write(tmp_path, ".gitignore", text="*.log")
    write(tmp_path, "d/.gitignore", text="!keep.log")
    assert names_in(tmp_path) == {".gitignore", "d/.gitignore", "d/keep.log"}
    write(tmp_path, ".corralignore", text="")
    assert "a.log" in names_in(tmp_path)


def test_version_control_and_environments_are_left_out(tmp_path: Path) -> None:
    write(
        tmp_path, ".git/config", ".venv/bin/python", "__pycache__/a.pyc", ".corral/checkpoint-0.json", "a.py"
    )
    assert names_in(tmp_path) == {"a.py"}


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "a/../../outside"])
def test_link_that_leads_out_is_refused_with_the_remedy(tmp_path: Path, target: str) -> None:
    (tmp_path / "out").symlink_to(target)
    with pytest.raises(PackingError, match="out of the directory") as refusal:
        packed(tmp_path)
    assert ".corralignore" in str(refusal.value.remedy)
    write(tmp_path, ".corralignore", text="out")
    assert names_in(tmp_path) == {".corralignore"}


def test_directory_that_is_too_large_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    write(tmp_path, "data", text="x" * 2_000_000)
    with pytest.raises(PackingError, match="larger than 1 MiB"):
        pack(tmp_path, io.BytesIO(), most_bytes=1024**2)
