"""Leadership on both databases: one holder at a time, and epochs that fence off earlier ones."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import insert, select, update

from corral.platform.tables import setting
from corral.store import leadership
from corral.store.database import Database, Transaction
from corral.store.leadership import Leadership, LeadershipLost
from corral.store.leadership import leadership as leadership_table

HALF_A_MINUTE = timedelta(seconds=30)


async def acquire(database: Database, holder: str) -> Leadership | None:
    return await database.write(leadership.acquire, "chores", holder, HALF_A_MINUTE)


async def taken(database: Database, holder: str) -> Leadership:
    held = await acquire(database, holder)
    assert held is not None
    return held


async def run_out(database: Database) -> None:
    """The leadership's time is over, on whichever clock the database goes by."""

    def expire(transaction: Transaction) -> None:
        transaction.run(update(leadership_table).values(expires_at=transaction.now - timedelta(days=1)))

    await database.write(expire)


async def test_free_lease_is_taken(database: Database) -> None:
    assert await acquire(database, "one") == Leadership("chores", "one", 1)


async def test_held_lease_is_not_taken_by_another(database: Database) -> None:
    await taken(database, "one")
    assert await acquire(database, "two") is None


async def test_leaderships_of_other_loops_are_independent(database: Database) -> None:
    await taken(database, "one")
    assert await database.write(leadership.acquire, "chores/zone", "two", HALF_A_MINUTE) is not None


async def test_lease_that_ran_out_goes_to_another_with_a_higher_epoch(database: Database) -> None:
    first = await taken(database, "one")
    await run_out(database)
    second = await taken(database, "two")
    assert second.epoch > first.epoch


async def test_renewed_lease_is_not_taken(database: Database) -> None:
    held = await taken(database, "one")
    await run_out(database)
    await database.write(leadership.renew, held, HALF_A_MINUTE)
    assert await acquire(database, "two") is None


async def test_lease_taken_over_cannot_be_renewed_or_released(database: Database) -> None:
    first = await taken(database, "one")
    await run_out(database)
    await taken(database, "two")
    with pytest.raises(LeadershipLost):
        await database.write(leadership.renew, first, HALF_A_MINUTE)
    assert not await database.write(leadership.release, first)
    assert await acquire(database, "three") is None


async def test_released_lease_is_free_at_once_and_epochs_go_on(database: Database) -> None:
    first = await taken(database, "one")
    assert await database.write(leadership.release, first)
    assert (await taken(database, "two")).epoch == first.epoch + 1


async def test_same_holder_again_gets_a_new_epoch(database: Database) -> None:
    first = await taken(database, "one")
    second = await taken(database, "one")
    assert second.epoch == first.epoch + 1
    with pytest.raises(LeadershipLost):
        await database.write(leadership.check, first)


async def test_write_of_an_earlier_holder_is_refused_whole(database: Database) -> None:
    first = await taken(database, "one")
    await run_out(database)
    second = await taken(database, "two")

    def guarded(transaction: Transaction, held: Leadership, key: str) -> None:
        transaction.run(insert(setting).values(key=key, value={}, generation=1, updated_at=transaction.now))
        leadership.check(transaction, held)

    await database.write(guarded, second, "new")
    with pytest.raises(LeadershipLost):
        await database.write(guarded, first, "old")
    assert await database.read(lambda tx: tx.rows(select(setting.c.key))) == [("new",)]


async def test_of_many_at_once_one_gets_it(database: Database) -> None:
    answers = await asyncio.gather(*(acquire(database, f"holder {n}") for n in range(12)))
    assert [held.epoch for held in answers if held is not None] == [1]
