"""Fresh databases for tests: migrated once per run, then copied, which takes milliseconds.

Tests of the application get a copy in which the first start has happened already.
"""

import asyncio
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import make_url

from tests.postgres import Server, shared_server
from tests.runs import TestRun

if TYPE_CHECKING:
    from corral.store.database import Transaction

TEMPLATE = "corral_template"
FOUNDED_TEMPLATE = "corral_founded"
FOUNDED_FILE = "founded.db"
SAMPLES = "samples.db"


def sqlite_url(path: Path) -> str:
    return f"sqlite:///{path}"


def migrated_sqlite_file(run: TestRun) -> Path:
    """A migrated database file to copy; no connection is open on it."""
    return _sqlite_template(run, "migrated", migrate)


def founded_sqlite_file(run: TestRun) -> Path:
    """The same after the first start, with its file of samples beside it."""
    migrated = migrated_sqlite_file(run)

    def make(url: str) -> None:
        shutil.copyfile(migrated, str(make_url(url).database))
        found(url)  # the file of samples is made beside it

    return _sqlite_template(run, "founded", make)


def _sqlite_template(run: TestRun, name: str, make: Callable[[str], None]) -> Path:
    template = run.folder / f"{name}.db"
    with run.lock(f"sqlite-{name}"):
        if not template.exists():
            unfinished = run.folder / f"{name}.new.db"
            unfinished.unlink(missing_ok=True)
            make(sqlite_url(unfinished))
            leftovers = [path.name for path in run.folder.glob(f"{name}.new.db-*")]
            assert not leftovers, f"a connection was left open: {leftovers}"
            unfinished.rename(template)
    return template


def migrated_postgresql_template(run: TestRun) -> Server:
    """A server that holds a migrated database to clone."""
    return _postgresql_template(run, TEMPLATE, "template0", migrate)


def founded_postgresql_template(run: TestRun) -> Server:
    """The same after the first start."""
    migrated_postgresql_template(run)
    return _postgresql_template(run, FOUNDED_TEMPLATE, TEMPLATE, found)


def _postgresql_template(run: TestRun, name: str, source: str, make: Callable[[str], None]) -> Server:
    server = shared_server(run)
    with run.lock(name):
        done = run.folder / name
        if not done.exists():
            # It is there if making it failed for an earlier test.
            server.execute(f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name} TEMPLATE {source}")
            make(server.url(name))
            done.touch()
    return server


@contextmanager
def sqlite_database(run: TestRun, template: Path | None = None) -> Iterator[str]:
    """The address of a database file, a copy of the template if there is one, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="sqlite-", dir=run.folder) as folder:
        path = Path(folder) / "corral.db"
        if template:
            shutil.copyfile(template, path)
        if template and template.name == FOUNDED_FILE:
            shutil.copyfile(template.with_name(SAMPLES), path.with_name(SAMPLES))
        yield sqlite_url(path)


@contextmanager
def postgresql_database(server: Server, template: str = "template0") -> Iterator[str]:
    """The address of a new database, dropped afterwards together with connections left open."""
    name = f"test_{uuid.uuid4().hex}"
    # Before 15 this was the only way to copy, and could not be named.
    strategy = "STRATEGY FILE_COPY" if server.version >= 15 else ""
    server.execute(f"CREATE DATABASE {name} TEMPLATE {template} {strategy}")
    try:
        yield server.url(name)
    finally:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def migrate(url: str) -> None:
    from corral.store.migrate import upgrade

    _in_a_thread(upgrade, url)


def found(url: str) -> None:
    from tests.apps import found_at

    _in_a_thread(asyncio.run, found_at(url))


def _in_a_thread(work: Callable[..., Any], *arguments: object) -> Any:
    """The caller may be inside a running event loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work, *arguments).result()


def in_database(url: str, work: "Callable[[Transaction], Any]") -> Any:
    """One write with a connection of its own, closed afterwards, as by a process that is gone."""

    from corral.store.database import Database

    async def run() -> Any:
        database = Database(url)
        try:
            return await database.write(work)
        finally:
            await database.close()

    return _in_a_thread(lambda: asyncio.run(run()))
