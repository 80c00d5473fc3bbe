"""Work goes through a zone: submitted, placed, run, taken, resumed, lost, and accounted for."""

from collections.abc import Iterable
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, update

from corral.control.invariants import check_invariants
from corral.control.zone import Zone
from corral.core.refusals import Unavailable
from corral.engines.interface import Ending
from corral.engines.simulated import Program
from corral.queues.service import ensure_queue
from corral.queues.tables import queue_quota
from corral.store.database import Transaction
from corral.usage.tables import usage_allocation
from corral.workloads.tables import allocation
from corral.zones import journal
from corral.zones.tables import node, pool
from tests.campus import made, refused
from tests.control.ground import Ground, OneZone, PlannerHere, use_zone


async def test_work_runs_where_it_was_placed_and_ends(ground: Ground) -> None:
    work = await ground.submit(ground.campus.admin, "fit")
    assert await ground.state(work) == "queued"
    await ground.settle()
    assert await ground.state(work) == "starting"
    await ground.pass_time(2)
    seen = await ground.get(work)
    assert (seen["state"], seen["nodes"]) == ("running", ["box"])
    await ground.pass_time(110)
    seen = await ground.get(work)
    assert (seen["state"], seen["exit_code"], seen["nodes"]) == ("succeeded", 0, [])
    assert [one["state"] for one in seen["transitions"]] == ["queued", "starting", "running", "succeeded"]
    assert [one["reason"]["sentence"] for one in seen["transitions"]] == [
        "Submitted.",
        "Placed on box.",
        "It runs.",
        "It ended with exit code 0.",
    ]


async def test_what_ended_holds_nothing_and_is_in_the_ledger(ground: Ground) -> None:
    work = await ground.submit(ground.campus.admin, "fit", gpus=2)
    await ground.pass_time(10)
    held = await ground.campus.database.read(lambda t: t.rows(select(allocation)))
    assert [(row.workload_id, row.gpu_milli) for row in held] == [(work, 2000)]
    await ground.pass_time(110)
    assert not await ground.campus.database.read(lambda t: t.rows(select(allocation)))
    (entry,) = await ground.campus.database.read(lambda t: t.rows(select(usage_allocation)))
    assert entry.id == f"{work}-1-0"
    assert entry.ended_at is not None


async def test_work_that_does_not_fit_waits_and_says_why(ground: Ground) -> None:
    first = await ground.submit(ground.campus.admin, "first", gpus=8, time_limit_seconds=600)
    second = await ground.submit(ground.campus.admin, "second", gpus=1)
    await ground.settle()
    assert await ground.states(first, second) == ["starting", "queued"]
    told = made(await ground.campus.admin.get(f"/workloads/{second}/why"))
    assert (told["result"], told["sentence"]) == ("waits", "Waits: no node has room for it.")
    assert told["in_queue"] == {"number": 1, "of": 1}
    assert told["starts_at"] is not None
    assert "It would run when first ends" in told["helps"][0]["sentence"]
    await ground.pass_time(120)
    assert await ground.states(first, second) == ["succeeded", "running"]


async def test_work_on_simulated_gpus_says_so_and_work_without_gpus_does_not(ground: Ground) -> None:
    admin, plain = ground.campus.admin, {"cpu_milli": 1000, "memory_mib": 1024}
    ids = [
        await ground.submit(admin, "fit"),
        await ground.submit(admin, "waits", 9),
        await ground.submit(admin, "plain", resources=plain),
    ]
    await ground.settle()
    assert [(await ground.get(one))["simulated"] for one in ids] == [False, False, False]

    def mark(transaction: Transaction) -> None:
        transaction.run(update(node).values(simulated=True))

    await ground.campus.database.write(mark)
    assert [(await ground.get(one))["simulated"] for one in ids] == [True, False, False]


async def test_gang_starts_whole_or_not_at_all(ground: Ground) -> None:
    small = await ground.submit(ground.campus.admin, "small", gpus=1)
    await ground.settle()
    gang = await ground.submit(ground.campus.admin, "gang", gpus=4, replicas=2)
    await ground.settle()
    assert await ground.states(small, gang) == ["starting", "queued"]
    await ground.pass_time(120)
    assert await ground.states(small, gang) == ["succeeded", "running"]
    seen = await ground.get(gang)
    assert [one["number"] for one in seen["attempts"][0]["replicas"]] == [0, 1]


