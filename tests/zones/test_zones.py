"""Zones: this machine found by its identity, simulated ones added and removed."""

import pytest
from sqlalchemy import func, select

from corral.engines.interface import Inventory
from corral.store.database import Database, Transaction
from corral.zones import tables, zones
from corral.zones.service import record_inventory
from corral.zones.zones import all_zones, ensure_local_zone, is_identity
from tests.campus import Campus, made, refused
from tests.zones.machines import machine


async def test_each_machine_finds_its_own_zone(database: Database) -> None:
    one = await database.write(ensure_local_zone, "a" * 32, "one")
    two = await database.write(ensure_local_zone, "b" * 32, "two")
    assert (one.name, two.name) == ("local", "two")
    assert await database.write(ensure_local_zone, "a" * 32, "one") == one
    assert await database.write(ensure_local_zone, "b" * 32, "renamed") == two
    third = await database.write(ensure_local_zone, "c" * 32, "two")
    assert third.name == "two-cccccccc"
    assert await database.read(all_zones) == (one, two, third)


async def test_zone_is_led_only_by_what_is_behind_it(database: Database) -> None:
    one = await database.write(ensure_local_zone, "a" * 32, "one")
    assert await database.read(is_identity, one.id, "a" * 32)
    assert not await database.read(is_identity, one.id, "b" * 32)


async def test_simulated_zone_comes_and_goes(campus: Campus) -> None:
    lab = made(await campus.admin.post("/zones", {"name": "lab", "nodes": "4x8xH100-80GB"}))
    assert (lab["kind"], lab["nodes"], lab["simulated"]) == ("simulated", "4x8xH100-80GB", True)
    names = [zone["name"] for zone in made(await campus.admin.get("/zones"))["items"]]
    assert names == ["local", "lab"]
    problem = refused(await campus.admin.post("/zones", {"name": "lab", "nodes": "1x1xL4-24GB"}), 409)
    assert problem["errors"][0]["field"] == "body.name"
    assert (await campus.admin.delete(f"/zones/{lab['id']}")).status_code == 204
    refused(await campus.admin.get(f"/zones/{lab['id']}"), 404)
    assert not [
        pool for pool in made(await campus.admin.get("/pools"))["items"] if pool["zone_name"] != "local"
    ]
    made(await campus.admin.post("/zones", {"name": "lab", "nodes": "1x1xL4-24GB"}))


async def test_nodes_of_a_removed_zone_are_gone_with_it(campus: Campus, database: Database) -> None:
    lab = made(await campus.admin.post("/zones", {"name": "lab", "nodes": "2x4xL4-24GB"}))

    def see(transaction: Transaction) -> None:
        record_inventory(transaction, lab["id"], Inventory(1, (machine("l4-1", gpus=4),)))

    await database.write(see)
    (node,) = made(await campus.admin.get(f"/nodes?zone={lab['id']}"))["items"]
    assert len(made(await campus.admin.get(f"/devices?zone={lab['id']}"))["items"]) == 4
    assert (await campus.admin.delete(f"/zones/{lab['id']}")).status_code == 204
    for what in ("nodes", "devices"):
        assert "l4-1" not in str(made(await campus.admin.get(f"/{what}"))["items"])
    refused(await campus.admin.get(f"/nodes/{node['id']}"), 404)

    def rows(transaction: Transaction) -> tuple[int, int, object]:
        """Of nodes and devices that are left, and how the history of the node ends."""
        nodes = select(func.count()).where(tables.node.c.id == node["id"])
        devices = select(func.count()).where(tables.device.c.node_id == node["id"])
        history = tables.cluster_history.c
        last = select(history.after).where(history.object_id == node["id"]).order_by(history.sequence.desc())
        return transaction.scalar(nodes), transaction.scalar(devices), transaction.scalar(last.limit(1))

    assert await database.read(rows) == (0, 0, None)


async def test_machine_is_not_removed_and_a_zone_with_work_neither(campus: Campus) -> None:
    local = made(await campus.admin.get("/zones"))["items"][0]
    problem = refused(await campus.admin.delete(f"/zones/{local['id']}"), 409)
    assert problem["detail"] == "local is a machine, not a simulation."
    lab = made(await campus.admin.post("/zones", {"name": "lab", "nodes": "4x8xH100-80GB"}))
    document = {
        "name": "night",
        "command": ["true"],
        "resources": {"cpu": 1, "memory": "1Gi"},
        "simulation": {"duration": 60},
    }
    made(await campus.admin.post("/training", document))
    problem = refused(await campus.admin.delete(f"/zones/{lab['id']}"), 409)
    assert problem["detail"] == "Work is still in it: night."


async def test_who_manages_zones_of_a_part_neither_adds_nor_removes_any(campus: Campus) -> None:
    """Machines belong to no organisation, so what is held below the root is not enough."""
    part = await campus.organisation("Part")
    role = await campus.role("Zones", ["zones.read", "zones.manage"])
    await campus.person("zoe", part, role)
    zoe = await campus.sign_in("zoe")
    new = {"name": "lab", "nodes": "1x1xL4-24GB"}
    refused(await zoe.post("/zones", new), 403, "forbidden")
    lab = made(await campus.admin.post("/zones", new))
    refused(await zoe.delete(f"/zones/{lab['id']}"), 403, "forbidden")


async def test_zones_and_pools_that_read_the_same_do_not_stand_side_by_side(campus: Campus) -> None:
    lab = made(await campus.admin.post("/zones", {"name": "Lab one", "nodes": "1x1xL4-24GB"}))
    for name in ("lab one", "LAB  ONE", "Lab\u00a0one", "\uff2cab one"):
        refused(await campus.admin.post("/zones", {"name": name, "nodes": "1x1xL4-24GB"}), 409)
    pool = {"zone_id": lab["id"], "name": "Big", "labels": {"size": "big"}}
    big = made(await campus.admin.post("/pools", pool))
    refused(await campus.admin.post("/pools", pool | {"name": "big", "labels": {"size": "small"}}), 409)
    made(await campus.admin.patch(f"/pools/{big['id']}", {"name": "BIG"}, match="*"))


async def test_there_are_so_many_simulated_zones(campus: Campus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zones, "MOST_SIMULATED", 2)
    made_ones = [
        made(await campus.admin.post("/zones", {"name": f"lab {number}", "nodes": "1x1xL4-24GB"}))
        for number in range(2)
    ]
    more = {"name": "one more", "nodes": "1x1xL4-24GB"}
    problem = refused(await campus.admin.post("/zones", more), 409)
    assert problem["detail"] == "There are already 2 simulated zones."
    made(await campus.admin.delete(f"/zones/{made_ones[0]['id']}"))
    made(await campus.admin.post("/zones", more))
