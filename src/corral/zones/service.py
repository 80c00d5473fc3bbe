"""What the engines of zones report, and the pools it is put in."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Table, Update, bindparam, insert, select, update

from corral.core.devices import Device
from corral.core.ids import Kind, new_id
from corral.core.nodes import Arrangement, Node
from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.engines.interface import DeviceFacts, Inventory, NodeFacts
from corral.events.record import Change, publish_all
from corral.store.database import Transaction
from corral.store.schema import JsonObject, any_of
from corral.zones import journal
from corral.zones.history import note_nodes, note_pools
from corral.zones.journal import JournalKind
from corral.zones.rows import DeviceRow, NodeRow
from corral.zones.rules import DeviceHealth, PoolLabels, pool_of
from corral.zones.tables import device, node, pool, zone

DEFAULT_POOL = "default"
# Of a node's facts; the others are kept as they are.
_OWN_COLUMNS = frozenset({"disk_mib", "devices"})


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
    note_pools(transaction, pool_id)
    return pool_id


def record_inventory(
    transaction: Transaction, zone_id: str, inventory: Inventory, of: Sequence[Node] | None = None
) -> tuple[str, ...]:
    """Writes down what an engine reports and returns the ids of the nodes that changed.

    A node that is no longer reported is lost, a device offline; work may still be there. `of` are the nodes
    that are not written down yet, if others were before.
    """
    changed = record_nodes(transaction, zone_id, inventory, inventory.nodes if of is None else of)
    there = {reported.name for reported in inventory.nodes}
    present = select(node.c.id, node.c.name).where(node.c.zone_id == zone_id, node.c.state != "lost")
    lost = [row.id for row in transaction.rows(present) if row.name not in there]
    if lost:
        gone = update(node).where(any_of(node.c.id, "ids")).values(state="lost", seen_at=transaction.now)
        transaction.run(gone, {"ids": json.dumps(lost)})
    transaction.run(
        update(zone)
        .where(zone.c.id == zone_id)
        .values(inventory_revision=inventory.revision, seen_at=transaction.now)
    )
    nodes_changed(transaction, zone_id, *lost)
    return (*changed, *lost)


def record_nodes(
    transaction: Transaction, zone_id: str, inventory: Inventory, of: Sequence[Node]
) -> tuple[str, ...]:
    """Writes down some of the nodes, in a few statements however many they are."""
    pools = pool_labels(transaction, zone_id)
    names = json.dumps([reported.name for reported in of])
    of_zone = select(node).where(node.c.zone_id == zone_id, any_of(node.c.name, "names"))
    rows_by_name = {row.name: NodeRow._make(row) for row in transaction.rows(of_zone, {"names": names})}
    ids = json.dumps([row.id for row in rows_by_name.values()])
    devices: dict[str, dict[str, DeviceRow]] = {}
    of_nodes = select(device).where(any_of(device.c.node_id, "ids"))
    for one in map(DeviceRow._make, transaction.rows(of_nodes, {"ids": ids})):
        devices.setdefault(one.node_id, {})[one.id] = one
    found = _Found()
    for reported in of:
        facts = inventory.facts.get(reported.name, NodeFacts())
        values = {**_node_values(reported, facts), "pool_id": pool_of(reported.labels, pools)}
        node_id, differs = _look_at_node(transaction, zone_id, reported.name, rows_by_name, values, found)
        if _look_at_devices(node_id, reported.devices, facts, devices.get(node_id, {}), found) or differs:
            found.changed.append(node_id)
    transaction.run(
        update(node).where(any_of(node.c.id, "ids")).values(seen_at=transaction.now), {"ids": ids}
    )
    _write(transaction, found)
    nodes_changed(transaction, zone_id, *found.changed)
    return tuple(found.changed)


def pool_labels(transaction: Transaction, zone_id: str) -> list[PoolLabels]:
    return [
        PoolLabels(*row)
        for row in transaction.rows(select(pool.c.id, pool.c.labels).where(pool.c.zone_id == zone_id))
    ]


def nodes_changed(transaction: Transaction, zone_id: str, *node_ids: str) -> None:
    """Counts a change of each, and tells scheduling and whoever looks at nodes."""
    if not node_ids:
        return
    journal.append(transaction, zone_id, JournalKind.NODE, *node_ids)
    note_nodes(transaction, node_ids)
    ids = {"ids": json.dumps(node_ids)}
    these = any_of(node.c.id, "ids")
    transaction.run(update(node).where(these).values(revision=node.c.revision + 1), ids)
    rows = transaction.rows(select(node.c.id, node.c.revision).where(these).order_by(node.c.id), ids)
    publish_all(transaction, "node", [Change(row.id, row.revision) for row in rows])


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


@dataclass(frozen=True, slots=True)
class _Found:
    """What is to be written down: rows that are new, and columns of rows that differ."""

    new_nodes: list[JsonObject] = field(default_factory=list)
    nodes: list[JsonObject] = field(default_factory=list)
    new_devices: list[JsonObject] = field(default_factory=list)
    devices: list[JsonObject] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)


def _look_at_node(
    transaction: Transaction,
    zone_id: str,
    name: str,
    rows_by_name: Mapping[str, NodeRow],
    values: JsonObject,
    found: _Found,
) -> tuple[str, bool]:
    """The node's id, and whether anything but the time at which it was seen is new."""
    row = rows_by_name.get(name)
    if row is not None:
        differs = _differs(row, values)
        if differs:
            found.nodes.append({"of_node": row.id, **_as_new(values)})
        return row.id, differs
    node_id = new_id(Kind.NODE, transaction.now)
    at = {"seen_at": transaction.now, "created_at": transaction.now}
    own = {"id": node_id, "zone_id": zone_id, "name": name, "cordoned": False, **at}
    found.new_nodes.append({**own, "revision": 0, **values})  # the first change makes it 1
    return node_id, True