async def test_owner_gets_the_guarantee_back_and_the_borrower_resumes(ground: Ground) -> None:
    """Three people share 8 GPUs, 2 are guaranteed to each; ana borrows 6, bert and carl come back."""
    people = {}
    for name in ("ana", "bert", "carl"):
        user_id = await ground.campus.person(name)
        people[name] = await ground.campus.sign_in(name)
        await ground.campus.database.write(_guarantee, ground.campus.root, user_id, 2000)
    for name in ("w1", "w2", "w3"):
        ground.programs[name] = Program(1000, 1, 2)
    borrowed = [await ground.submit(people["ana"], f"w{each}", gpus=2) for each in (1, 2, 3)]
    own = await ground.submit(people["ana"], "own", gpus=2)
    await ground.pass_time(10)
    assert await ground.states(*borrowed, own) == ["running"] * 4
    back = await ground.submit(people["bert"], "back", gpus=2)
    await ground.settle()
    states = await ground.states(*borrowed, own, back)
    assert sorted(states) == ["queued", "running", "running", "running", "suspending"]
    await ground.pass_time(20)
    states = await ground.states(*borrowed, own, back)
    assert sorted(states) == ["running", "running", "running", "running", "suspended"]
    assert await ground.state(back) == "running"
    (victim,) = [one for one in (*borrowed, own) if await ground.state(one) == "suspended"]
    seen = await ground.get(victim)
    assert seen["reason"]["sentence"] == "Suspended: back takes back its queue's guarantee."
    await ground.pass_time(120)
    assert await ground.state(back) == "succeeded"
    assert await ground.state(victim) in {"running", "succeeded"}
    seen = await ground.get(victim)
    assert seen["attempt"] == 2


async def test_what_is_taken_back_goes_to_who_took_it_although_others_arrive(ground: Ground) -> None:
    """Carl's larger guarantee puts his work first; bert's place is on its way out for bert."""
    people = {}
    for name, milli in (("ana", 1000), ("bert", 1000), ("carl", 4000)):
        user_id = await ground.campus.person(name)
        people[name] = await ground.campus.sign_in(name)
        await ground.campus.database.write(_guarantee, ground.campus.root, user_id, milli)
    for number in range(8):
        ground.programs[f"lent-{number}"] = Program(1000, 1, 10)
        await ground.submit(people["ana"], f"lent-{number}")
    await ground.pass_time(10)
    back = await ground.submit(people["bert"], "back")
    await ground.settle()
    assert await ground.state(back) == "queued"
    await ground.pass_time(5)
    later = await ground.submit(people["carl"], "later")
    await ground.pass_time(5)
    assert await ground.states(back, later) == ["starting", "queued"]
    await ground.pass_time(10)
    assert await ground.states(back, later) == ["running", "starting"]


async def test_who_came_first_shares_with_who_comes_later(ground: Ground) -> None:
    """Nobody is guaranteed anything: all share equally, whoever holds it."""
    people = {}
    for name in ("ana", "bert"):
        await ground.campus.person(name)
        people[name] = await ground.campus.sign_in(name)
    for number in range(4):
        ground.programs[f"w{number}"] = ground.programs[f"l{number}"] = Program(None, 1, 2)
    first = [await ground.submit(people["ana"], f"w{number}", gpus=2) for number in range(4)]
    await ground.pass_time(10)
    assert await ground.states(*first) == ["running"] * 4
    later = [await ground.submit(people["bert"], f"l{number}", gpus=2) for number in range(4)]
    await ground.pass_time(60)
    assert sorted(await ground.states(*first)) == ["running", "running", "suspended", "suspended"]
    assert sorted(await ground.states(*later)) == ["queued", "queued", "running", "running"]
    await ground.pass_time(120)
    assert sorted(await ground.states(*later)) == ["queued", "queued", "running", "running"]


