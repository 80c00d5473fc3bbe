"""Runtimes: built as work, shared by what has the same definition, gone when nobody needs them."""

from typing import Any

from corral.engines.interface import Ending
from corral.engines.simulated import Program
from corral.runtimes.service import forget_unused
from corral.zones.zones import ensure_local_zone
from tests.apps import ApiClient
from tests.campus import made, refused
from tests.control.ground import Ground


async def create(client: ApiClient, name: str, requirements: list[str] | None = None, **more: Any) -> Any:
    if requirements is not None:
        more["requirements"] = requirements
    return made(await client.post("/runtimes", {"name": name, **more}))


async def states(client: ApiClient) -> dict[str, str]:
    items = made(await client.get("/runtimes"))["items"]
    return {f"{one['name']}:{one['version']}": one["state"] for one in items}


async def test_runtime_is_built_as_work_of_its_owner_and_used(ground: Ground) -> None:
    admin = ground.campus.admin
    runtime = await create(admin, "own", ["numpy", "scikit-learn>=1"])
    assert (runtime["state"], runtime["version"]) == ("building", 1)
    await ground.settle()
    (start,) = ground.started
    assert start.task is not None
    assert start.task.builds
    assert start.task.environment["CORRAL_REQUIREMENTS"] == "numpy\nscikit-learn>=1\n"
    work = made(await admin.get(f"/workloads/{runtime['workload_id']}"))
    assert (work["kind"], work["name"]) == ("runtime", "runtime own:1")
    answer = await admin.post("/training", _work("early", runtime="own"))
    assert "is building" in refused(answer, 422, "invalid", "body.runtime")["detail"]

    await ground.pass_time(120)
    assert await states(admin) == {"own:1": "ready"}
    shown = made(await admin.post("/training/preview", _work("x", command=["python", "a.py"], runtime="own")))
    assert shown["command"] == ["python", "a.py"]
    used = await ground.submit(admin, "uses", runtime="own")
    await ground.settle()
    task = ground.started[-1].task
    assert task is not None
    assert (task.runtime, task.builds) == (runtime["workload_id"], False)
    assert made(await admin.get(f"/workloads/{used}"))["spec"]["runtime"] == "own:1"


async def test_name_alone_is_enough_for_what_is_known_by_it(ground: Ground) -> None:
    admin = ground.campus.admin
    assert (await create(admin, "scikit-learn"))["requirements"] == ["numpy", "pandas", "scikit-learn"]
    assert (await create(admin, "python"))["requirements"] == []
    presets = made(await admin.get("/runtimes"))["presets"]
    assert [one["name"] for one in presets] == ["python", "scikit-learn", "pytorch"]
    refused(await admin.post("/runtimes", {"name": "other"}), 422, "invalid", "body.requirements")
    refused(await admin.post("/runtimes", {"name": "x", "requirements": ["a\nb"]}), 422)


async def test_same_definition_is_built_once(ground: Ground) -> None:
    admin = ground.campus.admin
    first = await create(admin, "one", ["numpy"])
    second = await create(admin, "two", ["numpy"])
    other = await create(admin, "one", ["pandas"])
    assert first["workload_id"] == second["workload_id"]
    assert (other["version"], other["workload_id"] == first["workload_id"]) == (2, False)
    await ground.pass_time(120)
    assert set((await states(admin)).values()) == {"ready"}
    work = await ground.submit(admin, "newest", runtime="one")
    assert (await ground.get(work))["spec"]["runtime"] == "one:2"
    made(await admin.delete(f"/runtimes/{first['id']}"))
    assert await ground.state(second["workload_id"]) == "succeeded"
    made(await admin.delete(f"/runtimes/{second['id']}"))
    await ground.settle()
    assert await ground.state(second["workload_id"]) == "deleted"


async def test_build_that_failed_can_be_tried_again(ground: Ground) -> None:
    admin = ground.campus.admin
    ground.programs["runtime bad:1"] = Program(5, 1, 2, Ending.FAILED)
    runtime = await create(admin, "bad", ["no-such-package"])
    await ground.pass_time(30)
    assert await states(admin) == {"bad:1": "failed"}
    answer = await admin.post("/training", _work("x", runtime="bad"))
    assert "corral runtime build bad" in refused(answer, 422, "invalid", "body.runtime")["remedy"]
    del ground.programs["runtime bad:1"]
    again = made(await admin.post(f"/runtimes/{runtime['id']}/build"))
    assert again["state"] == "building"
    assert again["workload_id"] != runtime["workload_id"]
    await ground.pass_time(120)
    assert await states(admin) == {"bad:1": "ready"}


