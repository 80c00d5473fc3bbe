"""Fresh databases for tests: migrated once per run, then copied, which takes milliseconds."""

import shutil
import tempfile
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


@contextmanager
def sqlite_database(run: TestRun, template: Path | None = None) -> Iterator[str]:
    """The address of a database file, a copy of the template if there is one, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="sqlite-", dir=run.folder) as folder:
        path = Path(folder) / "corral.db"
        if template:
            shutil.copyfile(template, path)
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

    # A thread of its own, because the caller may be inside a running event loop.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(upgrade, url).result()
