"""Zones, pools, nodes and devices over HTTP."""

from datetime import datetime, timedelta
from typing import Any

from corral.core.nodes import CORDONED
from corral.zones import journal
from corral.zones.snapshot import pools_and_nodes
from tests.campus import ADMINISTRATOR, Campus, made, refused
from tests.zones.machines import machine, see


async def only(campus: Campus, path: str) -> Any:
    (found,) = made(await campus.admin.get(path))["items"]
    return found


async def test_machine_is_listed_with_what_it_has(campus: Campus) -> None:
    await campus.database.write(see, machine(gpus=2), simulated=True)
    node = await only(campus, "/nodes")
    assert (node["cpu_milli"], node["memory_mib"], node["disk_mib"]) == (64_000, 524_288, 1_048_576)
    assert node["facts"]["operating_system"] == "Debian"
    assert [device["index"] for device in node["devices"]] == [0, 1]
    assert all(device["simulated"] and device["vendor"] == "NVIDIA" for device in node["devices"])
    pool = await only(campus, "/pools")
    assert pool["capacity"] == {"gpu_milli": 2000, "cpu_milli": 64_000, "memory_mib": 524_288}
    assert (pool["name"], pool["nodes_count"], pool["simulated"]) == ("default", 1, True)
    zone = await only(campus, "/zones")
    assert (zone["kind"], zone["nodes_count"], zone["pools_count"]) == ("local", 1, 1)
    assert zone["seen_at"] is not None


async def test_only_a_lost_node_was_last_seen_at_some_time(campus: Campus) -> None:
    """What does not change is not written down: of a node that is ready it would be long ago."""
    await campus.database.write(see, machine("a"), machine("b"))
    campus.clock.advance(minutes=27)
    await campus.database.write(see, machine("a"))
    found = {one["name"]: one for one in made(await campus.admin.get("/nodes"))["items"]}
    assert (found["a"]["state"], found["a"]["seen_at"]) == ("ready", None)
    assert found["b"]["state"] == "lost"
    lost_at = datetime.fromisoformat(found["b"]["seen_at"])
    assert abs(lost_at - campus.clock()) < timedelta(minutes=1)


