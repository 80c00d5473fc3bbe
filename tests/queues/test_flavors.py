"""Flavors over HTTP: what they can be made of, who may use and change them."""

from typing import Any

from tests.campus import ADMINISTRATOR, Campus, made, refused
from tests.zones.machines import machine, see

SMALL = {"cpu_milli": 2000, "memory_mib": 4096}


async def named(campus: Campus, **where: str) -> dict[str, Any]:
    items = made(await campus.admin.get("/flavors", params=where))["items"]
    return {one["name"]: one for one in items}


async def test_first_flavors_are_ordinary_ones(campus: Campus) -> None:
    await campus.database.write(see, machine())
    found = await named(campus)
    assert list(found) == ["cpu-small", "cpu-large", "gpu-8g", "gpu-1", "gpu-8"]
    assert all(one["preset"] and one["may_change"] and one["enabled"] for one in found.values())
    assert found["gpu-8g"]["gpu"]["memory_mib"] == 8192
    assert [place["name"] for place in found["gpu-1"]["organisations"]] == ["Corral"]
    path = f"/flavors/{found['gpu-1']['id']}"
    changed = made(await campus.admin.patch(path, {"name": "one-gpu", "cpu_milli": 4000}, match='"1"'))
    assert (changed["name"], changed["cpu_milli"], changed["generation"]) == ("one-gpu", 4000, 2)
    made(await campus.admin.delete(path, match='"2"'))
    assert "one-gpu" not in await named(campus)


async def test_flavor_is_made_of_whole_gpus_or_of_one_kind_of_slice(campus: Campus) -> None:
    everyone = {"organisation_ids": [campus.root], **SMALL}
    for number, (gpu, mode) in enumerate(
        (
            ({}, "whole"),
            ({"count": 4, "models": ["H100", "A100", "H100"]}, "whole"),
            ({"memory_mib": 8192, "compute_percent": 20}, "vgpu"),
            ({"fraction_milli": 250, "mode": "shared"}, "shared"),
            ({"profile": "1g.10gb"}, "mig"),
        )
    ):
        one = made(await campus.admin.post("/flavors", {"name": f"f-{number}", "gpu": gpu, **everyone}))
        assert one["gpu"]["mode"] == mode
    assert (await named(campus))["f-1"]["gpu"]["models"] == ["A100", "H100"]
    for gpu, field in (
        ({"memory_mib": 8192, "fraction_milli": 250}, "body.gpu.fraction_milli"),
        ({"compute_percent": 20}, "body.gpu.compute_percent"),
        ({"memory_mib": 8192, "mode": "whole"}, "body.gpu.mode"),
        ({"profile": "1g.10gb", "mode": "vgpu"}, "body.gpu.mode"),
        ({"count": 0}, "body.gpu.count"),
    ):
        answer = await campus.admin.post("/flavors", {"name": "bad", "gpu": gpu, **everyone})
        refused(answer, 422, "invalid", field)
    for body, status, field in (
        ({"name": "f-0"}, 409, "body.name"),
        ({"name": "Big One"}, 422, "body.name"),
        ({"name": "x", "cpu_milli": 0}, 422, "body.cpu_milli"),
        ({"name": "x", "organisation_ids": []}, 422, "body.organisation_ids"),
    ):
        refused(await campus.admin.post("/flavors", {**everyone, **body}), status, None, field)


async def test_gpu_can_be_taken_out_of_a_flavor(campus: Campus) -> None:
    new = {"name": "f", "gpu": {"count": 2}, "organisation_ids": [campus.root], **SMALL}
    one = made(await campus.admin.post("/flavors", new))
    changed = made(await campus.admin.patch(f"/flavors/{one['id']}", {"gpu": None}, match="*"))
    assert changed["gpu"] is None
    same = made(await campus.admin.patch(f"/flavors/{one['id']}", {"gpu": None}, match="*"))
    assert same["generation"] == changed["generation"] == 2


async def test_flavor_is_offered_where_it_was_given_and_below(campus: Campus) -> None:
    science = await campus.organisation("Science")
    vision = await campus.organisation("Vision", science)
    arts = await campus.organisation("Arts")
    made(await campus.admin.post("/flavors", {"name": "lab", "organisation_ids": [science], **SMALL}))
    assert "lab" in await named(campus, organisation=vision)
    assert "lab" not in await named(campus, organisation=arts)
    assert "lab" not in await named(campus, organisation=campus.root)
    await campus.person("mei", vision)
    await campus.person("ann", arts)
    for name, sees in (("mei", ["lab"]), ("ann", [])):
        client = await campus.sign_in(name)
        items = made(await client.get("/flavors"))["items"]
        assert [one["name"] for one in items] == sees
        assert all(one["organisations"] == [] and not one["may_change"] for one in items)


async def test_flavor_stays_with_managers_when_its_only_organisation_is_gone(campus: Campus) -> None:
    lab = await campus.organisation("Lab")
    made(await campus.admin.post("/flavors", {"name": "lab", "organisation_ids": [lab], **SMALL}))
    made(await campus.admin.delete(f"/organisations/{lab}", match="*"))
    left = (await named(campus))["lab"]
    assert left["organisations"] == []
    assert left["may_change"] is True


async def test_department_makes_flavors_for_itself_only(campus: Campus) -> None:
    science = await campus.organisation("Science")
    maker = await campus.role("Maker", ["flavors.read", "flavors.manage"], science)
    await campus.person("lin", science, maker)
    await campus.person("lead", science, ADMINISTRATOR)
    made(await campus.admin.post("/flavors", {"name": "all", "organisation_ids": [campus.root], **SMALL}))
    client = await campus.sign_in("lin")
    own = made(await client.post("/flavors", {"name": "own", "organisation_ids": [science], **SMALL}))
    assert own["may_change"] is True
    wide = {"name": "wide", "organisation_ids": [science, campus.root], **SMALL}
    refused(await client.post("/flavors", wide), 404, "not-found")
    shown = {one["name"]: one for one in made(await client.get("/flavors"))["items"]}
    path = f"/flavors/{shown['all']['id']}"
    refused(await client.patch(path, {"enabled": False}, match="*"), 403, "forbidden")
    refused(await client.delete(path, match="*"), 403, "forbidden")
    lead = await campus.sign_in("lead")
    refused(await lead.post("/flavors", {"name": "x", "organisation_ids": [science], **SMALL}), 403)
