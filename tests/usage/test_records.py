"""Whoever reads the ledger with a bookmark sees every record once, in the order in which it was posted."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import select

from corral.store.database import Database
from corral.usage import ledger
from corral.usage.tables import usage_record
from tests.apps import ApiClient
from tests.campus import Campus, made, refused
from tests.usage.factories import GPU, HOUR, MINUTE, ZONE, Machine, create_grant


async def _read(client: ApiClient, after: int = 0, **asked: Any) -> dict[str, Any]:
    found: dict[str, Any] = made(
        await client.get(
            "/usage/records", params={"after": str(after), **{k: str(v) for k, v in asked.items()}}
        )
    )
    return found


async def _read_all(client: ApiClient, after: int = 0, limit: int = 200) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while True:
        page = await _read(client, after, limit=limit)
        found += page["items"]
        after = page["next_after"]
        if not page["more"]:
            return found


async def _stored(database: Database) -> list[int]:
    sequences = select(usage_record.c.sequence).order_by(usage_record.c.sequence)
    return [one for (one,) in await database.read(lambda t: t.rows(sequences))]


async def test_readers_with_a_bookmark_miss_nothing_that_is_posted_at_the_same_time(
    campus: Campus, database: Database
) -> None:
    """Several processes post; a reader polls all the while, in small pages."""
    others = [Database(str(database.url.render_as_string(hide_password=False))) for _ in range(2)]
    machine = Machine()
    grants = [create_grant(number, GPU) for number in range(24)]
    for grant in grants:
        await database.write(ledger.open, grant, machine.reading())
    machine.pass_time(3 * HOUR)
    posting = asyncio.gather(
        *(
            others[number % 2].write(ledger.close, grant.allocation_id, machine.mark())
            for number, grant in enumerate(grants)
        )
    )
    seen: list[dict[str, Any]] = []
    after = 0
    try:
        while not posting.done():
            page = await _read(campus.admin, after, limit=5)
            seen += page["items"]
            after = page["next_after"]
        await posting
    finally:
        for other in others:
            await other.close()
    seen += await _read_all(campus.admin, after)
    assert [one["sequence"] for one in seen] == await _stored(database)
    assert len(seen) == 24 * 4
    assert [one["posted_at"] for one in seen] == sorted(one["posted_at"] for one in seen)


async def test_posting_never_goes_back_although_clocks_do(campus: Campus, database: Database) -> None:
    machine = Machine()
    behind = Database(
        database.url.render_as_string(hide_password=False),
        clock=lambda: datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=1),
    )
    try:
        for number, where in enumerate((database, behind, database, behind)):
            grant = create_grant(number, GPU)
            await where.write(ledger.open, grant, machine.reading())
            machine.pass_time(MINUTE)
            await where.write(ledger.close, grant.allocation_id, machine.mark())
    finally:
        await behind.close()
    posted = [one["posted_at"] for one in await _read_all(campus.admin)]
    assert len(posted) == 4
    assert posted == sorted(posted)


async def test_correction_is_a_new_record_behind_the_bookmark(campus: Campus, database: Database) -> None:
    machine, grant = Machine(), create_grant(1, GPU)
    await database.write(ledger.open, grant, machine.reading())
    ended = machine.mark(-5 * MINUTE)
    machine.pass_time(15 * MINUTE)
    await database.write(ledger.beat, ZONE, machine.reading())
    first = await _read(campus.admin)
    assert [one["duration_us"] for one in first["items"]] == [10 * MINUTE]
    await database.write(ledger.close, grant.allocation_id, ended)
    then = await _read(campus.admin, first["next_after"])
    assert [one["duration_us"] for one in then["items"]] == [-5 * MINUTE]
    assert (await _read(campus.admin, then["next_after"]))["items"] == []


async def test_people_read_their_own_records_and_the_bookmark_passes_those_of_others(
    campus: Campus, database: Database
) -> None:
    machine = Machine()
    lab, other = await campus.organisation("Lab"), await campus.organisation("Other")
    mei, lin = await campus.person("mei", lab), await campus.person("lin", other)
    await campus.person("lead", lab, "organisation_administrator")
    for number, (person, place) in enumerate(((mei, lab), (lin, other), (lin, lab), (mei, other))):
        grant = create_grant(number, GPU, user_id=person, organisation_id=place)
        await database.write(ledger.open, grant, machine.reading())
        machine.pass_time(MINUTE)
        await database.write(ledger.close, grant.allocation_id, machine.mark())
    last = (await _stored(database))[-1]
    for name, expected in (("mei", {mei}), ("lin", {lin}), ("lead", {mei, lin})):
        client = await campus.sign_in(name)
        page = await _read(client)
        assert {one["user_id"] for one in page["items"]} == expected
        assert len(page["items"]) == 2
        assert page["next_after"] == last
        assert not page["more"]
    client = await campus.sign_in("lin")
    assert (await _read(client, user=mei))["items"] == []
    refused(await client.get("/usage/records", params={"organisation": lab}), 404)
    for after in ("-1", "x", str(2**63)):
        refused(await client.get("/usage/records", params={"after": after}), 422)
