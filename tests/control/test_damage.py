"""Damaged rows and work that the planner cannot bear: their trouble alone, others are placed."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from corral.control import commit, schedule
from corral.control.culprits import Culprit, find_culprits, trial_of
from corral.control.feed import PlannerFeed, PlannerView
from corral.control.planner import Planner
from corral.core.nodes import Node
from corral.core.queues import Queue
from corral.core.refusals import Unavailable
from corral.core.workloads import Replica, ReplicaGroup, Request, Workload
from corral.engines.simulated import Program
from corral.scheduling.live.live_planner import Load
from corral.scheduling.planning.planner_state import PlannerState
from corral.scheduling.validate.snapshot import Snapshot
from corral.store.database import Transaction
from tests.campus import made
from tests.control.ground import Ground

Patch = pytest.MonkeyPatch


async def damage(ground: Ground, table: str, column: str, value: object, where: str) -> None:
    """Behind the application's back, as a failing disk or a hand in the database would."""

    def change(transaction: Transaction) -> None:
        # PostgreSQL keeps documents that are JSON, and numbers that are numbers; SQLite keeps anything.
        is_document = transaction.is_postgresql and isinstance(value, str)
        given = "CAST(:value AS jsonb)" if is_document else ":value"
        statement = text(f"UPDATE {table} SET {column} = {given} WHERE {where}")
        assert transaction.run(statement, {"value": value}) > 0

    await ground.campus.database.write(change)


async def troubles(ground: Ground, workload_id: str) -> list[str]:
    """From the table: the page of a workload whose document is damaged cannot show the document either."""
    rows = await ground.campus.database.read(
        lambda t: t.rows(
            text("SELECT step, detail FROM trouble WHERE workload_id = :id"), {"id": workload_id}
        )
    )
    return [f"{row.step}: {row.detail}" for row in rows]


async def state(ground: Ground, workload_id: str) -> str:
    return str(
        await ground.campus.database.read(
            lambda t: t.scalar(text("SELECT state FROM workload WHERE id = :id"), {"id": workload_id})
        )
    )


SPECS: dict[str, Callable[[dict[str, Any]], object]] = {
    "no object": lambda _: [],
    "nothing": lambda _: {},
    "impossible amount": lambda spec: spec | {"resources": spec["resources"] | {"cpu_milli": -5}},
    "text for a number": lambda spec: spec | {"replicas": "many"},
    "no replicas": lambda spec: spec | {"replicas": 0},
    "a pool that is none": lambda spec: spec | {"pool_ids": 7},
    "huge": lambda spec: spec | {"resources": spec["resources"] | {"memory_mib": 1 << 70}},
}


async def spec_of(ground: Ground, workload_id: str) -> dict[str, Any]:
    stored = await ground.campus.database.read(
        lambda t: t.scalar(
            text("SELECT CAST(spec AS VARCHAR) FROM workload WHERE id = :id"), {"id": workload_id}
        )
    )
    found: dict[str, Any] = json.loads(stored)
    return found


@pytest.mark.parametrize("what", SPECS)
async def test_document_that_makes_no_sense_is_its_workloads_own_trouble(ground: Ground, what: str) -> None:
    odd = await ground.submit(ground.campus.admin, "odd")
    spec = await spec_of(ground, odd)
    await damage(ground, "workload", "spec", json.dumps(SPECS[what](spec)), f"id = '{odd}'")
    other = await ground.submit(ground.campus.admin, "other")
    await ground.settle()
    assert await state(ground, other) in ("starting", "running")
    assert await state(ground, odd) == "queued"
    assert [one.partition(":")[0] for one in await troubles(ground, odd)] == ["plan"]
    assert await troubles(ground, other) == []
    await ground.restart()
    later = await ground.submit(ground.campus.admin, "later")
    await ground.settle()
    assert await state(ground, later) in ("starting", "running")
    await damage(ground, "workload", "spec", json.dumps(spec), f"id = '{odd}'")
    await ground.pass_time(130)
    assert await troubles(ground, odd) == []
    assert await ground.state(odd) not in ("queued", "infeasible")  # it had its place


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("workload", "spec", "{not json"),
        ("workload", "because", "{not json"),
        ("workload", "state", "dancing"),
        ("workload", "created_at", 1 << 62),
        ("workload", "priority", "first"),
    ],
)
async def test_value_that_cannot_be_read_is_its_workloads_own_trouble(
    ground: Ground, table: str, column: str, value: object
) -> None:
    if ground.campus.database.kind == "postgresql" and (column in ("spec", "because") or value == "first"):
        column, value = "waiting_since", (1 << 63) - 1  # what PostgreSQL would keep of this kind
    if column == "state":
        value = value if ground.campus.database.kind == "sqlite" else None
    odd = await ground.submit(ground.campus.admin, "odd")
    other = await ground.submit(ground.campus.admin, "other")
    if value is not None:
        await damage(ground, table, column, value, f"id = '{odd}'")
    await ground.settle()
    assert await state(ground, other) in ("starting", "running")
    await ground.restart()
    later = await ground.submit(ground.campus.admin, "later")
    await ground.settle()
    assert await state(ground, later) in ("starting", "running")


