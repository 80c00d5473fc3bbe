"""What an allocation is, frozen when it is granted: whom it is for, where it is, and what it was offered as.

Renames, moves and edits afterwards change nothing of it. People and organisations are frozen by their ids:
accounts can be deleted, and names of people go with them.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import bindparam, select

from corral.core.resources import Resource
from corral.identity.tables import organisation
from corral.queues.tables import flavor
from corral.store.database import AnyRow, Transaction
from corral.store.schema import any_of
from corral.usage.tables import NAME_LENGTH
from corral.zones.tables import node, pool, zone

HeldResource = tuple[str, str, int]
"""Resource, model of the device (empty for what has none), amount."""

Mode = Literal["", "whole", "vgpu", "shared", "mig"]
"""How devices are given: whole ones, slices that are kept apart or not, MIG instances; empty without any."""

MODEL_LENGTH = 250


@dataclass(frozen=True, slots=True)
class Grant:
    """What somebody gets; `allocation_id` is `<workload>-<attempt>-<replica>`, never used a second time.

    `flavor` is its name, empty for numbers; `mode` is how the devices are given as far as they show it: a
    flavor knows whether its slices are kept apart.
    """

    allocation_id: str
    workload_id: str
    attempt: int
    replica: int
    user_id: str
    organisation_id: str
    queue_id: str
    zone_id: str
    node: str
    resources: tuple[HeldResource, ...]
    kind: str
    flavor: str = ""
    mode: Mode = ""
    preemptible: bool = True


def frozen(transaction: Transaction, grants: Sequence[Grant]) -> list[dict[str, Any]]:
    """The columns of each grant's allocation that never change, with a few statements for all of them."""
    paths = {
        row.id: row.path
        for row in transaction.rows(_PATHS, {"ids": _list(grant.organisation_id for grant in grants)})
    }
    flavors = {grant.flavor for grant in grants if grant.flavor and grant.mode}
    rows = transaction.rows(_MODES, {"names": _list(flavors)}) if flavors else ()
    modes = {row.name: row.mode for row in rows}
    places = _places(transaction, grants)
    return [
        {
            "id": grant.allocation_id,
            "workload_id": grant.workload_id,
            "attempt": grant.attempt,
            "replica": grant.replica,
            "user_id": grant.user_id,
            "organisation_id": grant.organisation_id,
            "organisation_path": paths.get(grant.organisation_id, ""),
            "queue_id": grant.queue_id,
            "zone_id": grant.zone_id,
            "node": grant.node,
            "resources": [list(one) for one in grant.resources if one[2] > 0],
            "kind": grant.kind,
            "flavor": grant.flavor[:NAME_LENGTH],
            "device_model": _model(grant),
            "mode": modes.get(grant.flavor) or grant.mode if grant.mode else "",
            "preemptible": grant.preemptible,
            **_place(places.get((grant.zone_id, grant.node))),
        }
        for grant in grants
    ]


def _places(transaction: Transaction, grants: Sequence[Grant]) -> dict[tuple[str, str], AnyRow]:
    found: dict[tuple[str, str], AnyRow] = {}
    for zone_id in sorted({grant.zone_id for grant in grants}):
        names = _list(grant.node for grant in grants if grant.zone_id == zone_id)
        for row in transaction.rows(_PLACES, {"zone": zone_id, "names": names}):
            found[zone_id, row.node] = row
    return found


def _place(row: AnyRow | None) -> dict[str, Any]:
    if row is None:
        return {"zone_name": None, "pool_id": None, "pool_name": None}
    return {"zone_name": row.zone_name, "pool_id": row.pool_id, "pool_name": row.pool_name}


def _model(grant: Grant) -> str:
    models = {model for resource, model, _ in grant.resources if resource == Resource.GPU_MILLI}
    return ", ".join(sorted(models))[:MODEL_LENGTH]


def _list(values: Iterable[str]) -> str:
    return json.dumps(sorted(set(values)))


_PATHS = select(organisation.c.id, organisation.c.path).where(any_of(organisation.c.id, "ids"))
_MODES = select(flavor.c.name, flavor.c.mode).where(any_of(flavor.c.name, "names"))
_PLACES = (
    select(
        node.c.name.label("node"),
        node.c.pool_id,
        pool.c.name.label("pool_name"),
        zone.c.name.label("zone_name"),
    )
    .join(pool, pool.c.id == node.c.pool_id)
    .join(zone, zone.c.id == node.c.zone_id)
    .where(node.c.zone_id == bindparam("zone"), any_of(node.c.name, "names"))
)
