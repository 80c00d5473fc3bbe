"""Nodes, pools and quotas as values over time, written in the transaction that changes them.

The journal says that something changed and is kept for days; this says what it became, and is kept as long as
the usage ledger. What-if and reports read it.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum

from sqlalchemy import func, insert, select

from corral.events.record import in_order_of_commits
from corral.store.database import Transaction
from corral.store.schema import JsonObject, any_of
from corral.zones.tables import cluster_history, device, node, pool


class HistoryKind(StrEnum):
    NODE = "node"
    POOL = "pool"
    QUEUE = "queue"


def note(transaction: Transaction, kind: HistoryKind, values: Mapping[str, JsonObject | None]) -> None:
    """Writes what differs from what was recorded last; None is what is gone."""
    if not values:
        return
    ids = {"ids": json.dumps(list(values))}
    last = {row.object_id: row.after for row in transaction.rows(_LAST, ids)}
    rows = [
        {"at": transaction.now, "kind": kind, "object_id": name, "before": last.get(name), "after": value}
        for name, value in values.items()
        if last.get(name) != value
    ]
    if rows:
        in_order_of_commits(transaction)
        transaction.run(insert(cluster_history), rows)


def note_nodes(transaction: Transaction, node_ids: Sequence[str]) -> None:
    ids = {"ids": json.dumps(list(node_ids))}
    devices: dict[str, Counter[tuple[str, int, str, str]]] = {}
    for row in transaction.rows(_DEVICES, ids):
        devices.setdefault(row.node_id, Counter())[row.model, row.memory_mib, row.mode, row.health] += 1
    found = {
        row.id: {
            "name": row.name,
            "zone_id": row.zone_id,
            "pool_id": row.pool_id,
            "state": row.state,
            "cordoned": row.cordoned,
            "cpu_milli": row.cpu_milli,
            "memory_mib": row.memory_mib,
            "devices": [
                {"model": model, "memory_mib": memory_mib, "mode": mode, "health": health, "count": count}
                for (model, memory_mib, mode, health), count in sorted(devices.get(row.id, {}).items())
            ],
        }
        for row in transaction.rows(_NODES, ids)
    }
    note(transaction, HistoryKind.NODE, {name: found.get(name) for name in node_ids})


def note_pools(transaction: Transaction, *pool_ids: str) -> None:
    rows = transaction.rows(select(pool).where(any_of(pool.c.id, "ids")), {"ids": json.dumps(pool_ids)})
    found = {row.id: {name: getattr(row, name) for name in _POOL_COLUMNS} for row in rows}
    note(transaction, HistoryKind.POOL, {name: found.get(name) for name in pool_ids})


def note_unrecorded(transaction: Transaction, zone_id: str) -> None:
    """What was there before history was kept: a beginning for nodes and pools without one."""
    for table, write in ((node, note_nodes), (pool, _note_pools)):
        recorded = select(cluster_history.c.object_id).where(cluster_history.c.object_id == table.c.id)
        missing = select(table.c.id).where(table.c.zone_id == zone_id, ~recorded.exists())
        ids = [one for (one,) in transaction.rows(missing)]
        if ids:
            write(transaction, ids)


def _note_pools(transaction: Transaction, pool_ids: Sequence[str]) -> None:
    note_pools(transaction, *pool_ids)


_POOL_COLUMNS = (
    "name",
    "zone_id",
    "labels",
    "arrangement",
    "unit_gpu_milli",
    "priority_across_queues",
    "reservations",
    "least_strength",
)
_h = cluster_history.c
_newest = select(func.max(_h.sequence)).where(any_of(_h.object_id, "ids")).group_by(_h.object_id)
_LAST = select(_h.object_id, _h.after).where(_h.sequence.in_(_newest))
_NODES = select(node).where(any_of(node.c.id, "ids"))
_DEVICES = select(device).where(any_of(device.c.node_id, "ids"))