UNREADABLE = {**SPECS, "no json": lambda _: "{not json"}


@pytest.mark.parametrize("what", UNREADABLE)
async def test_work_with_a_damaged_document_is_listed_opened_and_deleted(ground: Ground, what: str) -> None:
    admin = ground.campus.admin
    odd, other = await ground.submit(admin, "odd"), await ground.submit(admin, "other")
    spec = UNREADABLE[what](await spec_of(ground, odd))
    text_of_it = spec if isinstance(spec, str) else json.dumps(spec)
    if what == "no json" and ground.campus.database.kind == "postgresql":
        text_of_it = "7"  # PostgreSQL keeps no text that is no JSON
    await damage(ground, "workload", "spec", text_of_it, f"id = '{odd}'")
    await ground.settle()
    listed = {one["id"]: one for one in made(await admin.get("/workloads"))["items"]}
    assert listed.keys() == {odd, other}
    assert (listed[odd]["name"], listed[odd]["user"]["name"]) == ("odd", listed[other]["user"]["name"])
    assert not listed[other]["damaged"]
    page = await ground.get(odd)
    assert (page["state"], page["damaged"]) == ("queued", listed[odd]["damaged"])
    assert [one["step"] for one in page["troubles"]] == ["plan"]
    if page["damaged"]:
        assert page["reason"]["sentence"].startswith("Its document is damaged")
    made(await admin.get(f"/workloads/{odd}/why"))
    made(await admin.post(f"/workloads/{odd}/stop"))
    assert (await ground.get(odd))["state"] == "stopped"
    made(await admin.post(f"/workloads/{odd}/delete"))
    assert [one["id"] for one in made(await admin.get("/workloads"))["items"]] == [other]
    await ground.pass_time(130)
    assert await troubles(ground, odd) == []


async def test_running_work_whose_document_gets_damaged_is_stopped_and_deleted(ground: Ground) -> None:
    admin = ground.campus.admin
    ground.programs["odd"] = Program(10_000, 1, 2)
    odd = await ground.submit(admin, "odd")
    await ground.pass_time(10)
    await damage(ground, "workload", "spec", "[]", f"id = '{odd}'")
    made(await admin.post("/workloads/actions", {"action": "stop", "ids": [odd]}))
    await ground.pass_time(60)
    page = await ground.get(odd)
    assert (page["state"], page["damaged"]) == ("stopped", True)
    made(await admin.post("/workloads/actions", {"action": "delete", "ids": [odd]}))


async def test_what_damaged_work_holds_is_given_to_nobody(ground: Ground) -> None:
    ground.programs["odd"] = Program(10_000, 1, 2)
    odd = await ground.submit(ground.campus.admin, "odd", gpus=6)
    await ground.pass_time(10)
    assert await ground.state(odd) == "running"
    await damage(ground, "workload", "spec", "[]", f"id = '{odd}'")
    if ground.campus.database.kind == "sqlite":
        await damage(ground, "allocation", "devices", "{not json", f"workload_id = '{odd}'")
    await ground.restart()
    small = await ground.submit(ground.campus.admin, "small", gpus=2)
    large = await ground.submit(ground.campus.admin, "large", gpus=3)
    await ground.settle()
    assert await state(ground, small) in ("starting", "running")
    assert await state(ground, large) == "queued"