def _look_at_devices(
    node_id: str,
    reported: tuple[Device, ...],
    facts: NodeFacts,
    rows_by_name: Mapping[str, DeviceRow],
    found: _Found,
) -> bool:
    """Whether any of them is new, gone or different."""
    before = len(found.new_devices), len(found.devices)
    for position, one in enumerate(reported):
        values = _device_values(position, one, facts.devices.get(one.id, DeviceFacts()))
        row = rows_by_name.get(one.id)
        if row is None:
            found.new_devices.append({"node_id": node_id, "id": one.id, **values})
        elif _differs(row, values):
            found.devices.append({"of_node": node_id, "of_device": one.id, **_as_new(values)})
    there = {one.id for one in reported}
    for row in rows_by_name.values():
        if row.id not in there and row.health != DeviceHealth.OFFLINE:
            gone = {name: getattr(row, name) for name in _DEVICE_COLUMNS} | {"health": DeviceHealth.OFFLINE}
            found.devices.append({"of_node": node_id, "of_device": row.id, **_as_new(gone)})
    return before != (len(found.new_devices), len(found.devices))


def _write(transaction: Transaction, found: _Found) -> None:
    if found.new_nodes:
        transaction.run(insert(node), found.new_nodes)
    if found.nodes:
        transaction.run(_UPDATE_NODE, found.nodes)
    if found.new_devices:
        transaction.run(insert(device), found.new_devices)
    if found.devices:
        transaction.run(_UPDATE_DEVICE, found.devices)


def _as_new(values: JsonObject) -> JsonObject:
    return {f"new_{name}": value for name, value in values.items()}


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


def _differs(row: NodeRow | DeviceRow, values: JsonObject) -> bool:
    return any(getattr(row, name) != value for name, value in values.items())


def _json(value: Any) -> Any:
    """As it comes back from the database."""
    return json.loads(json.dumps(value))


def _update(table: Table, columns: Iterable[str], *here: ColumnElement[bool]) -> Update:
    new = {name: bindparam(f"new_{name}", type_=table.c[name].type) for name in columns}
    return update(table).where(*here).values(new)


_NODE_COLUMNS = (*_node_values(Node("", 1, 1, 1, ()), NodeFacts()), "pool_id")
_DEVICE_COLUMNS = tuple(_device_values(0, Device("", 1, ""), DeviceFacts()))
_UPDATE_NODE = _update(node, _NODE_COLUMNS, node.c.id == bindparam("of_node"))
_UPDATE_DEVICE = _update(
    device,
    _DEVICE_COLUMNS,
    device.c.node_id == bindparam("of_node"),
    device.c.id == bindparam("of_device"),
)
