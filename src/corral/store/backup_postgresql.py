"""Backup and restore of PostgreSQL, with its own programs.

A restore happens in one transaction: the schema with the tables is renamed, a new one is filled. It
needs no right beyond owning the database, and either all of it is there afterwards or nothing has changed.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, make_url, text

from corral.store.archive import BackupError
from corral.store.migrate import current_revision, with_connection

KEPT_PREFIX = "before_restore_"
_OTHERS = text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
    "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
)
_TABLES = text("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
# What a URL for asyncpg and libpq's variables call the same thing.
_VARIABLES = {
    "host": "PGHOST",
    "port": "PGPORT",
    "ssl": "PGSSLMODE",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
}


def dump(url: str, target: Path) -> str | None:
    """Writes the database to `target` and returns the revision of its schema, None if it has none."""
    revision = current_revision(url)
    if revision is not None:
        # Schemas that earlier restores kept are not part of the installation.
        others = f"--exclude-schema={KEPT_PREFIX}*"
        _run(url, "pg_dump", "--format=custom", others, *_PLAIN, f"--file={target}")
        target.chmod(0o600)
    return revision


def restore(url: str, prepared: Path, stamp: str, first: Sequence[str] = ()) -> str | None:
    """Replaces the tables by those of the dump, changed by `first`; returns where the old ones are kept."""
    others, tables = with_connection(url, _situation)
    if others:
        raise BackupError(
            f"{others} other connections are open on the database.",
            "Stop Corral on every machine that uses it, and other clients.",
        )
    kept = f"{KEPT_PREFIX}{stamp}"
    prelude, changes = prepared.with_name("prelude.sql"), prepared.with_name("changes.sql")
    aside = f"ALTER SCHEMA public RENAME TO {kept};" if tables else "DROP SCHEMA public;"
    prelude.write_text(f"{aside}\nCREATE SCHEMA public;\n")
    # The dump leaves the search path empty.
    changes.write_text("".join(f"{each};\n" for each in ("SET LOCAL search_path TO public", *first)))
    script = prepared.with_name("database.sql")
    _run(url, "pg_restore", *_PLAIN, f"--file={script}", str(prepared))
    _run(
        url,
        "psql",
        "--no-psqlrc",
        "--quiet",
        "--single-transaction",
        "--set=ON_ERROR_STOP=1",
        "--output=/dev/null",
        f"--file={prelude}",
        f"--file={script}",
        f"--file={changes}",
    )
    return f"schema {kept}" if tables else None


_PLAIN = ("--no-owner", "--no-privileges")


def _situation(connection: Connection) -> tuple[int, int]:
    return int(connection.scalar(_OTHERS) or 0), int(connection.scalar(_TABLES) or 0)


def _server_version(connection: Connection) -> int:
    return int(connection.scalar(text("SHOW server_version_num")) or 0) // 10000


def _run(url: str, program: str, *arguments: str) -> None:
    path = _program(program, with_connection(url, _server_version))
    # Address and password go by environment: arguments can be read by everybody on the machine.
    done = subprocess.run(  # noqa: S603 - a program of PostgreSQL, with arguments made above
        [path, *arguments],
        env=_environment(make_url(url)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()[-2000:]
        raise BackupError(f"{program} failed: {said}", "The message names the cause; nothing was changed.")


def _program(name: str, server_version: int) -> str:
    """The program, of the server's own version where the machine has several."""
    of_version = Path(f"/usr/lib/postgresql/{server_version}/bin/{name}")
    if of_version.exists():
        return str(of_version)
    found = shutil.which(name)
    if found is None:
        raise BackupError(
            f"{name} is not on this machine.",
            f"Install PostgreSQL's client programs, version {server_version}: apt install postgresql-client",
        )
    return found


def _environment(url: URL) -> dict[str, str]:
    given: dict[str, Any] = {"host": url.host, "port": url.port, **url.query}
    variables = {
        _VARIABLES[key]: str(value) for key, value in given.items() if key in _VARIABLES and value is not None
    }
    if variables.get("PGSSLMODE", "").lower() in {"true", "1"}:
        variables["PGSSLMODE"] = "require"
    named = {"PGUSER": url.username, "PGPASSWORD": url.password, "PGDATABASE": url.database}
    variables |= {name: str(value) for name, value in named.items() if value}
    return {**os.environ, **variables, "PGAPPNAME": "corral-backup", "LC_MESSAGES": "C"}
