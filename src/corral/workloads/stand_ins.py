"""Stand-ins: what scheduling is told of work that cannot be planned and holds something.

Whatever is wrong with a workload, what it holds is held: a stand-in has the place and the amounts that were
granted, waits for nothing, and nobody takes anything from it.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import String, cast, select

from corral.core.devices import DeviceUse
from corral.core.nodes import Node
from corral.core.refusals import Unavailable
from corral.core.runs import ReplicaId
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, ReplicaState, Request, Workload
from corral.store.database import Transaction
from corral.workloads.rows import device_uses
from corral.workloads.snapshot import GROUP
from corral.workloads.tables import allocation, replica, workload

_MOST_AT_ONCE = 500


def stand_ins(
    transaction: Transaction, workload_ids: Collection[str], nodes: Mapping[str, Node]
) -> dict[str, Workload]:
    """For those of the workloads that hold something on one of the nodes."""
    chosen = sorted(workload_ids)
    found: dict[str, list[Replica]] = {}
    queues: dict[str, str] = {}
    for start in range(0, len(chosen), _MOST_AT_ONCE):
        for row in transaction.rows(_HELD.where(_a.workload_id.in_(chosen[start : start + _MOST_AT_ONCE]))):
            if row.node not in nodes:
                continue
            queues[row.workload_id] = row.queue_id
            found.setdefault(row.workload_id, []).append(_replica(row, nodes[row.node]))
    return {
        name: Workload(
            name=name,
            queue=queues[name],
            groups=(ReplicaGroup(GROUP, 1, replicas=tuple(replicas), preemptible=False),),
            running_since=0,
            stale_grace_seconds=None,
        )
        for name, replicas in found.items()
    }


def _replica(row: Any, node: Node) -> Replica:
    there = {device.id for device in node.devices}
    uses = tuple(use for use in _uses(row) if use.device in there)
    request = Request(max(0, row.cpu_milli), max(0, row.memory_mib), _asked(uses))
    name = str(ReplicaId(row.workload_id, row.replica))
    return Replica(name, ReplicaState.RUNNING, row.node, uses, request)


def _uses(row: Any) -> tuple[DeviceUse, ...]:
    """As they were granted; they are written down twice."""
    for text in (row.devices, row.again):
        try:
            return device_uses(json.loads(text))
        except (ValueError, TypeError):
            continue
    # Guessing would give the same device to two.
    raise Unavailable(
        f"Nobody can say what {row.workload_id} holds on {row.node}: its allocation cannot be read.",
        "Restore the database from a backup, or delete the allocation.",
    )


def _asked(uses: tuple[DeviceUse, ...]) -> DeviceRequest | None:
    if not uses:
        return None
    one = uses[0]
    return DeviceRequest(len(uses), one.memory_mib, compute_percent=one.compute_percent, profile=one.profile)


_a = allocation.c
# As text: reading a damaged document as one would fail for all rows.
_HELD = (
    select(
        _a.workload_id,
        _a.replica,
        _a.node,
        _a.cpu_milli,
        _a.memory_mib,
        cast(_a.devices, String).label("devices"),
        cast(replica.c.devices, String).label("again"),
        workload.c.queue_id,
    )
    .join(workload, workload.c.id == _a.workload_id)
    .join(
        replica,
        (replica.c.workload_id == _a.workload_id)
        & (replica.c.attempt == _a.attempt)
        & (replica.c.number == _a.replica),
    )
    .order_by(_a.workload_id, _a.replica)
)
