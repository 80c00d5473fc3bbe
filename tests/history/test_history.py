"""What was recorded gives the state at any time, and agrees with the ledger."""

import random
from collections import Counter
from typing import Any

import pytest
from sqlalchemy import select

from corral.control.invariants import check_invariants
from corral.control.purge import Keeping
from corral.history import recorder
from corral.history.rules import Share, lent_and_borrowed
from corral.history.tables import arrival, queue_history
from corral.queues.tables import queue
from corral.store.database import Transaction
from corral.usage.clock import clock_in
from corral.usage.tables import usage_allocation
from tests.campus import made, refused
from tests.control.ground import Ground


async def _record(ground: Ground) -> int:
    return await ground.campus.database.write(recorder.record, ground.zone.id)


def _differences(transaction: Transaction) -> list[str]:
    """Instants at which the history of a person's queue and the ledger do not say the same."""
    people = {row.id for row in transaction.rows(select(queue.c.id).where(queue.c.user_id.is_not(None)))}
    held = transaction.rows(select(usage_allocation))
    found, allocated = [], Counter[tuple[str, str]]()
    rows = transaction.rows(select(queue_history).order_by(queue_history.c.sequence))
    instants = sorted({row.at for row in rows})
    for at in instants:
        for row in rows:
            if row.at == at and row.queue_id in people:
                allocated[row.queue_id, row.resource] = row.allocated
        ledger = Counter[tuple[str, str]]()
        for one in held:
            if one.opened_at <= at and (one.ended_at is None or one.ended_at > at):
                for resource, _, amount in one.resources:
                    ledger[one.queue_id, resource] += amount
        if +allocated != +ledger:
            found.append(f"{at}: {dict(+allocated)} recorded, {dict(+ledger)} in the ledger")
    return found


async def test_allocated_is_what_the_ledger_says_was_held(ground: Ground) -> None:
    campus, chance = ground.campus, random.Random(7)
    await ground.restart(clock_in("zone", campus.database.now))
    lab = await campus.organisation("Lab")
    for name in ("mei", "lin"):
        await campus.person(name, lab)
    people = [await campus.sign_in(name) for name in ("mei", "lin")]
    works: list[tuple[Any, str]] = []
    for number in range(12):
        person = chance.choice(people)
        works.append((person, await ground.submit(person, f"work-{number}", gpus=chance.choice((1, 2, 4)))))
        if chance.random() < 0.4:
            owner, work = chance.choice(works)
            await owner.post(f"/workloads/{work}/stop")
        await ground.pass_time(chance.choice((10, 30, 40)))
        campus.clock.advance(seconds=1)
        await _record(ground)
    await ground.pass_time(300)
    campus.clock.advance(seconds=1)
    await _record(ground)
    assert await campus.database.scan(_differences) == []
    recorded = await campus.database.scan(lambda t: t.rows(select(queue_history)))
    assert any(row.allocated for row in recorded)
    broken = [one for one in await campus.database.scan(check_invariants) if one.broken]
    assert broken == []


async def test_shares_are_written_when_they_change_and_only_then(ground: Ground) -> None:
    await ground.settle()
    assert await _record(ground) > 0
    assert not await ground.campus.database.read(recorder.is_due, ground.zone.id)
    assert await _record(ground) == 0
    first = await ground.submit(ground.campus.admin, "first", gpus=8)
    await ground.submit(ground.campus.admin, "second", gpus=2)
    await ground.settle()
    assert await ground.campus.database.read(recorder.is_due, ground.zone.id)
    await _record(ground)
    page = made(await ground.campus.admin.get("/history/queues"))
    gpus = [one for one in page["items"] if one["resource"] == "gpu_milli"]
    assert {(one["allocated"], one["wanted"]) for one in gpus[-2:]} == {(8000, 2000)}
    assert all(one["borrowed"] == max(0, one["allocated"] - one["guarantee"]) for one in gpus)
    made(await ground.campus.admin.post(f"/workloads/{first}/stop"))
    await ground.pass_time(300)
    await _record(ground)
    rest = made(await ground.campus.admin.get("/history/queues", params={"after": str(page["next_after"])}))
    last = {one["queue_id"]: one for one in rest["items"] if one["resource"] == "gpu_milli"}
    assert {one["allocated"] for one in last.values()} == {0}


async def test_whoever_leads_next_goes_on_where_the_last_one_was(ground: Ground) -> None:
    work = await ground.submit(ground.campus.admin, "fit")
    await ground.settle()
    await _record(ground)
    await ground.restart()
    assert await _record(ground) == 0
    await ground.pass_time(120)
    await _record(ground)
    (one,) = made(await ground.campus.admin.get("/history/arrivals"))["items"]
    assert (one["workload_id"], one["state"], one["attempts"]) == (work, "succeeded", 1)
    assert one["submitted_at"] <= one["started_at"] < one["ended_at"]
    assert one["run_us"] > 0
    assert one["request"]["gpu"]["count"] == 1


