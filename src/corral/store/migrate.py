"""Brings a database to the schema of this version."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, create_engine, make_url, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine

T = TypeVar("T")

# Known without importing Alembic, so that a start with nothing to do does not pay for it. A test compares.
HEAD = "0027"
MIGRATIONS = Path(__file__).parent / "migrations"
_UPGRADE_LOCK = 0x636F7272616C  # any number that nobody else uses in this database


class SchemaError(Exception):
    """The database's schema is not one that this version can bring up to date."""


def current_revision(url: str) -> str | None:
    """The schema revision the database has, or None where there is none yet."""
    return with_connection(url, _revision)


def upgrade(url: str) -> str | None:
    """Applies what is missing and returns the revision it started from; `HEAD` means nothing was done."""
    before = current_revision(url)
    if before != HEAD:
        with_connection(url, _upgrade)
    return before


def known_revisions() -> frozenset[str]:
    """Every schema that this version knows, from which it can upgrade."""
    from alembic.script import ScriptDirectory

    return frozenset(script.revision for script in ScriptDirectory(str(MIGRATIONS)).walk_revisions())


def _revision(connection: Connection) -> str | None:
    try:
        value = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    except DBAPIError:
        connection.rollback()
        return None
    return None if value is None else str(value)


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    if connection.dialect.name == "postgresql":
        # Hosts that start together upgrade one after the other; the second finds nothing left to do.
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_UPGRADE_LOCK})"))
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise SchemaError(
            f"{error}; the database was made by a newer Corral: start that version, or restore a backup"
        ) from error


def with_connection(url: str, work: Callable[[Connection], T]) -> T:
    """Runs `work` in one transaction, for commands that need no more than that."""
    if make_url(url).get_backend_name() == "sqlite":
        engine = create_engine(url)
        try:
            with engine.begin() as connection:
                return work(connection)
        finally:
            engine.dispose()
    return asyncio.run(_with_async_connection(url, work))


async def _with_async_connection(url: str, work: Callable[[Connection], T]) -> T:
    engine = create_async_engine(url)
    try:
        async with engine.begin() as connection:
            return await connection.run_sync(work)
    finally:
        await engine.dispose()
