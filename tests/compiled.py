"""Statements are compiled once per process, as in a Corral that runs, and not once for each test's database.

Every test has engines of its own, and SQLAlchemy keeps what it compiled with the engine, so that each test
compiled the same statements again.
"""

from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import Dialect

_MOST = 5000
# The first one of each kind that was connected: it knows its server, and all servers of a run are the same.
_shared: dict[type[Dialect], Engine] = {}


def share_compiled_statements() -> None:
    """From now on every engine made in this process uses what the others compiled."""
    for dialect in (SQLiteDialect_pysqlite, PGDialect_asyncpg):
        dialect.engine_created = classmethod(_engine_created)


def _engine_created(dialect: type[Dialect], engine: Engine) -> None:
    """SQLAlchemy calls this for each new engine, before its first connection."""
    if shared := _shared.get(dialect):
        # The key of what was compiled has the dialect in it.
        engine.dialect, engine._compiled_cache = shared.dialect, shared._compiled_cache
        return

    @event.listens_for(engine, "connect")
    def keep(*_: Any) -> None:
        if engine._compiled_cache is not None:
            engine._compiled_cache.capacity = _MOST
        _shared.setdefault(dialect, engine)
