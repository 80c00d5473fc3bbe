"""Hints between processes, by PostgreSQL's LISTEN and NOTIFY."""

import asyncio
import random
from contextlib import suppress
from typing import Any

import asyncpg
import structlog
from sqlalchemy import URL
from sqlalchemy.dialects.postgresql.asyncpg import dialect as asyncpg_dialect

from corral.store.hints import CHANNEL, Hints

_FIRST_DELAY_SECONDS = 0.2
_LONGEST_DELAY_SECONDS = 30.0
# A connection that a firewall forgot looks open for hours; asking now and then finds out.
_PROBE_SECONDS = 30.0
_ANSWER_SECONDS = 10.0

log = structlog.get_logger(__name__)


class Listener:
    """Keeps one connection that listens; a lost one is made again, and then everybody is woken."""

    def __init__(self, url: URL, hints: Hints) -> None:
        _, arguments = asyncpg_dialect().create_connect_args(url)  # type: ignore[no-untyped-call]
        self._arguments: dict[str, Any] = {
            name: value for name, value in arguments.items() if not name.startswith("prepared_statement_")
        }
        self._hints = hints
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Returns once the connection listens, or the first try failed and others follow."""
        tried = asyncio.Event()
        self._task = asyncio.create_task(self._keep_listening(tried), name="hints of other processes")
        await tried.wait()

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def _keep_listening(self, tried: asyncio.Event) -> None:
        failures = 0
        while True:
            connection = None
            try:
                connection = await asyncpg.connect(**self._arguments, timeout=_ANSWER_SECONDS)
                lost = asyncio.Event()
                connection.add_termination_listener(lambda _, lost=lost: lost.set())
                await connection.add_listener(CHANNEL, self._received)
                failures = 0
                tried.set()
                # Whatever was sent while nobody listened is gone.
                self._hints.wake_all()
                await self._until_lost(connection, lost)
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                log.warning("hints of other processes do not arrive", error=repr(error)[:400])
            finally:
                tried.set()
                if connection is not None:
                    await _close(connection)
            failures += 1
            delay = min(_LONGEST_DELAY_SECONDS, _FIRST_DELAY_SECONDS * 2 ** min(failures - 1, 20))
            await asyncio.sleep(delay * random.uniform(0.5, 1.0))  # noqa: S311

    async def _until_lost(self, connection: Any, lost: asyncio.Event) -> None:
        while True:
            try:
                async with asyncio.timeout(_PROBE_SECONDS):
                    await lost.wait()
            except TimeoutError:
                await connection.execute("SELECT 1", timeout=_ANSWER_SECONDS)
            else:
                log.warning("the connection for hints of other processes was lost")
                return

    def _received(self, _connection: Any, _pid: int, _channel: str, message: str) -> None:
        self._hints.from_others(message)


async def _close(connection: Any) -> None:
    try:
        await connection.close(timeout=1)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        connection.terminate()