async def test_nodes_and_devices_come_in_pages_by_name(campus: Campus) -> None:
    await campus.database.write(see, *(machine(f"node-{number}", 2) for number in range(3)))
    for path, key, wanted in (
        ("/nodes", "name", ["node-0", "node-1", "node-2"]),
        ("/devices", "id", [f"node-{node}-gpu-{gpu}" for node in range(3) for gpu in range(2)]),
    ):
        found, cursor = [], None
        while True:
            page = made(
                await campus.admin.get(path, params={"limit": 2, **({"cursor": cursor} if cursor else {})})
            )
            found += [one[key] for one in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert found == wanted


async def test_cordoned_node_says_so_and_scheduling_is_told(campus: Campus) -> None:
    zone = await campus.database.write(see, machine())
    position = await campus.database.read(journal.latest, zone)
    node = await only(campus, "/nodes")
    answer = await campus.admin.patch(
        f"/nodes/{node['id']}", {"cordoned": True}, match=f'"{node["generation"]}"'
    )
    assert made(answer)["cordoned"] is True
    assert answer.headers["etag"] == f'"{node["generation"] + 1}"'
    told = await campus.database.read(journal.read_after, zone, position)
    assert [(one.kind, one.object_id) for one in told] == [("node", node["id"])]
    ground = await campus.database.read(pools_and_nodes, zone)
    assert ground.nodes[0].taints == (CORDONED,)
    stale = await campus.admin.patch(
        f"/nodes/{node['id']}", {"cordoned": False}, match=f'"{node["generation"]}"'
    )
    refused(stale, 412, "stale")
    made(await campus.admin.patch(f"/nodes/{node['id']}", {"cordoned": False}, match="*"))
    assert [one["action"] for one in await campus.audit(object=node["id"])] == [
        "node.uncordon",
        "node.cordon",
    ]


async def test_pool_takes_the_nodes_that_carry_its_labels_and_gives_them_back(campus: Campus) -> None:
    zone = await campus.database.write(see, machine("a", labels={"gpu": "h100"}), machine("b"))
    new = {"zone_id": zone, "name": "dgx", "labels": {"gpu": "h100"}, "reservations": 2}
    pool = made(await campus.admin.post("/pools", new))
    assert (pool["nodes_count"], pool["reservations"]) == (1, 2)
    nodes = made(await campus.admin.get("/nodes", params={"pool": pool["id"]}))["items"]
    assert [node["name"] for node in nodes] == ["a"]
    ground = await campus.database.read(pools_and_nodes, zone)
    assert {one.name: one.reservations for one in ground.pools}[pool["id"]] == 2
    change = {"labels": {"gpu": "a100"}, "arrangement": "spreading"}
    changed = made(await campus.admin.patch(f"/pools/{pool['id']}", change, match='"1"'))
    assert (changed["nodes_count"], changed["arrangement"], changed["generation"]) == (0, "spreading", 2)
    assert {node["pool_name"] for node in made(await campus.admin.get("/nodes"))["items"]} == {"default"}
    same = made(await campus.admin.patch(f"/pools/{pool['id']}", change, match='"2"'))
    assert same["generation"] == 2


async def test_pool_is_deleted_once_its_nodes_have_left(campus: Campus) -> None:
    zone = await campus.database.write(see, machine("a", labels={"gpu": "h100"}))
    pool = made(
        await campus.admin.post("/pools", {"zone_id": zone, "name": "dgx", "labels": {"gpu": "h100"}})
    )
    path = f"/pools/{pool['id']}"
    assert "1 nodes" in refused(await campus.admin.delete(path, match="*"), 409, "conflict")["detail"]
    made(await campus.admin.patch(path, {"labels": {"gpu": "none"}}, match="*"))
    position = await campus.database.read(journal.latest, zone)
    assert (await campus.admin.delete(path, match='"2"')).status_code == 204
    told = await campus.database.read(journal.read_after, zone, position)
    assert [(one.kind, one.object_id) for one in told] == [("pool", pool["id"])]
    refused(await campus.admin.get(path), 404)


async def test_pools_that_would_share_nodes_are_refused(campus: Campus) -> None:
    zone = await campus.database.write(see, machine())
    default = (await only(campus, "/pools"))["id"]
    made(await campus.admin.post("/pools", {"zone_id": zone, "name": "a", "labels": {"x": "1"}}))
    for body, status, field in (
        ({"name": "b", "labels": {}}, 422, "body.labels"),
        ({"name": "b", "labels": {"x": "1"}}, 422, "body.labels"),
        ({"name": "b", "labels": {"corral.pool": "1"}}, 422, "body.labels"),
        ({"name": "a", "labels": {"x": "2"}}, 409, "body.name"),
        ({"name": "b", "labels": {"x": "2"}, "unit_gpu_milli": 0}, 422, "body.unit_gpu_milli"),
        (
            {"name": "b", "labels": {"x": "2"}, "topologies": [{"name": "t", "levels": ["node"]}]},
            422,
            "body.topologies",
        ),
        ({"zone_id": "z" + "0" * 22, "name": "b", "labels": {"x": "2"}}, 422, "body.zone_id"),
    ):
        refused(await campus.admin.post("/pools", {"zone_id": zone, **body}), status, None, field)
    refused(await campus.admin.patch(f"/pools/{default}", {"labels": {"x": "2"}}, match="*"), 409, "conflict")
    refused(await campus.admin.get("/pools/p" + "0" * 22), 404, "not-found")
    refused(await campus.admin.get("/nodes/n" + "0" * 22), 404, "not-found")


async def test_everybody_sees_machines_and_only_managers_of_the_root_change_them(
    campus: Campus,
) -> None:
    zone = await campus.database.write(see, machine())
    lab = await campus.organisation("Lab")
    await campus.person("mei", lab)
    await campus.person("lead", lab, ADMINISTRATOR)
    keeper = await campus.role("Keeper", ["zones.read", "zones.manage"], lab)
    await campus.person("keeper", lab, keeper)
    node = await only(campus, "/nodes")
    for name in ("mei", "lead", "keeper"):
        client = await campus.sign_in(name)
        assert len(made(await client.get("/devices"))["items"]) == 8
        refused(await client.patch(f"/nodes/{node['id']}", {"cordoned": True}, match="*"), 403, "forbidden")
        new = {"zone_id": zone, "name": "mine", "labels": {"x": "1"}}
        refused(await client.post("/pools", new), 403, "forbidden")
