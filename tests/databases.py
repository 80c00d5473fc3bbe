"""Fresh databases for tests: migrated once per run, then copied, which takes milliseconds."""

import shutil
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.postgres import Server, shared_server
from tests.runs import TestRun

TEMPLATE = "corral_template"


def sqlite_url(path: Path) -> str:
    return f"sqlite:///{path}"


def migrated_sqlite_file(run: TestRun) -> Path:
    """A migrated database file to copy; no connection is open on it."""
    template = run.folder / "template.db"
    with run.lock("sqlite"):
        if not template.exists():
            unfinished = run.folder / "template.new.db"
            unfinished.unlink(missing_ok=True)
            migrate(sqlite_url(unfinished))
            leftovers = [path.name for path in run.folder.glob("template.new.db-*")]
            assert not leftovers, f"migrations left a connection open: {leftovers}"
            unfinished.rename(template)
    return template


def migrated_postgresql_template(run: TestRun) -> Server:
    """A server that holds a migrated database to clone."""
    server = shared_server(run)
    with run.lock("postgresql-template"):
        done = run.folder / "postgresql-template"
        if not done.exists():
            # It is there if migrating it failed for an earlier test.
            server.execute(f"DROP DATABASE IF EXISTS {TEMPLATE}", f"CREATE DATABASE {TEMPLATE}")
            migrate(server.url(TEMPLATE))
            done.touch()
    return server


def copy_sqlite(template: Path, folder: Path) -> str:
    path = folder / "corral.db"
    shutil.copyfile(template, path)
    return sqlite_url(path)


@contextmanager
def postgresql_database(server: Server, template: str = "template0") -> Iterator[str]:
    """The address of a new database, dropped afterwards together with connections left open."""
    name = f"test_{uuid.uuid4().hex}"
    server.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield server.url(name)
    finally:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def migrate(url: str) -> None:
    from corral.store.migrate import upgrade

    # A thread of its own, because the caller may be inside a running event loop.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(upgrade, url).result()
