"""`corral db`: a backup is one file, a restore keeps what was there, a running Corral is left alone."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from corral.store.migrate import HEAD
from tests.cli.conftest import Corral, run_here
from tests.live import LiveCorral


@pytest.fixture
def home(tmp_path: Path, someone: dict[str, str]) -> Path:
    """A data directory with a database in it, and no Corral running."""
    folder = tmp_path / "home"
    assert run_here("db", "upgrade", environ={**someone, "CORRAL_HOME": str(folder)}).code == 0
    return folder


def in_home(someone: dict[str, str], home: Path, *arguments: str) -> Any:
    outcome = run_here("db", *arguments, "--json", environ={**someone, "CORRAL_HOME": str(home)})
    assert outcome.code == 0, outcome.err
    return outcome.json


def tables(database: Path) -> set[str]:
    with sqlite3.connect(database) as connection:
        found = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    return found


def test_an_upgrade_makes_the_schema_and_then_has_nothing_to_do(
    someone: dict[str, str], tmp_path: Path
) -> None:
    home = tmp_path / "new"
    assert in_home(someone, home, "upgrade") == {"from": None, "to": HEAD, "backup": None}
    assert in_home(someone, home, "upgrade") == {"from": HEAD, "to": HEAD, "backup": None}
    assert "user_account" in tables(home / "corral.db")
    assert home.stat().st_mode & 0o077 == 0


def test_a_backup_restores_what_was_there(someone: dict[str, str], home: Path, tmp_path: Path) -> None:
    made = in_home(someone, home, "backup", str(tmp_path / "copy.tar.gz"))
    assert Path(made["file"]).stat().st_mode & 0o077 == 0
    with sqlite3.connect(home / "corral.db") as connection:
        connection.execute("DROP TABLE audit_posting")
    connection.close()

    restored = in_home(someone, home, "restore", made["file"], "--yes")

    assert restored["schema_revision"] == HEAD
    assert restored["kept"]
    assert "audit_posting" in tables(home / "corral.db")


def test_without_a_place_a_backup_goes_into_the_data_directory(someone: dict[str, str], home: Path) -> None:
    made = in_home(someone, home, "backup")
    assert Path(made["file"]).parent == home / "backups"


def test_a_restore_asks_first(corral: Corral, someone: dict[str, str], home: Path, tmp_path: Path) -> None:
    made = in_home(someone, home, "backup", str(tmp_path / "copy.tar.gz"))
    refused = corral("db", "restore", made["file"], stdin="n\n", CORRAL_HOME=str(home))
    assert refused.code == 1
    assert not list(home.glob("*before*"))


def test_a_file_that_is_no_backup_is_refused(corral: Corral, home: Path, tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(b"not an archive")
    refused = corral("db", "restore", str(tmp_path / "x.tar.gz"), "--yes", CORRAL_HOME=str(home))
    assert refused.code == 1
    assert "x.tar.gz" in refused.err


def test_a_missing_data_directory_is_named(corral: Corral, tmp_path: Path) -> None:
    refused = corral("db", "backup", CORRAL_HOME=str(tmp_path / "none"))
    assert refused.code == 1
    assert str(tmp_path / "none") in refused.err


def test_a_running_corral_is_backed_up_but_never_replaced(
    admin: Corral, live_corral: LiveCorral, tmp_path: Path
) -> None:
    made = admin("db", "backup", str(tmp_path / "live.tar.gz"))
    assert made.code == 0, made.err
    for arguments in (["restore", str(tmp_path / "live.tar.gz"), "--yes"], ["upgrade"]):
        refused = admin("db", *arguments)
        assert refused.code == 1
        assert f"process {live_corral.process.pid}" in refused.err


def test_a_database_server_that_does_not_answer_is_named_without_its_password(
    corral: Corral, tmp_path: Path
) -> None:
    url = "postgresql://corral:s3cret@127.0.0.1:9/corral"
    refused = corral("db", "upgrade", CORRAL_HOME=str(tmp_path / "home"), CORRAL_DATABASE_URL=url)
    assert refused.code == 1
    assert "127.0.0.1:9" in refused.err
    assert "s3cret" not in refused.err + refused.out
