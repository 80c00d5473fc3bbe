"""Machines for tests: what an engine would report, written down."""

from sqlalchemy import insert, select

from corral.core.devices import Device
from corral.core.ids import Kind, new_id
from corral.core.nodes import Node
from corral.engines.interface import DeviceFacts, Inventory, NodeFacts
from corral.queues.presets import ensure_presets
from corral.store.database import Transaction
from corral.zones.service import add_pool, record_inventory
from corral.zones.tables import pool, zone
from corral.zones.zones import Zone, all_zones, ensure_local_zone

GPU_MIB = 81920
IDENTITY = "0" * 32
HOST = "vm"
HALL_POOL = "dgx"


def machine(name: str = "big", gpus: int = 8, *, labels: dict[str, str] | None = None) -> Node:
    """64 cores, 512 GiB, and GPUs of 80 GiB."""
    devices = tuple(Device(f"{name}-gpu-{index}", GPU_MIB, "H100-80GB") for index in range(gpus))
    return Node(name, 64_000, 512 * 1024, devices=devices, labels=labels or {})


def this_machine(transaction: Transaction) -> Zone:
    """The zone that every campus begins with."""
    return all_zones(transaction)[0]


def found_zone(transaction: Transaction) -> Zone:
    return ensure_local_zone(transaction, IDENTITY, HOST)


def see(transaction: Transaction, *nodes: Node, simulated: bool = False) -> str:
    """What the local engine would have reported, and the flavors that come of it; the zone's id."""
    local = this_machine(transaction)
    _report(transaction, local.id, nodes, simulated=simulated)
    return local.id


def see_in_the_hall(transaction: Transaction, *nodes: Node) -> str:
    """Simulated machines in a zone that no running engine speaks for; the id of its pool."""
    found = transaction.first(select(pool.c.id, pool.c.zone_id).where(pool.c.name == HALL_POOL))
    if found is None:
        zone_id, made = new_id(Kind.ZONE, transaction.now), {"created_at": transaction.now, "generation": 1}
        transaction.run(insert(zone).values(id=zone_id, name="hall", kind="simulated", mark=zone_id, **made))
        pool_id = add_pool(transaction, zone_id, HALL_POOL)
    else:
        pool_id, zone_id = found
    _report(transaction, zone_id, nodes, simulated=True)
    return pool_id


def _report(transaction: Transaction, zone_id: str, nodes: tuple[Node, ...], *, simulated: bool) -> None:
    facts = {
        node.name: NodeFacts(
            operating_system="Debian",
            disk_mib=1024 * 1024,
            devices={one.id: DeviceFacts("NVIDIA", one.id, simulated) for one in node.devices},
        )
        for node in nodes
    }
    record_inventory(transaction, zone_id, Inventory(1, nodes, facts))
    ensure_presets(transaction, zone_id)
