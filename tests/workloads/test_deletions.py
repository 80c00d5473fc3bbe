"""Accounts and pools are deleted when nothing is in the way, and records keep their names."""

from typing import Any

import pytest
from sqlalchemy import select

from corral.control.invariants import check_invariants
from corral.core.permissions import Permission
from corral.store.database import Transaction
from corral.workloads.tables import workload
from tests.campus import PASSWORD, Campus, made, refused
from tests.control.ground import Ground


async def delete_user(campus: Campus, user_id: str) -> Any:
    return await campus.admin.delete(f"/users/{user_id}", match="*")


async def test_deleted_account_lets_nobody_in_and_is_seen_nowhere(campus: Campus) -> None:
    lab = await campus.organisation("Lab")
    mei = await campus.person("mei", lab, mail="mei@example.org")
    browser = await campus.sign_in("mei")
    program = await campus.token(browser)
    link = made(await campus.admin.post(f"/users/{mei}/login-link"))["secret"]
    before = made(await campus.admin.get("/users/summary"))["people"]
    assert (await delete_user(campus, mei)).status_code == 204
    refused(await browser.get("/me"), 401)
    refused(await program.get("/me"), 401)
    refused(await campus.visitor().sign_in("mei", PASSWORD), 401)
    assert (await campus.visitor().post("/session/link", {"secret": link})).status_code in (401, 404, 410)
    refused(await campus.admin.get(f"/users/{mei}"), 404)
    refused(await campus.admin.patch(f"/users/{mei}", {"state": "active"}, match="*"), 404)
    refused(await delete_user(campus, mei), 404)
    assert made(await campus.admin.get("/users", params={"search": "mei"}))["items"] == []
    assert made(await campus.admin.get("/users/summary"))["people"] == before - 1
    assert (await campus.admin.delete(f"/organisations/{lab}", match="*")).is_success


async def test_name_of_a_deleted_account_stays_one_person_in_the_records(campus: Campus) -> None:
    mei = await campus.person("mei")
    assert (await delete_user(campus, mei)).status_code == 204
    (entry,) = await campus.audit(object=mei, action="user.delete")
    assert (entry["object_name"], entry["before"]["display_name"]) == ("mei", "Mei")
    new = {
        "name": "mei",
        "display_name": "Another",
        "organisation_id": campus.root,
        "role_id": campus.presets["user"],
    }
    refused(await campus.admin.post("/users", new), 409, "conflict", "body.name")
    wanted = {
        "organisation_id": campus.root,
        "role_id": campus.presets["user"],
        "csv": "name,display_name\nmei,Another\n",
        "dry_run": True,
    }
    (row,) = made(await campus.admin.post("/users/import", wanted))["rows"]
    assert (row["result"], row["problems"]) == ("error", ["name: taken"])


async def test_own_account_and_the_last_super_administrator_stay(campus: Campus) -> None:
    me = made(await campus.admin.get("/me"))["id"]
    assert "own account" in refused(await delete_user(campus, me), 409)["detail"]
    second = await campus.person("second", role="super_administrator")
    helper = await campus.sign_in("second")
    # Still signed in, and no longer there: the one who is left is the last.
    everything = await campus.role("Everything", [str(one) for one in Permission])
    await campus.person("other", role=everything)
    other = await campus.sign_in("other")
    assert (await helper.delete(f"/users/{me}", match="*")).status_code == 204
    problem = refused(await other.delete(f"/users/{second}", match="*"), 409)
    assert "last active super administrator" in problem["detail"]


async def test_work_that_is_not_over_keeps_the_account(ground: Ground) -> None:
    campus = ground.campus
    lab = await campus.organisation("Lab")
    mei = await campus.person("mei", lab)
    person = await campus.sign_in("mei")
    made(await person.put("/me/secrets/key", {"value": "hidden-value"}))
    work = await ground.submit(person, "fit")
    await ground.pass_time(10)
    problem = refused(await delete_user(campus, mei), 409, "conflict")
    assert "Mei still has 1 workloads that are not over" in problem["detail"]
    await ground.pass_time(110)
    assert (await delete_user(campus, mei)).status_code == 204
    assert (await ground.get(work))["state"] == "deleted"
    names = {one["name"] for one in made(await campus.admin.get("/queues"))["items"]}
    assert names == {"Corral", "Lab"}
    sums = made(await campus.admin.get("/usage?by=user"))["items"]
    assert {(one["owner"], one["owner_name"]) for one in sums} == {(mei, "mei")}
    checked = await campus.database.read(check_invariants)
    assert [one for one in checked if one.broken] == []
    await ground.submit(campus.admin, "after")
    await ground.pass_time(10)


async def test_pool_with_nodes_quotas_or_work_stays(ground: Ground) -> None:
    campus = ground.campus
    zone = made(await campus.admin.get("/zones"))["items"][0]["id"]
    (default,) = made(await campus.admin.get("/pools"))["items"]
    refused(await campus.admin.delete(f"/pools/{default['id']}", match="*"), 409, "conflict")
    new = {"zone_id": zone, "name": "dgx", "labels": {"gpu": "h100"}}
    pool = made(await campus.admin.post("/pools", new))
    path = f"/pools/{pool['id']}"
    lab = await campus.organisation("Lab")
    queue = next(
        one["id"] for one in made(await campus.admin.get("/queues"))["items"] if one["organisation_id"] == lab
    )
    quota = {"pool_id": pool["id"], "resource": "gpu_milli", "guarantee": 1000}
    made(await campus.admin.patch(f"/queues/{queue}", {"quotas": [quota]}, match="*"))
    work = await ground.submit(campus.admin, "named", gpus=1, pools=["dgx"])
    problem = refused(await campus.admin.delete(path, match="*"), 409, "conflict")
    assert "1 workloads that name it and are not over, 1 queues with quotas in it" in problem["detail"]
    made(await campus.admin.post(f"/workloads/{work}/stop"))
    made(await campus.admin.patch(f"/queues/{queue}", {"quotas": [{**quota, "guarantee": 0}]}, match="*"))
    refused(await campus.admin.delete(path, match='"7"'), 412, "stale")
    assert (await campus.admin.delete(path, match="*")).status_code == 204
    assert [one["name"] for one in made(await campus.admin.get("/pools"))["items"]] == ["default"]
    (entry,) = await campus.audit(object=pool["id"], action="pool.delete")
    assert entry["before"] == {"name": "dgx", "labels": {"gpu": "h100"}}
    await ground.submit(campus.admin, "after")
    await ground.pass_time(10)
    assert await ground.state(work) == "stopped"


async def test_home_of_a_deleted_account_goes_after_its_work(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked for until the engine has done it, and not before the files of the work are gone."""
    campus, gone = ground.campus, list[str]()
    mei = await campus.person("mei")
    await ground.submit(await campus.sign_in("mei"), "past")
    await ground.pass_time(120)
    assert (await delete_user(campus, mei)).status_code == 204

    async def fails(_owner: str) -> None:
        raise OSError("the disk is away")

    async def removes(owner: str) -> None:
        assert not await campus.database.read(_files_of, mei)
        gone.append(owner)

    with monkeypatch.context() as patched:
        patched.setattr(ground.engine, "forget_person", fails)
        await ground.settle()
    monkeypatch.setattr(ground.engine, "forget_person", removes)
    assert gone == []
    await ground.restart()
    await ground.settle()
    assert gone == [mei]
    await ground.pass_time(130)
    assert gone == [mei]


def _files_of(transaction: Transaction, user_id: str) -> bool:
    c = workload.c
    found = transaction.first(select(c.id).where(c.user_id == user_id, c.discarded_at.is_(None)))
    return found is not None
