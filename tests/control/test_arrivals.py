"""What arrived in a zone is counted from its records, also what has ended since."""

from corral.control import feed
from corral.core.workloads import DeviceRequest
from corral.scheduling.live.live_planner import Load
from corral.workloads.arrivals import newest_arrivals
from tests.campus import made
from tests.control.ground import Ground


async def test_work_that_asks_for_the_same_is_counted_together_whatever_became_of_it(ground: Ground) -> None:
    admin = ground.campus.admin
    ids = [await ground.submit(admin, f"w{number}", 1) for number in range(3)]
    await ground.submit(admin, "large", 4)
    await ground.settle()
    made(await admin.post(f"/workloads/{ids[0]}/stop"))
    await ground.pass_time(10)
    assert await ground.state(ids[0]) == "stopped"
    found = await ground.campus.database.read(newest_arrivals, ground.zone.id, 100)
    asked = {each.request.devices: (each.replicas, each.over) for each in found}
    assert asked == {DeviceRequest(1): (3, 1), DeviceRequest(4): (1, 0)}
    last = await ground.campus.database.read(newest_arrivals, ground.zone.id, 1)
    assert [(each.request.devices, each.replicas) for each in last] == [(DeviceRequest(4), 1)]
    told = (await ground.campus.database.read(feed.read_everything, ground.zone.id)).message
    assert isinstance(told, Load)
    assert told.arrived == found, "after a restart the planner is told of all of it"
