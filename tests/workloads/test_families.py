"""Work that is created for other work: made for its owner, reached through its parent, gone with it."""

from typing import Any

import pytest
from sqlalchemy import func, select

from corral.api.callers import SYSTEM, Caller
from corral.control.purge import Keeping
from corral.core.bounds import PersonBounds
from corral.core.refusals import Conflict
from corral.engines.interface import Ending
from corral.engines.simulated import Program
from corral.store.database import Transaction
from corral.training.spec import TrainingSpec
from corral.workloads.creation import create, home_of
from corral.workloads.resolution import resolve
from corral.workloads.tables import workload
from corral.workloads.zone_choice import ChoiceReason, ZoneChoice, candidates
from tests.apps import ADMIN_PASSWORD
from tests.campus import made, refused
from tests.control.ground import Ground


def spawn(transaction: Transaction, parent_id: str, name: str, by: Caller = SYSTEM) -> str:
    """As a loop does: for the owner of the parent, in the parent's home."""
    home = home_of(transaction, parent_id)
    needs = {"cpu_milli": 100, "memory_mib": 64}
    spec = TrainingSpec.model_validate({"name": name, "command": ["true"], "resources": needs})
    zone = candidates(transaction, spec)[0]
    document = resolve(transaction, home, spec, zone.id)
    chosen = ZoneChoice(zone, ChoiceReason.ONLY)
    return create(transaction, by, home, spec.kind, document, chosen, parent_id=parent_id)


async def family(ground: Ground, *names: str) -> tuple[str, list[str]]:
    """A parent of the administrator's that runs until it is stopped, and children that do."""
    for name in ("parent", *names):
        ground.programs[name] = Program(None, 1, 2)
    parent = await ground.submit(ground.campus.admin, "parent")
    children = [await ground.campus.database.write(spawn, parent, name) for name in names]
    await ground.settle()
    return parent, children


async def listed(ground: Ground, parent_id: str) -> list[str]:
    answer = made(await ground.campus.admin.get(f"/workloads?parent_id={parent_id}"))
    return [str(one["id"]) for one in answer["items"]]


async def act(ground: Ground, action: str, *ids: str) -> dict[str, Any]:
    acted: dict[str, Any] = made(
        await ground.campus.admin.post("/workloads/actions", {"action": action, "ids": [*ids]})
    )
    return acted


async def test_child_belongs_to_its_parents_owner_and_the_audit_log_says_who_made_it(ground: Ground) -> None:
    await ground.campus.person("mei")
    mei = await ground.campus.sign_in("mei")
    parent = await ground.submit(mei, "parent")
    child = await ground.campus.database.write(spawn, parent, "child")
    shown = made(await mei.get(f"/workloads/{child}"))
    assert (shown["parent_id"], shown["user"]["name"]) == (parent, "Mei")
    assert made(await mei.get(f"/workloads/{parent}"))["parent_id"] is None
    assert [one["id"] for one in made(await mei.get(f"/workloads?parent_id={parent}"))["items"]] == [child]
    entries = made(await ground.campus.admin.get(f"/audit?object={child}"))["items"]
    assert [(one["actor_name"], one["action"]) for one in entries] == [("Corral", "workload.create")]
    assert entries[0]["after"]["user_id"] == shown["user"]["id"]
    assert entries[0]["after"]["parent_id"] == parent


async def test_children_of_others_are_not_listed(ground: Ground) -> None:
    parent, _ = await family(ground, "child")
    await ground.campus.person("mei")
    mei = await ground.campus.sign_in("mei")
    assert made(await mei.get(f"/workloads?parent_id={parent}"))["items"] == []
    assert made(await mei.get(f"/workloads/summary?parent_id={parent}"))["states"] == {}
    answer = made(await mei.post("/workloads/actions", {"action": "stop", "ids": [parent]}))
    assert (answer["changed"], len(answer["refused"])) == ([], 1)


async def test_stopping_suspending_and_resuming_a_parent_reaches_its_children(ground: Ground) -> None:
    parent, (first, second) = await family(ground, "first", "second")
    grandchild = await ground.campus.database.write(spawn, first, "grandchild")
    everyone = {parent, first, second, grandchild}
    assert set(await listed(ground, parent)) == {first, second}
    for action, state in (("suspend", "suspended"), ("resume", "running"), ("stop", "stopped")):
        ground.programs["grandchild"] = Program(None, 1, 2)
        acted = await act(ground, action, parent)
        assert set(acted["changed"]) == everyone, action
        await ground.pass_time(20)
        assert set(await ground.states(*everyone)) == {state}
        entries = made(await ground.campus.admin.get(f"/audit?object={second}"))["items"]
        assert entries[0]["action"] == f"workload.{action}"


