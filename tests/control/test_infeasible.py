"""Work that nothing could run is out of the line, says what is missing, and comes back by itself."""

from dataclasses import replace
from typing import Any

from corral.control.invariants import check_invariants
from corral.control.zone_metrics import count
from corral.workloads.use import use_of_queues
from tests.campus import made, refused
from tests.control.ground import MACHINE, Ground

BIG = replace(
    MACHINE,
    name="big",
    devices=tuple(replace(MACHINE.devices[0], id=f"big-{number}") for number in range(16)),
)


async def _one(ground: Ground, workload_id: str) -> tuple[str, str]:
    seen = await ground.get(workload_id)
    return seen["state"], seen["reason"]["sentence"]


async def _node(ground: Ground, name: str = "box") -> dict[str, Any]:
    nodes = made(await ground.campus.admin.get("/nodes"))["items"]
    return next(one for one in nodes if one["name"] == name)


async def _cordon(ground: Ground, cordoned: bool = True) -> None:
    node = await _node(ground)
    made(await ground.campus.admin.patch(f"/nodes/{node['id']}", {"cordoned": cordoned}, match="*"))


async def test_work_larger_than_every_node_is_out_of_the_line_with_its_arithmetic(ground: Ground) -> None:
    admin = ground.campus.admin
    work = await ground.submit(admin, "huge", gpus=99)
    await ground.settle()
    seen = await ground.get(work)
    told = "Can never run because it asks for 99 GPUs on one node, and the largest node has 8."
    assert (seen["state"], seen["reason"]["sentence"]) == ("infeasible", told)
    assert (seen["waits"], seen["waiting_since"]) == (None, None)
    assert [(one["state"], one["reason"]["why"]) for one in seen["transitions"]] == [
        ("queued", "submitted"),
        ("infeasible", "infeasible"),
    ]
    why = made(await admin.get(f"/workloads/{work}/why"))
    assert (why["result"], why["sentence"], why["in_queue"], why["starts_at"]) == ("never", told, None, None)
    assert made(await admin.get("/workloads?state=infeasible"))["items"][0]["id"] == work
    summary = made(await admin.get("/workloads/summary"))
    assert (summary["states"], summary["waits_since"]) == ({"infeasible": 1}, None)


async def test_it_counts_as_neither_waiting_nor_wanted(ground: Ground) -> None:
    admin = ground.campus.admin
    await ground.submit(admin, "all", gpus=8)
    await ground.settle()
    await ground.submit(admin, "huge", gpus=9)
    second = await ground.submit(admin, "second", gpus=8)
    await ground.settle()
    assert (await ground.get(second))["waits"]["in_queue"] == {"number": 1, "of": 1}
    use = await ground.campus.database.read(use_of_queues)
    assert sum(one.wanted.gpu_milli for one in use.values() if one.wanted) == 8000
    _, states = await ground.campus.database.read(count)
    assert {one.state: one.longest_wait_seconds for one in states if one.state == "infeasible"} == {
        "infeasible": 0
    }


async def test_lost_and_cordoned_nodes_are_capacity(ground: Ground) -> None:
    admin = ground.campus.admin
    await ground.settle()
    await _cordon(ground)
    work = await ground.submit(admin, "patient", gpus=8)
    await ground.settle()
    assert await ground.state(work) == "queued"
    why = made(await admin.get(f"/workloads/{work}/why"))
    assert why["result"] == "waits"
    assert "taint" not in str(why["helps"]) + why["sentence"] + str(why["details"])
    assert why["details"][0] == "1 node: it is cordoned"
    ground.engine.lose("box")
    await ground.pass_time(20)
    assert await ground.state(work) == "queued"
    ground.engine.bring_back("box")
    await _cordon(ground, cordoned=False)
    await ground.pass_time(10)
    assert await ground.state(work) == "running"


