"""Zones: the first one, and what their engines report."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import insert, select, update

from corral.core.devices import Device
from corral.core.ids import Kind, new_id
from corral.core.nodes import Arrangement, Node
from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.engines.interface import DeviceFacts, Inventory, NodeFacts
from corral.events.record import publish
from corral.store.database import AnyRow, Transaction
from corral.store.schema import JsonObject
from corral.zones import journal
from corral.zones.journal import JournalKind
from corral.zones.rules import DeviceHealth, PoolLabels, pool_of
from corral.zones.tables import device, node, pool, zone

LOCAL = "local"
DEFAULT_POOL = "default"
# Of a node's facts; the others are kept as they are.
_OWN_COLUMNS = frozenset({"disk_mib", "devices"})


@dataclass(frozen=True, slots=True)
class Zone:
    """`mark` is on everything that the zone's engine makes outside, so that it knows its own."""

    id: str
    name: str
    engine: str
    mark: str


def local_zone(transaction: Transaction) -> Zone:
    """This machine."""
    row = transaction.first(_ZONES.where(zone.c.engine == LOCAL).order_by(zone.c.id).limit(1))
    assert row is not None, "the local zone is made at the first start"
    return Zone(*row)


def ensure_local_zone(transaction: Transaction) -> Zone:
    """This machine as a zone with one pool, made at the first start."""
    if transaction.first(_ZONES.where(zone.c.engine == LOCAL)) is None:
        zone_id = new_id(Kind.ZONE, transaction.now)
        made = {"created_at": transaction.now, "generation": 1}
        transaction.run(insert(zone).values(id=zone_id, name=LOCAL, engine=LOCAL, mark=zone_id, **made))
        add_pool(transaction, zone_id, DEFAULT_POOL)
    return local_zone(transaction)


def add_pool(transaction: Transaction, zone_id: str, name: str, **values: Any) -> str:
    """A new pool with the usual settings but for `values`; which nodes it gets is not looked at."""
    pool_id = new_id(Kind.POOL, transaction.now)
    usual: JsonObject = {
        "labels": {},
        "arrangement": Arrangement.PACKING,
        "unit_gpu_milli": WHOLE_DEVICE_MILLI,
        "priority_across_queues": False,
        "reservations": 0,
        "topologies": [],
        "least_strength": "none",
    }
    transaction.run(
        insert(pool).values(
            {
                **usual,
                **values,
                "id": pool_id,
                "zone_id": zone_id,
                "name": name,
                "created_at": transaction.now,
                "generation": 1,
            }
        )
    )
    journal.append(transaction, zone_id, JournalKind.POOL, pool_id)
    return pool_id


def record_inventory(transaction: Transaction, zone_id: str, inventory: Inventory) -> tuple[str, ...]:
    """Writes down what an engine reports and returns the ids of the nodes that changed.

    A node that is no longer reported is lost, a device offline; work may still be there.
    """
    pools = pool_labels(transaction, zone_id)
    known = {row.name: row for row in transaction.rows(select(node).where(node.c.zone_id == zone_id))}
    changed = []
    for reported in inventory.nodes:
        facts = inventory.facts.get(reported.name, NodeFacts())
        values = {**_node_values(reported, facts), "pool_id": pool_of(reported.labels, pools)}
        row = known.pop(reported.name, None)
        node_id, is_new = _write_node(transaction, zone_id, reported.name, row, values)
        if _write_devices(transaction, node_id, reported.devices, facts) or is_new:
            changed.append(node_id)
    for row in known.values():
        if row.state != "lost":
            transaction.run(
                update(node).where(node.c.id == row.id).values(state="lost", seen_at=transaction.now)
            )
            changed.append(row.id)
    transaction.run(
        update(zone)
        .where(zone.c.id == zone_id)
        .values(inventory_revision=inventory.revision, seen_at=transaction.now)
    )
    nodes_changed(transaction, zone_id, *changed)
    return tuple(changed)


def pool_labels(transaction: Transaction, zone_id: str) -> list[PoolLabels]:
    return [
        PoolLabels(*row)
        for row in transaction.rows(select(pool.c.id, pool.c.labels).where(pool.c.zone_id == zone_id))
    ]


