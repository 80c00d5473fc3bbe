"""What a second host needs, carried in a file."""

import json
import stat
from pathlib import Path

import pytest

from corral.server.joining import Bundle, JoinError, check_bundle, read_bundle, write_bundle, write_home
from corral.server.settings_sources import load_settings
from corral.store.fingerprint import match_fingerprint
from corral.store.keyring import Keyring
from tests.databases import in_database

URL = "postgresql://corral:very-secret@db.example/corral"


@pytest.fixture
def first(tmp_path: Path) -> Path:
    home = tmp_path / "first"
    home.mkdir()
    Keyring.open(home / "keys")
    return home


def test_a_new_host_has_the_keys_and_the_database_of_the_first(first: Path, tmp_path: Path) -> None:
    bundle, home = tmp_path / "join", tmp_path / "second"
    home.mkdir()
    (home / "corral.toml").write_text("port = 8999\n")
    write_bundle(first, URL, bundle)
    assert stat.S_IMODE(bundle.stat().st_mode) == 0o600
    for _ in range(2):  # once more changes nothing
        write_home(home, read_bundle(bundle))
    assert Keyring.open(home / "keys").newest == Keyring.open(first / "keys").newest
    settings = load_settings({"home": str(home)}, {}).settings
    assert (settings.database_url, settings.port) == (URL, 8999)
    assert stat.S_IMODE((home / "corral.toml").stat().st_mode) == 0o600


def test_a_data_directory_of_another_corral_stays_as_it_is(first: Path, tmp_path: Path) -> None:
    write_bundle(first, URL, tmp_path / "join")
    bundle = read_bundle(tmp_path / "join")
    home = tmp_path / "second"
    home.mkdir()
    own = Keyring.open(home / "keys").newest
    with pytest.raises(JoinError, match="keys of its own"):
        write_home(home, bundle)
    assert [one.name for one in home.iterdir()] == ["keys"]
    assert Keyring.open(home / "keys").newest == own
    (home / "keys").unlink()
    (home / "corral.toml").write_text('database_url = "postgresql://other/db"\n')
    with pytest.raises(JoinError, match="another database"):
        write_home(home, bundle)
    assert not (home / "keys").exists()


def test_a_join_file_is_neither_overwritten_nor_followed_nor_open_to_others(
    first: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "join"
    bundle.write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for taken in (bundle, tmp_path / "link"):
        with pytest.raises(JoinError):
            write_bundle(first, URL, taken)
    assert bundle.read_text() == "mine"
    assert not (tmp_path / "elsewhere").exists()
    bundle.unlink()
    write_bundle(first, URL, bundle)
    bundle.chmod(0o644)
    with pytest.raises(JoinError, match="Others can read") as refused:
        read_bundle(bundle)
    assert "chmod 600" in refused.value.remedy


def test_what_is_no_join_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "join"
    keys = Keyring.open(tmp_path / "keys") and (tmp_path / "keys").read_text()
    for text in (
        "",
        "no JSON",
        "[]",
        '{"format": "corral-join-1"}',
        '{"format": "corral-join-1", "keys": "AAAA", "database_url": "x"}',
        json.dumps({"format": "corral-join-9", "keys": keys, "database_url": "x"}),
        " " * 100_000,
    ):
        path.write_text(text)
        path.chmod(0o600)
        with pytest.raises(JoinError, match="no join file"):
            read_bundle(path)


def test_several_hosts_need_postgresql(first: Path, tmp_path: Path) -> None:
    with pytest.raises(JoinError, match="file of this machine") as refused:
        write_bundle(first, "", tmp_path / "join")
    assert "PostgreSQL" in refused.value.remedy
    assert not (tmp_path / "join").exists()


def test_keys_are_compared_with_those_of_the_database_before_anything_is_written(
    first: Path, tmp_path: Path, database_url: str
) -> None:
    bundle = Bundle((first / "keys").read_text(), database_url)
    with pytest.raises(JoinError, match="No Corral has started"):
        check_bundle(bundle, database_url)
    other = Keyring.open(tmp_path / "other")
    in_database(database_url, lambda one: match_fingerprint(one, other.fingerprints, other.newest))
    with pytest.raises(JoinError, match="not those of this database"):
        check_bundle(bundle, database_url)
    check_bundle(Bundle((tmp_path / "other").read_text(), database_url), database_url)