async def test_person_suspends_and_resumes(ground: Ground) -> None:
    admin = ground.campus.admin
    ground.programs["long"] = Program(None, 1, 2)
    work = await ground.submit(admin, "long")
    await ground.pass_time(10)
    made(await admin.post(f"/workloads/{work}/suspend"))
    assert await ground.state(work) == "suspending"
    await ground.pass_time(10)
    assert await ground.state(work) == "suspended"
    await ground.pass_time(60)
    assert await ground.state(work) == "suspended"
    made(await admin.post(f"/workloads/{work}/resume"))
    await ground.pass_time(10)
    assert await ground.state(work) == "running"


async def test_stop_before_the_engine_knew_of_it_leaves_nothing_behind(ground: Ground) -> None:
    admin = ground.campus.admin
    await ground.settle()
    work = await ground.submit(admin, "short-lived")
    await ground.schedule()
    assert await ground.state(work) == "starting"
    made(await admin.post(f"/workloads/{work}/stop"))
    await ground.settle()
    assert await ground.state(work) == "stopped"
    assert not await ground.campus.database.read(lambda t: t.rows(select(allocation)))


async def test_two_thousand_are_stopped_in_one_call(ground: Ground) -> None:
    admin = ground.campus.admin
    work = [await ground.submit(admin, f"w{number}") for number in range(20)]
    await ground.settle()
    unknown = "w" + "0" * 22
    answer = made(await admin.post("/workloads/actions", {"action": "stop", "ids": [*work, unknown]}))
    assert sorted(answer["changed"]) == sorted(work)
    assert [one["id"] for one in answer["refused"]] == [unknown]
    await ground.pass_time(10)
    assert set(await ground.states(*work)) == {"stopped"}
    again = made(await admin.post("/workloads/actions", {"action": "stop", "ids": work}))
    assert (again["changed"], len(again["unchanged"])) == ([], 20)


async def test_failed_work_is_tried_again_after_a_pause(ground: Ground) -> None:
    ground.programs["bad"] = Program(5, 1, 2, Ending.FAILED)
    work = await ground.submit(ground.campus.admin, "bad", retries=1)
    await ground.pass_time(10)
    seen = await ground.get(work)
    assert (seen["state"], seen["attempt"]) == ("queued", 1)
    assert seen["not_before"] is not None
    await ground.pass_time(30)
    seen = await ground.get(work)
    assert (seen["state"], seen["attempt"], seen["exit_code"]) == ("failed", 2, 1)


async def test_nothing_is_lost_or_started_twice_by_a_restart(ground: Ground) -> None:
    ground.programs["long"] = Program(None, 1, 2)
    running = await ground.submit(ground.campus.admin, "long")
    await ground.pass_time(10)
    placed = await ground.submit(ground.campus.admin, "placed")
    await ground.schedule()
    await ground.restart()
    await ground.pass_time(10)
    assert await ground.states(running, placed) == ["running", "running"]
    assert [(await ground.get(one))["attempt"] for one in (running, placed)] == [1, 1]


async def test_nothing_is_planned_before_the_zone_was_seen_in_this_term(ground: Ground) -> None:
    await ground.settle()
    work = await ground.submit(ground.campus.admin, "patient")
    await ground.restart()
    await ground.schedule()
    assert await ground.state(work) == "queued"
    woken: list[str] = []
    ground.campus.database.hints.subscribe(journal.topic(ground.zone.id), lambda: woken.append("schedule"))
    await ground.reconcile()
    assert woken == ["schedule"]  # what was submitted meanwhile need not wait for the next look
    await ground.settle()
    assert await ground.state(work) == "starting"


