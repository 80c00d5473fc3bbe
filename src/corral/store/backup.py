"""Backup and restore: the database and the key file that opens its secrets, in one file.

A restore is prepared beside what is there and put in place in one step; what was there is kept. The key file
needs no step of its own: for the time of the change, and after it, it holds the keys of both.
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import make_url

from corral import __version__
from corral.store import backup_postgresql, backup_sqlite
from corral.store.archive import (
    FORMAT,
    BackupError,
    Manifest,
    measure,
    read_archive,
    sync_folder,
    write_archive,
)
from corral.store.keyring import FILE_NAME as KEY_FILE
from corral.store.keyring import Keyring, KeyringError
from corral.store.migrate import HEAD, current_revision, known_revisions

__all__ = [
    "BackupError",
    "Manifest",
    "Restored",
    "backup",
    "backup_before_upgrade",
    "forget_old_upgrades",
    "restore",
]

UPGRADES_KEPT = 3
_DATABASE = "database"
_KEYS = "keys"
_BEFORE = "before-upgrade-from-"


@dataclass(frozen=True, slots=True)
class Restored:
    manifest: Manifest
    kept: str | None  # where what was there before is now; None if nothing was
    upgrade_needed: bool  # the next start brings the schema up to date


def backup(url: str, home: Path, destination: Path) -> Path:
    """Writes a backup to `destination`, a new file or a folder; Corral may run meanwhile."""
    now = datetime.now(UTC)
    if destination.is_dir():
        destination = destination / f"corral-{_stamp(now)}.tar.gz"
    if destination.exists():
        raise BackupError(f"{destination} exists already.", "Choose another name.")
    if not destination.parent.is_dir():
        raise BackupError(f"There is no folder {destination.parent}.", "Make it, or choose another place.")
    kind = make_url(url).get_backend_name()
    with _folder_beside(destination) as folder:
        database, keys = folder / _DATABASE, folder / _KEYS
        revision = (
            backup_sqlite.dump(url, database) if kind == "sqlite" else backup_postgresql.dump(url, database)
        )
        if revision is None:
            raise BackupError("The database is empty: there is nothing to back up.", "Start Corral once.")
        files = {_DATABASE: database}
        # After the database, so that it holds every key that the database needs.
        if (home / KEY_FILE).exists():
            _write_private(keys, (home / KEY_FILE).read_bytes())
            files[_KEYS] = keys
        contents = {name: measure(path) for name, path in files.items()}
        manifest = Manifest(FORMAT, __version__, kind, revision, now.isoformat(timespec="seconds"), contents)
        write_archive(destination, manifest, files)
    return destination


def backup_before_upgrade(url: str, home: Path) -> Path | None:
    """A backup in the data directory if migrations are pending; None if there is nothing to do."""
    revision = current_revision(url)
    if revision is None or revision == HEAD or revision not in known_revisions():
        return None  # a schema that is newer than this version is refused by the upgrade
    folder = home / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    return backup(url, home, folder / f"{_BEFORE}{revision}-{_stamp(datetime.now(UTC))}.tar.gz")


def forget_old_upgrades(home: Path) -> None:
    """Removes all but the newest backups of `backup_before_upgrade`.

    Called after an upgrade that worked: one that fails at every start must not push out what it began with.
    """
    made = sorted((home / "backups").glob(f"{_BEFORE}*.tar.gz"), key=lambda path: path.name.split("-")[-1])
    for path in made[:-UPGRADES_KEPT]:
        path.unlink()


def restore(url: str, home: Path, source: Path, *, first: Sequence[str] = ()) -> Restored:
    """Puts a backup in the place of the database; the caller holds the lock on `home`.

    The statements `first` are run on it before anybody can see it, in its own schema, which may be older.
    """
    kind = make_url(url).get_backend_name()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _folder_beside(home / "restore") as folder:
        manifest = read_archive(source, folder)
        _check(manifest, kind, source)
        keys = _merged_keys(home / KEY_FILE, folder / _KEYS)
        stamp = _stamp(datetime.now(UTC))
        put_in_place = backup_sqlite.restore if kind == "sqlite" else backup_postgresql.restore
        with _keys_in_place(home / KEY_FILE, keys):
            kept = put_in_place(url, folder / _DATABASE, stamp, first)
    return Restored(manifest, kept, upgrade_needed=manifest.schema_revision != HEAD)


def _check(manifest: Manifest, kind: str, source: Path) -> None:
    if _DATABASE not in manifest.contents or not set(manifest.contents) <= {_DATABASE, _KEYS}:
        raise BackupError(f"{source} does not hold what a backup holds.", "Use another backup.")
    if manifest.database != kind:
        raise BackupError(
            f"{source} is a backup of {manifest.database}, and database_url names {kind}.",
            f"Restore it where database_url names {manifest.database}.",
        )
    if manifest.schema_revision not in known_revisions():
        raise BackupError(
            f"{source} was made by Corral {manifest.version}, whose schema "
            f"{manifest.schema_revision} is newer than what this Corral ({__version__}) knows: {HEAD}.",
            f"Install Corral {manifest.version} or newer and restore it with that.",
        )


def _merged_keys(current: Path, restored: Path) -> bytes | None:
    """The backup's keys first, then those that are there: opens the database before and after the restore."""
    if not restored.exists():
        return None
    try:
        Keyring.open(restored)
        if current.exists():
            Keyring.open(current)
    except KeyringError as error:
        raise BackupError(f"A key file cannot be used: {error}.", "Correct that first.") from error
    lines = restored.read_text().split() + (current.read_text().split() if current.exists() else [])
    return "".join(f"{line}\n" for line in dict.fromkeys(lines)).encode()


@contextmanager
def _keys_in_place(path: Path, keys: bytes | None) -> Iterator[None]:
    """Writes the key file for the time of the restore and after; as before if the restore fails."""
    before = path.read_bytes() if path.exists() else None
    if keys is None or keys == before:
        yield
        return
    _replace(path, keys)
    try:
        yield
    except BaseException:
        if before is None:
            path.unlink()
        else:
            _replace(path, before)
        raise


def _replace(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    _write_private(draft, content)
    draft.replace(path)
    sync_folder(path.parent)


def _write_private(path: Path, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _folder_beside(path: Path) -> Iterator[Path]:
    """A private folder on the same disk, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _stamp(at: datetime) -> str:
    """Part of file and schema names; to the millisecond, so that two in a row do not clash."""
    return f"{at:%Y%m%dt%H%M%S}{at.microsecond // 1000:03}z"
