"""Secrets at rest: who may read the key file, how keys are rotated, what a wrong key does."""

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.store.keyring import Keyring, KeyringError

KEYRING = Keyring([bytes(range(32))])


def test_key_file_is_made_for_its_owner_only_and_found_again(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    sealed = Keyring.open(path).encrypt("secret", "mail")
    assert path.stat().st_mode & 0o777 == 0o600
    assert Keyring.open(path).decrypt(sealed, "mail") == "secret"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_key_file_that_others_can_read_is_refused_with_the_remedy(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "keys"
    Keyring.open(path)
    path.chmod(mode)
    with pytest.raises(KeyringError, match=f"chmod 600 {path}"):
        Keyring.open(path)


def test_rotation_opens_the_old_and_seals_with_the_new(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    old = Keyring.open(path).encrypt("old", "mail")
    old_line = path.read_text()
    path.write_text(base64.b64encode(b"n" * 32).decode() + "\n" + old_line)
    rotated = Keyring.open(path)
    new = rotated.encrypt("new", "mail")
    assert rotated.decrypt(old, "mail") == "old"
    path.write_text(old_line)
    with pytest.raises(KeyringError):
        Keyring.open(path).decrypt(new, "mail")


def test_another_key_or_purpose_does_not_open_it() -> None:
    sealed = KEYRING.encrypt("secret", "mail")
    with pytest.raises(KeyringError, match="restore the key file"):
        Keyring([b"x" * 32]).decrypt(sealed, "mail")
    with pytest.raises(KeyringError):
        KEYRING.decrypt(sealed, "idempotency")


@pytest.mark.parametrize(
    "content", ["", "AAAA\n", base64.b64encode(bytes(32)).decode(), base64.b64encode(b"x" * 31).decode()]
)
def test_file_that_holds_no_proper_key_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "keys"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(KeyringError, match="restore it from a backup"):
        Keyring.open(path)


@given(st.text())
def test_everything_comes_back_and_never_looks_the_same_twice(plain: str) -> None:
    first, second = KEYRING.encrypt(plain, "p"), KEYRING.encrypt(plain, "p")
    assert first != second
    assert KEYRING.decrypt(first, "p") == KEYRING.decrypt(second, "p") == plain


@given(st.text(min_size=1), st.data())
def test_changed_secret_is_refused(plain: str, data: st.DataObject) -> None:
    raw = bytearray(base64.b64decode(KEYRING.encrypt(plain, "p")))
    position = data.draw(st.integers(0, len(raw) - 1))
    raw[position] ^= data.draw(st.integers(1, 255))
    with pytest.raises(KeyringError):
        KEYRING.decrypt(base64.b64encode(bytes(raw)).decode(), "p")
