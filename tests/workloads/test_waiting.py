"""Why waiting work has no place yet, as lists say it."""

from tests.campus import made
from tests.control.ground import Ground
from tests.statements import statements

TABLES = ("workload", "verdict", "claim", "queue")


async def test_list_says_why_work_waits_its_turn_and_when_it_starts(ground: Ground) -> None:
    admin = ground.campus.admin
    await ground.reserve()
    await ground.submit(admin, "first", gpus=8, time_limit_seconds=600)
    await ground.submit(admin, "second", gpus=8)
    unseen = made(await admin.get("/workloads?search=second"))["items"][0]["waits"]
    assert (unseen["kind"], unseen["sentence"]) == ("not_planned", "The next plan looks at it.")
    await ground.settle()
    last = await ground.submit(admin, "third", gpus=1)
    await ground.settle()
    third, second, first = made(await admin.get("/workloads"))["items"]
    assert first["waits"] is None
    assert (second["waits"]["kind"], second["waits"]["sentence"]) == ("no_room", "No node has room for it.")
    assert second["waits"]["in_queue"] == {"number": 1, "of": 2}
    assert second["waits"]["starts_at"] is not None
    assert third["waits"]["in_queue"] == {"number": 2, "of": 2}
    assert third["waits"]["facts"]["failed_checks"] == {"devices": 1}
    assert made(await admin.get(f"/workloads/{last}"))["waits"] == third["waits"]

    made(await admin.post(f"/workloads/{last}/suspend"))
    assert (await ground.get(last))["waits"] is None


async def test_why_costs_as_many_questions_for_many_as_for_one(ground: Ground) -> None:
    admin = ground.campus.admin
    for number in range(4):
        await ground.submit(admin, f"w{number}", gpus=8)
    await ground.settle()
    with statements(*TABLES) as for_one:
        made(await admin.get("/workloads?state=queued&limit=1"))
    with statements(*TABLES) as for_all:
        assert len(made(await admin.get("/workloads?state=queued"))["items"]) == 3
    assert len(for_all) == len(for_one)


async def test_work_outside_of_any_guarantee_is_told_what_to_do(ground: Ground) -> None:
    """Not preemptible, of a person who is guaranteed nothing: no waiting helps."""
    await ground.campus.person("chen", display_name="Chen")
    chen = await ground.campus.sign_in("chen")
    work = await ground.submit(chen, "stays", gpus=2, preemptible=False)
    await ground.settle()
    rule = "work that is not preemptible runs only inside a guarantee, and Chen is guaranteed no GPU"
    todo = "Make it preemptible, or ask for a guarantee of at least 2 GPU for Chen."
    seen = made(await chen.get(f"/workloads/{work}"))
    assert (seen["state"], seen["waits"]) == ("infeasible", None)
    assert (seen["reason"]["facts"]["rule"], seen["reason"]["facts"]["bound"]) == ("over_guarantee", 0)
    assert seen["reason"]["sentence"] == f"Can never run because {rule.replace('Chen', 'its queue')}."
    told = made(await chen.get(f"/workloads/{work}/why"))
    assert (told["result"], told["sentence"]) == ("never", f"Can never run because {rule}. {todo}")
    assert "make_preemptible" in {one["kind"] for one in told["helps"]}


async def test_names_of_others_work_are_not_told(ground: Ground) -> None:
    admin = ground.campus.admin
    await ground.campus.person("mei")
    mei = await ground.campus.sign_in("mei")
    await ground.reserve()
    await ground.submit(mei, "running", gpus=7, time_limit_seconds=600)
    await ground.settle()
    await ground.submit(admin, "secret-plan", gpus=8)
    await ground.settle()
    own = await ground.submit(mei, "small", gpus=1)
    await ground.settle()
    waits = made(await mei.get(f"/workloads/{own}"))["waits"]
    assert waits["kind"] == "reserved"
    assert waits["facts"]["kept_for"] == "other work"
    assert made(await admin.get(f"/workloads/{own}"))["waits"]["facts"]["kept_for"] == "secret-plan"
