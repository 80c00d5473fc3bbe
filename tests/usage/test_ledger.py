"""The ledger tells who held what and for how long, whatever happens to machine, clock and Corral."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Update, delete, insert, select, update
from sqlalchemy.exc import DBAPIError

from corral.store.database import Database, Transaction
from corral.usage import ledger
from corral.usage.clock import microseconds_of, read_clock
from corral.usage.soundness import find_faults
from corral.usage.tables import usage_allocation, usage_record
from tests.usage.factories import CPU, GPU, HOUR, MINUTE, ZONE, Machine, create_grant

Line = tuple[str, str, str, int]


def _lines(transaction: Transaction, allocation_id: str, resource: str = "gpu_milli") -> list[Line]:
    """Outcome, from, to and minutes of each record of one resource."""
    r = usage_record.c
    rows = transaction.rows(
        select(r.outcome, r.started_at, r.ended_at, r.duration_us)
        .where(r.allocation_id == allocation_id, r.resource == resource)
        .order_by(r.number)
    )
    return [
        (row.outcome, f"{row.started_at:%H:%M}", f"{row.ended_at:%H:%M}", row.duration_us // MINUTE)
        for row in rows
    ]


async def test_what_was_held_is_cut_at_the_hours(database: Database) -> None:
    machine, grant = Machine(), create_grant()
    await database.write(ledger.open, grant, machine.reading())
    machine.pass_time(90 * MINUTE)
    assert await database.write(ledger.close, grant.allocation_id, machine.mark())
    for resource in ("gpu_milli", "cpu_milli"):
        assert await database.read(_lines, grant.allocation_id, resource) == [
            ("used", "08:50", "09:00", 10),
            ("used", "09:00", "10:00", 60),
            ("used", "10:00", "10:20", 20),
        ]


async def test_record_names_resource_model_and_amount(database: Database) -> None:
    machine, grant = Machine(), create_grant(1, GPU, CPU, ("memory_mib", "", 0))
    await database.write(ledger.open, grant, machine.reading())
    machine.pass_time(MINUTE)
    await database.write(ledger.close, grant.allocation_id, machine.mark())
    r = usage_record.c
    held = await database.read(
        lambda transaction: transaction.rows(select(r.resource, r.model, r.amount).order_by(r.number))
    )
    assert [tuple(row) for row in held] == [GPU, CPU]


async def test_hours_that_are_over_are_written_while_it_runs(database: Database) -> None:
    machine, grant = Machine(), create_grant()
    await database.write(ledger.open, grant, machine.reading())
    machine.pass_time(9 * MINUTE)
    assert await database.write(ledger.beat, ZONE, machine.reading()) == 0
    machine.pass_time(2 * HOUR)
    assert await database.write(ledger.beat, ZONE, machine.reading()) == 2 * 2
    assert await database.write(ledger.beat, ZONE, machine.reading()) == 0
    before = [("used", "08:50", "09:00", 10), ("used", "09:00", "10:00", 60)]
    assert await database.read(_lines, grant.allocation_id) == before
    machine.pass_time(20 * MINUTE)
    await database.write(ledger.close, grant.allocation_id, machine.mark())
    assert await database.read(_lines, grant.allocation_id) == [
        *before,
        ("used", "10:00", "11:00", 60),
        ("used", "11:00", "11:19", 19),
    ]


async def test_hour_is_over_at_its_last_moment(database: Database) -> None:
    machine, grant = Machine(), create_grant()
    await database.write(ledger.open, grant, machine.reading())
    machine.pass_time(10 * MINUTE)
    assert await database.write(ledger.beat, ZONE, machine.reading()) == 2
    assert await database.read(_lines, grant.allocation_id) == [("used", "08:50", "09:00", 10)]


async def test_heartbeat_that_comes_late_takes_nothing_back(database: Database) -> None:
    machine, grant = Machine(), create_grant()
    await database.write(ledger.open, grant, machine.reading())
    early = machine.reading()
    machine.pass_time(5 * MINUTE)
    await database.write(ledger.beat, ZONE, machine.reading())
    await database.write(ledger.beat, ZONE, early)
    await database.write(ledger.close, grant.allocation_id, None)
    assert await database.read(_lines, grant.allocation_id) == [("used", "08:50", "08:55", 5)]


async def test_second_grant_and_second_close_change_nothing(database: Database) -> None:
    machine, grant = Machine(), create_grant()
    assert await database.write(ledger.open, grant, machine.reading())
    machine.pass_time(5 * MINUTE)
    assert not await database.write(ledger.open, grant, machine.reading())
    assert await database.write(ledger.close, grant.allocation_id, machine.mark())
    machine.pass_time(5 * MINUTE)
    assert not await database.write(ledger.close, grant.allocation_id, machine.mark())
    assert not await database.write(ledger.close, "never-opened", machine.mark())
    assert not await database.write(ledger.open, grant, machine.reading())
    assert await database.read(_lines, grant.allocation_id) == [("used", "08:50", "08:55", 5)]


@pytest.mark.parametrize("hours", [-30, -1, 1, 24 * 365])
async def test_clock_that_is_set_changes_no_duration(database: Database, hours: int) -> None:
    machine, grant = Machine(), create_grant()
    await database.write(ledger.open, grant, machine.reading())
    machine.pass_time(5 * MINUTE)
    machine.set_clock(hours=hours)
    await database.write(ledger.beat, ZONE, machine.reading())
    machine.pass_time(30 * MINUTE)
    await database.write(ledger.close, grant.allocation_id, machine.mark())
    assert await database.read(_lines, grant.allocation_id) == [
        ("used", "08:50", "09:00", 10),
        ("used", "09:00", "09:25", 25),
    ]


async def test_neighbours_of_one_boot_share_one_calendar_although_the_clock_was_set(
    database: Database,
) -> None:
    machine, first, second = Machine(), create_grant(1), create_grant(2)
    await database.write(ledger.open, first, machine.reading())
    machine.set_clock(hours=5)
    machine.pass_time(4 * MINUTE)
    await database.write(ledger.open, second, machine.reading())
    machine.pass_time(MINUTE)
    await database.write(ledger.close, second.allocation_id, machine.mark())
    assert await database.read(_lines, second.allocation_id) == [("used", "08:54", "08:55", 1)]


async def test_calendar_that_was_wrong_at_boot_is_put_right_while_nothing_is_held(database: Database) -> None:
    machine, first, second = Machine(), create_grant(1), create_grant(2)
    right = machine.wall
    machine.wall = datetime(1970, 1, 1, 3, tzinfo=UTC)
    await database.write(ledger.open, first, machine.reading())
    await database.write(ledger.close, first.allocation_id, machine.mark())
    machine.wall = right
    await database.write(ledger.open, second, machine.reading())
    opened = await database.read(
        lambda transaction: transaction.scalar(
            select(usage_allocation.c.opened_at).where(usage_allocation.c.id == second.allocation_id)
        )
    )
    assert opened == right


async def test_death_that_nobody_saw_ends_at_the_last_heartbeat(database: Database) -> None:
    machine, grant = Machine(), create_grant()
    await database.write(ledger.open, grant, machine.reading())
    machine.pass_time(4 * MINUTE)
    await database.write(ledger.beat, ZONE, machine.reading())
    machine.pass_time(HOUR)
    machine.reboot()
    await database.write(ledger.beat, ZONE, machine.reading())
    await database.write(ledger.close, grant.allocation_id, machine.mark())
    assert await database.read(_lines, grant.allocation_id) == [("used", "08:50", "08:54", 4)]


async def test_death_before_the_first_heartbeat_costs_nothing(database: Database) -> None:
    machine, grant = Machine(), create_grant()
    await database.write(ledger.open, grant, machine.reading())
    machine.pass_time(MINUTE)
    assert await database.write(ledger.close, grant.allocation_id, None)
    assert await database.read(_lines, grant.allocation_id) == []


async def test_heartbeat_of_those_that_were_seen_does_not_prolong_the_others(database: Database) -> None:
    machine, seen, unseen = Machine(), create_grant(1), create_grant(2)
    for grant in (seen, unseen):
        await database.write(ledger.open, grant, machine.reading())
    machine.pass_time(3 * MINUTE)
    await database.write(ledger.beat, ZONE, machine.reading(), [seen.allocation_id])
    for grant in (seen, unseen):
        await database.write(ledger.close, grant.allocation_id, None)
    assert await database.read(_lines, seen.allocation_id) == [("used", "08:50", "08:53", 3)]
    assert await database.read(_lines, unseen.allocation_id) == []


async def test_work_lost_by_an_eviction_is_told_apart(database: Database) -> None:
    machine, grant = Machine(), create_grant()
    await database.write(ledger.open, grant, machine.reading())
    machine.pass_time(5 * MINUTE)
    checkpoint = machine.mark()
    machine.pass_time(MINUTE)
    await database.write(
        ledger.close, grant.allocation_id, machine.mark(), lost_since_us=checkpoint.boottime_us
    )
    assert await database.read(_lines, grant.allocation_id) == [
        ("used", "08:50", "08:55", 5),
        ("lost", "08:55", "08:56", 1),
    ]


async def test_hours_already_written_that_turn_out_lost_are_taken_back_first(database: Database) -> None:
    machine, grant = Machine(), create_grant()
    await database.write(ledger.open, grant, machine.reading())
    checkpoint = machine.mark(-5 * MINUTE)
    machine.pass_time(80 * MINUTE)
    await database.write(ledger.beat, ZONE, machine.reading())
    await database.write(
        ledger.close, grant.allocation_id, machine.mark(), lost_since_us=checkpoint.boottime_us
    )
    assert await database.read(_lines, grant.allocation_id) == [
        ("used", "08:50", "09:00", 10),
        ("used", "09:00", "10:00", 60),
        ("used", "08:55", "09:00", -5),
        ("used", "09:00", "10:00", -60),
        ("lost", "08:55", "09:00", 5),
        ("lost", "09:00", "10:00", 60),
        ("lost", "10:00", "10:10", 10),
    ]


async def test_end_that_is_learned_late_takes_back_what_was_written_after_it(database: Database) -> None:
    machine, grant = Machine(), create_grant()
    await database.write(ledger.open, grant, machine.reading())
    ended = machine.mark(-5 * MINUTE)
    machine.pass_time(15 * MINUTE)
    await database.write(ledger.beat, ZONE, machine.reading())
    await database.write(ledger.close, grant.allocation_id, ended)
    assert await database.read(_lines, grant.allocation_id) == [
        ("used", "08:50", "09:00", 10),
        ("used", "08:55", "09:00", -5),
    ]


async def test_records_cannot_be_changed_or_deleted(database: Database) -> None:
    machine, grant = Machine(), create_grant()
    await database.write(ledger.open, grant, machine.reading())
    machine.pass_time(MINUTE)
    await database.write(ledger.close, grant.allocation_id, machine.mark())
    for forgery in (update(usage_record).values(amount=1), delete(usage_record)):
        with pytest.raises(DBAPIError, match="append-only"):
            await database.write(lambda transaction, forgery=forgery: transaction.run(forgery))


async def test_open_allocations_are_listed_with_their_boot(database: Database) -> None:
    machine, first, second = Machine(), create_grant(1), create_grant(2)
    await database.write(ledger.open, first, machine.reading())
    await database.write(ledger.open, second, machine.reading())
    await database.write(ledger.close, second.allocation_id, machine.mark())
    found = await database.read(ledger.open_allocations, ZONE)
    assert found == {first.allocation_id: "boot-1"}


def test_instant_is_found_on_the_clock_of_the_boot() -> None:
    machine = Machine()
    ended = machine.mark(), machine.wall
    machine.pass_time(HOUR)
    assert machine.reading().mark_of(microseconds_of(ended[1])) == ended[0]


def test_clock_of_this_machine_is_read() -> None:
    first, second = read_clock(), read_clock()
    assert first.mark.boot_id == second.mark.boot_id
    assert 0 < first.mark.boottime_us <= second.mark.boottime_us
    assert abs(first.at - datetime.now(UTC)) < timedelta(minutes=1)


async def test_sound_ledger_has_no_faults(database: Database) -> None:
    machine, first, second = Machine(), create_grant(1), create_grant(2)
    for grant in (first, second):
        await database.write(ledger.open, grant, machine.reading())
    machine.pass_time(2 * HOUR)
    await database.write(ledger.beat, ZONE, machine.reading())
    since = machine.boottime_us - HOUR
    await database.write(ledger.close, first.allocation_id, machine.mark(), lost_since_us=since)
    assert await database.read(find_faults) == []


@pytest.mark.parametrize(
    ("forgery", "fault"),
    [
        (update(usage_allocation).values(ended_us=usage_allocation.c.ended_us + 1), "add up to"),
        (update(usage_allocation).values(lost_us=1), "(0 lost)"),
        (update(usage_allocation).values(records=9), "were written"),
    ],
)
async def test_fault_in_the_ledger_is_found(database: Database, forgery: Update, fault: str) -> None:
    machine, grant = Machine(), create_grant(1, GPU)
    await database.write(ledger.open, grant, machine.reading())
    machine.pass_time(MINUTE)
    await database.write(ledger.close, grant.allocation_id, machine.mark())
    await database.write(lambda transaction: transaction.run(forgery))
    (found,) = await database.read(find_faults)
    assert grant.allocation_id in found
    assert fault in found


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"number": 1}, "is recorded 2 times"),
        ({"number": 1, "posted_at": datetime(2020, 1, 1, tzinfo=UTC)}, "posted"),
    ],
)
async def test_record_that_is_charged_twice_or_out_of_order_is_found(
    database: Database, change: dict[str, object], fault: str
) -> None:
    machine, grant = Machine(), create_grant(1, GPU)
    await database.write(ledger.open, grant, machine.reading())
    machine.pass_time(MINUTE)
    await database.write(ledger.close, grant.allocation_id, machine.mark())

    def forge(transaction: Transaction) -> None:
        record = transaction.first(select(usage_record))
        assert record is not None
        columns = {**record._mapping, **change}
        del columns["sequence"]
        transaction.run(insert(usage_record), columns)

    await database.write(forge)
    assert any(fault in one for one in await database.read(find_faults))
