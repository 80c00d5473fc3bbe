"""The samples of an installation: where they are, and what is done with them."""

import contextlib
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import structlog
from sqlalchemy import create_engine
from sqlalchemy.exc import DatabaseError

from corral.store.database import Database
from corral.usage.samples.levels import Retention
from corral.usage.samples.points import Metric, Point, SeriesKey, SubjectKind
from corral.usage.samples.query import Answer, query
from corral.usage.samples.rollup import forget_points, forget_series, roll_one
from corral.usage.samples.store import Stored, store
from corral.usage.samples.tables import BESIDE, TABLES

# Of the file on SQLite. PostgreSQL's tables come with the migrations of the database.
_VERSION = 1
# Ids of series that are not used are looked up again, in case another process removed the series.
_REMEMBERED_SECONDS = 3600.0

log = structlog.get_logger("corral.usage")


class SamplesError(Exception):
    """The file of samples cannot be used by this version."""


@dataclass(slots=True)
class _Remembered:
    ids: dict[SeriesKey, int] = field(default_factory=dict)
    since: float = 0.0


class Samples:
    """Stores, rolls up, forgets and answers. Made with `open_samples`; close it at the end."""

    def __init__(self, database: Database, *, retention: Retention, own: bool) -> None:
        self._database = database
        self._own = own
        self.retention = retention
        self.latest: dict[SeriesKey, Point] = {}
        self._remembered = _Remembered()

    async def store(self, points: Collection[Point]) -> Stored:
        """Takes points; those that come twice count once."""
        remembered = self._current_memory()
        # A write may be repeated, and its findings count only once it is done.
        ids = dict(remembered.ids)
        stored = await self._database.write(store, points, self.retention, ids)
        remembered.ids.update(ids)
        for point in points:
            before = self.latest.get(point.key)
            if point.key in ids and (before is None or before.at <= point.at):
                self.latest[point.key] = point
        return stored

    async def tidy(self, most: int = 20) -> bool:
        """Rolls up what is over and forgets old points, bit by bit; whether there is more to do."""
        for _ in range(most):
            if not await self._database.write(roll_one):
                break
        else:
            return True
        return await self._database.write(forget_points, self.retention)

    async def forget(self) -> None:
        """Goes through all series once and removes what is past its time; enough every hour."""
        after: int | None = 0
        while after is not None:
            after = await self._database.write(forget_series, self.retention, after)

    async def query(
        self,
        kind: SubjectKind,
        subject: str,
        metrics: Collection[Metric],
        *,
        since: int,
        until: int,
        points: int,
    ) -> Answer:
        return await self._database.scan(
            query, kind, subject, metrics, since=since, until=until, points=points, retention=self.retention
        )

    async def close(self) -> None:
        if self._own:
            await self._database.close()

    def _current_memory(self) -> _Remembered:
        now = self._database.now().timestamp()
        if not 0 <= now - self._remembered.since < _REMEMBERED_SECONDS:
            self._remembered = _Remembered(since=now)
            self.latest = {key: one for key, one in self.latest.items() if one.at > now - _REMEMBERED_SECONDS}
        return self._remembered


def open_samples(database: Database, retention: Retention | None = None) -> Samples:
    """Those that belong to `database`: a file beside it on SQLite, tables in it on PostgreSQL."""
    retention = retention or Retention()
    if database.kind != "sqlite":
        return Samples(database, retention=retention, own=False)
    path = Path(database.url.database or "").with_name(BESIDE["sqlite_file"])
    _prepare(path)
    return Samples(Database(f"sqlite:///{path}", clock=database.now), retention=retention, own=True)


def _prepare(path: Path) -> None:
    """Makes the file, or checks that it can be used. A damaged one is put aside: work goes on without."""
    try:
        _make(path)
    except DatabaseError as error:
        if not isinstance(error.orig, sqlite3.DatabaseError) or isinstance(
            error.orig, sqlite3.OperationalError
        ):
            raise
        aside = path.with_name(f"{path.name}.damaged")
        path.replace(aside)
        for suffix in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + suffix).unlink()
        log.warning(
            "the file of samples is damaged; a new one is begun", kept=str(aside), why=str(error.orig)
        )
        _make(path)


def _make(path: Path) -> None:
    engine = create_engine(f"sqlite:///{path}")
    try:
        with engine.begin() as connection:
            (version,) = connection.exec_driver_sql("PRAGMA user_version").one()
            if version > _VERSION:
                raise SamplesError(f"{path} was made by a newer Corral: start that version, or move it away")
            present = set(connection.exec_driver_sql("SELECT name FROM sqlite_master").scalars())
            if version == _VERSION and present.issuperset(table.name for table in TABLES):
                return
            TABLES[0].metadata.create_all(connection, tables=list(TABLES))
            connection.exec_driver_sql(f"PRAGMA user_version = {_VERSION}")
    finally:
        engine.dispose()