async def test_runtimes_are_their_owners_own(ground: Ground) -> None:
    runtime = await create(ground.campus.admin, "own", [], build=False)
    assert runtime["state"] == "defined"
    await ground.campus.person("ana")
    ana = await ground.campus.sign_in("ana")
    assert made(await ana.get("/runtimes"))["items"] == []
    refused(await ana.post(f"/runtimes/{runtime['id']}/build"), 404)
    refused(await ana.delete(f"/runtimes/{runtime['id']}"), 404)
    refused(await ana.post("/training", _work("x", runtime="own")), 422, "invalid", "body.runtime")


async def test_runtime_in_use_stays_and_one_that_nobody_used_for_a_month_goes(ground: Ground) -> None:
    owner = await ground.campus.token(ground.campus.admin)
    database, clock = ground.campus.database, ground.campus.clock
    ground.programs["long"] = Program(None, 1, 2)
    runtime = await create(owner, "own", [])
    refused(await owner.delete(f"/runtimes/{runtime['id']}"), 409)
    await ground.pass_time(120)
    work = await ground.submit(owner, "long", runtime="own")
    [listed] = made(await owner.get("/runtimes"))["items"]
    assert listed["used_by"] == [{"id": work, "name": "long"}]
    await ground.settle()
    refused(await owner.delete(f"/runtimes/{runtime['id']}"), 409)
    clock.advance(days=31)
    await database.write(forget_unused, 100)
    assert await states(owner) == {"own:1": "ready"}
    made(await owner.post(f"/workloads/{work}/stop"))
    await ground.pass_time(10)
    await database.write(forget_unused, 100)
    assert await states(owner) == {}


async def test_build_takes_the_smallest_flavor_where_numbers_are_not_allowed(ground: Ground) -> None:
    admin = ground.campus.admin
    await ground.settle()
    queues = made(await admin.get("/queues"))
    root = next(one for one in queues["items"] if one["parent_id"] is None)
    made(await admin.patch(f"/queues/{root['id']}", {"custom_numbers": False}, match="*"))
    runtime = await create(admin, "own", [])
    smallest = made(await admin.get("/flavors"))["items"]
    work = await ground.get(runtime["workload_id"])
    assert work["flavor"] in {one["name"] for one in smallest if not one["gpu"]}


def _work(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "command": ["true"], "resources": {"cpu_milli": 1, "memory_mib": 1}} | more


async def test_runtime_is_built_in_the_zone_that_is_named(ground: Ground) -> None:
    admin = ground.campus.admin
    here = made(await admin.get("/zones"))["items"][0]["name"]
    await ground.campus.database.write(ensure_local_zone, "another-machine", "gpu-2")
    made(await admin.post("/zones", {"name": "lab", "nodes": "1x1xL4-24GB"}))
    first = await create(admin, "own", ["numpy"], zone=here)
    again = await create(admin, "own", ["numpy"])
    far = await create(admin, "own", ["numpy"], zone="gpu-2")
    assert [one["zone"] for one in (first, again, far)] == [here, here, "gpu-2"]
    assert first["workload_id"] == again["workload_id"] != far["workload_id"]
    work = made(await admin.get(f"/workloads/{far['workload_id']}"))
    assert (work["zone_name"], work["zone_reason"]) == ("gpu-2", "named")
    defined = await create(admin, "later", ["numpy"], build=False)
    assert (defined["zone"], defined["state"]) == (None, "defined")
    path = f"/runtimes/{defined['id']}/build"
    refused(await admin.post(path, {"zone": "nowhere"}), 422, "invalid", "body.zone")
    refused(await admin.post(path, {"zone": "lab"}), 422, "invalid")
    assert made(await admin.post(path, {"zone": "gpu-2"}))["zone"] == "gpu-2"
    answer = refused(await admin.post(path, {"zone": here}), 409, "conflict")
    assert answer["detail"] == "later:1 is built in the zone gpu-2."
    assert made(await admin.post(path))["workload_id"] == far["workload_id"]


async def test_runtime_is_used_only_in_the_zone_that_built_it(ground: Ground) -> None:
    admin = ground.campus.admin
    await create(admin, "own", ["numpy"])
    await ground.pass_time(120)
    here = made(await admin.get("/zones"))["items"][0]["name"]
    await ground.campus.database.write(ensure_local_zone, "another-machine", "gpu-2")
    answer = await admin.post("/training", _work("elsewhere", runtime="own", zone="gpu-2"))
    problem = refused(answer, 422, "invalid", "body.runtime")
    assert (problem["detail"], problem["remedy"]) == (
        f"The runtime own:1 was built in the zone {here}, and is only there.",
        f"Leave the zone out, or use {here}.",
    )
    seen = made(await admin.post("/training/probe", _work("anywhere", runtime="own")))
    assert [one["zone_name"] for one in seen["zones"]] == [here]
    work = made(await admin.post("/training", _work("anywhere", runtime="own")))
    assert (work["zone_name"], work["zone_reason"]) == (here, "only")
