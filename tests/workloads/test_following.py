"""Queues show what their work holds, organisations stay while records speak of them, numbers need leave."""

from sqlalchemy import insert

from corral.control.invariants import check_invariants
from corral.inputs.tables import runtime
from corral.queues.service import ensure_queue
from tests.campus import made, refused
from tests.control.ground import Ground


async def test_queues_show_what_their_work_holds_and_give_it_back(ground: Ground) -> None:
    campus = ground.campus
    lab = await campus.organisation("Lab")
    await campus.person("mei", lab)
    await ground.submit(await campus.sign_in("mei"), "fit", gpus=2)

    async def used() -> dict[str, int]:
        items = made(await campus.admin.get("/queues"))["items"]
        return {one["name"]: one["quotas"][0]["used"] for one in items}

    assert await used() == {"Corral": 0, "Lab": 0, "Mei": 0}
    await ground.pass_time(10)
    assert await used() == {"Corral": 2000, "Lab": 2000, "Mei": 2000}
    await ground.pass_time(110)
    assert await used() == {"Corral": 0, "Lab": 0, "Mei": 0}


async def test_organisation_with_past_work_is_deleted_and_the_ledger_keeps_its_name(ground: Ground) -> None:
    campus = ground.campus
    lab = await campus.organisation("Lab")
    work = await ground.submit(campus.admin, "fit", organisation_id=lab)
    build = await ground.submit(campus.admin, "build", organisation_id=lab)
    admin_id = made(await campus.admin.get("/me"))["id"]
    now = campus.database.now()
    built = insert(runtime).values(
        id="r0",
        user_id=admin_id,
        name="own",
        version=1,
        requirements=[],
        digest="0" * 64,
        workload_id=build,
        created_at=now,
        used_at=now,
    )
    await campus.database.write(lambda t: t.run(built))
    made(await campus.admin.post(f"/workloads/{build}/stop"))
    await ground.pass_time(10)
    problem = refused(await campus.admin.delete(f"/organisations/{lab}", match="*"), 409, "conflict")
    assert "1 workloads that are not over" in problem["detail"]
    await ground.pass_time(110)
    assert (await campus.admin.delete(f"/organisations/{lab}", match="*")).is_success
    seen = await ground.get(work)
    assert (seen["state"], seen["reason"]["sentence"]) == ("deleted", "Corral deleted it.")
    assert seen["organisation"]["id"] == campus.root
    assert await ground.state(build) == "stopped"
    sums = made(await campus.admin.get("/usage?by=organisation"))["items"]
    assert {(one["owner"], one["owner_name"]) for one in sums} == {(lab, "Lab")}
    checked = await campus.database.read(check_invariants)
    assert [one for one in checked if one.broken] == []


async def test_numbers_are_refused_where_flavors_are_to_be_chosen(ground: Ground) -> None:
    campus = ground.campus
    lab = await campus.organisation("Lab")
    mei = await campus.person("mei", lab)
    person = await campus.sign_in("mei")
    await ground.submit(person, "before")
    queues = {one["name"]: one for one in made(await campus.admin.get("/queues"))["items"]}
    path = f"/queues/{queues['Lab']['id']}"
    made(await campus.admin.patch(path, {"custom_numbers": False}, match="*"))
    resources = {"cpu_milli": 1000, "memory_mib": 1024}
    new = {"name": "after", "command": ["true"], "resources": resources}
    refused(await person.post("/training", new), 422, "invalid", "body.resources")
    own = await campus.database.write(ensure_queue, lab, mei)
    made(await campus.admin.patch(f"/queues/{own}", {"custom_numbers": True}, match="*"))
    await ground.submit(person, "again")
