"""Backup and restore on both databases: what was there comes back, what cannot be used changes nothing."""

import asyncio
import hashlib
import io
import json
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, make_url, select, text
from sqlalchemy.exc import DBAPIError

from corral import __version__
from corral.api.callers import Caller, Origin
from corral.audit.record import Subject, record
from corral.audit.tables import audit_entry
from corral.events.record import publish
from corral.events.tables import event
from corral.platform.tables import setting
from corral.store import backup_postgresql
from corral.store.backup import BackupError, backup, backup_before_upgrade, forget_old_upgrades, restore
from corral.store.database import Database, Transaction
from corral.store.keyring import FILE_NAME, Keyring, KeyringError
from corral.store.migrate import HEAD
from tests.databases import in_database


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return home


def keep(url: str, key: str) -> None:
    def work(transaction: Transaction) -> None:
        transaction.run(
            insert(setting).values(key=key, value={"名": "café"}, generation=1, updated_at=transaction.now)
        )
        publish(transaction, "setting", key, 1, scope="/o/")

    in_database(url, work)


def kept(url: str) -> list[str]:
    return in_database(url, lambda tx: [row.key for row in tx.rows(select(setting).order_by(setting.c.key))])


def rewrite(source: Path, target: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """A copy of an archive with changed members."""
    with tarfile.open(source) as archive:
        members = {m.name: archive.extractfile(m).read() for m in archive.getmembers()}  # type: ignore[union-attr]
    change(members)
    with tarfile.open(target, "w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return target


def change_manifest(**fields: Any) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        members["manifest.json"] = json.dumps(json.loads(members["manifest.json"]) | fields).encode()

    return change


def test_what_was_backed_up_comes_back_and_what_came_later_is_kept_aside(
    database_url: str, home: Path, tmp_path: Path
) -> None:
    secret = Keyring.open(home / FILE_NAME).encrypt("smtp password", "mail")
    keep(database_url, "before")
    saved = backup(database_url, home, tmp_path)
    assert saved.stat().st_mode & 0o777 == 0o600
    keep(database_url, "later")
    (home / FILE_NAME).unlink()
    later = Keyring.open(home / FILE_NAME).encrypt("later secret", "mail")

    restored = restore(database_url, home, saved)

    assert kept(database_url) == ["before"]
    keyring = Keyring.open(home / FILE_NAME)
    assert keyring.decrypt(secret, "mail") == "smtp password"
    assert keyring.decrypt(later, "mail") == "later secret", "the database kept aside cannot be opened"
    assert restored.manifest.version == __version__
    assert restored.manifest.schema_revision == HEAD
    assert not restored.upgrade_needed
    assert restored.kept is not None
    if database_url.startswith("sqlite"):
        assert kept(f"sqlite:///{restored.kept}") == ["before", "later"]
    else:
        table = f"{restored.kept.removeprefix('schema ')}.setting"
        rows = in_database(database_url, lambda tx: tx.rows(text(f"SELECT key FROM {table}")))
        assert sorted(row.key for row in rows) == ["before", "later"]
    assert sorted(path.name for path in home.iterdir()) == [FILE_NAME]


def test_restored_database_goes_on(database_url: str, home: Path, tmp_path: Path) -> None:
    keep(database_url, "one")
    restore(database_url, home, backup(database_url, home, tmp_path / "backup.tar.gz"))
    keep(database_url, "two")
    assert kept(database_url) == ["one", "two"]
    assert in_database(database_url, lambda tx: [row.id for row in tx.rows(select(event.c.id))]) == [1, 2]
    with pytest.raises(DBAPIError, match="append-only"):
        in_database(database_url, _forge_audit)


def _forge_audit(transaction: Transaction) -> None:
    caller = Caller("u", "u", "session", "", Origin("", ""), ())
    record(transaction, caller, "user.create", Subject("user", "u", "u", "/o/"))
    transaction.run(delete(audit_entry))


def test_restore_twice_and_back_again(database_url: str, home: Path, tmp_path: Path) -> None:
    first = backup(database_url, home, tmp_path / "empty.tar.gz")
    keep(database_url, "one")
    second = backup(database_url, home, tmp_path / "one.tar.gz")
    restore(database_url, home, first)
    assert kept(database_url) == []
    again = backup(database_url, home, tmp_path / "again.tar.gz")
    assert again.stat().st_size < 2 * first.stat().st_size, "what a restore kept aside is in the next backup"
    restore(database_url, home, second)
    assert kept(database_url) == ["one"]


def test_backup_while_corral_writes_is_consistent(database_url: str, home: Path, tmp_path: Path) -> None:
    async def write_and_back_up() -> Path:
        database = Database(database_url)
        try:
            writing = asyncio.gather(*(database.write(_write_pair, n) for n in range(40)))
            saved = await asyncio.to_thread(backup, database_url, home, tmp_path)
            await writing
            return saved
        finally:
            await database.close()

    restore(database_url, home, asyncio.run(write_and_back_up()))
    keys = kept(database_url)
    assert [key for key in keys if key.endswith("a")] == [key[:-1] + "a" for key in keys if key.endswith("b")]


def _write_pair(transaction: Transaction, number: int) -> None:
    for half in "ab":
        transaction.run(
            insert(setting).values(key=f"{number}{half}", value={}, generation=1, updated_at=transaction.now)
        )


def test_restore_into_an_empty_place(
    database_url: str, empty_database_url: str, home: Path, tmp_path: Path
) -> None:
    keep(database_url, "one")
    Keyring.open(home / FILE_NAME)
    saved = backup(database_url, home, tmp_path)
    new_home = tmp_path / "new home"
    restored = restore(empty_database_url, new_home, saved)
    assert restored.kept is None
    assert kept(empty_database_url) == ["one"]
    assert (new_home / FILE_NAME).read_text() == (home / FILE_NAME).read_text()
    assert (new_home / FILE_NAME).stat().st_mode & 0o777 == 0o600


def test_backup_of_an_older_schema_says_that_an_upgrade_follows(
    database_url: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = backup(database_url, home, tmp_path)
    monkeypatch.setattr("corral.store.backup.HEAD", "9999")
    assert restore(database_url, home, saved).upgrade_needed


class TestRefusals:
    """Whatever is refused leaves everything as it was."""

    @pytest.fixture
    def saved(self, database_url: str, home: Path, tmp_path: Path) -> Path:
        Keyring.open(home / FILE_NAME)
        return backup(database_url, home, tmp_path / "good.tar.gz")

    @pytest.fixture(autouse=True)
    def unchanged(self, database_url: str, home: Path, saved: Path) -> Any:
        keep(database_url, "now")
        keys = (home / FILE_NAME).read_text()
        yield
        assert kept(database_url) == ["now"]
        assert (home / FILE_NAME).read_text() == keys
        assert [path.name for path in home.iterdir()] == [FILE_NAME]

    def test_newer_schema(self, database_url: str, home: Path, saved: Path, tmp_path: Path) -> None:
        newer = rewrite(saved, tmp_path / "newer", change_manifest(schema_revision="9999", version="7.0"))
        with pytest.raises(BackupError, match=r"Install Corral 7\.0 or newer"):
            restore(database_url, home, newer)

    def test_newer_format(self, database_url: str, home: Path, saved: Path, tmp_path: Path) -> None:
        newer = rewrite(saved, tmp_path / "newer", change_manifest(format=2))
        with pytest.raises(BackupError, match="reads format 1"):
            restore(database_url, home, newer)

    def test_another_kind_of_database(
        self, database_url: str, home: Path, saved: Path, tmp_path: Path
    ) -> None:
        other = rewrite(saved, tmp_path / "other", change_manifest(database="oracle"))
        with pytest.raises(BackupError, match="is a backup of oracle"):
            restore(database_url, home, other)

    def test_missing_file(self, database_url: str, home: Path, saved: Path, tmp_path: Path) -> None:
        with pytest.raises(BackupError, match="There is no file"):
            restore(database_url, home, tmp_path / "missing")

    @pytest.mark.parametrize("part", [0.0, 0.001, 0.3, 0.9])
    def test_cut_off_file(
        self, database_url: str, home: Path, saved: Path, tmp_path: Path, part: float
    ) -> None:
        cut = tmp_path / "cut"
        whole = saved.read_bytes()
        cut.write_bytes(whole[: int(len(whole) * part)])
        with pytest.raises(BackupError, match="damaged or no backup"):
            restore(database_url, home, cut)

    def test_changed_content(self, database_url: str, home: Path, saved: Path, tmp_path: Path) -> None:
        def flip(members: dict[str, bytes]) -> None:
            content = bytearray(members["database"])
            content[len(content) // 2] ^= 1
            members["database"] = bytes(content)

        with pytest.raises(BackupError, match="another checksum"):
            restore(database_url, home, rewrite(saved, tmp_path / "changed", flip))

    @pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "sub/evil", ".evil", "evil"])
    def test_names_that_lead_elsewhere(
        self, database_url: str, home: Path, saved: Path, tmp_path: Path, name: str
    ) -> None:
        def add(members: dict[str, bytes]) -> None:
            contents = json.loads(members["manifest.json"])["contents"]
            contents[name] = {"bytes": 4, "sha256": hashlib.sha256(b"evil").hexdigest()}
            change_manifest(contents=contents)(members)
            members[name] = b"evil"

        with pytest.raises(BackupError):
            restore(database_url, home, rewrite(saved, tmp_path / "evil.tar.gz", add))
        assert not (tmp_path / "evil").exists()
        assert not Path("/tmp/evil").exists()

    def test_links_in_the_place_of_files(
        self, database_url: str, home: Path, saved: Path, tmp_path: Path
    ) -> None:
        evil = tmp_path / "links"
        with tarfile.open(saved) as good, tarfile.open(evil, "w:gz") as archive:
            for member in good.getmembers():
                content = good.extractfile(member)
                if member.name == "database":
                    member.type, member.linkname, member.size = tarfile.SYMTYPE, "/etc/passwd", 0
                archive.addfile(member, content)
        with pytest.raises(BackupError, match="not where its manifest says"):
            restore(database_url, home, evil)

    def test_more_than_the_manifest_says(
        self, database_url: str, home: Path, saved: Path, tmp_path: Path
    ) -> None:
        more = rewrite(saved, tmp_path / "more", lambda members: members.update(extra=b"x"))
        with pytest.raises(BackupError, match="more than its manifest"):
            restore(database_url, home, more)

    def test_database_in_use(self, database_url: str, home: Path, saved: Path) -> None:
        async def restore_while_open() -> None:
            database = Database(database_url)
            try:
                await database.read(lambda tx: tx.scalar(select(setting.c.key)))
                await asyncio.to_thread(restore, database_url, home, saved)
            finally:
                await database.close()

        with pytest.raises(BackupError, match=r"in use|other connections"):
            asyncio.run(restore_while_open())

    def test_content_that_is_no_database(
        self, database_url: str, home: Path, saved: Path, tmp_path: Path
    ) -> None:
        def replace(members: dict[str, bytes]) -> None:
            members["database"] = b"evil"
            contents = json.loads(members["manifest.json"])["contents"]
            contents["database"] = {"bytes": 4, "sha256": hashlib.sha256(b"evil").hexdigest()}
            change_manifest(contents=contents)(members)

        with pytest.raises(BackupError):
            restore(database_url, home, rewrite(saved, tmp_path / "no database", replace))

    def test_existing_destination(self, database_url: str, home: Path, saved: Path) -> None:
        before = saved.read_bytes()
        with pytest.raises(BackupError, match="exists already"):
            backup(database_url, home, saved)
        assert saved.read_bytes() == before

    def test_destination_without_a_folder(
        self, database_url: str, home: Path, saved: Path, tmp_path: Path
    ) -> None:
        with pytest.raises(BackupError, match="There is no folder"):
            backup(database_url, home, tmp_path / "nowhere" / "backup.tar.gz")


def test_empty_database_has_nothing_to_back_up(empty_database_url: str, home: Path, tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="nothing to back up"):
        backup(empty_database_url, home, tmp_path / "backup.tar.gz")
    assert not (tmp_path / "backup.tar.gz").exists()


def test_pending_migrations_are_preceded_by_a_backup(
    database_url: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(database_url, "one")
    assert backup_before_upgrade(database_url, home) is None
    monkeypatch.setattr("corral.store.backup.HEAD", "9999")
    saved = backup_before_upgrade(database_url, home)
    assert saved is not None
    assert saved.parent == home / "backups"
    monkeypatch.undo()
    keep(database_url, "two")
    restore(database_url, home, saved)
    assert kept(database_url) == ["one"]


def test_newest_three_backups_before_an_upgrade_are_kept(home: Path) -> None:
    folder = home / "backups"
    folder.mkdir()
    stamps = ["20260101t000000000z", "20260301t000000000z", "20260401t000000000z", "20260501t000000000z"]
    # The revision does not decide: one may have gone back to an older version.
    before = [f"before-upgrade-from-{9 - n:04}-{stamp}.tar.gz" for n, stamp in enumerate(stamps)]
    own = ["corral-20250101t000000000z.tar.gz", "before-upgrade-from-0001.txt"]
    for name in (*before, *own):
        (folder / name).touch()
    forget_old_upgrades(home)
    assert {path.name for path in folder.iterdir()} == {*before[1:], *own}


def test_damaged_sqlite_database_can_be_replaced(sqlite_template: Path, home: Path, tmp_path: Path) -> None:
    path = tmp_path / "corral.db"
    shutil.copyfile(sqlite_template, path)
    url = f"sqlite:///{path}"
    keep(url, "one")
    saved = backup(url, home, tmp_path / "backup.tar.gz")
    path.write_bytes(b"not a database" * 1000)
    path.with_name("corral.db-wal").write_bytes(b"left behind")
    restored = restore(url, home, saved)
    assert kept(url) == ["one"]
    assert restored.kept is not None
    assert Path(restored.kept).read_bytes().startswith(b"not a database")
    assert Path(restored.kept + "-wal").read_bytes() == b"left behind"
    with pytest.raises(BackupError, match=r"cannot be read|damaged"):
        backup(f"sqlite:///{restored.kept}", home, tmp_path / "of the damaged one")


def test_disk_without_second_names_for_files_works_too(
    sqlite_template: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError("no hard links here")

    monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "corral.db"
    shutil.copyfile(sqlite_template, path)
    url = f"sqlite:///{path}"
    keep(url, "one")
    saved = backup(url, home, tmp_path / "backup.tar.gz")
    restored = restore(url, home, saved)
    assert kept(f"sqlite:///{restored.kept}") == kept(url) == ["one"]


def test_missing_programs_of_postgresql_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BackupError, match="apt install postgresql-client"):
        backup_postgresql._program("pg_dump", 1)


def test_password_goes_by_environment_and_not_by_argument() -> None:
    url = make_url("postgresql+asyncpg://mei:p%40ss@db.example:5433/corral?ssl=verify-full")
    variables = backup_postgresql._environment(url)
    assert {name: variables[name] for name in variables if name.startswith("PG")} == {
        "PGHOST": "db.example",
        "PGPORT": "5433",
        "PGUSER": "mei",
        "PGPASSWORD": "p@ss",
        "PGDATABASE": "corral",
        "PGSSLMODE": "verify-full",
        "PGAPPNAME": "corral-backup",
    }


def test_damaged_key_file_in_a_backup_is_refused(sqlite_template: Path, home: Path, tmp_path: Path) -> None:
    path = tmp_path / "corral.db"
    shutil.copyfile(sqlite_template, path)
    url = f"sqlite:///{path}"
    (home / FILE_NAME).write_text("AAAA\n")
    (home / FILE_NAME).chmod(0o600)
    saved = backup(url, home, tmp_path / "backup.tar.gz")
    (home / FILE_NAME).unlink()
    with pytest.raises(BackupError, match="not a Corral key file"):
        restore(url, home, saved)
    with pytest.raises(KeyringError):
        Keyring([])
