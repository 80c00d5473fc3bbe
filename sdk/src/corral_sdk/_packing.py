"""Packs a working directory: the same content gives the same archive, byte for byte.

What `.corralignore` and `.gitignore` leave out is left out, in their directory and below, by the rules of
gitignore: patterns match names, or paths when they hold a slash; `*`, `?`, `[…]`, `**`; a slash at the end is
for directories only; `!` takes something back in; the last line that matches counts. Where a directory has a
`.corralignore`, its `.gitignore` says nothing.
"""

import gzip
import os
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from corral_sdk._problems import CorralError

__all__ = ["IGNORE_FILE", "Packed", "PackingError", "pack"]

IGNORE_FILE = ".corralignore"
_GIT_IGNORE_FILE = ".gitignore"
# Never wanted, and often large or private.
_ALWAYS = (".git/", "__pycache__/", ".venv/", ".corral/", "*.pyc")


class PackingError(CorralError):
    """A directory that cannot be packed as it is."""


@dataclass(frozen=True)
class Packed:
    """What went into an archive."""

    files: int
    content_bytes: int
    ignored: int


def pack(directory: Path, to: BinaryIO, *, most_bytes: int | None = None) -> Packed:
    """Writes the directory as a gzipped tar archive. Owners and times are left out; of modes, only whether a
    file can be executed stays. With `most_bytes`, files of more than that in sum are refused."""
    files = size = 0
    counted = _Ignored()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=to, mtime=0, compresslevel=6) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path, name in _walk(directory, "", [_rules_of("", _ALWAYS)], counted):
            entry = _entry(path, name)
            if not entry.isreg():
                tar.addfile(entry)
                continue
            files, size = files + 1, size + entry.size
            if most_bytes is not None and size > most_bytes:
                raise PackingError(
                    f"{directory} is larger than {most_bytes // 1024**2} MiB.",
                    remedy=f"Leave out what the work does not need, line by line in {IGNORE_FILE}.",
                )
            with path.open("rb") as content:
                tar.addfile(entry, content)
    return Packed(files, size, counted.count)


def _entry(path: Path, name: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    status = path.lstat()
    if path.is_symlink():
        entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, _target(path, name), 0o777
    elif path.is_dir():
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
    elif path.is_file():
        entry.size = status.st_size
        entry.mode = 0o755 if status.st_mode & 0o100 else 0o644
    else:
        raise PackingError(f"{path} is neither a file, a directory nor a link.", remedy=_LEAVE_OUT)
    return entry


def _target(path: Path, name: str) -> str:
    target = str(path.readlink())
    parts = Path(target).parts
    ups = next((index for index, part in enumerate(parts) if part != ".."), len(parts))
    if Path(target).is_absolute() or ups > name.count("/") or ".." in parts[ups:]:
        raise PackingError(f"{path} links to {target}, out of the directory.", remedy=_LEAVE_OUT)
    return target


class _Ignored:
    def __init__(self) -> None:
        self.count = 0


@dataclass(frozen=True)
class _Rules:
    """The lines of one ignore file, for what lies below `base`."""

    base: str
    lines: tuple[tuple[re.Pattern[str], bool, bool], ...]  # pattern, whether it takes back, directories only

    def verdict(self, name: str, *, is_directory: bool) -> bool | None:
        """True: left out; False: included again; None: no rule matches."""
        below = name[len(self.base) :]
        said: bool | None = None
        for pattern, takes_back, directories_only in self.lines:
            if (is_directory or not directories_only) and pattern.fullmatch(below):
                said = not takes_back
        return said


def _walk(directory: Path, base: str, rules: list[_Rules], ignored: _Ignored) -> Iterator[tuple[Path, str]]:
    own = _read_rules(directory, base)
    rules = [*rules, own] if own else rules
    for path in sorted(directory.iterdir(), key=lambda one: os.fsencode(one.name)):
        name = base + path.name
        is_directory = path.is_dir() and not path.is_symlink()
        said = [one.verdict(name, is_directory=is_directory) for one in rules]
        if next((one for one in reversed(said) if one is not None), False):
            ignored.count += 1
            continue
        yield path, name
        if is_directory:
            yield from _walk(path, f"{name}/", rules, ignored)


def _read_rules(directory: Path, base: str) -> _Rules | None:
    for name in (IGNORE_FILE, _GIT_IGNORE_FILE):
        file = directory / name
        if file.is_file():
            return _rules_of(base, file.read_text("utf-8", "replace").splitlines())
    return None


def _rules_of(base: str, lines: tuple[str, ...] | list[str]) -> _Rules:
    found = []
    for written in lines:
        line = written.rstrip()
        if not line or line.startswith("#"):
            continue
        takes_back = line.startswith("!")
        line = line.removeprefix("!").removeprefix("\\")
        directories_only = line.endswith("/")
        line = line.rstrip("/")
        if line:
            found.append((_pattern(line), takes_back, directories_only))
    return _Rules(base, tuple(found))


@lru_cache(maxsize=1000)
def _pattern(line: str) -> re.Pattern[str]:
    anchored = "/" in line
    line = line.removeprefix("/")
    text = "" if anchored else "(?:.*/)?"
    position = 0
    while position < len(line):
        rest = line[position:]
        if rest.startswith("**/"):
            text, position = text + "(?:.*/)?", position + 3
        elif rest == "**":
            text, position = text + ".*", position + 2
        elif rest[0] == "*":
            text, position = text + "[^/]*", position + 1
        elif rest[0] == "?":
            text, position = text + "[^/]", position + 1
        elif found := re.match(r"\[([!^]?)(\]?[^]/]*)\]", rest):
            inside = found[2].replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
            text += f"[{'^/' if found[1] else ''}{inside}]"
            position += found.end()
        else:
            text, position = text + re.escape(rest[0]), position + 1
    return re.compile(text, re.DOTALL)


_LEAVE_OUT = f"Leave it out: a line in {IGNORE_FILE}."
