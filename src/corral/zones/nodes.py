"""Nodes and devices: list, and take nodes out of use."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Select, select, update

from corral.api.callers import Caller
from corral.api.pages import Order, Page, page_of
from corral.api.versions import Expected
from corral.audit.record import Subject, record
from corral.core.refusals import NotFound
from corral.identity.lookups import root_of
from corral.store.database import AnyRow, Transaction
from corral.zones.models import Device, Node, NodeChange, NodeQuery
from corral.zones.service import nodes_changed
from corral.zones.tables import device, node, pool, zone
from corral.zones.zones import require_manager


def list_nodes(transaction: Transaction, query: NodeQuery) -> Page[Node]:
    """By name."""
    order = Order("name", (node.c.name, node.c.id))
    return page_of(
        Page[Node],
        transaction.rows,
        _filtered(_NODES, query),
        order,
        query.cursor,
        query.limit,
        lambda rows: _nodes(transaction, rows),
    )


def get_node(transaction: Transaction, node_id: str) -> Node:
    row = transaction.first(_NODES.where(node.c.id == node_id))
    if row is None:
        raise NotFound(f"There is no node {node_id}.", "List the nodes to find its id.")
    (found,) = _nodes(transaction, [row])
    return found


def change_node(
    transaction: Transaction, caller: Caller, node_id: str, change: NodeChange, expected: Expected
) -> Node:
    """A cordoned node keeps what runs on it and gets nothing new."""
    require_manager(transaction, caller)
    before = get_node(transaction, node_id)
    expected.check(before.generation)
    cordoned = change.given().get("cordoned", before.cordoned)
    if cordoned == before.cordoned:
        return before
    transaction.run(update(node).where(node.c.id == node_id).values(cordoned=cordoned))
    action = "node.cordon" if cordoned else "node.uncordon"
    subject = Subject("node", node_id, before.name, root_of(transaction).path)
    record(transaction, caller, action, subject)
    nodes_changed(transaction, before.zone_id, node_id)
    return get_node(transaction, node_id)


def list_devices(transaction: Transaction, query: NodeQuery) -> Page[Device]:
    """By node and index."""
    order = Order("node", (node.c.name, device.c.index, device.c.id))
    return page_of(
        Page[Device],
        transaction.rows,
        _filtered(_DEVICES, query),
        order,
        query.cursor,
        query.limit,
        lambda rows: [_device(row) for row in rows],
    )


def _filtered(statement: Select[Any], query: NodeQuery) -> Select[Any]:
    if query.zone is not None:
        statement = statement.where(node.c.zone_id == query.zone)
    if query.pool is not None:
        statement = statement.where(node.c.pool_id == query.pool)
    return statement


def _nodes(transaction: Transaction, rows: Sequence[AnyRow]) -> list[Node]:
    devices: dict[str, list[Device]] = {row.id: [] for row in rows}
    statement = _DEVICES.where(node.c.id.in_(list(devices))).order_by(device.c.index, device.c.id)
    for row in transaction.rows(statement):
        devices[row.node_id].append(_device(row))
    return [
        Node.model_validate(
            {
                **row._mapping,  # noqa: SLF001
                "generation": row.revision,
                "devices": devices[row.id],
                # One that is ready is reported all the time; only what is different is written down.
                "seen_at": row.seen_at if row.state == "lost" else None,
            }
        )
        for row in rows
    ]


def _device(row: AnyRow) -> Device:
    return Device.model_validate(dict(row._mapping))  # noqa: SLF001


_NODES: Select[Any] = (
    select(node, pool.c.name.label("pool_name"), zone.c.name.label("zone_name"))
    .join(pool, pool.c.id == node.c.pool_id)
    .join(zone, zone.c.id == node.c.zone_id)
    .where(zone.c.removed_at.is_(None))
)
_DEVICES: Select[Any] = (
    select(
        device,
        node.c.name.label("node_name"),
        node.c.pool_id,
        pool.c.name.label("pool_name"),
    )
    .join(node, node.c.id == device.c.node_id)
    .join(pool, pool.c.id == node.c.pool_id)
    .join(zone, zone.c.id == node.c.zone_id)
    .where(zone.c.removed_at.is_(None))
)