def nodes_changed(transaction: Transaction, zone_id: str, *node_ids: str) -> None:
    """Counts a change of each, and tells scheduling and whoever looks at nodes."""
    journal.append(transaction, zone_id, JournalKind.NODE, *node_ids)
    for node_id in node_ids:
        revision = transaction.scalar(
            update(node)
            .where(node.c.id == node_id)
            .values(revision=node.c.revision + 1)
            .returning(node.c.revision)
        )
        publish(transaction, "node", node_id, revision)


def _node_values(reported: Node, facts: NodeFacts) -> JsonObject:
    return {
        "cpu_milli": reported.cpu_milli,
        "memory_mib": reported.memory_mib,
        "disk_mib": facts.disk_mib,
        "pods": reported.pods,
        "labels": dict(reported.labels),
        "taints": list(reported.taints),
        "data": list(reported.data),
        "images": list(reported.images),
        "links": [asdict(link) for link in reported.links],
        "simulated": any(one.simulated for one in facts.devices.values()),
        "state": "ready",
        "facts": _json({name: value for name, value in asdict(facts).items() if name not in _OWN_COLUMNS}),
    }


def _write_node(
    transaction: Transaction, zone_id: str, name: str, row: AnyRow | None, values: JsonObject
) -> tuple[str, bool]:
    """The node's id, and whether anything but the time at which it was seen is new."""
    if row is not None:
        transaction.run(update(node).where(node.c.id == row.id).values(seen_at=transaction.now, **values))
        return row.id, _differs(row, values)
    node_id = new_id(Kind.NODE, transaction.now)
    transaction.run(
        insert(node).values(
            id=node_id,
            zone_id=zone_id,
            name=name,
            cordoned=False,
            seen_at=transaction.now,
            created_at=transaction.now,
            revision=0,  # the first change makes it 1
            **values,
        )
    )
    return node_id, True


def _write_devices(
    transaction: Transaction, node_id: str, reported: tuple[Device, ...], facts: NodeFacts
) -> bool:
    """Whether any of them is new, gone or different."""
    known = {row.id: row for row in transaction.rows(select(device).where(device.c.node_id == node_id))}
    different: dict[str, JsonObject] = {}
    for position, one in enumerate(reported):
        values = _device_values(position, one, facts.devices.get(one.id, DeviceFacts()))
        row = known.pop(one.id, None)
        if row is None:
            transaction.run(insert(device).values(node_id=node_id, id=one.id, **values))
            different[one.id] = {}
        elif _differs(row, values):
            different[one.id] = values
    for row in known.values():
        if row.health != DeviceHealth.OFFLINE:
            different[row.id] = {"health": DeviceHealth.OFFLINE}
    for device_id, values in different.items():
        if values:
            here = (device.c.node_id == node_id, device.c.id == device_id)
            transaction.run(update(device).where(*here).values(**values))
    return bool(different)


def _device_values(index: int, reported: Device, facts: DeviceFacts) -> JsonObject:
    geometry, instances = reported.geometry, reported.instances
    return {
        "index": index,
        "vendor": facts.vendor,
        "model": reported.model,
        "memory_mib": reported.memory_mib,
        "mode": reported.mode,
        "geometry": None if geometry is None else _json(asdict(geometry)),
        "instances": None if instances is None else [asdict(one) for one in instances],
        "health": DeviceHealth.FAULTY if facts.faulty else DeviceHealth.HEALTHY,
        "simulated": facts.simulated,
        "facts": {"uuid": facts.uuid, "numa": facts.numa},
    }


def _differs(row: AnyRow, values: JsonObject) -> bool:
    stored = row._mapping  # noqa: SLF001 - a row's attributes are those of a tuple, too
    return any(stored[name] != value for name, value in values.items())


def _json(value: Any) -> Any:
    """As it comes back from the database."""
    return json.loads(json.dumps(value))


_ZONES = select(zone.c.id, zone.c.name, zone.c.engine, zone.c.mark)
