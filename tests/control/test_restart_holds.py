"""A place that is kept for work that restarts: nobody else gets it, and it is given back in time."""

from typing import Any

from sqlalchemy import select, update

from corral.control.invariants import check_invariants
from corral.engines.interface import Ending
from corral.engines.simulated import Program
from corral.usage.tables import usage_allocation
from corral.workloads.tables import allocation
from corral.zones.tables import node
from tests.campus import made, refused
from tests.control.ground import Ground

CRASH = Program(20, 1, 2, Ending.FAILED)


async def crash(ground: Ground, gpus: int = 8, **more: Any) -> str:
    """Work that has failed for the first time, and pauses before its retry."""
    ground.programs["crash"] = CRASH
    work = await ground.submit(
        ground.campus.admin, "crash", gpus, **{"retries": 3, "hold_seconds": 120} | more
    )
    await ground.pass_time(10)
    assert await ground.state(work) == "running"
    await ground.pass_time(10)
    while await ground.state(work) == "running":
        await ground.pass_time(1)
    return work


async def kept(ground: Ground) -> int:
    rows = await ground.campus.database.read(lambda t: t.rows(select(allocation)))
    return sum(row.held_until is not None for row in rows)


async def sound(ground: Ground) -> None:
    for one in await ground.campus.database.read(check_invariants):
        assert not one.broken, one


async def test_nobody_else_is_placed_where_work_restarts(ground: Ground) -> None:
    work = await crash(ground)
    held = await ground.get(work)
    assert (held["state"], held["nodes"]) == ("queued", [])
    assert held["held_until"] is not None
    other = await ground.submit(ground.campus.admin, "other", 1)
    await ground.settle()
    assert await ground.state(other) == "queued"
    assert "restart" in (await ground.get(other))["waits"]["sentence"]
    await sound(ground)
    await ground.pass_time(10)
    assert await ground.states(work, other) == ["starting", "queued"]
    again = await ground.get(work)
    assert (again["attempt"], again["held_until"]) == (2, None)
    assert await kept(ground) == 0
    await sound(ground)


async def test_without_a_hold_the_place_goes_to_whoever_waits(ground: Ground) -> None:
    work = await crash(ground, hold_seconds=0)
    other = await ground.submit(ground.campus.admin, "other", 1)
    await ground.settle()
    assert await ground.states(work, other) == ["queued", "starting"]


async def test_slice_is_kept_and_the_rest_of_the_device_is_not(ground: Ground) -> None:
    part = {"cpu_milli": 1000, "memory_mib": 1024, "gpu": {"count": 8, "memory_mib": 40960}}
    await crash(ground, resources=part)
    whole = await ground.submit(ground.campus.admin, "whole", 1)
    slices = await ground.submit(ground.campus.admin, "slices", resources=part)
    await ground.settle()
    assert await ground.states(whole, slices) == ["queued", "starting"]
    await sound(ground)


async def test_place_is_given_back_when_its_time_is_over(ground: Ground) -> None:
    work = await crash(ground, hold_seconds=2)
    assert await kept(ground) == 1
    other = await ground.submit(ground.campus.admin, "other", 8)
    await ground.pass_time(3)
    assert await kept(ground) == 0
    assert await ground.states(work, other) == ["queued", "starting"]
    await sound(ground)


async def test_stopping_and_deleting_give_the_place_back(ground: Ground) -> None:
    admin = ground.campus.admin
    work = await crash(ground)
    made(await admin.post(f"/workloads/{work}/stop"))
    await ground.settle()
    assert await kept(ground) == 0
    await sound(ground)
    second = await crash(ground)
    assert await kept(ground) == 1
    made(await admin.post(f"/workloads/{second}/stop"))
    made(await admin.post(f"/workloads/{second}/delete"))
    await ground.settle()
    assert await kept(ground) == 0
    await sound(ground)


async def test_lost_or_cordoned_node_keeps_nothing(ground: Ground) -> None:
    await crash(ground)
    await ground.campus.database.write(lambda t: t.run(update(node).values(cordoned=True)))
    await ground.settle()
    assert await kept(ground) == 0
    await sound(ground)


async def test_kept_place_survives_a_restart_of_corral(ground: Ground) -> None:
    work = await crash(ground)
    other = await ground.submit(ground.campus.admin, "other", 1)
    await ground.restart()
    await ground.settle()
    assert await kept(ground) == 1
    await ground.pass_time(10)
    assert await ground.states(work, other) == ["starting", "queued"]


async def test_gang_keeps_its_places_and_a_stop_in_between_gives_them_back(ground: Ground) -> None:
    work = await crash(ground, gpus=4, replicas=2)
    assert await kept(ground) == 2
    made(await ground.campus.admin.post(f"/workloads/{work}/stop"))
    await ground.settle()
    assert await kept(ground) == 0


async def test_preempted_work_keeps_nothing(ground: Ground) -> None:
    work = await ground.submit(ground.campus.admin, "long", 1, hold_seconds=600)
    await ground.pass_time(10)
    made(await ground.campus.admin.post(f"/workloads/{work}/suspend"))
    await ground.pass_time(10)
    assert await ground.state(work) == "suspended"
    assert await kept(ground) == 0


async def test_kept_time_is_charged_to_the_attempt_that_ended_and_no_longer(ground: Ground) -> None:
    """However late it is noticed that the time is over."""
    await crash(ground, hold_seconds=2)
    (before,) = await ground.campus.database.read(lambda t: t.rows(select(usage_allocation)))
    assert before.ended_us is None
    ground.campus.clock.advance(seconds=1000)
    await ground.reconcile()
    (after,) = await ground.campus.database.read(lambda t: t.rows(select(usage_allocation)))
    assert after.ended_us is not None
    assert await kept(ground) == 0


async def test_pools_say_how_long_at_most(ground: Ground) -> None:
    admin = ground.campus.admin
    (pool,) = made(await admin.get("/pools"))["items"]
    assert pool["most_hold_seconds"] == 600
    made(await admin.patch(f"/pools/{pool['id']}", {"most_hold_seconds": 60}, match="*"))
    document = {"name": "x", "command": ["true"], "resources": {"cpu": 1, "memory": "1Gi"}, "retries": 1}
    refused(await admin.post("/training", document | {"hold_seconds": 61}), 422, field="body.hold_seconds")
    refused(await admin.post("/training", document | {"hold_seconds": 3601}), 422, field="body.hold_seconds")
    made(await admin.post("/training", document | {"hold_seconds": 60}))
    strict = await admin.patch(f"/pools/{pool['id']}", {"most_hold_seconds": -1}, match="*")
    refused(strict, 422, field="body.most_hold_seconds")
