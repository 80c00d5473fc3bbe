"""How long work runs is learnt from what ended: who waits behind work without a limit is told when."""

from datetime import datetime, timedelta

from corral.engines.simulated import Program
from tests.campus import made
from tests.control.ground import Ground
from tests.statements import statements

ALL_GPUS = 8


async def told_start(ground: Ground, workload_id: str) -> datetime | None:
    told = made(await ground.campus.admin.get(f"/workloads/{workload_id}/why"))
    assert told["result"] == "waits"
    return None if told["starts_at"] is None else datetime.fromisoformat(told["starts_at"])


async def submit(ground: Ground, name: str, seconds: int | None, gpus: int = 1) -> str:
    """Work that says nothing about how long it takes."""
    ground.programs[name] = Program(seconds, 0, 2)
    return await ground.submit(ground.campus.admin, name, gpus)


async def test_who_waits_behind_work_without_a_limit_is_told_when_it_starts(ground: Ground) -> None:
    for number in range(5):
        await submit(ground, f"done-{number}", 60)
    await ground.pass_time(10)
    first = await submit(ground, "first", None, ALL_GPUS)
    await ground.settle()
    assert await told_start(ground, first) is None, "nothing has ended yet"
    await ground.pass_time(60)
    began = ground.campus.clock()
    assert await ground.state(first) in {"starting", "running"}
    second = await submit(ground, "second", None, ALL_GPUS)
    await ground.settle()
    told = await told_start(ground, second)
    assert told is not None
    assert timedelta(seconds=30) < told - began < timedelta(seconds=90)

    with statements("attempt") as seen:
        await ground.schedule()
        assert await told_start(ground, second) == told
    assert not [one for one in seen if "closed_at IS NOT NULL" in one], "nothing ended, nothing is read"

    await ground.restart()
    await ground.settle()
    assert await told_start(ground, second) == told, "it is learnt again from the records"


async def test_work_that_a_person_stopped_has_ended_and_suspended_work_has_not(ground: Ground) -> None:
    ids = [await submit(ground, f"long-{number}", None) for number in range(5)]
    await ground.pass_time(30)
    for one, action in zip(ids, ("stop", "stop", "stop", "stop", "suspend"), strict=True):
        made(await ground.campus.admin.post(f"/workloads/{one}/{action}"))
    await ground.pass_time(10)
    first = await submit(ground, "first", None, ALL_GPUS)
    await ground.settle()
    assert await ground.state(first) in {"starting", "running"}
    second = await submit(ground, "second", None, ALL_GPUS)
    await ground.settle()
    assert await told_start(ground, second) is None, "four are too few"
    made(await ground.campus.admin.post(f"/workloads/{first}/stop"))
    await ground.pass_time(10)
    third = await submit(ground, "third", None, ALL_GPUS)
    await ground.settle()
    assert await told_start(ground, third) is not None
