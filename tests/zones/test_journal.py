"""The journal of a zone: in the order of the commits, readable from anywhere on."""

import asyncio

import pytest

from corral.store.database import Database, Transaction
from corral.zones import journal
from corral.zones.journal import JournalKind
from tests.zones.machines import found_zone


async def test_entries_are_read_on_from_where_one_stopped(database: Database) -> None:
    zone = await database.write(found_zone)
    start = await database.read(journal.latest, zone.id)
    await database.write(journal.append, zone.id, JournalKind.NODE, "n1", "n2")
    await database.write(journal.append, zone.id, JournalKind.QUEUE, "q1")
    first = await database.read(journal.read_after, zone.id, start, 2)
    assert [(one.kind, one.object_id) for one in first] == [("node", "n1"), ("node", "n2")]
    rest = await database.read(journal.read_after, zone.id, first[-1].sequence)
    assert [(one.kind, one.object_id) for one in rest] == [("queue", "q1")]
    assert await database.read(journal.latest, zone.id) == rest[-1].sequence
    assert await database.read(journal.read_after, zone.id, rest[-1].sequence) == ()


async def test_change_that_fails_leaves_no_entry(database: Database) -> None:
    zone = await database.write(found_zone)
    start = await database.read(journal.latest, zone.id)

    def fail(transaction: Transaction) -> None:
        journal.append(transaction, zone.id, JournalKind.NODE, "n1")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await database.write(fail)
    assert await database.read(journal.read_after, zone.id, start) == ()


async def test_reader_never_passes_an_entry_that_is_not_visible_yet(database: Database) -> None:
    zone = await database.write(found_zone)
    position = await database.read(journal.latest, zone.id)
    seen: list[str] = []

    async def read_on() -> None:
        nonlocal position
        for entry in await database.read(journal.read_after, zone.id, position):
            seen.append(entry.object_id)
            position = entry.sequence

    wanted = {f"w{number}" for number in range(40)}
    writers = [
        asyncio.create_task(database.write(journal.append, zone.id, JournalKind.WORKLOAD, name))
        for name in sorted(wanted)
    ]
    while not all(writer.done() for writer in writers):
        await read_on()
        await asyncio.sleep(0)
    await asyncio.gather(*writers)
    await read_on()
    assert set(seen) == wanted
    assert len(seen) == len(wanted)


async def test_entry_wakes_whoever_listens_to_the_zone(database: Database) -> None:
    zone = await database.write(found_zone)
    woken = asyncio.Event()
    stop = database.hints.subscribe(journal.topic(zone.id), woken.set)
    await database.write(journal.append, zone.id, JournalKind.POOL, "p1")
    stop()
    assert woken.is_set()
