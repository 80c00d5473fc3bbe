"""How often one may try: guesses add up, what was none does not."""

import pytest

from corral.api.callers import Origin
from corral.core.refusals import NotFound, TooMany
from corral.identity.throttle import (
    Bound,
    code_bounds,
    count_try,
    counted,
    forgive,
    is_hot,
    login_bounds,
)
from corral.store.database import Database, Transaction
from tests.clocks import ShiftedClock

HALL = Origin("198.51.100.7", "")


def sign_in(transaction: Transaction, name: str, *, right: bool) -> None:
    bounds = login_bounds(name, HALL.address)
    count_try(transaction, bounds)
    if right:
        forgive(transaction, bounds)


async def test_a_lecture_hall_that_signs_in_from_one_address_is_no_attack(database: Database) -> None:
    def everybody(transaction: Transaction) -> None:
        for number in range(101):
            sign_in(transaction, f"student{number % 7}", right=True)

    await database.write(everybody)


async def test_guessing_many_people_from_one_address_leaves_three_tries_for_each(database: Database) -> None:
    def guess(transaction: Transaction) -> list[bool]:
        return [is_hot(transaction, HALL.address) for _ in range(101)]

    assert await database.write(guess) == [False] * 100 + [True]
    hot = login_bounds("anyone", HALL.address, hot=True)
    for _ in range(3):
        await database.write(count_try, hot)
    with pytest.raises(TooMany, match="3 tries"):
        await database.write(count_try, hot)


async def test_guessing_one_person_from_one_address_ends_for_the_day(
    database: Database, clock: ShiftedClock
) -> None:
    for _ in range(5):
        for _ in range(10):
            await database.write(count_try, login_bounds("mei", HALL.address))
        clock.advance(minutes=15, seconds=1)
    with pytest.raises(TooMany, match="50 tries"):
        await database.write(count_try, login_bounds("mei", HALL.address))


async def test_guessing_one_person_from_many_addresses_ends(database: Database) -> None:
    def guess(transaction: Transaction) -> None:
        for number in range(200):
            count_try(transaction, login_bounds("mei", f"203.0.113.{number}"))

    await database.write(guess)
    with pytest.raises(TooMany, match="200 tries"):
        await database.write(count_try, login_bounds("MEI ", "203.0.113.250"))


async def test_codes_that_work_do_not_count_and_those_that_do_not_do(database: Database) -> None:
    for _ in range(61):
        async with counted(database, HALL):
            pass

    def guess(transaction: Transaction) -> None:
        for _ in range(59):
            count_try(transaction, code_bounds(HALL.address))

    await database.write(guess)
    with pytest.raises(NotFound):
        async with counted(database, HALL):
            raise NotFound("There is no such code.", "Ask for another.")
    with pytest.raises(TooMany):
        async with counted(database, HALL):
            raise NotFound("There is no such code.", "Ask for another.")
    async with counted(database, HALL):
        pass  # one that is right


async def test_a_refused_try_counts_nowhere_else(database: Database) -> None:
    narrow, wide = Bound("narrow", 1), Bound("wide", 3)
    await database.write(count_try, (narrow, wide))
    for _ in range(5):
        with pytest.raises(TooMany):
            await database.write(count_try, (wide, narrow))
    assert await database.write(count_try, (wide,)) == 1
