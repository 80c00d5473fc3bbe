"""What is long over goes by itself, in its order; what is charged by never does."""

from sqlalchemy import func, select

from corral.control.invariants import check_invariants
from corral.control.purge import Keeping
from corral.engines.simulated import Program
from corral.usage.tables import usage_record
from corral.workloads.expectations import first, note
from corral.workloads.tables import attempt, replica, transition, workload
from corral.zones.tables import zone_journal
from tests.apps import ADMIN_PASSWORD
from tests.campus import made, refused
from tests.control.ground import Ground

KEEPING = Keeping(ended_work_days=100, deleted_work_days=10, journal_days=7)


async def _count(ground: Ground) -> list[int]:
    tables = (workload, attempt, replica, transition, usage_record)
    return await ground.campus.database.read(
        lambda t: [t.scalar(select(func.count()).select_from(table)) for table in tables]
    )


async def _pass_days(ground: Ground, days: int) -> None:
    """Sessions and leaderships end meanwhile."""
    ground.campus.clock.advance(days=days)
    await ground.campus.admin.sign_in("admin", ADMIN_PASSWORD)
    await ground.take_over()


async def _assert_sound(ground: Ground) -> None:
    checked = await ground.campus.database.read(check_invariants)
    assert [one for one in checked if one.broken] == []


async def _purge(ground: Ground) -> list[int]:
    return [await ground.campus.database.write(chore, 500) for chore in KEEPING.chores()]


async def test_ended_work_is_deleted_then_forgotten_and_the_ledger_stays(ground: Ground) -> None:
    admin = ground.campus.admin
    ground.programs["stays"] = Program(None, 1, 2)
    old, stays = await ground.submit(admin, "old"), await ground.submit(admin, "stays")
    await ground.campus.database.write(note, {(old, 1): ground.campus.clock()})
    await ground.pass_time(120)
    before = await _count(ground)
    await _pass_days(ground, 99)
    assert (await _purge(ground))[:2] == [0, 0]
    await _pass_days(ground, 2)
    assert (await _purge(ground))[:2] == [1, 0]
    assert (await ground.get(old))["reason"]["sentence"] == "Corral deleted it."
    await ground.settle()
    assert await _purge(ground) == [0, 0, 0]
    await _pass_days(ground, 11)
    assert (await _purge(ground))[:2] == [0, 1]
    refused(await admin.get(f"/workloads/{old}"), 404)
    assert await ground.campus.database.read(first, (old, 1)) is None
    assert (await ground.get(stays))["state"] == "running"
    assert await _count(ground) == [1, 1, 1, 3, before[4]]
    await _assert_sound(ground)
    assert made(await admin.get(f"/usage?workload={old}&since=2020-01-01T00:00:00Z"))["items"]


async def test_old_journal_goes_and_its_newest_entry_stays(ground: Ground) -> None:
    await ground.submit(ground.campus.admin, "old")
    await ground.pass_time(120)
    await _pass_days(ground, 8)
    await _purge(ground)
    left = await ground.campus.database.read(lambda t: t.rows(select(zone_journal.c.sequence)))
    assert len(left) == 1
    await _assert_sound(ground)
    new = await ground.submit(ground.campus.admin, "new")
    await ground.settle()
    assert await ground.state(new) == "starting"
