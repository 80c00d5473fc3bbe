"""Idempotency-Key: the same request twice is one thing made, and the same answer."""

import asyncio
import json

import pytest
from fastapi import Response
from pydantic import BaseModel
from sqlalchemy import func, insert, select

from corral.api.callers import Caller, Origin
from corral.api.once import Once, forget_old_answers
from corral.api.tables import idempotent_answer
from corral.core.refusals import Conflict, Invalid
from corral.platform.tables import setting
from corral.store.database import Database, Transaction
from corral.store.keyring import Keyring
from tests.clocks import ShiftedClock

KEYRING = Keyring([bytes(range(1, 33))])


class Made(BaseModel):
    number: int
    secret: str


def person(name: str) -> Caller:
    return Caller(name, name, "session", "s", Origin("", ""), ())


MEI, BO = person("mei"), person("bo")


def make(transaction: Transaction, caller: Caller) -> Made:
    number = int(transaction.scalar(select(func.count()).select_from(setting)))
    transaction.run(
        insert(setting).values(key=f"{number}", value={}, generation=1, updated_at=transaction.now)
    )
    return Made(number=number, secret=f"secret {number} of {caller.name}")


async def create(
    database: Database, key: str | None, caller: Caller = MEI, body: bytes = b"{}", route: str = "/tokens"
) -> Made:
    """What the client gets, whether made now or replayed."""
    answer = await Once(database, KEYRING, route, key, body).create(caller, make)
    if isinstance(answer, Response):
        assert answer.status_code == 201
        assert answer.headers["Idempotency-Replayed"] == "true"
        return Made(**json.loads(bytes(answer.body)))
    return answer


async def made(database: Database) -> int:
    return int(await database.read(lambda tx: tx.scalar(select(func.count()).select_from(setting))))


async def test_without_a_key_each_request_makes_one(database: Database) -> None:
    assert await create(database, None) != await create(database, None)
    assert await made(database) == 2


async def test_same_key_is_the_same_thing_and_the_same_answer(database: Database) -> None:
    assert await create(database, "k") == await create(database, "k")
    assert await made(database) == 1


async def test_another_key_person_or_route_is_another_thing(database: Database) -> None:
    answers = [
        await create(database, "k"),
        await create(database, "other"),
        await create(database, "k", BO),
        await create(database, "k", route="/invitations"),
    ]
    assert len({answer.number for answer in answers}) == 4
    assert (await create(database, "k", BO)).secret == "secret 2 of bo"


async def test_same_key_with_another_body_is_refused(database: Database) -> None:
    await create(database, "k", body=b'{"name": "a"}')
    with pytest.raises(Invalid) as refused:
        await create(database, "k", body=b'{"name": "b"}')
    assert refused.value.status == 422
    assert refused.value.errors[0].field == "header.Idempotency-Key"
    assert await made(database) == 1


async def test_after_a_day_the_key_is_fresh(database: Database, clock: ShiftedClock) -> None:
    first = await create(database, "k", body=b"1")
    clock.advance(hours=23, minutes=59)
    assert await create(database, "k", body=b"1") == first
    clock.advance(minutes=1, seconds=1)
    assert await create(database, "k", body=b"2") != first
    assert await made(database) == 2


async def test_refused_create_can_be_repeated(database: Database) -> None:
    def refuse(transaction: Transaction, caller: Caller) -> Made:
        make(transaction, caller)
        raise Conflict("There is one already.", "Choose another name.")

    for _ in range(2):
        with pytest.raises(Conflict):
            await Once(database, KEYRING, "/tokens", "k", b"{}").create(MEI, refuse)
    assert await made(database) == 0
    await create(database, "k")
    assert await made(database) == 1


async def test_same_key_at_the_same_time_makes_one(database: Database) -> None:
    answers = await asyncio.gather(*(create(database, "k") for _ in range(20)))
    assert len({answer.secret for answer in answers}) == 1
    assert await made(database) == 1


async def test_stored_answer_can_be_read_only_with_the_key(database: Database) -> None:
    await create(database, "k")
    row = await database.read(lambda tx: tx.first(select(idempotent_answer)))
    assert row is not None
    assert "secret" not in row.answer
    assert row.key_hash != "k"
    with pytest.raises(Exception, match="no key"):
        KEYRING.decrypt(row.answer, "idempotency:another")


async def test_old_answers_are_forgotten_a_bounded_number_at_once(
    database: Database, clock: ShiftedClock
) -> None:
    for number in range(5):
        await create(database, f"old {number}")
    clock.advance(hours=24)
    await create(database, "new")
    assert [await database.write(forget_old_answers, 3) for _ in range(3)] == [3, 2, 0]
    left = await database.read(lambda tx: tx.scalar(select(func.count()).select_from(idempotent_answer)))
    assert left == 1