async def test_work_that_cannot_be_told_to_go_holds_up_nobody(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaf = await ground.submit(ground.campus.admin, "deaf")
    await ground.settle()
    await ground.pass_time(2)

    async def unavailable(runs: Iterable[str], grace_seconds: int) -> None:
        raise Unavailable("The supervisor does not answer.", "Try again.")

    with monkeypatch.context() as patched:
        patched.setattr(ground.engine, "signal", unavailable)
        made(await ground.campus.admin.post(f"/workloads/{deaf}/stop"))
        other = await ground.submit(ground.campus.admin, "other")
        await ground.pass_time(2)
        assert await ground.states(deaf, other) == ["stopping", "running"]
    await ground.pass_time(20)
    assert await ground.state(deaf) == "stopped"


async def test_lost_node_takes_its_work_and_it_starts_again_when_the_node_is_back(ground: Ground) -> None:
    ground.programs["long"] = Program(None, 1, 2)
    work = await ground.submit(ground.campus.admin, "long")
    await ground.pass_time(10)
    ground.engine.lose("box")
    await ground.settle()
    seen = await ground.get(work)
    assert seen["state"] == "queued"
    assert "lost" in seen["reason"]["sentence"]
    await ground.pass_time(20)
    assert await ground.state(work) == "queued"
    ground.engine.bring_back("box")
    await ground.pass_time(10)
    assert await ground.state(work) == "running"


async def test_probe_says_fits_waits_or_never(ground: Ground) -> None:
    await ground.settle()
    admin = ground.campus.admin

    async def probe(gpus: int) -> dict[str, Any]:
        resources = {"cpu_milli": 1000, "memory_mib": 1024, "gpu": {"count": gpus}}
        document = {"name": "x", "command": ["true"], "resources": resources}
        told: dict[str, Any] = made(await admin.post("/training/probe", document))
        return told

    fits = await probe(8)
    assert (fits["result"], fits["sentence"]) == ("fits", "Fits now on box.")
    never = await probe(9)
    assert never["result"] == "never"
    assert never["helps"][0]["facts"]["amount"] == 8
    await ground.submit(admin, "all", gpus=8)
    assert (await probe(8))["result"] == "waits"
    assert [one["name"] for one in made(await admin.get("/workloads"))["items"]] == ["all"]


async def test_others_work_is_seen_and_stopped_only_with_the_right(ground: Ground) -> None:
    await ground.campus.person("ana")
    await ground.campus.person("bert")
    ana, bert = await ground.campus.sign_in("ana"), await ground.campus.sign_in("bert")
    work = await ground.submit(ana, "secret")
    assert [one["id"] for one in made(await ana.get("/workloads"))["items"]] == [work]
    assert made(await bert.get("/workloads"))["items"] == []
    refused(await bert.get(f"/workloads/{work}"), 404)
    refused(await bert.post(f"/workloads/{work}/stop"), 404)
    made(await ground.campus.admin.post(f"/workloads/{work}/stop"))
    assert (await ground.get(work))["reason"]["sentence"] == "admin stopped it."


async def test_token_that_may_only_run_work_submits_and_stops_it(ground: Ground) -> None:
    program = await ground.campus.token(ground.campus.admin, "workloads.run", "organisations.read")
    work = await ground.submit(program, "by a script")
    made(await program.post(f"/workloads/{work}/stop"))
    assert await ground.state(work) == "stopped"


async def test_finished_work_is_deleted_with_its_files(ground: Ground) -> None:
    admin = ground.campus.admin
    work = await ground.submit(admin, "brief")
    await ground.pass_time(10)
    refused(await admin.post(f"/workloads/{work}/delete"), 409)
    made(await admin.post(f"/workloads/{work}/stop"))
    await ground.pass_time(10)
    made(await admin.post(f"/workloads/{work}/delete"))
    await ground.settle()
    assert made(await admin.get("/workloads"))["items"] == []


async def test_invariants_hold_along_the_way_and_notice_what_is_broken(ground: Ground) -> None:
    ground.programs["bad"] = Program(5, 1, 2, Ending.FAILED)
    await ground.submit(ground.campus.admin, "fit")
    await ground.submit(ground.campus.admin, "bad", retries=1)
    gang = await ground.submit(ground.campus.admin, "gang", gpus=2, replicas=2)
    for _ in range(6):
        await ground.pass_time(10)
        found = await ground.campus.database.read(check_invariants)
        assert [one for one in found if one.broken] == []
    await ground.campus.database.write(lambda t: t.run(delete(allocation).where(allocation.c.replica == 1)))
    found = await ground.campus.database.read(check_invariants)
    assert [(one.name, one.broken) for one in found if one.broken] == [
        ("no place leaked", (f"{gang}-1-1 has not ended and holds no place",))
    ]


async def test_queues_say_what_is_held_and_what_waits(ground: Ground) -> None:
    admin = ground.campus.admin
    first = await ground.submit(admin, "first", gpus=6)
    await ground.settle()
    await ground.submit(admin, "second", gpus=4)
    await ground.submit(
        admin, "slices", resources={"cpu_milli": 1000, "memory_mib": 512, "gpu": {"memory_mib": "8Gi"}}
    )
    queue = (await ground.get(first))["queue_id"]
    seen = made(await admin.get(f"/queues/{queue}"))
    (gpus,) = [one for one in seen["quotas"] if one["resource"] == "gpu_milli"]
    assert (gpus["used"], gpus["wanted"]) == (6000, 4100)


async def test_numbers_are_refused_where_only_flavors_are_offered(ground: Ground) -> None:
    admin = ground.campus.admin
    root = made(await admin.get("/queues"))["items"][0]
    change = {"custom_numbers": False}
    made(await admin.patch(f"/queues/{root['id']}", change, match="*"))
    resources = {"cpu_milli": 1000, "memory_mib": 1024}
    document = {"name": "x", "command": ["true"], "resources": resources}
    refused(await admin.post("/training", document), 422, field="body.resources")


async def test_pool_that_wants_more_isolation_than_slices_have_gets_no_slices(ground: Ground) -> None:
    admin = ground.campus.admin
    sliced = {"cpu_milli": 1000, "memory_mib": 1024, "gpu": {"memory_mib": 8192}}
    running = await ground.submit(admin, "running", resources=sliced)
    await ground.settle()
    waiting = await ground.submit(admin, "waiting", resources=sliced)
    (place,) = made(await admin.get("/pools"))["items"]
    made(await admin.patch(f"/pools/{place['id']}", {"least_strength": "kernel"}, match="*"))
    whole = await ground.submit(admin, "whole")
    await ground.pass_time(10)
    assert await ground.states(running, waiting, whole) == ["running", "infeasible", "running"]
    told = "Can never run because no GPU is shared in parts."
    assert (await ground.get(waiting))["reason"]["sentence"] == told
    document = {"name": "x", "command": ["true"], "resources": sliced}
    problem = refused(await admin.post("/training", document), 422, field="body.resources.gpu")
    assert "(strength: none), and default wants kernel at least" in problem["errors"][0]["message"]
    made(await admin.patch(f"/pools/{place['id']}", {"least_strength": "none"}, match="*"))
    await ground.pass_time(10)
    assert await ground.state(waiting) == "running"


async def test_work_without_isolation_is_refused_once_somebody_else_has_an_account(ground: Ground) -> None:
    zone, database = ground.zone, ground.campus.database
    await zone.scheduler.close()
    here = PlannerHere()
    ground.zone = Zone(
        database, zone.id, ground.engine, ground.kinds, only_one_person=True, make_planner=lambda: here
    )
    use_zone(ground.campus.app, OneZone(ground.zone, ground.engine))
    alone = await ground.submit(ground.campus.admin, "alone")
    await ground.settle()
    assert await ground.state(alone) == "starting"
    await ground.campus.person("bert")
    other = await ground.submit(ground.campus.admin, "other")
    await ground.settle()
    assert "2 people have accounts" in (await ground.get(other))["reason"]["sentence"]


def _guarantee(transaction: Transaction, organisation_id: str, user_id: str, gpu_milli: int) -> None:
    queue_id = ensure_queue(transaction, organisation_id, user_id)
    pool_id = transaction.scalar(select(pool.c.id))
    transaction.run(
        insert(queue_quota).values(
            queue_id=queue_id, pool_id=pool_id, resource="gpu_milli", guarantee=gpu_milli, limit=-1, weight=1
        )
    )


async def test_replica_says_since_when_it_is_ready_until_it_leaves_or_ends(ground: Ground) -> None:
    work = await ground.submit(ground.campus.admin, "fit")

    async def replica() -> dict[str, Any]:
        (attempt,) = (await ground.get(work))["attempts"]
        return dict(attempt["replicas"][0])

    await ground.settle()
    assert (await replica())["ready_at"] is None
    await ground.pass_time(2)
    seen = await replica()
    assert seen["ready_at"] is not None
    assert seen["ready_at"] == seen["started_at"]
    await ground.restart()
    await ground.settle()
    assert await replica() == seen
    await ground.pass_time(110)
    ended = await replica()
    assert (ended["end"], ended["ready_at"]) == ("succeeded", None)
