"""Secrets at rest: a key file beside the database, never in it.

The file has one key per line, newest first; everything is encrypted with the first and decrypted with
whichever fits, so a key is rotated by adding a line on top and re-encrypting at leisure.
"""

import base64
import hmac
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
            write_keys(path, base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode() + "\n")
        if path.stat().st_mode & 0o077:
            raise KeyringError(f"{path} can be read by others; run: chmod 600 {path}")
        return cls.read(path.read_text(), str(path))

    @classmethod
    def read(cls, text: str, source: str) -> "Keyring":
        """The keys of a key file's text."""
        try:
            keys = [base64.b64decode(line) for line in text.split()]
        except ValueError:
            keys = [b""]
        if any(len(key) != _KEY_BYTES or not any(key) for key in keys):
            raise KeyringError(f"{source} is not a Corral key file; restore it from a backup")
        return cls(keys)

    @property
    def newest(self) -> str:
        """Which key seals now: a name for it that tells nothing of the key."""
        return self.fingerprints[0]

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """The names of all keys, the newest first."""
        return tuple(_derive(key, "name").hex()[:16] for key in self._keys)

    def sign(self, message: bytes, purpose: str) -> str:
        """Proves to whoever has the same keys that the message is ours."""
        return hmac.digest(_derive(self._keys[0], purpose), message, "sha256").hex()

    def is_signature(self, message: bytes, signature: str, purpose: str) -> bool:
        """Whether somebody with one of these keys signed the message, for this purpose."""
        expected = (hmac.digest(_derive(key, purpose), message, "sha256").hex() for key in self._keys)
        return any(hmac.compare_digest(one.encode(), signature.encode()) for one in expected)

    def derive(self, purpose: str) -> bytes:
        """A key for one purpose, the same on every host of this Corral."""
        return _derive(self._keys[0], purpose)

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


def write_keys(path: Path, text: str) -> None:
    """Makes a key file that only its owner can read; one that is there is never replaced."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