async def test_it_runs_when_a_node_that_is_large_enough_joins(ground: Ground) -> None:
    work = await ground.submit(ground.campus.admin, "large", gpus=12)
    await ground.settle()
    assert await ground.state(work) == "infeasible"
    ground.engine.join(BIG)
    await ground.pass_time(10)
    seen = await ground.get(work)
    assert (seen["state"], seen["nodes"]) == ("running", ["big"])
    whys = [one["reason"]["why"] for one in seen["transitions"]]
    assert whys == ["submitted", "infeasible", "feasible", "placed", "all_run"]
    assert all(not one.broken for one in await ground.campus.database.read(check_invariants))


async def test_a_limit_makes_work_infeasible_until_it_is_raised(ground: Ground) -> None:
    admin = ground.campus.admin
    await ground.settle()
    work = await ground.submit(admin, "wide", gpus=6)
    (pool,) = made(await admin.get("/pools"))["items"]
    queue = (await ground.get(work))["queue_id"]

    async def limit(gpus: int) -> None:
        change = {"quotas": [{"pool_id": pool["id"], "resource": "gpu_milli", "limit": gpus * 1000}]}
        made(await admin.patch(f"/queues/{queue}", change, match="*"))

    await limit(4)
    await ground.settle()
    told = "Can never run because it asks for 6 GPU, and the limit of its queue is 4 GPU."
    assert await _one(ground, work) == ("infeasible", told)
    await limit(6)
    await ground.pass_time(10)
    assert await ground.state(work) == "running"


async def test_what_would_help_does_not_follow_the_load(ground: Ground) -> None:
    admin = ground.campus.admin
    work = await ground.submit(admin, "huge", gpus=9)
    await ground.settle()
    helps = made(await admin.get(f"/workloads/{work}/why"))["helps"]
    assert helps[0]["facts"]["amount"] == 8
    await ground.submit(admin, "others", gpus=5)
    await ground.settle()
    assert made(await admin.get(f"/workloads/{work}/why"))["helps"] == helps


async def test_it_survives_a_restart_and_is_found_feasible_afterwards(ground: Ground) -> None:
    work = await ground.submit(ground.campus.admin, "large", gpus=12)
    await ground.settle()
    await ground.restart()
    await ground.settle()
    assert await ground.state(work) == "infeasible"
    await ground.restart()
    ground.engine.join(BIG)
    await ground.pass_time(10)
    assert await ground.state(work) == "running"


async def test_people_may_stop_suspend_and_resume_it(ground: Ground) -> None:
    admin = ground.campus.admin
    work = await ground.submit(admin, "huge", gpus=9)
    await ground.settle()
    refused(await admin.post(f"/workloads/{work}/delete"), 409)
    made(await admin.post(f"/workloads/{work}/suspend"))
    assert await ground.state(work) == "suspended"
    await ground.settle()
    made(await admin.post(f"/workloads/{work}/resume"))
    await ground.settle()
    assert await ground.state(work) == "infeasible"
    made(await admin.post(f"/workloads/{work}/stop"))
    assert await ground.state(work) == "stopped"
    made(await admin.post(f"/workloads/{work}/delete"))
    assert all(not one.broken for one in await ground.campus.database.read(check_invariants))


async def test_replicas_that_never_find_room_together_are_counted(ground: Ground) -> None:
    work = await ground.submit(ground.campus.admin, "gang", gpus=2, replicas=6)
    await ground.settle()
    told = "Can never run because its 6 replicas start together, and there is room for 4 in all."
    assert await _one(ground, work) == ("infeasible", told)


async def test_models_that_nobody_has_are_named(ground: Ground) -> None:
    resources = {"cpu_milli": 1000, "memory_mib": 1024, "gpu": {"count": 1, "models": ["B200"]}}
    work = await ground.submit(ground.campus.admin, "modern", resources=resources)
    await ground.settle()
    told = "Can never run because no node has a GPU of the model B200."
    assert await _one(ground, work) == ("infeasible", told)
