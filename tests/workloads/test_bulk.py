"""One action on many workloads."""

from sqlalchemy import func, select

from corral.workloads.tables import transition
from tests.campus import made
from tests.control.ground import Ground
from tests.statements import statements


async def test_many_are_changed_with_as_many_statements_as_few(ground: Ground) -> None:
    admin = ground.campus.admin
    work = [await ground.submit(admin, f"w{number}") for number in range(12)]
    counts = {}
    for action in ("suspend", "resume", "stop", "delete"):
        for name, some in (("few", work[:2]), ("many", work[2:])):
            with statements("workload", "transition", "zone_journal", "event", "audit_entry") as seen:
                answer = made(await admin.post("/workloads/actions", {"action": action, "ids": some}))
            assert answer["changed"] == some
            counts[action, name] = len(seen)
    # The stream of events may read on meanwhile, once or twice; each of ten by itself would write 50 times.
    assert all(counts[action, "many"] <= counts[action, "few"] + 5 for action, _ in counts), counts
    steps = await ground.campus.database.read(
        lambda t: t.rows(select(func.count()).select_from(transition).group_by(transition.c.workload_id))
    )
    assert [count for (count,) in steps] == [5] * 12


async def test_each_that_is_refused_is_named_and_the_others_are_changed_and_audited(ground: Ground) -> None:
    admin = ground.campus.admin
    await ground.campus.person("mei")
    mei = await ground.campus.sign_in("mei")
    own, done = await ground.submit(mei, "own"), await ground.submit(mei, "done")
    made(await mei.post(f"/workloads/{done}/stop"))
    theirs, unknown = await ground.submit(admin, "theirs"), "w" + "0" * 22
    ids = [theirs, own, done, unknown, own]
    answer = made(await mei.post("/workloads/actions", {"action": "suspend", "ids": ids}))
    assert (answer["changed"], answer["unchanged"]) == ([own], [])
    assert {one["id"]: one["detail"] for one in answer["refused"]} == {
        theirs: f"There is no workload {theirs} that you may see.",
        done: "It is stopped: there is nothing to suspend.",
        unknown: f"There is no workload {unknown} that you may see.",
    }
    entries = made(await admin.get("/audit?action=workload.suspend"))["items"]
    assert [(one["object_id"], one["before"], one["after"]) for one in entries] == [
        (own, {"state": "queued"}, {"state": "suspended"})
    ]
