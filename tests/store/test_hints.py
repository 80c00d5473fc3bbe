"""Hints: woken after the commit, in this process and, on PostgreSQL, in every other."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import text

from corral.store.database import Database, Transaction
from corral.store.hints import Hints


class Woken:
    """Counts hints on a topic, and can be waited for."""

    def __init__(self, hints: Hints, topic: str = "things") -> None:
        self.times = 0
        self._event = asyncio.Event()
        self.stop = hints.subscribe(topic, self._wake)

    def _wake(self) -> None:
        self.times += 1
        self._event.set()

    async def wait(self) -> None:
        await asyncio.wait_for(self._event.wait(), 20)
        self._event.clear()


@pytest.fixture
async def other(database: Database, database_url: str) -> AsyncIterator[Database]:
    """The same database, as another process sees it."""
    opened = Database(database_url)
    yield opened
    await opened.close()


async def test_hint_wakes_after_the_commit_and_only_its_topic(database: Database) -> None:
    things, others = Woken(database.hints), Woken(database.hints, "others")
    during: list[int] = []

    def work(transaction: Transaction) -> None:
        transaction.hint("things")
        transaction.hint("things")
        during.append(things.times)

    await database.write(work)
    assert during == [0]
    assert (things.times, others.times) == (1, 0)


async def test_hint_of_a_failed_write_wakes_nobody(database: Database) -> None:
    things = Woken(database.hints)

    def work(transaction: Transaction) -> None:
        transaction.hint("things")
        raise LookupError

    with pytest.raises(LookupError):
        await database.write(work)
    assert things.times == 0


async def test_hint_of_a_write_whose_caller_went_away_still_wakes(database: Database) -> None:
    things = Woken(database.hints)
    task = asyncio.create_task(database.write(lambda transaction: transaction.hint("things")))
    await asyncio.sleep(0)
    task.cancel()
    await things.wait()


async def test_unsubscribed_is_not_woken(database: Database) -> None:
    things = Woken(database.hints)
    things.stop()
    await database.write(lambda transaction: transaction.hint("things"))
    assert things.times == 0


async def test_listening_and_closing_work_on_both_databases(database: Database, other: Database) -> None:
    connections = 1 if database.kind == "postgresql" else 0
    await database.listen()
    await database.listen()
    assert (await _listeners(other), _listening_tasks()) == (connections, connections)
    things = Woken(database.hints)
    await database.write(lambda transaction: transaction.hint("things"))
    assert things.times == 1
    await database.close()
    assert _listening_tasks() == 0
    async with asyncio.timeout(20):  # the server notices a moment later
        while await _listeners(other):
            pass


async def _listeners(database: Database) -> int:
    """How many connections of this database listen, as its server counts them."""
    if database.kind == "sqlite":
        return 0
    count = text(
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"
    )
    return int(await database.read(lambda transaction: transaction.scalar(count)))


def _listening_tasks() -> int:
    return sum(task.get_name() == "hints of other processes" for task in asyncio.all_tasks())


async def _terminate_listeners(database: Database) -> None:
    def terminate(transaction: Transaction) -> None:
        transaction.run(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE query LIKE 'LISTEN%' AND datname = current_database()"
            )
        )

    await database.write(terminate)


@pytest.mark.parametrize("database_kind", [pytest.param("postgresql", marks=pytest.mark.postgresql)])
class TestOfOtherProcesses:
    async def test_hint_reaches_another_process(self, database: Database, other: Database) -> None:
        await other.listen()
        things = Woken(other.hints)
        await database.write(lambda transaction: transaction.hint("things"))
        await things.wait()

    async def test_own_hint_does_not_come_back(self, database: Database, other: Database) -> None:
        await database.listen()
        await other.listen()
        things, from_other = Woken(database.hints), Woken(database.hints, "from other")
        await database.write(lambda transaction: transaction.hint("things"))
        await other.write(lambda transaction: transaction.hint("from other"))
        await from_other.wait()  # later on the same connection, so an echo would have arrived before it
        assert things.times == 1

    async def test_everybody_is_woken_when_a_lost_connection_is_back(
        self, database: Database, other: Database
    ) -> None:
        await other.listen()
        things, others = Woken(other.hints), Woken(other.hints, "others")
        await _terminate_listeners(database)
        await things.wait()
        await others.wait()
        await database.write(lambda transaction: transaction.hint("things"))
        await things.wait()

    async def test_closing_while_listening_leaves_no_connection(
        self, database: Database, other: Database
    ) -> None:
        await other.listen()
        await other.close()
        listening = text(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE query LIKE 'LISTEN%' AND datname = current_database()"
        )
        # The server notices a moment later, and there is nothing to be woken by.
        async with asyncio.timeout(20):
            while await database.read(lambda transaction: transaction.scalar(listening)):  # noqa: ASYNC110
                await asyncio.sleep(0.01)


@pytest.mark.postgresql
async def test_server_that_cannot_be_reached_does_not_stop_the_start() -> None:
    database = Database("postgresql+asyncpg://corral@127.0.0.1:1/corral")
    await database.listen()
    await database.close()
