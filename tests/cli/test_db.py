"""`corral db`: a backup is one file, a restore keeps what was there, a running Corral is left alone."""

import asyncio
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select

from corral.identity.bootstrap import found_installation, renew_local_token, super_administrator
from corral.identity.login import new_login_link
from corral.identity.tables import login_link, organisation, session, token
from corral.store.database import Database, Transaction
from corral.store.migrate import HEAD
from tests.cli.running import Corral, Outcome
from tests.databases import in_database
from tests.live import LiveCorral

Db = Callable[..., Outcome]


@pytest.fixture
def home(tmp_path: Path, sqlite_template: Path) -> Path:
    """A data directory with a database in it, and no Corral running."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    shutil.copyfile(sqlite_template, folder / "corral.db")
    return folder


@pytest.fixture
def db(corral: Corral, tmp_path: Path, database_url: str) -> Db:
    """`corral db ...` on a migrated database of either kind."""

    def call(*arguments: str) -> Outcome:
        home = tmp_path / "home"
        home.mkdir(mode=0o700, exist_ok=True)
        return corral("db", *arguments, CORRAL_HOME=str(home), CORRAL_DATABASE_URL=database_url)

    return call


def found(transaction: Transaction) -> None:
    """An installation whose administrator is signed in, has a login link and a token."""
    found_installation(transaction, "hash")
    user_id, _ = super_administrator(transaction)
    renew_local_token(transaction, "host")
    new_login_link(transaction, user_id, None, timedelta(minutes=15), "http://127.0.0.1:8710")
    now = transaction.now
    transaction.run(
        insert(session).values(
            id="s1",
            user_id=user_id,
            secret_hash="x",
            created_at=now,
            last_seen_at=now,
            expires_at=now + timedelta(days=7),
            address="192.0.2.1",
            user_agent="",
            provider="local",
        )
    )


def rows(transaction: Transaction) -> dict[str, int]:
    counted = (organisation, session, login_link, token)
    return {table.name: transaction.scalar(select(func.count()).select_from(table)) for table in counted}


def rename_root(transaction: Transaction) -> None:
    transaction.run(organisation.update().values(name="Renamed since"))


def root_name(transaction: Transaction) -> str:
    return str(transaction.scalar(select(organisation.c.name)))


def test_an_upgrade_makes_the_schema_and_then_has_nothing_to_do(
    corral: Corral, empty_database_url: str, tmp_path: Path
) -> None:
    given = {"CORRAL_HOME": str(tmp_path / "new"), "CORRAL_DATABASE_URL": empty_database_url}
    first = corral("db", "upgrade", "--json", **given)
    assert first.json == {"from": None, "to": HEAD, "backup": None}, first.err
    again = corral("db", "upgrade", "--json", **given)
    assert again.json == {"from": HEAD, "to": HEAD, "backup": None}
    in_database(empty_database_url, found)
    assert (tmp_path / "new").stat().st_mode & 0o077 == 0


def test_a_restore_brings_back_what_was_there_and_ends_every_session(
    db: Db, database_url: str, tmp_path: Path
) -> None:
    in_database(database_url, found)
    made = db("backup", str(tmp_path / "copy.tar.gz"), "--json").json
    assert Path(made["file"]).stat().st_mode & 0o077 == 0
    assert Path(made["file"]).stat().st_size == made["bytes"]
    in_database(database_url, rename_root)

    restored = db("restore", made["file"], "--yes", "--json")

    assert restored.code == 0, restored.err
    assert restored.json["schema_revision"] == HEAD
    assert restored.json["upgrade_needed"] is False
    assert restored.json["kept"]
    assert restored.json["sessions_ended"] is True
    assert in_database(database_url, root_name) == "Corral"
    assert in_database(database_url, rows) == {"organisation": 1, "session": 0, "login_link": 0, "token": 1}


def test_a_restore_says_what_is_valid_again(db: Db, database_url: str, tmp_path: Path) -> None:
    in_database(database_url, found)
    assert db("backup", str(tmp_path / "copy.tar.gz")).code == 0
    said = db("restore", str(tmp_path / "copy.tar.gz"), "--yes").out
    assert "All sessions and login links have ended" in said
    assert "tokens, invitations and join codes that were revoked since" in said
    assert "The old database is kept: " in said


def test_a_database_that_others_use_is_not_replaced(db: Db, database_url: str, tmp_path: Path) -> None:
    """Corral may run on another machine, where the lock of this data directory does not reach."""
    in_database(database_url, found)
    assert db("backup", str(tmp_path / "copy.tar.gz")).code == 0
    in_database(database_url, rename_root)
    with asyncio.Runner() as elsewhere:
        database = Database(database_url)
        elsewhere.run(database.read(root_name))
        refused = db("restore", str(tmp_path / "copy.tar.gz"), "--yes")
        elsewhere.run(database.close())
    assert refused.code == 1
    assert "Stop Corral" in refused.err
    assert in_database(database_url, root_name) == "Renamed since"


def test_without_a_place_a_backup_goes_into_the_data_directory(corral: Corral, home: Path) -> None:
    made = corral("db", "backup", "--json", CORRAL_HOME=str(home)).json
    assert Path(made["file"]).parent == home / "backups"


def test_a_restore_asks_first(corral: Corral, home: Path, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy.tar.gz")
    assert corral("db", "backup", copy, CORRAL_HOME=str(home)).code == 0
    refused = corral("db", "restore", copy, stdin="n\n", CORRAL_HOME=str(home))
    assert refused.code == 1
    assert refused.err.endswith("Nothing was changed.\n")
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