async def test_what_ended_by_itself_is_not_resumed_with_its_parent(ground: Ground) -> None:
    parent, (runs, fails) = await family(ground, "runs", "fails")
    ground.programs["bad"] = Program(5, 1, 2, Ending.FAILED)
    bad = await ground.campus.database.write(spawn, parent, "bad")
    await ground.pass_time(30)
    assert await ground.state(bad) == "failed"
    await act(ground, "stop", parent)
    await ground.pass_time(20)
    assert set((await act(ground, "resume", parent))["changed"]) == {parent, runs, fails}
    assert await ground.state(bad) == "failed"


async def test_a_child_is_not_resumed_without_its_parent(ground: Ground) -> None:
    parent, (child,) = await family(ground, "child")
    await act(ground, "stop", parent)
    await ground.pass_time(20)
    (problem,) = (await act(ground, "resume", child))["refused"]
    assert problem["detail"] == "Its parent parent is stopped."
    assert parent in problem["remedy"]
    refused(await ground.campus.admin.post(f"/workloads/{child}/resume"), 409)
    assert (await act(ground, "resume", child, parent))["refused"] == [], "both at once are fine"


async def test_no_child_comes_after_its_parent_was_stopped(ground: Ground) -> None:
    parent, _ = await family(ground, "child")
    await act(ground, "stop", parent)
    with pytest.raises(Conflict, match="parent is stopp"):
        await ground.campus.database.write(spawn, parent, "late")


async def test_parent_is_deleted_with_its_children_and_only_when_all_are_over(ground: Ground) -> None:
    parent, (child,) = await family(ground, "child")
    ground.programs["parent"] = Program(None, 1, 2)
    await ground.campus.database.write(
        lambda t: t.run(workload.update().where(workload.c.id == parent).values(state="succeeded"))
    )
    (problem,) = (await act(ground, "delete", parent))["refused"]
    assert problem["detail"] == "1 of its children is not over."
    assert await ground.state(child) == "starting"
    await act(ground, "stop", parent)
    await ground.pass_time(20)
    assert set((await act(ground, "delete", parent))["changed"]) == {parent, child}
    assert await listed(ground, parent) == []


async def test_family_is_forgotten_together(ground: Ground) -> None:
    keeping = Keeping(ended_work_days=100, deleted_work_days=10)
    parent, (child,) = await family(ground, "child")
    grandchild = await ground.campus.database.write(spawn, child, "grandchild")
    await act(ground, "stop", parent)
    await ground.pass_time(20)
    assert set((await act(ground, "delete", parent))["changed"]) == {parent, child, grandchild}
    await ground.settle()
    ground.campus.clock.advance(days=11)
    await ground.campus.admin.sign_in("admin", ADMIN_PASSWORD)
    assert await ground.campus.database.write(keeping.forget_deleted_work, 500) == 3
    left = await ground.campus.database.read(lambda t: t.scalar(select(func.count()).select_from(workload)))
    assert left == 0


async def test_ended_parent_is_kept_as_long_as_a_child_runs(ground: Ground) -> None:
    keeping = Keeping(ended_work_days=100, deleted_work_days=10)
    ground.programs["brief"] = Program(5, 1, 2)
    ground.programs["child"] = Program(None, 1, 2)
    parent = await ground.submit(ground.campus.admin, "brief")
    child = await ground.campus.database.write(spawn, parent, "child")
    await ground.pass_time(30)
    ground.campus.clock.advance(days=101)
    assert await ground.campus.database.write(keeping.delete_ended_work, 500) == 0
    await ground.campus.admin.sign_in("admin", ADMIN_PASSWORD)
    assert await ground.states(parent, child) == ["succeeded", "running"]


async def test_children_count_towards_what_a_person_may_have(ground: Ground) -> None:
    parent, _ = await family(ground, "child")
    ground.campus.database.bounds = PersonBounds(workloads=2)
    with pytest.raises(Conflict, match="already have 2 workloads"):
        await ground.campus.database.write(spawn, parent, "third")
