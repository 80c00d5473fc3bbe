"""The file a backup is: a compressed tar, in front of it a manifest with what follows and its checksums."""

import gzip
import hashlib
import io
import json
import os
import shutil
import tarfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

FORMAT = 1
MANIFEST = "manifest.json"
_MANIFEST_MOST_BYTES = 64 * 1024
_BLOCK = 1024 * 1024


class BackupError(Exception):
    """A backup or restore that did not happen: why, and what to do about it. Nothing was changed."""

    def __init__(self, detail: str, remedy: str) -> None:
        super().__init__(f"{detail} {remedy}")
        self.detail = detail
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Content:
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    format: int
    version: str  # of the Corral that made it
    database: str  # sqlite or postgresql
    schema_revision: str
    created_at: str
    contents: dict[str, Content]


def write_archive(destination: Path, manifest: Manifest, files: Mapping[str, Path]) -> None:
    """Writes the archive whole or not at all, readable by its owner only, over no existing file."""
    draft = destination.with_name(f".{destination.name}.part")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            # Low compression: databases of clusters are large, and this runs before an upgrade.
            with tarfile.open(fileobj=file, mode="w:gz", compresslevel=3) as archive:
                _add(archive, MANIFEST, io.BytesIO(_manifest_text(manifest)), len(_manifest_text(manifest)))
                for name, path in files.items():
                    with path.open("rb") as content:
                        _add(archive, name, content, path.stat().st_size)
            file.flush()
            os.fsync(file.fileno())
        try:
            link_or_copy(draft, destination)
        except FileExistsError:
            raise BackupError(f"{destination} exists already.", "Choose another name.") from None
        sync_folder(destination.parent)
    finally:
        draft.unlink(missing_ok=True)


def measure(path: Path) -> Content:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return Content(path.stat().st_size, digest.hexdigest())


def read_archive(source: Path, folder: Path) -> Manifest:
    """Unpacks into `folder` what the manifest promises, under the names that we expect, and nothing else."""
    try:
        with tarfile.open(source, mode="r:gz") as archive:
            manifest = _read_manifest(archive, source)
            for name, content in manifest.contents.items():
                _extract(archive, source, name, content, folder / name)
            if archive.next() is not None:
                raise _damaged(source, "it holds more than its manifest says")
    except FileNotFoundError:
        raise BackupError(f"There is no file {source}.", "Name a file that corral db backup made.") from None
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged(source, str(error)) from error
    return manifest


def link_or_copy(path: Path, second: Path) -> None:
    """A second name for a file, or a copy where the disk knows no second names; replaces nothing."""
    try:
        os.link(path, second)
    except FileExistsError:
        raise
    except OSError:
        handle = os.open(second, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as copy, path.open("rb") as original:
            shutil.copyfileobj(original, copy, _BLOCK)
            copy.flush()
            os.fsync(copy.fileno())


def sync_folder(folder: Path) -> None:
    """Makes new names in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _manifest_text(manifest: Manifest) -> bytes:
    return json.dumps(asdict(manifest), indent=2).encode() + b"\n"


def _add(archive: tarfile.TarFile, name: str, content: IO[bytes], size: int) -> None:
    member = tarfile.TarInfo(name)
    member.size = size
    member.mode = 0o600
    archive.addfile(member, content)


def _read_manifest(archive: tarfile.TarFile, source: Path) -> Manifest:
    member = archive.next()
    if member is None or member.name != MANIFEST or not member.isreg() or member.size > _MANIFEST_MOST_BYTES:
        raise _damaged(source, "it does not begin with a manifest")
    content = archive.extractfile(member)
    assert content is not None, "a regular file"
    try:
        fields = json.loads(content.read())
        if fields["format"] != FORMAT:
            raise BackupError(
                f"{source} has format {fields['format']}, this Corral reads format {FORMAT}.",
                f"Restore it with Corral {fields['version']} or newer.",
            )
        contents = {
            str(name): Content(int(one["bytes"]), str(one["sha256"]))
            for name, one in fields.pop("contents").items()
        }
        return Manifest(contents=contents, **fields)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _damaged(source, "its manifest cannot be read") from error


def _extract(archive: tarfile.TarFile, source: Path, name: str, expected: Content, path: Path) -> None:
    member = archive.next()
    # The name is compared, never used: what is written where is decided here, not in the archive.
    if member is None or member.name != name or not member.isreg() or "/" in name or name.startswith("."):
        raise _damaged(source, f"{name[:80]!r} is not where its manifest says")
    if member.size != expected.bytes:
        raise _damaged(source, f"{name} has another size than its manifest says")
    content = archive.extractfile(member)
    assert content is not None, "a regular file"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    digest = hashlib.sha256()
    with os.fdopen(handle, "wb") as file:
        while block := content.read(_BLOCK):
            digest.update(block)
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    if digest.hexdigest() != expected.sha256:
        raise _damaged(source, f"{name} has another checksum than its manifest says")


def _damaged(source: Path, why: str) -> BackupError:
    return BackupError(f"{source} is damaged or no backup of Corral: {why}.", "Use another backup.")
