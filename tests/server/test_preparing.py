"""What the api child does before it serves, and how it says that it cannot."""

import stat
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from corral.server.child import CannotStartError, _migrate, open_keyring, write_private
from corral.server.settings import Settings
from corral.store.database import Database
from corral.store.keyring import Keyring
from corral.store.migrate import HEAD, current_revision, with_connection


def for_database(tmp_path: Path, url: str) -> Settings:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    return Settings(home=home, database_url=url)


def test_an_empty_database_is_made_once(tmp_path: Path, empty_database_url: str) -> None:
    settings = for_database(tmp_path, empty_database_url)
    told: list[dict[str, Any]] = []
    _migrate(settings, told.append)
    assert [one["progress"] for one in told] == ["Making the database"]
    assert current_revision(settings.database_url_resolved) == HEAD
    _migrate(settings, told.append)
    assert len(told) == 1


def test_a_database_of_a_newer_version_is_left_alone(tmp_path: Path, database_url: str) -> None:
    def make_newer(connection: Any) -> None:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))

    settings = for_database(tmp_path, database_url)
    with_connection(settings.database_url_resolved, make_newer)
    with pytest.raises(CannotStartError) as error:
        _migrate(settings, lambda _: None)
    assert "newer" in str(error.value) + error.value.remedy
    assert current_revision(settings.database_url_resolved) == "9999"


def test_a_database_that_cannot_be_reached_is_named_without_its_password(tmp_path: Path) -> None:
    settings = for_database(tmp_path, "postgresql://corral:very-secret@127.0.0.1:1/none")
    with pytest.raises(CannotStartError) as error:
        _migrate(settings, lambda _: None)
    assert "database" in str(error.value)
    assert "corral config show" in error.value.remedy
    assert "very-secret" not in str(error.value) + error.value.remedy


async def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path, database: Database) -> None:
    settings = for_database(tmp_path, "")
    await open_keyring(settings, database)
    keys = settings.home / "keys"
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    keys.chmod(0o644)
    with pytest.raises(CannotStartError, match="chmod 600"):
        await open_keyring(settings, database)
    keys.chmod(0o600)
    keys.write_text("AAAA\n")
    with pytest.raises(CannotStartError, match="not a Corral key file"):
        await open_keyring(settings, database)


async def test_a_corral_with_other_keys_than_the_database_does_not_start(
    tmp_path: Path, database: Database
) -> None:
    settings = for_database(tmp_path, "")
    keys = settings.home / "keys"
    first = await open_keyring(settings, database)
    own = keys.read_text()

    keys.unlink()
    with pytest.raises(CannotStartError, match="has no keys") as refused:
        await open_keyring(settings, database)
    assert "corral join" in refused.value.remedy
    assert not keys.exists(), "no key is made up"

    keys.write_text(Keyring.open(tmp_path / "other") and (tmp_path / "other").read_text())
    keys.chmod(0o600)
    with pytest.raises(CannotStartError, match="not those that the database is sealed with") as refused:
        await open_keyring(settings, database)
    assert "forget-keys" in refused.value.remedy

    # Rotated: a new key on top, the old one below it. Who has the old one alone is refused from then on.
    keys.write_text(keys.read_text() + own)
    rotated = await open_keyring(settings, database)
    assert first.newest in rotated.fingerprints
    assert first.newest != rotated.newest
    keys.write_text(own)
    with pytest.raises(CannotStartError, match="sealed with"):
        await open_keyring(settings, database)


def test_private_files_are_replaced_whole_and_readable_by_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "local-token"
    path.write_text("old, and open to all")
    path.chmod(0o644)
    write_private(path, "new")
    assert path.read_text() == "new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["local-token"]