async def test_ended_work_that_is_damaged_teaches_nothing_and_stops_nobody(ground: Ground) -> None:
    ground.programs["odd"] = Program(20, 1, 2)
    odd = await ground.submit(ground.campus.admin, "odd")
    await ground.pass_time(60)
    assert await ground.state(odd) == "succeeded"
    await damage(ground, "workload", "spec", "[]", f"id = '{odd}'")
    await damage(ground, "attempt", "because", "7", f"workload_id = '{odd}'")
    await ground.restart()
    later = await ground.submit(ground.campus.admin, "later")
    await ground.settle()
    assert await state(ground, later) in ("starting", "running")
    assert await troubles(ground, odd) == []


async def test_reason_and_claim_that_cannot_be_read_are_written_anew(ground: Ground) -> None:
    """Why the first waits is damaged; all are told of again, and nothing stops."""
    await ground.submit(ground.campus.admin, "large", gpus=8)
    await ground.settle()
    first = await ground.submit(ground.campus.admin, "first", gpus=8)
    await ground.settle()
    broken = "{not json" if ground.campus.database.kind == "sqlite" else "[]"
    await damage(ground, "verdict", "reason", broken, f"workload_id = '{first}'")
    second = await ground.submit(ground.campus.admin, "second", gpus=8)
    await ground.settle()
    listed = made(await ground.campus.admin.get("/workloads"))["items"]
    kinds = {one["id"]: (one["waits"] or {}).get("kind") for one in listed}
    assert kinds[first] == kinds[second] == "no_room"


def fails_over(patched: Patch, odd: str, error: type[BaseException]) -> None:
    real = PlannerState.plan

    def plan(self: PlannerState, *args: Any, **more: Any) -> Any:
        if self.has_workload(odd):
            raise error("odd")
        return real(self, *args, **more)

    patched.setattr(PlannerState, "plan", plan)


@pytest.mark.parametrize("error", [AssertionError, MemoryError, RecursionError])
async def test_work_that_the_planner_dies_of_is_found_and_left_out(
    ground: Ground, monkeypatch: Patch, error: type[Exception]
) -> None:
    names = [await ground.submit(ground.campus.admin, f"good-{number}") for number in range(5)]
    odd = await ground.submit(ground.campus.admin, "odd")
    with monkeypatch.context() as patched:
        fails_over(patched, odd, error)
        await ground.settle()
        await ground.settle()
        assert {await ground.state(one) for one in names} <= {"starting", "running"}
        assert await ground.state(odd) == "queued"
        (said,) = (await ground.get(odd))["troubles"]
        assert said["sentence"] == "It could not be planned yet: the planner ends when it looks at it."
        why = made(await ground.campus.admin.get(f"/workloads/{odd}/why"))
        assert why["sentence"] == said["sentence"]
        later = await ground.submit(ground.campus.admin, "later")
        await ground.settle()
        assert await ground.state(later) in ("starting", "running")
    await ground.pass_time(130)
    assert await ground.state(odd) in ("starting", "running")
    assert (await ground.get(odd))["troubles"] == []


