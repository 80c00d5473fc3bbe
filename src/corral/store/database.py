"""One way to the database: `read` and `write` run a plain function inside a transaction.

The function gets a `Transaction` and talks to the database synchronously; it cannot await, so no network call
can hide inside a transaction. On SQLite a read runs where it is asked for: a few rows by an index are found
sooner than a thread is woken, and in WAL mode no reader waits for a writer. What may look at many rows uses
`scan`, in a thread, side by side on read-only connections; writers run one after another in a thread of their
own, behind `BEGIN IMMEDIATE`. On PostgreSQL it runs on asyncpg, writers
serialisable and repeated when the database asks for it. Both behave alike: a write sees the result of every
write before it, and may be run again, so it has no side effects outside the database; who should
look at the result afterwards is woken by a hint.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, Executable, Row, create_engine, event, func, make_url, select, text
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from corral.core.bounds import PersonBounds
from corral.store.hints import CHANNEL, Hints

if TYPE_CHECKING:
    from corral.store.listener import Listener

P = ParamSpec("P")
T = TypeVar("T")
Clock = Callable[[], datetime]
Verb = Literal["read", "write"]
Observer = Callable[[Verb, float, bool], None]
AnyRow = Row[*tuple[Any, ...]]

_SCANNERS = 4
_REPETITIONS = 20
_SERIALISATION_FAILURES = {"40001", "40P01"}
# A lock that conflicts with nothing but itself. A statement of this kind takes no snapshot: what the
# transaction sees begins after it has waited, which no lock by a function call would give.
_LINE_UP = text("LOCK TABLE alembic_version IN SHARE UPDATE EXCLUSIVE MODE")
_USUAL = PersonBounds()


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class Transaction:
    """What a unit of work gets: the connection, one `now` for the whole of it, and whom to wake after.

    `bounds` are those of this installation, for whoever adds something for a person.
    """

    connection: Connection
    now: datetime
    bounds: PersonBounds = _USUAL
    hints: set[str] = field(default_factory=set)

    def rows(self, statement: Executable, parameters: Any = None) -> Sequence[AnyRow]:
        return self.connection.execute(statement, parameters).all()

    def first(self, statement: Executable, parameters: Any = None) -> AnyRow | None:
        return self.connection.execute(statement, parameters).first()

    def scalar(self, statement: Executable, parameters: Any = None) -> Any:
        return self.connection.execute(statement, parameters).scalar()

    def run(self, statement: Executable, parameters: Any = None) -> int:
        """Executes a change and returns how many rows it touched."""
        return self.connection.execute(statement, parameters).rowcount

    @contextmanager
    def apart(self) -> Iterator[None]:
        """What is written in the block is undone if it raises; the rest of the transaction stands."""
        with self.connection.begin_nested():
            yield

    def hint(self, topic: str) -> None:
        """Wakes whoever listens to `topic`, in every process, once the transaction is committed."""
        self.hints.add(topic)

    @property
    def is_postgresql(self) -> bool:
        return self.connection.dialect.name == "postgresql"


class Database:
    """Opens `url` (`sqlite:///file` or `postgresql+asyncpg://…`).

    `clock` gives transactions their `now`; they carry `bounds`.
    """

    def __init__(self, url: str, *, clock: Clock = utc_now, bounds: PersonBounds = _USUAL) -> None:
        self.url = make_url(url)
        self.bounds = bounds
        self._clock = clock
        self.hints = Hints()
        self.observer: Observer | None = None  # told of every transaction: verb, seconds, whether it was done
        self._listener: Listener | None = None
        self._backend: _Sqlite | _Postgresql
        match self.url.get_backend_name():
            case "sqlite":
                self._backend = _Sqlite(url)
            case "postgresql":
                self._backend = _Postgresql(url)
            case other:
                raise ValueError(f"unknown database {other!r}: use sqlite or postgresql")

    @property
    def kind(self) -> str:
        return self.url.get_backend_name()

    def now(self) -> datetime:
        return self._clock()

    def _transaction(self, connection: Connection) -> Transaction:
        return Transaction(connection, self._clock(), self.bounds)

    async def read(
        self, work: Callable[Concatenate[Transaction, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Runs `work(transaction, …)` on one consistent state; what it writes is refused."""
        with self._observed("read"):
            return await self._backend.read(
                lambda connection: work(self._transaction(connection), *args, **kwargs)
            )

    async def scan(
        self, work: Callable[Concatenate[Transaction, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """A `read` that may look at many rows: nothing else waits for it."""
        with self._observed("read"):
            return await self._backend.scan(
                lambda connection: work(self._transaction(connection), *args, **kwargs)
            )

    async def write(
        self, work: Callable[Concatenate[Transaction, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Runs `work(transaction, …)` and commits it whole, or not at all if it raises."""
        # Shielded: a caller that goes away must not take the hints of a committed write with it.
        return await asyncio.shield(self._write(lambda transaction: work(transaction, *args, **kwargs)))

    async def _write(self, work: Callable[[Transaction], T]) -> T:
        attempts: list[Transaction] = []

        def attempt(connection: Connection) -> T:
            transaction = self._transaction(connection)
            attempts.append(transaction)
            result = work(transaction)
            if transaction.hints and transaction.is_postgresql:
                for topic in sorted(transaction.hints):
                    connection.execute(select(func.pg_notify(CHANNEL, self.hints.to_others(topic))))
            return result

        with self._observed("write"):
            result = await self._backend.write(attempt)
        self.hints.wake(attempts[-1].hints)
        return result

    @contextmanager
    def _observed(self, verb: Verb) -> Iterator[None]:
        started, done = time.perf_counter(), False
        try:
            yield
            done = True
        finally:
            if self.observer is not None:
                self.observer(verb, time.perf_counter() - started, done)

    async def listen(self) -> None:
        """Starts to pass on hints of other processes; on SQLite there are none."""
        if isinstance(self._backend, _Postgresql) and self._listener is None:
            from corral.store.listener import Listener  # with the driver, which SQLite does not need

            self._listener = Listener(self.url, self.hints)
            await self._listener.start()

    async def close(self) -> None:
        if self._listener is not None:
            await self._listener.stop()
            self._listener = None
        await self._backend.close()


class _Sqlite:
    def __init__(self, url: str) -> None:
        self._reader = _sqlite_engine(url, begin=None, pool_size=1, read_only=True)
        self._scanners = _sqlite_engine(url, begin="BEGIN", pool_size=_SCANNERS, read_only=True)
        self._writer = _sqlite_engine(url, begin="BEGIN IMMEDIATE", pool_size=1, read_only=False)
        self._scan_threads = ThreadPoolExecutor(_SCANNERS, thread_name_prefix="corral-scan")
        self._write_thread = ThreadPoolExecutor(1, thread_name_prefix="corral-write")
        self._open: Connection | None = None

    async def read(self, work: Callable[[Connection], T]) -> T:
        # One connection, kept: no read begins before the last has ended, since none awaits.
        connection = self._open
        if connection is None:
            connection = self._open = self._reader.connect()
        raw: Any = connection.connection.dbapi_connection
        raw.execute("BEGIN")
        try:
            return work(connection)
        finally:
            raw.execute("ROLLBACK")

    async def scan(self, work: Callable[[Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(
            self._scan_threads, self._in, self._scanners, work
        )

    async def write(self, work: Callable[[Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(
            self._write_thread, self._in, self._writer, work
        )

    @staticmethod
    def _in(engine: Engine, work: Callable[[Connection], T]) -> T:
        with engine.begin() as connection:
            return work(connection)

    async def close(self) -> None:
        await asyncio.to_thread(self._shut_down)

    def _shut_down(self) -> None:
        for threads in (self._scan_threads, self._write_thread):
            threads.shutdown()
        if self._open is not None:
            self._open.close()
        for engine in (self._reader, self._scanners, self._writer):
            engine.dispose()


class _Postgresql:
    def __init__(self, url: str) -> None:
        import asyncpg  # here, because SQLite does not need it

        self._unreachable = (OSError, asyncpg.PostgresError)
        self._engine: AsyncEngine = create_async_engine(
            url, pool_size=8, max_overflow=8, pool_pre_ping=True, hide_parameters=True
        )
        self._reader = self._engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        self._writer = self._engine.execution_options(isolation_level="SERIALIZABLE")
        self._line = asyncio.Lock()

    async def read(self, work: Callable[[Connection], T]) -> T:
        return await self._in(self._reader, work)

    scan = read

    async def _in(self, engine: AsyncEngine, work: Callable[[Connection], T]) -> T:
        try:
            async with engine.begin() as connection:
                return await connection.run_sync(work)
        except self._unreachable as error:
            # A server that cannot be reached shows in the driver's own words; one name for it is enough.
            raise OperationalError("connect", None, error) from error
        except DBAPIError as error:
            if error.connection_invalidated and not isinstance(error, OperationalError):
                raise OperationalError(error.statement, None, error.orig or error) from error
            raise

    async def write(self, work: Callable[[Connection], T]) -> T:
        try:
            return await self._in(self._writer, work)
        except DBAPIError as error:
            if not _collided(error):
                raise

        # Those who got in each other's way line up, in this process and among all, instead of colliding
        # again and again; only one of a process waits with a connection in its hands.
        def in_line(connection: Connection) -> T:
            connection.execute(_LINE_UP)
            return work(connection)

        async with self._line:
            for _ in range(_REPETITIONS):
                try:
                    return await self._in(self._writer, in_line)
                except DBAPIError as error:
                    if not _collided(error):
                        raise
                    last = error
        raise OperationalError(last.statement, None, last.orig or last) from last

    async def close(self) -> None:
        await self._engine.dispose()


def concerns_everybody(error: Exception) -> bool:
    """Whether the database itself is in trouble, or asks for the transaction to be repeated as a whole."""
    return isinstance(error, OperationalError | InterfaceError) or (
        isinstance(error, DBAPIError) and (error.connection_invalidated or _collided(error))
    )


def _collided(error: DBAPIError) -> bool:
    return getattr(error.orig, "sqlstate", None) in _SERIALISATION_FAILURES


def _sqlite_engine(url: str, *, begin: str | None, pool_size: int, read_only: bool) -> Engine:
    engine = create_engine(
        url,
        pool_size=pool_size,
        max_overflow=0,
        pool_reset_on_return=None,
        hide_parameters=True,  # they hold hashes of passwords and secrets; errors end up in logs
        connect_args={"check_same_thread": False, "timeout": 30, "isolation_level": None},
    )

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: Any) -> None:
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "cache_size=-16000"):
            connection.execute(f"PRAGMA {pragma}")
        if read_only:
            connection.execute("PRAGMA query_only=ON")

    # The driver would begin deferred and only on the first change; a read that turns into a write then fails
    # at once with "database is locked". So transactions begin here, in the open.
    if begin is not None:
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine
