"""What `read` and `write` promise, alike on both databases."""

import asyncio
import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest
from sqlalchemy import insert, select, update
from sqlalchemy.exc import DBAPIError, OperationalError

from corral.platform.tables import setting
from corral.store.database import Database, Transaction
from tests.clocks import ShiftedClock


def add(transaction: Transaction, key: str = "counter", generation: int = 0) -> None:
    transaction.run(
        insert(setting).values(key=key, value={}, generation=generation, updated_at=transaction.now)
    )


def keys(transaction: Transaction) -> list[str]:
    return [row.key for row in transaction.rows(select(setting.c.key).order_by(setting.c.key))]


def generation(transaction: Transaction) -> int:
    return int(transaction.scalar(select(setting.c.generation).where(setting.c.key == "counter")))


def increment(transaction: Transaction) -> int:
    """Reads, thinks, writes: loses updates wherever writes are not one after another."""
    seen = generation(transaction)
    transaction.run(update(setting).where(setting.c.key == "counter").values(generation=seen + 1))
    return seen + 1


async def test_write_is_seen_by_the_next_read(database: Database) -> None:
    await database.write(add, "one")
    assert await database.read(keys) == ["one"]


async def test_read_refuses_to_write(database: Database) -> None:
    with pytest.raises(DBAPIError):
        await database.read(add)
    assert await database.read(keys) == []
    await database.write(add)


async def test_write_that_raises_leaves_nothing_behind(database: Database) -> None:
    def fail(transaction: Transaction) -> None:
        add(transaction)
        raise LookupError("changed my mind")

    with pytest.raises(LookupError, match="changed my mind"):
        await database.write(fail)
    assert await database.read(keys) == []
    await database.write(add)


async def test_writes_are_one_after_another(database: Database) -> None:
    await database.write(add)
    results = await asyncio.gather(*(database.write(increment) for _ in range(50)))
    assert sorted(results) == list(range(1, 51))
    assert await database.read(generation) == 50


async def test_writes_of_two_processes_are_one_after_another(database: Database, database_url: str) -> None:
    other = Database(database_url)
    await database.write(add)
    await asyncio.gather(*(one.write(increment) for _ in range(30) for one in (database, other)))
    assert await other.read(generation) == 60
    await other.close()


async def test_two_writes_that_each_check_the_other_do_not_both_pass(database: Database) -> None:
    """Write skew: each sees no row of the other and adds its own; only one may."""

    def add_if_alone(transaction: Transaction, key: str) -> bool:
        if keys(transaction):
            return False
        add(transaction, key)
        return True

    passed = await asyncio.gather(*(database.write(add_if_alone, f"key {n}") for n in range(8)))
    assert sum(passed) == 1


async def test_scan_sees_one_state_throughout(database: Database) -> None:
    await database.write(add)
    halfway, go_on = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def look_twice(transaction: Transaction) -> tuple[int, int]:
        first = generation(transaction)
        if database.kind == "sqlite":
            loop.call_soon_threadsafe(halfway.set)
            asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(20)
        else:
            from sqlalchemy.util import await_only

            halfway.set()
            await_only(go_on.wait())
        return first, generation(transaction)

    reading = asyncio.create_task(database.scan(look_twice))
    await asyncio.wait_for(halfway.wait(), 20)
    await database.write(increment)
    go_on.set()
    assert await reading == (0, 0)
    assert await database.read(generation) == 1


async def test_read_sees_one_state_though_another_writes_meanwhile(database: Database) -> None:
    await database.write(add)

    def look_twice(transaction: Transaction) -> tuple[int, int]:
        first = generation(transaction)
        if database.kind == "sqlite":
            with closing(sqlite3.connect(str(database.url.database))) as other, other:
                other.execute("UPDATE setting SET generation = 1")
        else:
            from sqlalchemy.util import await_only

            await_only(database.write(increment))
        return first, generation(transaction)

    assert await database.read(look_twice) == (0, 0)
    assert await database.read(generation) == 1


async def test_read_that_raises_does_not_hold_on_to_what_it_saw(database: Database) -> None:
    await database.write(add)

    def fail(transaction: Transaction) -> None:
        raise LookupError(str(generation(transaction)))

    with pytest.raises(LookupError, match="0"):
        await database.read(fail)
    await database.write(increment)
    assert await database.read(generation) == 1


async def test_scan_refuses_to_write(database: Database) -> None:
    with pytest.raises(DBAPIError):
        await database.scan(add)
    assert await database.scan(keys) == []


async def test_now_is_the_same_throughout_a_transaction_and_follows_the_clock(
    database: Database, clock: ShiftedClock
) -> None:
    def times(transaction: Transaction) -> bool:
        add(transaction)
        stored = transaction.scalar(select(setting.c.updated_at))
        return bool(stored == transaction.now)

    assert await database.write(times), "an instant is not stored exactly"
    before = await database.read(lambda transaction: transaction.now)
    clock.advance(days=3)
    after = await database.read(lambda transaction: transaction.now)
    assert after - before >= timedelta(days=3)


async def test_write_of_a_caller_that_went_away_is_whole(database: Database) -> None:
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    def two(transaction: Transaction) -> None:
        add(transaction, "one")
        loop.call_soon_threadsafe(started.set)
        add(transaction, "two")
        transaction.hint("done")

    done = asyncio.Event()
    database.hints.subscribe("done", done.set)
    task = asyncio.create_task(database.write(two))
    await asyncio.wait_for(started.wait(), 20)
    task.cancel()
    await asyncio.wait_for(done.wait(), 20)
    assert await database.read(keys) == ["one", "two"]


async def test_every_transaction_is_observed(database: Database) -> None:
    seen: list[tuple[str, bool]] = []
    database.observer = lambda verb, seconds, done: seen.append((verb, done)) if seconds >= 0 else None
    await database.write(add)
    await database.read(keys)
    with pytest.raises(DBAPIError):
        await database.write(add)
    assert seen == [("write", True), ("read", True), ("write", False)]


async def test_unknown_kind_of_database_is_refused() -> None:
    with pytest.raises(ValueError, match="use sqlite or postgresql"):
        Database("mysql://localhost/x")


@pytest.mark.postgresql
async def test_server_that_cannot_be_reached_has_one_name() -> None:
    database = Database("postgresql+asyncpg://corral@127.0.0.1:1/corral")
    for verb in (database.read, database.write):
        with pytest.raises(OperationalError):
            await verb(keys)
    await database.close()