async def test_planner_that_dies_over_nobody_fails_the_loop(ground: Ground, monkeypatch: Patch) -> None:
    await ground.submit(ground.campus.admin, "good")
    await ground.reconcile()

    def plan(*_: Any, **__: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(PlannerState, "plan", plan)
    await ground.schedule()
    await ground.schedule()
    with pytest.raises(Unavailable, match="without any workload"):
        await ground.schedule()
    assert ground.zone.scheduler.trouble_of("good") is None


@pytest.mark.parametrize("where", ["_grants", "_entry", "apply_all", "infeasible_facts", "write_value"])
async def test_part_of_a_plan_that_cannot_be_written_down_is_left_alone(
    ground: Ground, monkeypatch: Patch, where: str
) -> None:
    others = [await ground.submit(ground.campus.admin, f"good-{number}", gpus=2) for number in range(2)]
    gpus = {"infeasible_facts": 99, "write_value": 8}.get(where, 1)
    odd = await ground.submit(ground.campus.admin, "odd", gpus=gpus)
    real = getattr(commit, where)

    def call(*args: Any, **more: Any) -> Any:
        if odd in repr(args[0] if where != "apply_all" else args[1]) or (
            where == "write_value" and args[0].kind
        ):
            raise ValueError("odd")
        return real(*args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(commit, where, call)
        await ground.settle()
        assert {await ground.state(one) for one in others} <= {"starting", "running"}
        assert await ground.state(odd) == "queued"
        (said,) = (await ground.get(odd))["troubles"]
        assert said["step"] == ("explain" if where == "write_value" else "plan")
    await ground.pass_time(130)
    assert (await ground.get(odd))["troubles"] == []


@pytest.mark.parametrize(
    ("table", "column", "where", "said"),
    [("node", "links", "name = 'box'", "the node box"), ("pool", "topologies", "1 = 1", "the pool")],
)
async def test_damaged_node_or_pool_is_named(
    ground: Ground, table: str, column: str, where: str, said: str
) -> None:
    await ground.submit(ground.campus.admin, "good")
    await ground.reconcile()
    await damage(ground, table, column, '[{"no": "sense"}]', where)
    with pytest.raises(Unavailable, match=said):
        await ground.schedule()


async def test_damaged_queue_is_named(ground: Ground) -> None:
    await ground.submit(ground.campus.admin, "good")
    await ground.reconcile()
    await ground.campus.database.write(lambda t: t.run(text(f"UPDATE queue SET created_at = {1 << 62}")))
    with pytest.raises(Unavailable, match="the queue "):
        await ground.schedule()


async def test_culprits_are_found_with_few_trials() -> None:
    names = [f"w{number:04}" for number in range(1000)]
    bad = {"w0017", "w0998"}
    trials = 0

    async def trial(chosen: frozenset[str]) -> str | None:
        nonlocal trials
        trials += 1
        return "it ends" if chosen & bad else None

    found = await find_culprits(names, trial, lambda name: name)
    assert found is not None
    assert {one.workload for one in found} == bad
    assert trials < 30


async def test_where_only_the_sum_fails_the_newest_of_who_has_most_is_left_out() -> None:
    """Not the newest of all, which is the only one of its owner."""
    names = ["a0", "b0", "a1", "a2", "a3", "c0"]

    async def trial(chosen: frozenset[str]) -> str | None:
        return "too many" if len(chosen) > 4 else None

    found = await find_culprits(names, trial, lambda name: name[0])
    assert found == [Culprit("a3", "too many"), Culprit("a2", "too many")]


async def test_trials_in_processes_of_their_own_find_what_one_dies_of() -> None:
    """A moment that is no number cannot even be told."""
    node = Node("n0", 8000, 65536)
    group = ReplicaGroup("main", None, Request(1000, 1024), (Replica("r"),))
    works = [Workload(name, "all", (group,)) for name in ("a", "b")]
    odd = Workload("odd", "all", (group,), created="long ago")  # type: ignore[arg-type]
    load = Load(Snapshot(100, (node,), (Queue("all"),), (*works, odd)))
    trial = trial_of(PlannerFeed(load, PlannerView(0), ()), 100, Planner, 60)
    found = await find_culprits(["a", "b", "odd"], trial, lambda _: "all")
    detail = "the planner refuses it: something in the question is not of its type"
    assert found == [Culprit("odd", detail)]


async def test_planner_is_the_first_that_the_kernel_ends() -> None:
    planner = Planner()
    await planner.ask(Load(Snapshot(100, (), (Queue("all"),), ())))
    assert await asyncio.to_thread(Path(f"/proc/{planner.pid}/oom_score_adj").read_text) == "900\n"
    await planner.close()


async def test_plan_without_an_end_is_broken_off_and_its_cause_found(
    ground: Ground, monkeypatch: Patch
) -> None:
    good = await ground.submit(ground.campus.admin, "good")
    odd = await ground.submit(ground.campus.admin, "odd")
    real = schedule.Scheduler._plan

    async def plan(self: schedule.Scheduler, question: Any) -> Any:
        assert self._planner_view is not None
        if odd in self._planner_view.waiting:
            raise TimeoutError
        return await real(self, question)

    fails_over(monkeypatch, odd, TimeoutError)
    monkeypatch.setattr(schedule.Scheduler, "_plan", plan)
    await ground.settle()
    await ground.settle()
    assert await ground.states(good, odd) in (["starting", "queued"], ["running", "queued"])
