"""Flavors over HTTP: what they can be made of, who may use and change them."""

from dataclasses import replace
from typing import Any

import pytest

from tests.campus import ADMINISTRATOR, Campus, made, refused
from tests.zones.machines import GPU_MIB, machine, see

SMALL = {"cpu_milli": 2000, "memory_mib": 4096}
NO_ROOM = "Fits on no node: it asks for 12 GPUs on one node, and the largest node has 8."


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


async def test_flavor_that_fits_on_no_node_is_made_and_says_so(campus: Campus) -> None:
    await campus.database.write(see, machine("small", 4), machine("big", 8))
    new = {"name": "a-dozen", "gpu": {"count": 12}, "organisation_ids": [campus.root], **SMALL}
    one = made(await campus.admin.post("/flavors", new))
    lack = {"kind": "devices", "asked": 12, "most": 8, "names": [], "restricted": False, "sentence": NO_ROOM}
    assert one["lack"] == lack
    path = f"/flavors/{one['id']}"
    assert made(await campus.admin.get(path))["lack"] == lack
    assert [name for name, each in (await named(campus)).items() if each["lack"]] == ["a-dozen"]
    # A larger node joins: nobody has to change the flavor.
    await campus.database.write(see, machine("small", 4), machine("big", 8), machine("huge", 16))
    assert made(await campus.admin.get(path))["lack"] is None
    changed = made(await campus.admin.patch(path, {"gpu": {"count": 17}}, match="*"))
    assert (changed["lack"]["asked"], changed["lack"]["most"]) == (17, 16)


async def test_flavors_that_fit_on_no_node_come_last(campus: Campus) -> None:
    await campus.database.write(see, machine())
    new = {"name": "cpu-huge", "organisation_ids": [campus.root], "cpu_milli": 65_000, "memory_mib": 1024}
    made(await campus.admin.post("/flavors", new))
    assert list(await named(campus)) == ["cpu-small", "cpu-large", "gpu-8g", "gpu-1", "gpu-8", "cpu-huge"]
    await campus.database.write(see, machine(), replace(machine("wide"), cpu_milli=128_000))
    assert list(await named(campus)) == ["cpu-small", "cpu-large", "cpu-huge", "gpu-8g", "gpu-1", "gpu-8"]


@pytest.mark.parametrize(
    ("asks", "kind", "asked", "most"),
    [
        ({"cpu_milli": 64_001}, "cpu_milli", 64_001, 64_000),
        ({"memory_mib": 512 * 1024 + 1}, "memory_mib", 512 * 1024 + 1, 512 * 1024),
        ({"gpu": {"models": ["B200"]}}, "models", 0, 0),
        ({"gpu": {"memory_mib": GPU_MIB + 1}}, "slice_mib", GPU_MIB + 1, GPU_MIB),
        ({"gpu": {"profile": "1g.10gb"}}, "profile", 0, 0),
        ({"gpu": {"count": 2}, "cpu_milli": 96_000}, "combined", 0, 0),
        ({"gpu": {"count": 2}}, None, 0, 0),
    ],
)
async def test_lack_of_a_flavor_says_what_no_node_has(
    campus: Campus, asks: dict[str, Any], kind: str | None, asked: int, most: int
) -> None:
    nodes = [machine("gpus", 2)]
    if kind == "combined":
        nodes.append(replace(machine("cpus", 0), cpu_milli=128_000))
    await campus.database.write(see, *nodes)
    new = {"name": "f", "organisation_ids": [campus.root], **SMALL, **asks}
    lack = made(await campus.admin.post("/flavors", new))["lack"]
    assert (lack and (lack["kind"], lack["asked"], lack["most"])) == (kind and (kind, asked, most))


async def test_lost_and_cordoned_nodes_count_for_flavors(campus: Campus) -> None:
    await campus.database.write(see, machine("small", 4), machine("big", 8))
    nodes = {one["name"]: one["id"] for one in made(await campus.admin.get("/nodes"))["items"]}
    made(await campus.admin.patch(f"/nodes/{nodes['big']}", {"cordoned": True}, match="*"))
    assert (await named(campus))["gpu-8"]["lack"] is None
    await campus.database.write(see, machine("small", 4))
    assert (await named(campus))["gpu-8"]["lack"] is None, "it is lost, and may come back"


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


async def test_amounts_of_flavors_are_read_by_the_api(campus: Campus) -> None:
    text = {
        "name": "by-text",
        "cpu": "500m",
        "memory": "4Gi",
        "gpu": "2x8Gi",
        "organisation_ids": [campus.root],
    }
    made_flavor = made(await campus.admin.post("/flavors", text))
    gpu = made_flavor["gpu"]
    assert (made_flavor["cpu_milli"], made_flavor["memory_mib"]) == (500, 4096)
    assert (gpu["count"], gpu["memory_mib"], "amount" in gpu) == (2, 8192, False)
    place = f"/flavors/{made_flavor['id']}"
    change = {"cpu": 2, "gpu": {"amount": "1", "models": ["H100-80GB"]}}
    changed = made(await campus.admin.patch(place, change, match="*"))
    assert (changed["cpu_milli"], changed["memory_mib"]) == (2000, 4096)
    assert (changed["gpu"]["count"], changed["gpu"]["models"]) == (1, ["H100-80GB"])
    assert made(await campus.admin.patch(place, {"gpu": "0"}, match="*"))["gpu"] is None
    refused(await campus.admin.patch(place, {"cpu": "2", "cpu_milli": 2000}, match="*"), 422)
    refused(await campus.admin.patch(place, {"memory": "64"}, match="*"), 422)
    refused(await campus.admin.post("/flavors", text | {"name": "x", "gpu": "1.5"}), 422)
