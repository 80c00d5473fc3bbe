"""Secrets at rest: a key file beside the database, never in it.

The file has one key per line, newest first; everything is encrypted with the first and decrypted with
whichever fits, so a key is rotated by adding a line on top and re-encrypting at leisure.
"""

import base64
import os
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

FILE_NAME = "keys"  # in the data directory

_KEY_BYTES = 32
_NONCE_BYTES = 12


class KeyringError(Exception):
    """The key file is missing, unreadable to us alone, or not made of keys."""


class Keyring:
    def __init__(self, keys: list[bytes]) -> None:
        if not keys:
            raise KeyringError("the key file has no key in it; restore it from a backup")
        self._keys = keys

    @classmethod
    def open(cls, path: Path) -> "Keyring":
        """Reads the key file, or makes one that only its owner can read."""
        if not path.exists():
            _create(path, secrets.token_bytes(_KEY_BYTES))
        if path.stat().st_mode & 0o077:
            raise KeyringError(f"{path} can be read by others; run: chmod 600 {path}")
        keys = [base64.b64decode(line) for line in path.read_text().split()]
        if any(len(key) != _KEY_BYTES or not any(key) for key in keys):
            raise KeyringError(f"{path} is not a Corral key file; restore it from a backup")
        return cls(keys)

    @property
    def newest(self) -> str:
        """Which key seals now: a name for it that tells nothing of the key."""
        return _derive(self._keys[0], "name").hex()[:16]

    def encrypt(self, plain: str, purpose: str) -> str:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = AESGCM(_derive(self._keys[0], purpose)).encrypt(nonce, plain.encode(), purpose.encode())
        return base64.b64encode(nonce + sealed).decode()

    def decrypt(self, sealed: str, purpose: str) -> str:
        """The plain text; `KeyringError` if no key fits (a restored database with another key file)."""
        raw = base64.b64decode(sealed)
        for key in self._keys:
            try:
                plain = AESGCM(_derive(key, purpose)).decrypt(
                    raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], purpose.encode()
                )
            except InvalidTag:
                continue
            return plain.decode()
        raise KeyringError("no key in the key file opens this secret; restore the key file of this database")


def _derive(key: bytes, purpose: str) -> bytes:
    return HKDF(SHA256(), _KEY_BYTES, salt=None, info=purpose.encode()).derive(key)


def _create(path: Path, key: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(base64.b64encode(key) + b"\n")
        file.flush()
        os.fsync(file.fileno())
