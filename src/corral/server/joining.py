"""How a second host gets the keys and the database of the first: a file, carried by whoever runs both.

The file holds everything that opens the database, so it never travels through argv, a URL or Corral itself.
"""

import json
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, select

from corral.server.private_files import write_private
from corral.server.settings_sources import FILE_NAME as SETTINGS_FILE
from corral.store.fingerprint import key_fingerprint
from corral.store.keyring import FILE_NAME as KEY_FILE
from corral.store.keyring import Keyring, KeyringError, write_keys
from corral.store.migrate import HEAD, current_revision, with_connection

FORMAT = "corral-join-1"
_LARGEST_BYTES = 64 * 1024


class JoinError(Exception):
    """In words, with what to do."""

    def __init__(self, detail: str, remedy: str) -> None:
        super().__init__(detail)
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Bundle:
    """`database_url` as it stands in the settings of the first host; it may hold a password."""

    keys: str
    database_url: str


def write_bundle(home: Path, database_url: str, destination: Path) -> None:
    """A new file that only its owner can read."""
    if not database_url.startswith("postgres"):
        raise JoinError(
            "This Corral has its database in a file of this machine.",
            "Several hosts share one PostgreSQL: set database_url (docs/run.md), then try again.",
        )
    try:
        keys = (home / KEY_FILE).read_text()
    except FileNotFoundError:
        raise JoinError(f"There are no keys in {home} yet.", "Start Corral once: corral up.") from None
    text = json.dumps({"format": FORMAT, "keys": keys, "database_url": database_url})
    try:
        handle = os.open(destination, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise JoinError(f"{destination} exists already.", "Choose another name.") from None
    except OSError as error:
        raise JoinError(f"{destination} cannot be written: {error.strerror}.", "Choose another.") from None
    with os.fdopen(handle, "w") as file:
        file.write(text + "\n")


def read_bundle(path: Path) -> Bundle:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                raise JoinError(f"Others can read {path}, and it holds keys.", f"Run: chmod 600 {path}")
            text = file.read(_LARGEST_BYTES + 1)
    except OSError as error:
        raise JoinError(
            f"{path} cannot be read: {error.strerror}.", "Name the file of the first host."
        ) from None
    try:
        if len(text) > _LARGEST_BYTES:
            raise ValueError
        values = json.loads(text)
        if values["format"] != FORMAT:
            raise ValueError
        bundle = Bundle(str(values["keys"]), str(values["database_url"]))
        Keyring.read(bundle.keys, str(path))
    except (ValueError, KeyError, TypeError, KeyringError):
        raise JoinError(
            f"{path} is no join file of this version.", "Make one on the first host: corral host bundle FILE"
        ) from None
    return bundle


def check_bundle(bundle: Bundle, resolved_url: str) -> None:
    """Whether these keys open this database, before anything is written."""
    keyring = Keyring.read(bundle.keys, "the join file")
    if current_revision(resolved_url) != HEAD:
        raise JoinError(
            "The database has the schema of another version of Corral.",
            "Run the same version on all hosts; the first one to start upgrades the database.",
        )
    stored = with_connection(resolved_url, _stored_fingerprint)
    if stored is None:
        raise JoinError("No Corral has started with this database yet.", "Start the first host: corral up.")
    if stored not in keyring.fingerprints:
        raise JoinError(
            "The keys in the join file are not those of this database.",
            "Make a new one on a host that uses it: corral host bundle FILE",
        )


def write_home(home: Path, bundle: Bundle) -> None:
    """Keys and settings of a new host. What is there already must be the same."""
    keys, settings = home / KEY_FILE, home / SETTINGS_FILE
    if keys.exists() and keys.read_text().split() != bundle.keys.split():
        raise JoinError(
            f"{home} has keys of its own: it belongs to another Corral.",
            "Choose an empty data directory with --home.",
        )
    before = settings.read_text(encoding="utf-8") if settings.exists() else ""
    url = tomllib.loads(before).get("database_url")
    if url not in {None, bundle.database_url}:
        raise JoinError(
            f"{settings} names another database.", "Remove database_url there, or choose another --home."
        )
    if url is None:
        write_private(settings, f"database_url = {json.dumps(bundle.database_url)}\n{before}".rstrip())
    if not keys.exists():
        write_keys(keys, bundle.keys)


def _stored_fingerprint(connection: Connection) -> str | None:
    name: str | None = connection.execute(select(key_fingerprint.c.name)).scalar()
    return name
