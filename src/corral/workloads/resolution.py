"""Resolves what new work asks for: everything that later decisions need, with no default left open."""

from sqlalchemy import select

from corral.core.refusals import Invalid
from corral.identity.lookups import Organisation
from corral.identity.tables import user
from corral.queues import flavors
from corral.queues.service import may_use_numbers
from corral.store.database import Transaction
from corral.workloads.caps import pools_that_allow
from corral.workloads.creation import Home
from corral.workloads.documents import VERSION, StoredDocument
from corral.workloads.port_spec import with_number
from corral.workloads.spec import Gpu, Resources, WorkSpec
from corral.zones.rules import SLICE_STRENGTH, takes_slices
from corral.zones.tables import pool


def resolve(transaction: Transaction, home: Home, spec: WorkSpec, zone_id: str) -> StoredDocument:
    """The document with everything in it that later decisions need: no default is looked up again."""
    resources, flavor = _resources(transaction, home, spec)
    pool_ids = pools_in(transaction, spec, resources, zone_id)
    own = transaction.scalar(select(user.c.priority).where(user.c.id == home.owner_id))
    if spec.priority is not None and spec.priority > own:
        raise Invalid.field(
            "body.priority", f"Your own priority is {own}.", f"Ask for {own} or less, or leave it out."
        )
    readiness = spec.readiness and with_number(spec.readiness, spec.ports)
    resolved = {
        "version": VERSION,
        "organisation_id": home.organisation.id,
        "flavor": flavor,
        "resources": resources.model_dump(mode="json"),
        "priority": spec.priority or own,
        "pool_ids": pool_ids,
        "readiness": readiness and readiness.model_dump(mode="json"),
        "zone_reason": None,  # known to whoever chose the zone
    }
    return StoredDocument(spec.model_dump(mode="json") | resolved)


def pools_in(transaction: Transaction, spec: WorkSpec, resources: Resources, zone_id: str) -> list[str]:
    """The pools of the zone that the work may use, [] for any; refused where it may use none."""
    pool_ids = pools_that_allow(transaction, spec, zone_id, _pool_ids(transaction, spec, zone_id))
    if resources.gpu is not None and resources.gpu.is_slice:
        _check_strength(transaction, zone_id, pool_ids)
    return pool_ids


def _resources(transaction: Transaction, home: Home, spec: WorkSpec) -> tuple[Resources, str | None]:
    node = home.organisation
    if spec.resources is not None:
        if not may_use_numbers(transaction, node.id, home.owner_id):
            raise Invalid.field(
                "body.resources",
                f"Work of {node.name} chooses a flavor instead of numbers.",
                _choose_flavor(transaction, node, spec.kind),
            )
        return spec.resources, None
    if spec.flavor is None:
        remedy = _choose_flavor(transaction, node, spec.kind)
        raise Invalid.field("body.flavor", "It says nothing of what it needs.", remedy)
    found = flavors.find(transaction, node, spec.flavor, spec.kind)
    devices = found.devices
    gpu = devices and Gpu(
        count=devices.count,
        memory_mib=devices.memory_mib,
        fraction_milli=devices.fraction_milli,
        profile=devices.profile,
        compute_percent=devices.compute_percent,
        models=list(devices.models),
    )
    return Resources(cpu_milli=found.cpu_milli, memory_mib=found.memory_mib, gpu=gpu or None), found.name


def _choose_flavor(transaction: Transaction, node: Organisation, kind: str) -> str:
    return f"Choose a flavor: {flavors.usable_names(transaction, node, kind)}."


def _pool_ids(transaction: Transaction, spec: WorkSpec, zone_id: str) -> list[str]:
    if not spec.pools:
        return []
    ids_by_name = {
        name: pool_id
        for pool_id, name in transaction.rows(select(pool.c.id, pool.c.name).where(pool.c.zone_id == zone_id))
    }
    ids = set(ids_by_name.values())
    chosen = []
    for index, name in enumerate(spec.pools):
        if name not in ids_by_name and name not in ids:
            raise Invalid.field(
                f"body.pools[{index}]",
                f"There is no pool {name}.",
                f"Use one of: {', '.join(sorted(ids_by_name))}.",
            )
        chosen.append(ids_by_name.get(name, name))
    return chosen


def _check_strength(transaction: Transaction, zone_id: str, pool_ids: list[str]) -> None:
    """Slices are never weaker than their pool wants: then there are none."""
    rows = transaction.rows(
        select(pool.c.id, pool.c.name, pool.c.least_strength).where(pool.c.zone_id == zone_id)
    )
    open_to_it = [row for row in rows if not pool_ids or row.id in pool_ids]
    if any(takes_slices(row.least_strength) for row in open_to_it):
        return
    wants = ", ".join(f"{row.name} wants {row.least_strength}" for row in open_to_it)
    raise Invalid.field(
        "body.resources.gpu",
        f"Nothing keeps slices of a GPU apart here (strength: {SLICE_STRENGTH}), and {wants} at least.",
        "Ask for whole GPUs or a MIG profile, or use a pool that takes such slices.",
    )
