"""How much of what others wait for one workload may ask for: a pool says it, and submission holds to it."""

from typing import Any

import pytest

from tests.campus import ADMINISTRATOR, made, refused
from tests.control.ground import Ground

ROADS = ("/training", "/training/probe", "/training/preview")
USUAL = {"grace_seconds": 600, "retries": 10, "replicas": 256}
CAPS = {"grace_seconds": "most_grace_seconds", "retries": "most_retries", "replicas": "most_replicas"}


def document(**asked: Any) -> dict[str, Any]:
    resources = {"cpu_milli": 1, "memory_mib": 1}
    return {"name": "x", "command": ["true"], "resources": resources, **asked}


async def pool_named(ground: Ground, name: str) -> dict[str, Any]:
    pools: list[dict[str, Any]] = made(await ground.campus.admin.get("/pools"))["items"]
    return next(one for one in pools if one["name"] == name)


async def change(ground: Ground, name: str, **caps: int) -> None:
    pool = await pool_named(ground, name)
    made(await ground.campus.admin.patch(f"/pools/{pool['id']}", caps, match="*"))


async def another_pool(ground: Ground, name: str = "patient", **caps: int) -> str:
    zone = made(await ground.campus.admin.get("/zones"))["items"][0]["id"]
    new = {"zone_id": zone, "name": name, "labels": {"pool": name}, **caps}
    return str(made(await ground.campus.admin.post("/pools", new))["id"])


async def pools_of(ground: Ground, **asked: Any) -> list[str]:
    spec: dict[str, Any] = made(await ground.campus.admin.post("/training", document(**asked)))["spec"]
    return list(spec["pool_ids"])


@pytest.mark.parametrize("field", USUAL)
async def test_more_than_the_pool_allows_is_refused_until_it_is_raised(ground: Ground, field: str) -> None:
    await ground.campus.person("mei")
    mei = await ground.campus.sign_in("mei")
    assert (await pool_named(ground, "default"))[CAPS[field]] == USUAL[field]
    for road in ROADS:
        made(await mei.post(road, document(**{field: USUAL[field]})))
        problem = refused(
            await mei.post(road, document(**{field: USUAL[field] + 1})), 422, field=f"body.{field}"
        )
        (error,) = problem["errors"]
        shown = "600 s" if field == "grace_seconds" else str(USUAL[field])
        assert error["message"] == f"The pool default allows at most {shown}."
        assert error["remedy"] == "Ask for less; whoever manages zones can raise it."
    await change(ground, "default", **{CAPS[field]: USUAL[field] + 1})
    for road in ROADS:
        made(await mei.post(road, document(**{field: USUAL[field] + 1})))


async def test_every_number_that_is_too_high_is_named(ground: Ground) -> None:
    asked = document(grace_seconds=3600, retries=100, replicas=1000)
    problem = refused(await ground.campus.admin.post("/training", asked), 422)
    assert [one["field"] for one in problem["errors"]] == [f"body.{field}" for field in USUAL]


async def test_work_goes_only_to_pools_that_allow_it(ground: Ground) -> None:
    patient = await another_pool(ground, most_grace_seconds=1800)
    default = (await pool_named(ground, "default"))["id"]
    assert await pools_of(ground, grace_seconds=600) == []
    assert await pools_of(ground, grace_seconds=600, pools=["default", "patient"]) == [default, patient]
    assert await pools_of(ground, grace_seconds=601) == [patient]
    assert await pools_of(ground, grace_seconds=601, pools=["default", "patient"]) == [patient]
    admin = ground.campus.admin
    alone = document(grace_seconds=601, pools=["default"])
    problem = refused(await admin.post("/training", alone), 422, field="body.grace_seconds")
    assert problem["errors"][0]["message"] == "The pool default allows at most 600 s."
    problem = refused(await admin.post("/training", document(grace_seconds=1801)), 422)
    told = "No pool that it may use allows all that it asks for; patient allows at most 1800 s."
    assert problem["errors"][0]["message"] == told


async def test_no_pool_is_chosen_that_allows_one_number_and_not_the_other(ground: Ground) -> None:
    await another_pool(ground, most_grace_seconds=1800)
    await change(ground, "default", most_retries=50)
    admin = ground.campus.admin
    made(await admin.post("/training", document(grace_seconds=1800)))
    made(await admin.post("/training", document(retries=50)))
    problem = refused(await admin.post("/training", document(grace_seconds=1800, retries=50)), 422)
    assert len(problem["errors"]) == 1


async def test_work_beyond_a_cap_that_is_lowered_goes_on(ground: Ground) -> None:
    running = await ground.submit(ground.campus.admin, "running", retries=10)
    await ground.settle()
    before = await ground.state(running)
    waiting = await ground.submit(ground.campus.admin, "waiting", retries=10)
    await change(ground, "default", most_retries=0)
    await ground.pass_time(10)
    assert before in {"starting", "running"}
    assert await ground.states(running, waiting) == ["running", "running"]


async def test_only_who_manages_zones_changes_caps_and_within_bounds(ground: Ground) -> None:
    lab = await ground.campus.organisation("Lab")
    await ground.campus.person("mei", lab)
    await ground.campus.person("lead", lab, ADMINISTRATOR)
    pool = await pool_named(ground, "default")
    for name in ("mei", "lead"):
        client = await ground.campus.sign_in(name)
        for cap in CAPS.values():
            refused(await client.patch(f"/pools/{pool['id']}", {cap: 30}, match="*"), 403, "forbidden")
    for cap, bounds in (
        # Work that says nothing has 30 s: no cap refuses it.
        ("most_grace_seconds", (29, 3601)),
        ("most_retries", (-1, 101)),
        ("most_replicas", (0, 1001)),
    ):
        for value in bounds:
            answer = await ground.campus.admin.patch(f"/pools/{pool['id']}", {cap: value}, match="*")
            refused(answer, 422, field=f"body.{cap}")
    strict = {"most_grace_seconds": 30, "most_retries": 0, "most_replicas": 1}
    await change(ground, "default", **strict)
    made(await ground.campus.admin.post("/training", document()))
    (entry,) = await ground.campus.audit(object=pool["id"], action="pool.change")
    assert entry["after"] == strict


async def test_pool_that_is_left_out_for_its_caps_is_named(ground: Ground) -> None:
    await another_pool(ground, "patient", most_retries=50)
    told = made(await ground.campus.admin.post("/training/probe", document(retries=20)))
    said = "The pool default is not used: it allows at most 10 retries."
    assert said in told["details"]
    work = made(await ground.campus.admin.post("/training", document(retries=20)))["id"]
    await ground.settle()
    assert said in made(await ground.campus.admin.get(f"/workloads/{work}/why"))["details"]
    told = made(await ground.campus.admin.post("/training/probe", document(retries=10)))
    assert not any("is not used" in one for one in told["details"])
