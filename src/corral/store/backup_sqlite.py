"""A consistent copy of a SQLite database, taken while it is in use, and put back."""

import os
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from sqlalchemy import make_url

from corral.store.archive import BackupError, link_or_copy, sync_folder

_REVISION = "SELECT version_num FROM alembic_version"


def dump(url: str, target: Path) -> str | None:
    """Copies the database and returns the revision of its schema, None if it has none."""
    path = database_path(url)
    if not path.exists():
        return None
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(target)) as copy:
            source.backup(copy)
            # One file without side files; the server makes its own when it opens it.
            copy.execute("PRAGMA journal_mode=DELETE")
            _check_soundness(copy, path)
            return _revision(copy)
    except sqlite3.DatabaseError as error:
        raise BackupError(
            f"{path} cannot be read: {error}.", "Restore an earlier backup; the damaged file is kept."
        ) from error


def restore(url: str, prepared: Path, stamp: str, first: Sequence[str] = ()) -> str | None:
    """Puts the prepared copy, changed by `first`, in the database's place; returns where the old one is."""
    path = database_path(url)
    staged = path.with_name(f".{path.name}.restoring")
    try:
        with closing(sqlite3.connect(prepared)) as copy:
            _check_soundness(copy, prepared)
            with copy:
                for statement in first:
                    copy.execute(statement)
    except sqlite3.DatabaseError as error:
        raise BackupError(f"The backup cannot be used: {error}.", "Use another backup.") from error
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    staged.unlink(missing_ok=True)
    shutil.move(prepared, staged)  # copies if the database is on another disk
    if not path.exists():
        staged.replace(path)
        sync_folder(path.parent)
        return None
    kept = path.with_name(f"{path.name}.before-restore-{stamp}")
    try:
        _fold_in_side_files(path, kept)
        link_or_copy(path, kept)
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)
    sync_folder(path.parent)
    return str(kept)


def database_path(url: str) -> Path:
    name = make_url(url).database
    if not name or name == ":memory:":
        raise BackupError("A database in memory cannot be backed up.", "Use a file.")
    return Path(name)


def _fold_in_side_files(path: Path, kept: Path) -> None:
    """Leaves the whole old database in its one file: side files would be taken for the new one's."""
    log, kept_log = _with_suffix(path, "-wal"), _with_suffix(kept, "-wal")
    if log.exists():
        link_or_copy(log, kept_log)  # opening a damaged database may remove it
    try:
        with closing(sqlite3.connect(path, timeout=2)) as old:
            (mode,) = old.execute("PRAGMA journal_mode=DELETE").fetchone()
    except sqlite3.OperationalError as error:
        kept_log.unlink(missing_ok=True)
        raise BackupError(f"{path} is in use: {error}.", "Stop Corral first.") from error
    except sqlite3.DatabaseError:
        # Damaged, which may be why somebody restores. All of it is kept as it is.
        for suffix in ("-wal", "-shm"):
            _with_suffix(path, suffix).unlink(missing_ok=True)
        return
    kept_log.unlink(missing_ok=True)
    if mode != "delete":
        raise BackupError(f"{path} is in use.", "Stop Corral first.")


def _with_suffix(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _check_soundness(database: sqlite3.Connection, path: Path) -> None:
    (answer,) = database.execute("PRAGMA quick_check(1)").fetchone()
    if answer != "ok":
        raise BackupError(f"{path} is damaged: {answer}.", "Restore an earlier backup.")


def _revision(database: sqlite3.Connection) -> str | None:
    if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone() is None:
        return None
    row = database.execute(_REVISION).fetchone()
    return None if row is None else str(row[0])
