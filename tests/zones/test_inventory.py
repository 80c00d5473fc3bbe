"""What an engine reports is written down; what is gone is remembered; scheduling sees both in its terms."""

import dataclasses

from sqlalchemy import select, update

from corral.core.devices import Device, DeviceMode
from corral.core.mig import A100_40GB, MigInstance
from corral.core.nodes import CORDONED, LOST, DeviceLink, Node
from corral.engines.interface import DeviceFacts, Inventory, NodeFacts
from corral.store.database import Database
from corral.zones import journal, service
from corral.zones.rules import ZoneKind
from corral.zones.service import record_inventory
from corral.zones.snapshot import POOL_LABEL, pools_and_nodes
from corral.zones.tables import device
from corral.zones.tables import node as node_table
from tests.statements import statements
from tests.zones.machines import found_zone, this_machine

GPU = Device("gpu-0", 81920, "H100")
CUT = Device(
    "gpu-1", 40960, "A100", DeviceMode.MIG, geometry=A100_40GB, instances=(MigInstance("1g.5gb", 2),)
)
BIG = Node(
    "big",
    64_000,
    512_000,
    devices=(GPU, CUT),
    labels={"rack": "r1"},
    taints=("research",),
    data=("imagenet",),
    links=(DeviceLink("gpu-0", "gpu-1", 4),),
)
SMALL = Node("small", 8_000, 32_000)


async def test_snapshot_gives_back_what_was_reported(database: Database) -> None:
    zone = await database.write(found_zone)
    await database.write(record_inventory, zone.id, Inventory(1, (BIG, SMALL)))
    ground = await database.read(pools_and_nodes, zone.id)
    (pool,) = ground.pools
    assert ground.nodes == tuple(
        dataclasses.replace(node, labels={**node.labels, POOL_LABEL: pool.name}) for node in (BIG, SMALL)
    )


async def test_only_what_changed_is_told(database: Database) -> None:
    zone = await database.write(found_zone)
    assert len(await database.write(record_inventory, zone.id, Inventory(1, (BIG, SMALL)))) == 2
    position = await database.read(journal.latest, zone.id)
    assert await database.write(record_inventory, zone.id, Inventory(2, (BIG, SMALL))) == ()
    assert await database.read(journal.read_after, zone.id, position) == ()
    more = dataclasses.replace(SMALL, memory_mib=64_000)
    (changed,) = await database.write(record_inventory, zone.id, Inventory(3, (BIG, more)))
    told = await database.read(journal.read_after, zone.id, position)
    assert [(one.kind, one.object_id) for one in told] == [("node", changed)]


async def test_node_that_is_gone_is_lost_and_comes_back_as_itself(database: Database) -> None:
    zone = await database.write(found_zone)
    ids = await database.write(record_inventory, zone.id, Inventory(1, (BIG, SMALL)))
    assert await database.write(record_inventory, zone.id, Inventory(2, (BIG,))) == ids[1:]
    assert await database.write(record_inventory, zone.id, Inventory(3, (BIG,))) == ()
    ground = await database.read(pools_and_nodes, zone.id)
    assert [node.name for node in ground.nodes] == ["big"]
    held = await database.read(pools_and_nodes, zone.id, {("small", None)})
    assert {node.name: LOST in node.taints for node in held.nodes} == {"big": False, "small": True}
    assert await database.write(record_inventory, zone.id, Inventory(4, (BIG, SMALL))) == ids[1:]
    assert len((await database.read(pools_and_nodes, zone.id)).nodes) == 2


async def test_devices_that_are_not_healthy_take_no_new_work(database: Database) -> None:
    zone = await database.write(found_zone)
    await database.write(record_inventory, zone.id, Inventory(1, (BIG,)))
    faulty = {"big": NodeFacts(devices={"gpu-0": DeviceFacts(faulty=True)})}
    without = dataclasses.replace(BIG, devices=(GPU,), links=())
    assert await database.write(record_inventory, zone.id, Inventory(2, (without,), faulty))
    (node,) = (await database.read(pools_and_nodes, zone.id)).nodes
    assert node.devices == ()
    (node,) = (await database.read(pools_and_nodes, zone.id, {("big", "gpu-1")})).nodes
    assert [device.id for device in node.devices] == ["gpu-1"]
    await database.write(record_inventory, zone.id, Inventory(3, (BIG,)))
    (node,) = (await database.read(pools_and_nodes, zone.id)).nodes
    assert node.devices == BIG.devices
    assert node.links == BIG.links


async def test_cordoned_node_keeps_its_work_and_gets_none(database: Database) -> None:
    zone = await database.write(found_zone)
    (node_id,) = await database.write(record_inventory, zone.id, Inventory(1, (SMALL,)))
    await database.write(
        lambda transaction: transaction.run(
            update(node_table).where(node_table.c.id == node_id).values(cordoned=True)
        )
    )
    assert await database.write(record_inventory, zone.id, Inventory(2, (SMALL,))) == ()
    (node,) = (await database.read(pools_and_nodes, zone.id)).nodes
    assert node.taints == (CORDONED,)


async def test_node_is_in_the_pool_that_asks_for_most_of_its_labels(database: Database) -> None:
    zone = await database.write(found_zone)

    def add(transaction: service.Transaction) -> tuple[str, str]:
        wide = service.add_pool(transaction, zone.id, "rack 1", labels={"rack": "r1"})
        return wide, service.add_pool(transaction, zone.id, "rack 2", labels={"rack": "r2", "disk": "nvme"})

    wide, _ = await database.write(add)
    fast = dataclasses.replace(SMALL, labels={"rack": "r2"})
    await database.write(record_inventory, zone.id, Inventory(1, (BIG, fast)))
    ground = await database.read(pools_and_nodes, zone.id)
    assert [pool.labels for pool in ground.pools] == [{POOL_LABEL: pool.name} for pool in ground.pools]
    placed = {node.name: node.labels[POOL_LABEL] for node in ground.nodes}
    assert placed == {"big": wide, "small": ground.pools[0].name}


async def test_local_zone_is_made_once(database: Database) -> None:
    zone = await database.write(found_zone)
    assert await database.write(found_zone) == zone
    assert await database.read(this_machine) == zone
    assert zone.kind is ZoneKind.LOCAL
    assert len((await database.read(pools_and_nodes, zone.id)).pools) == 1


async def test_thousands_of_nodes_are_written_in_a_few_statements(database: Database) -> None:
    """One statement for each device kept everybody else from writing for minutes."""
    zone = await database.write(found_zone)
    devices = tuple(Device(f"gpu-{number}", 81920, "H100") for number in range(8))
    many = tuple(Node(f"n{number:03}", 64_000, 512_000, devices=devices) for number in range(60))
    with statements("node", "device", "zone_journal", "event") as seen:
        assert len(await database.write(record_inventory, zone.id, Inventory(1, many))) == 60
    assert len(seen) < 20
    fewer = tuple(dataclasses.replace(one, devices=devices[:7]) for one in many[:50])
    with statements("node", "device", "zone_journal", "event") as seen:
        assert len(await database.write(record_inventory, zone.id, Inventory(2, fewer))) == 60
    assert len(seen) < 20
    rows = await database.read(lambda t: t.rows(select(device.c.id, device.c.health).order_by(device.c.id)))
    offline = {row.id for row in rows if row.health == "offline"}
    assert offline == {"gpu-7"}
