"""What an allocation was at its grant stays as it was, whatever is renamed, moved or edited later."""

from typing import Any

import pytest
from sqlalchemy import select

from corral.store.database import Database
from corral.usage.tables import usage_allocation
from tests.campus import made
from tests.control.ground import Ground

FROZEN = (
    "organisation_path",
    "user_id",
    "zone_name",
    "pool_id",
    "pool_name",
    "kind",
    "flavor",
    "device_model",
)


async def _held(database: Database, workload_id: str) -> dict[str, Any]:
    a = usage_allocation.c
    (row,) = await database.read(
        lambda t: t.rows(select(usage_allocation).where(a.workload_id == workload_id))
    )
    return dict(row._mapping)


async def test_renames_moves_and_edits_change_nothing_of_a_grant(ground: Ground) -> None:
    campus, database = ground.campus, ground.campus.database
    lab, other = await campus.organisation("Lab"), await campus.organisation("Other")
    made(
        await campus.admin.post(
            "/flavors",
            {
                "name": "half",
                "cpu_milli": 1000,
                "memory_mib": 1024,
                "gpu": {"memory_mib": 40960, "mode": "shared"},
                "organisation_ids": [campus.root],
            },
        )
    )
    flavor = next(one for one in made(await campus.admin.get("/flavors"))["items"] if one["name"] == "half")
    await campus.person("mei", lab)
    mei = await campus.sign_in("mei")
    work = await ground.submit(mei, "sliced", resources=None, flavor="half")
    await ground.settle()
    before = await _held(database, work)
    assert {name: before[name] for name in ("kind", "flavor", "mode", "device_model", "preemptible")} == {
        "kind": "training",
        "flavor": "half",
        "mode": "shared",
        "device_model": "H100",
        "preemptible": True,
    }
    (pool,) = made(await campus.admin.get("/pools"))["items"]
    assert (before["pool_id"], before["pool_name"]) == (pool["id"], "default")
    assert before["organisation_path"].rstrip("/").endswith(lab)
    made(await campus.admin.patch(f"/pools/{pool['id']}", {"name": "renamed"}, match="*"))
    made(await campus.admin.patch(f"/organisations/{lab}", {"parent_id": other, "name": "Gym"}, match="*"))
    made(await campus.admin.patch(f"/flavors/{flavor['id']}", {"name": "quarter"}, match="*"))
    await ground.pass_time(60)
    made(await mei.post(f"/workloads/{work}/stop"))
    await ground.pass_time(60)
    after = await _held(database, work)
    assert after["ended_us"] is not None
    assert {name: after[name] for name in FROZEN} == {name: before[name] for name in FROZEN}
    (one, *_) = made(await mei.get("/usage/records"))["items"]
    assert {name: one[name] for name in FROZEN} == {name: before[name] for name in FROZEN}


@pytest.mark.parametrize(
    ("asked", "mode", "model"),
    [({"gpu": {"count": 2}}, "whole", "H100"), ({"gpu": {"memory_mib": 8192}}, "vgpu", "H100"), ({}, "", "")],
)
async def test_mode_says_how_devices_were_given(
    ground: Ground, asked: dict[str, Any], mode: str, model: str
) -> None:
    work = await ground.submit(
        ground.campus.admin, "work", resources={"cpu_milli": 1000, "memory_mib": 1024, **asked}
    )
    await ground.settle()
    held = await _held(ground.campus.database, work)
    assert (held["mode"], held["device_model"], held["flavor"]) == (mode, model, "")


async def test_usage_is_told_apart_by_what_was_granted(ground: Ground) -> None:
    admin = ground.campus.admin
    sliced = {"cpu_milli": 1000, "memory_mib": 1024, "gpu": {"memory_mib": 8192}}
    for name, more in (("whole", {}), ("sliced", {"resources": sliced}), ("kept", {"preemptible": True})):
        await ground.submit(admin, name, **more)
    await ground.pass_time(120)
    (pool,) = made(await admin.get("/pools"))["items"]
    for by, expected in (
        ("pool", {(pool["id"], "default")}),
        ("flavor", {("", "")}),
        ("kind", {("training", "")}),
        ("model", {("H100", "")}),
        ("mode", {("whole", ""), ("vgpu", "")}),
        ("preemptible", {("true", "")}),
    ):
        sums = made(await admin.get("/usage", params={"by": by}))["items"]
        assert {(one["owner"], one["owner_name"]) for one in sums} == expected, by