async def test_arrival_outlives_the_records_of_its_work(ground: Ground) -> None:
    admin, database = ground.campus.admin, ground.campus.database
    work = await ground.submit(admin, "fit")
    await ground.pass_time(120)
    made(await admin.post(f"/workloads/{work}/delete"))
    await ground.pass_time(30)
    await _record(ground)
    ground.campus.clock.advance(days=40)
    assert await database.write(Keeping().forget_deleted_work, 100) == 1
    await ground.pass_time(10)
    await _record(ground)
    (one,) = await database.scan(lambda t: t.rows(select(arrival)))
    assert (one.workload_id, one.state) == (work, "deleted")


async def test_changes_of_nodes_pools_and_quotas_are_values(ground: Ground) -> None:
    admin = ground.campus.admin
    await ground.settle()
    (node,) = made(await admin.get("/nodes"))["items"]
    (pool,) = made(await admin.get("/pools"))["items"]
    made(await admin.patch(f"/nodes/{node['id']}", {"cordoned": True}, match="*"))
    made(await admin.patch(f"/pools/{pool['id']}", {"name": "main"}, match="*"))
    lab = await ground.campus.organisation("Lab")
    queues = made(await admin.get("/queues"))["items"]
    (own,) = (one for one in queues if one["organisation_id"] == lab)
    quota = {"pool_id": pool["id"], "resource": "gpu_milli", "guarantee": 2000}
    made(await admin.patch(f"/queues/{own['id']}", {"quotas": [quota]}, match="*"))
    made(await admin.delete(f"/organisations/{lab}", match="*"))
    items = made(await admin.get("/history/cluster"))["items"]
    changes = {
        one: [each for each in items if each["object_id"] == one]
        for one in (node["id"], pool["id"], own["id"])
    }
    of_node, of_pool, of_queue = (changes[one][-1] for one in (node["id"], pool["id"], own["id"]))
    assert (of_node["before"]["cordoned"], of_node["after"]["cordoned"]) == (False, True)
    assert of_node["after"]["devices"][0]["count"] == 8
    assert (of_pool["before"]["name"], of_pool["after"]["name"]) == ("default", "main")
    assert of_queue["before"]["quotas"][pool["id"]]["gpu_milli"]["guarantee"] == 2000
    assert of_queue["after"] is None
    for some in changes.values():
        assert [one["before"] for one in some[1:]] == [one["after"] for one in some[:-1]]


async def test_people_see_the_history_of_what_they_may_see(ground: Ground) -> None:
    campus = ground.campus
    lab, other = await campus.organisation("Lab"), await campus.organisation("Other")
    await campus.person("mei", lab)
    await campus.person("lin", other)
    mei, lin = await campus.sign_in("mei"), await campus.sign_in("lin")
    work = await ground.submit(mei, "fit")
    await ground.settle()
    await _record(ground)
    mine = made(await mei.get("/history/arrivals"))["items"]
    assert [one["workload_id"] for one in mine] == [work]
    assert made(await lin.get("/history/arrivals"))["items"] == []
    seen = {one["id"] for one in made(await lin.get("/queues"))["items"]}
    for path in ("/history/queues", "/history/cluster"):
        for one in made(await lin.get(path))["items"]:
            name = one.get("queue_id") or (one["object_id"] if one["kind"] == "queue" else None)
            assert name is None or name in seen
    refused(await campus.visitor().get("/history/queues"), 401)


async def test_old_history_goes_and_the_last_state_stays(ground: Ground) -> None:
    database, clock = ground.campus.database, ground.campus.clock
    for number in range(3):
        await ground.submit(ground.campus.admin, f"fit-{number}")
        await ground.settle()
        await _record(ground)
        await ground.pass_time(120)
        await _record(ground)
    clock.advance(days=40)
    before = await database.scan(lambda t: t.rows(select(queue_history)))
    await database.write(Keeping(history_days=30).forget_history, 500)
    rest = await database.scan(lambda t: t.rows(select(queue_history)))
    keys = {(row.queue_id, row.pool_id, row.resource) for row in before}
    assert len(rest) == len(keys) < len(before)
    assert await database.scan(lambda t: t.rows(select(arrival))) == []


@pytest.mark.parametrize(
    ("held", "lent", "borrowed"),
    [((7, 2, 0), (0, 1, 2), (3, 0, 0)), ((4, 4, 4), (0, 0, 0), (0, 0, 0)), ((0, 0, 0), (0, 0, 0), (0, 0, 0))],
)
def test_what_is_borrowed_is_lent_by_siblings_that_do_not_use_theirs(
    held: tuple[int, ...], lent: tuple[int, ...], borrowed: tuple[int, ...]
) -> None:
    shares = {f"q{index}": Share(guarantee=4, allocated=one) for index, one in enumerate(held)}
    found = lent_and_borrowed(shares, dict.fromkeys(shares, "root"))
    assert tuple(one.borrowed for one in found.values()) == borrowed
    assert tuple(one.lent for one in found.values()) == lent
