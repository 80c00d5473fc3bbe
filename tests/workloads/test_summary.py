"""How much work there is in which state."""

from tests.campus import made
from tests.control.ground import Ground


async def test_summary_counts_what_the_list_would_show(ground: Ground) -> None:
    admin = ground.campus.admin
    first = await ground.submit(admin, "first", gpus=8)
    await ground.submit(admin, "second", gpus=1)
    await ground.settle()
    counted = made(await admin.get("/workloads/summary"))
    assert counted["states"] == {"starting": 1, "queued": 1}
    assert counted["waits_since"] is not None

    narrowed = made(await admin.get("/workloads/summary?search=first"))
    assert narrowed == {"states": {"starting": 1}, "waits_since": None}

    made(await admin.post(f"/workloads/{first}/stop"))
    await ground.pass_time(40)
    made(await admin.post(f"/workloads/{first}/delete"))
    assert made(await admin.get("/workloads/summary?search=first"))["states"] == {}


async def test_summary_counts_nobody_elses_work_without_the_right_to_see_it(ground: Ground) -> None:
    await ground.submit(ground.campus.admin, "theirs")
    await ground.campus.person("mei")
    mei = await ground.campus.sign_in("mei")
    assert made(await mei.get("/workloads/summary"))["states"] == {}
